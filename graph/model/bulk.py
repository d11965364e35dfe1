"""Makes thousands of nodes and edges from columns.

A frozen element sets each of its fields by a call. Column by column, all calls are in C, and take a third of the time. Otherwise a walk of
three milliseconds would spend four on its result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, TypeVar

from headwater.graph.model.elements import Edge, EdgeKind, Node, NodeKind
from headwater.graph.model.properties import NOTHING, StoredProperties

T = TypeVar("T")


def nodes_of(ids: Sequence[str], kinds: Sequence[NodeKind], names: Sequence[str], properties: Iterable[str | None]) -> list[Node]:
    """Return nodes from columns of one length. Properties are texts as a store keeps them."""
    return made(Node, len(ids), (ids, kinds, names, _read(properties), repeat(NOTHING)))


def edges_of(
    src: Sequence[str],
    dst: Sequence[str],
    kinds: Sequence[EdgeKind],
    properties: Iterable[str | None],
    first: Sequence[str],
    last: Sequence[str],
) -> list[Edge]:
    """Return edges from columns of one length. Properties are texts as a store keeps them."""
    return made(Edge, len(src), (src, dst, kinds, _read(properties), repeat(NOTHING), first, last))


def _read(properties: Iterable[str | None]) -> list[Mapping[str, Any]]:
    return [StoredProperties(text) if text and text != "{}" else NOTHING for text in properties]


def made(of: type[T], count: int, columns: Sequence[Iterable[Any]]) -> list[T]:
    """Return objects of a class with slots. The columns are its fields, in their order."""
    slots: Sequence[str] = of.__dict__["__slots__"]
    elements: list[T] = list(map(object.__new__, repeat(of, count)))
    for name, column in zip(slots, columns, strict=True):
        # The slot's own setter, because the class is frozen. No other code has the element yet.
        setter: Callable[[T, Any], None] = of.__dict__[name].__set__
        deque(map(setter, elements, column), maxlen=0)
    return elements
