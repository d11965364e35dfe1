"""The kinds of actions, by name. A kind is one file of this folder and one line here."""

from __future__ import annotations

from headwater.backend.triggers.actions.action import Action, Order, Site
from headwater.backend.triggers.actions.notify import Notify
from headwater.backend.triggers.actions.recapture import Recapture
from headwater.backend.triggers.actions.replay import ReplayAction
from headwater.backend.triggers.actions.run import Run
from headwater.backend.triggers.actions.webhook import Webhook

__all__ = ["ACTIONS", "Action", "Order", "Site"]

ACTIONS: dict[str, Action] = {
    "run": Run(), "replay": ReplayAction(), "recapture": Recapture(), "webhook": Webhook(), "notify": Notify(),
}  # fmt: skip
