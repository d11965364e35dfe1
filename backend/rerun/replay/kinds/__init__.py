"""The registry of the kinds of replay. A kind is one file of this folder and one line here."""

from __future__ import annotations

from importlib import import_module

from headwater.backend.rerun.replay.kinds.kind import Kind, ReplayRequest, Sources, Work, refuse_other_parts
from headwater.errors import InvalidQueryError

__all__ = ["KINDS", "Kind", "ReplayRequest", "Sources", "Work", "load_kind", "refuse_other_parts"]

KINDS = {
    "exclusive": "exclusive:Exclusive",
    "selective": "selective:Selective",
    "verify": "verify:Verify",
    "what-if": "what_if:WhatIf",
    "refresh": "refresh:Refresh",
    "step": "step:Step",
}  # name -> module and class


def load_kind(name: str) -> Kind:
    """Return a kind of replay by its name.

    Raises:
        InvalidQueryError: there is no such kind.
    """
    if name not in KINDS:
        raise InvalidQueryError(f"There is no kind of replay {name!r}.", field="kind", hint=f"The kinds are {', '.join(KINDS)}.")
    module, _, attribute = KINDS[name].partition(":")
    kind: Kind = getattr(import_module(f"{__name__}.{module}"), attribute)()
    return kind
