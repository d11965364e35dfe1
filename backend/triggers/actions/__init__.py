"""The registry of the kinds of actions. A kind is one file of this folder and one line here.

A kind is imported at its first use, because replays load DuckDB and webhooks do not need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from headwater.backend.triggers.actions.action import PARENT, Action, Order, Site

__all__ = ["ACTIONS", "PARENT", "Action", "Order", "Site"]

_KINDS = {
    "run": "run:Run",
    "replay": "replay:ReplayAction",
    "recapture": "recapture:Recapture",
    "webhook": "webhook:Webhook",
    "notify": "notify:Notify",
    "workflow": "workflow:WorkflowAction",
    "report": "report:ReportAction",
}  # name -> module and class


class _Actions(Mapping[str, Action]):
    def __init__(self) -> None:
        self._loaded: dict[str, Action] = {}

    def __getitem__(self, kind: str) -> Action:
        if kind not in self._loaded:
            module, _, name = _KINDS[kind].partition(":")
            self._loaded[kind] = getattr(import_module(f"{__name__}.{module}"), name)()
        return self._loaded[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in _KINDS

    def __iter__(self) -> Iterator[str]:
        return iter(_KINDS)

    def __len__(self) -> int:
        return len(_KINDS)


ACTIONS: Mapping[str, Action] = _Actions()
