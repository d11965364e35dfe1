"""Notifications: a text by mail to a real SMTP conversation, and to a webhook."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest

from headwater.backend.targets import read_targets
from headwater.errors import ConfigurationError
from tests.backend.triggers.conftest import TriggeredHome
from tests.backend.triggers.receiver import Receiver

MANUAL = {"manual": {}}


@pytest.fixture
def mailbox() -> Iterator[tuple[int, list[str]]]:
    """A server that takes mail as RFC 5321 says, without TLS: its port, and the messages."""
    messages: list[str] = []

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 mail.example.com\r\n")
            while line := self.rfile.readline().decode().strip():
                if line.upper() == "DATA":
                    self.wfile.write(b"354 go on\r\n")
                    text = []
                    while (part := self.rfile.readline().decode().rstrip("\r\n")) != ".":
                        text.append(part)
                    messages.append("\n".join(text))
                    self.wfile.write(b"250 taken\r\n")
                elif line.upper() == "QUIT":
                    self.wfile.write(b"221 bye\r\n")
                    return
                else:
                    self.wfile.write(b"250 mail.example.com\r\n")

    server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], messages
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def list_mail(home: Path, port: int, *, private: bool = True) -> None:
    with (home / "targets.toml").open("a") as file:
        file.write(
            f'[[mail]]\nname = "team"\nhost = "127.0.0.1"\nport = {port}\nsecurity = "none"\nfrom = "headwater@example.com"\n'
            f'to = ["a@example.com", "b@example.com"]\nprivate = {str(private).lower()}\n'
        )


async def test_a_mail_names_the_trigger_and_what_happened(home: TriggeredHome, mailbox: tuple[int, list[str]]) -> None:
    list_mail(home.workspace.home.path, mailbox[0])
    trigger = await home.create(MANUAL, {"notify": {"target": "team", "text": "Look at the report."}}, name="alert")
    await home.triggers.fire("default", "alert", key="one")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert (entry.execution.state, entry.execution.error) == ("complete", None)
    (text,) = mailbox[1]
    message = message_from_string(text)
    assert (message["Subject"], message["To"]) == ("Headwater: alert", "a@example.com, b@example.com")
    assert message["Message-ID"] == f"<{entry.execution.id}@headwater>"
    assert "Look at the report." in message.get_payload()
    assert "manual one" in message.get_payload()


async def test_mail_to_a_private_network_is_for_the_operator_to_allow(home: TriggeredHome, mailbox: tuple[int, list[str]]) -> None:
    list_mail(home.workspace.home.path, mailbox[0], private=False)
    trigger = await home.create(MANUAL, {"notify": {"target": "team"}})
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert "not public" in str(entry.execution.error)
    assert mailbox[1] == []


async def test_a_webhook_gets_the_text(home: TriggeredHome, there: Receiver) -> None:
    trigger = await home.create(MANUAL, {"notify": {"target": "there", "text": "Look."}})
    await home.triggers.fire("default", "t")
    await home.ended(trigger, 1)
    assert there.requests[0][1]["text"].startswith("Look.")


@pytest.mark.parametrize(
    "broken",
    [
        '[[webhook]]\nname = "bad"\nurl = "https://example.com/"\nsecret_file = "missing"\n',
        '[[webhook]]\nname = "bad"\nurl = "ftp://example.com/"\nsecret_file = "secret"\n',
        '[[webhook]]\nname = "bad"\nurl = "https://example.com/"\n',
        '[[mail]]\nname = "bad"\nhost = "h"\nfrom = "a@b"\nto = []\n',
        '[[webhook]]\nname = "bad"\nurl = "https://a/"\nsecret_file = "secret"\n[[mail]]\nname = "bad"\n',
    ],
)
async def test_an_invalid_target_disables_only_itself(home: TriggeredHome, there: Receiver, broken: str) -> None:
    with home.workspace.home.targets.open("a") as file:
        file.write(broken)
    trigger = await home.create(MANUAL, {"webhook": {"target": "there"}})
    with pytest.raises(ConfigurationError, match=r"targets\.toml|missing"):
        await home.create(MANUAL, {"notify": {"target": "bad"}}, name="other")
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert entry.execution.state == "complete"
    with pytest.raises(ConfigurationError, match=r"bad|missing"):
        read_targets(home.workspace.home.targets)


async def test_a_delivery_waits_while_the_operator_corrects_the_list(home: TriggeredHome, there: Receiver) -> None:
    trigger = await home.create(MANUAL)
    targets = home.workspace.home.targets
    good = targets.read_text()
    targets.write_text(good.replace('secret_file = "secret"', 'secret_file = "gone"'))
    await home.triggers.fire("default", "t")
    while not any(entry.execution and entry.execution.error for entry in await home.triggers.history(trigger)):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    targets.write_text(good)
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert (entry.execution.state, len(there.requests)) == ("complete", 1)


def test_a_pipe_in_the_place_of_a_file_of_targets_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secret")
    targets = tmp_path / "targets.toml"
    targets.write_text('[[webhook]]\nname = "x"\nurl = "https://example.com/"\nsecret_file = "secret"\n')
    with pytest.raises(ConfigurationError, match="not a regular file"):
        read_targets(targets)
    targets.unlink()
    os.mkfifo(targets)
    with pytest.raises(ConfigurationError, match="not a regular file"):
        read_targets(targets)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[webhook]\n", "cannot be read"),
        ('[[ftp]]\nname = "x"\n', "ftp is not a kind"),
        ('[[webhook]]\nname = "x"\n', "no url"),
        ('[[webhook]]\nname = "x"\nurl = "file:///etc/passwd"\nsecret_file = "s"\n', "not an http or https address"),
        ('[[webhook]]\nname = "x"\nurl = "https://user:pw@example.com/"\nsecret_file = "s"\n', "without a user"),
        ('[[webhook]]\nname = "x"\nurl = "https://example.com/"\nsecret_file = "missing"\n', "missing cannot be read"),
        ('[[webhook]]\nname = "x"\nurl = "https://example.com/"\nsecret_file = "short"\n', "fewer than 8 bytes"),
        ('[[webhook]]\nname = "x"\nurl = "https://example.com/"\nsecret_file = "s"\nmethod = "GET"\n', "has method"),
        ('[[webhook]]\nname = "x"\nurl = "https://example.com/"\nsecret_file = "s"\nretry_hours = -1\n', "retry_hours of x is -1"),
        ('[[webhook]]\nname = "x"\nurl = "https://example.com/"\nsecret_file = "s"\nretry_hours = "1d"\n', "retry_hours of x is '1d'"),
        ('[[mail]]\nname = "x"\nhost = "h"\nfrom = "a@b"\nto = "a@b"\n', "not a list of addresses"),
        ('[[mail]]\nname = "x"\nhost = "h"\nfrom = "a@b"\nto = ["a@b"]\nsecurity = "ssl"\n', "security of x is 'ssl'"),
    ],
)
def test_a_list_of_targets_that_cannot_be_used_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "s").write_text("long enough")
    (tmp_path / "short").write_text("short")
    (tmp_path / "targets.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=reason):
        read_targets(tmp_path / "targets.toml")
