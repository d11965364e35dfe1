"""Targets: webhooks, mail servers and time-stamp authorities that the operator lists in `targets.toml` of the home.

A caller names a target of the list, never an address. Only the operator decides where the service connects.
"""

from __future__ import annotations

from headwater.backend.targets.mail import MailTarget, send_mail
from headwater.backend.targets.settings import Targets, read_targets, read_usable_targets
from headwater.backend.targets.timestamp import TimestampTarget, ask_authority
from headwater.backend.targets.webhook import DeliveryError, WebhookTarget, call_webhook

__all__ = [
    "DeliveryError",
    "MailTarget",
    "Targets",
    "TimestampTarget",
    "WebhookTarget",
    "ask_authority",
    "call_webhook",
    "read_targets",
    "read_usable_targets",
    "send_mail",
]
