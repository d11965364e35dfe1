"""The interface of a kind of condition.

A kind checks what a person states, says which facts it may be fulfilled by, and whether it is. A kind never reads a store. The
names in a statement are looked up through `Known`, once, when the trigger is created.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headwater.backend.triggers.model import Combination, Fact, FactKind
from headwater.errors import InvalidInputError


class Known(Protocol):
    """Looks up the names in a condition or an action. All methods raise `NotFoundError` or `InvalidQueryError` for a wrong name."""

    async def dataset(self, text: str, field: str) -> str:
        """Return the id of a dataset. An id may be of a dataset that no run has written yet."""

    async def jobs(self, text: str, field: str) -> Sequence[str]:
        """Return the ids of a job: of the application, and of the pipeline with that name."""

    async def check_predicate(self, dataset: str, where: str) -> None:
        """Check a predicate against the columns of a dataset."""

    async def trigger(self, name: str, field: str) -> str:
        """Return the id of a trigger."""


class Kind(Protocol):
    """A kind of simple condition."""

    async def check(self, stated: Mapping[str, Any], known: Known) -> Mapping[str, Any]:
        """Return the parts to keep, with ids in the place of names.

        Raises:
            InvalidInputError: a part is missing, unknown or cannot be used.
        """

    def subjects(self, parts: Mapping[str, Any], trigger: str) -> Sequence[tuple[FactKind, str]]:
        """Return the kinds and subjects of facts that may fulfil the condition. `trigger` is the id of the condition's trigger."""

    def fulfils(self, parts: Mapping[str, Any], fact: Fact) -> bool:
        """Whether such a fact fulfils the condition, apart from a predicate over rows."""

    def where(self, parts: Mapping[str, Any]) -> str | None:
        """Return the predicate over the new rows that must select at least one."""

    def describe(self, parts: Mapping[str, Any]) -> str:
        """Return the condition in words. A predicate is not repeated, because it may hold values."""


class Combining(Protocol):
    """A kind of condition that combines others."""

    combination: Combination


def refuse_unknown(stated: Mapping[str, Any], parts: Sequence[str], kind: str) -> None:
    """Check that a statement has no part that its kind does not know.

    Raises:
        InvalidInputError: it has one.
    """
    if extra := sorted(set(stated) - set(parts)):
        raise InvalidInputError(
            f"{kind} takes no {extra[0]!r}.",
            field=f"{kind}.{extra[0]}",
            hint=f"It takes {', '.join(parts)}." if parts else "It takes nothing.",
        )


def text_of(stated: Mapping[str, Any], part: str, kind: str) -> str:
    """Return a part that must be given.

    Raises:
        InvalidInputError: the part is missing or is not a text.
    """
    value = stated.get(part)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{kind} needs {part}.", field=f"{kind}.{part}", hint=f"Give a text for {part}.")
    return value


def choice_of(stated: Mapping[str, Any], part: str, choices: Sequence[str], kind: str, default: str) -> str:
    """Return a part that is one of some words.

    Raises:
        InvalidInputError: it is another.
    """
    value = stated.get(part, default)
    if value not in choices:
        raise InvalidInputError(f"{kind}.{part} is {value!r}.", field=f"{kind}.{part}", hint=f"It is one of {', '.join(choices)}.")
    return str(value)
