"""Parses the options of a view from a command line or a URL.

Texts become a `ViewRequest`. Missing options get the default for the focus: around a column its columns, around a run its runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from headwater.errors import InvalidQueryError
from headwater.graph.model import NodeKind, kind_of
from headwater.graph.stores.protocol import Direction
from headwater.graph.views.request import ACTORS, DATA, Mask, ViewRequest

# The default levels around a node that is finer than datasets and jobs, at its own grain.
_FINE: Mapping[NodeKind, tuple[NodeKind, NodeKind]] = {
    NodeKind.COLUMN: (NodeKind.COLUMN, NodeKind.JOB),
    NodeKind.VERSION: (NodeKind.VERSION, NodeKind.RUN),
    NodeKind.PARTITION: (NodeKind.PARTITION, NodeKind.RUN),
    NodeKind.RUN: (NodeKind.VERSION, NodeKind.RUN),
    NodeKind.STAGE: (NodeKind.PARTITION, NodeKind.STAGE),
    NodeKind.TASK: (NodeKind.PARTITION, NodeKind.TASK),
    NodeKind.OPERATOR: (NodeKind.VERSION, NodeKind.OPERATOR),
}


_LEVELS = f"Name one of {', '.join(DATA)}, and one of {', '.join(ACTORS)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """The options of a view. `view` requests a view without other options. `levels` has at most one level of data and one of actors.

    `open` are texts `ID=LEVEL`. `between` are two ids.
    """

    view: bool = False
    direction: Direction | None = None
    depth: int | None = None
    levels: Sequence[NodeKind] = ()
    open: Sequence[str] = ()
    masks: Sequence[str] = ()
    ends: bool = False
    between: Sequence[str] = ()
    as_of: str | None = None
    since: str | None = None
    until: str | None = None

    @property
    def given(self) -> bool:
        return any(getattr(self, option.name) not in (None, False, (), []) for option in fields(self))

    def request(self, focus: Sequence[str]) -> ViewRequest:
        """Return the request for a view around a focus.

        Raises:
            InvalidQueryError: an option is invalid, or options contradict each other.
        """
        if len(self.between) not in (0, 2):
            raise InvalidQueryError(f"between names {len(self.between)} nodes.", field="between", hint="It takes two.")
        kinds = {kind_of(identifier) for identifier in focus}
        data, actors = next((_FINE[kind] for kind in sorted(kinds) if kind in _FINE), (NodeKind.DATASET, NodeKind.JOB))
        asked: dict[str, Any] = {"data": data, "actors": actors, **levels_named(self.levels)}
        if self.direction is not None:
            asked["direction"] = self.direction
        if self.depth is not None:
            asked["depth"] = self.depth
        return ViewRequest(
            focus=tuple(focus),
            open=dict(map(split_opened, self.open)),
            masks=tuple(map(Mask.parse, self.masks)),
            ends_only=self.ends,
            between=((self.between[0],), (self.between[1],)) if self.between else None,
            as_of=self.as_of,
            since=self.since,
            until=self.until,
            **asked,
        )


def levels_named(levels: Sequence[NodeKind]) -> dict[str, NodeKind]:
    """Return levels by their axis (`data` or `actors`).

    Raises:
        InvalidQueryError: a name is not a level, or two levels have one axis.
    """
    asked: dict[str, NodeKind] = {}
    for level in levels:
        axis = "data" if level_called(level) in DATA else "actors"
        if axis in asked:
            raise InvalidQueryError(f"Two levels of {axis} are named.", field="level", hint=_LEVELS)
        asked[axis] = level
    return asked


def level_called(text: str) -> NodeKind:
    """Return the level with a name.

    Raises:
        InvalidQueryError: there is no such level.
    """
    found = next((level for level in (*DATA, *ACTORS) if level == text), None)
    if found is None:
        raise InvalidQueryError(f"{text} is no level.", field="level", hint=_LEVELS)
    return found


def split_opened(text: str) -> tuple[str, NodeKind]:
    """Split `NAME=LEVEL`.

    Raises:
        InvalidQueryError: the text does not have this form.
    """
    name, sign, level = text.rpartition("=")
    if not sign or not name or level not in set(NodeKind):
        raise InvalidQueryError(f"{text!r} opens nothing.", field="open", hint="Write it as NAME=LEVEL, say report=column.")
    return name, NodeKind(level)
