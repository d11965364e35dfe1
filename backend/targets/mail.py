"""Sends mail by SMTP to recipients that the operator named."""

from __future__ import annotations

import smtplib
import socket
import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate

from headwater.backend.targets.connections import SECONDS, connect
from headwater.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class MailTarget:
    """A mail server with its sender and recipients. `security` is `starttls`, `tls` or `none`."""

    name: str
    host: str
    port: int
    security: str
    sender: str
    to: tuple[str, ...]
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    is_private: bool = False
    retry_seconds: float = 86_400.0


class _Client(smtplib.SMTP):
    """An SMTP client that connects to the checked address of a host."""

    def __init__(self, target: MailTarget) -> None:
        self._target = target
        super().__init__(target.host, target.port, timeout=SECONDS)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:  # noqa: ARG002 - the class calls it so
        plain = connect(host, port, is_private=self._target.is_private)
        if self._target.security == "tls":
            return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        return plain


def send_mail(target: MailTarget, subject: str, text: str, *, key: str) -> None:
    """Send a text by mail. `key` identifies the delivery, and becomes the message's id.

    Raises:
        UnavailableError: the server does not accept the mail.
    """
    message = EmailMessage()
    message["Subject"] = " ".join(subject.split())[:200]
    message["From"] = target.sender
    message["To"] = ", ".join(target.to)
    message["Date"] = formatdate()
    message["Message-ID"] = f"<{key}@headwater>"
    message.set_content(text)
    try:
        with _Client(target) as client:
            if target.security == "starttls":
                client.starttls(context=ssl.create_default_context())
            if target.user is not None and target.password is not None:
                client.login(target.user, target.password)
            client.send_message(message)
    except (OSError, smtplib.SMTPException) as error:
        raise UnavailableError(
            f"The mail server of {target.name} did not take the message: {type(error).__name__}.", hint="It is sent again."
        ) from error
