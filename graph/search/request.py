"""What a search asks for, and its answer."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from headwater.errors import InvalidQueryError
from headwater.graph.model import Node, NodeKind
from headwater.graph.search.words import words_of

MOST_WORDS = 12
MOST_TEXT = 1_000  # characters
_LARGEST = 1 << 53  # number in a cursor
MOST_VALUES = 50  # of one facet that are chosen
_RUN_ID = re.compile(r"(?:run:)?([0-9a-f]{8}-[0-9a-f]{0,4}(?:-[0-9a-f]{0,12}){0,3})", re.IGNORECASE)


class Order(StrEnum):
    """The order of the nodes that a search without a text finds."""

    FAILED_FIRST = "failed_first"  # the last run failed; then running; then all others, by name
    NAME = "name"
    LATEST = "latest"  # by the time of the last run, latest first
    WEIGHT = "weight"  # datasets and jobs by the number of their flows, most first


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """Words, and the values that each chosen facet may have. An empty facet allows everything.

    Without words, all nodes of the kinds are found, in `order`.
    """

    text: str = ""
    kinds: tuple[NodeKind, ...] = ()
    namespaces: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    pipelines: tuple[str, ...] = ()
    order: Order = Order.FAILED_FIRST

    def __post_init__(self) -> None:
        if len(self.text) > MOST_TEXT:
            raise InvalidQueryError(f"The text has {len(self.text):,} characters.", field="text", hint=f"Search for {MOST_TEXT:,} at most.")
        for name in ("kinds", "namespaces", "platforms", "owners", "tags", "terms", "states", "pipelines"):
            if len(getattr(self, name)) > MOST_VALUES:
                raise InvalidQueryError(f"{name} has {len(getattr(self, name))} values.", field=name, hint=f"{MOST_VALUES} are the most.")

    @property
    def narrowed(self) -> bool:
        """Whether a facet other than the kind is chosen."""
        return any(values for _, values in self.chosen())

    def labels(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the chosen owners, tags and terms, each with the letter of its facet."""
        return [("o", self.owners), ("t", self.tags), ("g", self.terms)]

    def chosen(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the chosen values of all facets but the kind, each with the letter of its facet."""
        single = [("n", self.namespaces), ("p", self.platforms), ("s", self.states), ("l", self.pipelines)]
        return [*single, *self.labels()]

    def readings(self) -> list[list[str]]:
        """Return the first words of the text: as they are written, and with `dailyOrders` and `orders2024` taken apart.

        The beginning of a run's UUID is one word, as in the index.
        """
        run = _RUN_ID.fullmatch(self.text.strip())
        found = [[run[1].replace("-", "").lower()]] if run else []
        found += [words_of(self.text, MOST_WORDS, parts=False), words_of(self.text, MOST_WORDS, whole=False)]
        return [words for index, words in enumerate(found) if words and words not in found[:index]]


@dataclass(frozen=True, slots=True)
class Hit:
    """A node that was found. `matched` are the words of the node that the words of the text stand for.

    `namespace` is that of the node, or of the job of a run. `state` is that of the last run of a dataset or job, or of the run itself.
    """

    node: Node
    score: float
    matched: tuple[str, ...] = ()
    namespace: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Facet:
    """A value of a facet, and the number of found nodes that have it."""

    value: str
    count: int


# Name of a facet → its values, the most frequent first.
Facets = Mapping[str, Sequence[Facet]]


@dataclass(frozen=True, slots=True)
class Found:
    """A page of hits. `cursor` fetches the next page; None: this was the last.

    `total` and the counts of `facets` are exact if `counted`, and lower bounds otherwise. `ranked` is false if a next page is missing
    because only the best hits are put in order.
    """

    hits: Sequence[Hit]
    total: int
    cursor: str | None = None
    counted: bool = True
    ranked: bool = True
    facets: Facets = field(default_factory=dict)


def ranked_cursor(count: int) -> str:
    """Return the cursor after a number of ranked hits."""
    return _cursor(["ranked", count])


def ranked_place(cursor: str | None) -> int:
    """Return the number of hits before a page.

    Raises:
        InvalidQueryError: the cursor is not of a search by words.
    """
    if cursor is None:
        return 0
    place = _read(cursor)
    if len(place) != 2 or place[0] != "ranked" or not isinstance(place[1], int) or place[1] < 0:
        raise _refused(cursor)
    return int(place[1])


def list_cursor(place: Sequence[Any]) -> str:
    """Return the cursor after a place in the order of a list."""
    return _cursor(list(place))


def list_place(cursor: str | None, parts: Sequence[type]) -> list[Any] | None:
    """Return the place after which a page begins, of parts of these types; None for the first page.

    Raises:
        InvalidQueryError: the cursor is not of a list in this order.
    """
    if cursor is None:
        return None
    place = _read(cursor)
    if [type(part) for part in place] != list(parts):
        raise _refused(cursor)
    return place


def _cursor(place: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _read(cursor: str) -> list[Any]:
    try:
        place = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise _refused(cursor) from None
    if not isinstance(place, list) or any(isinstance(part, int) and abs(part) > _LARGEST for part in place):
        raise _refused(cursor)
    return place


def _refused(cursor: str) -> InvalidQueryError:
    return InvalidQueryError(
        f"{cursor[:80]!r} is no cursor of this search.", field="after", hint="Pass the cursor of the page before, with the same request."
    )
