"""The interface of a kind of condition.

A kind checks the statement of a person, names the facts that may fulfil the condition, and decides whether a fact fulfils it. A kind never
reads a store. The names in a statement are looked up through `NameLookup` once, when the trigger is created.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headwater.backend.triggers.model import Combination, Fact, FactKind
from headwater.errors import InvalidInputError


class NameLookup(Protocol):
    """Looks up the names in a condition or an action. All methods raise `NotFoundError` or `InvalidQueryError` for a wrong name."""

    async def dataset(self, text: str, field: str) -> str:
        """Return the id of a dataset by its name. If `text` is an id, no run needs to have written the dataset yet."""

    async def jobs(self, text: str, field: str) -> Sequence[str]:
        """Return the ids of the application and of the pipeline with a job's name."""

    async def check_predicate(self, dataset: str, where: str) -> None:
        """Check a predicate against the columns of a dataset."""

    async def trigger(self, name: str, field: str) -> str:
        """Return the id of a trigger."""

    async def policy(self, name: str, rule: str | None) -> None:
        """Check that a policy with this name is applied, and that it has the rule."""


class Kind(Protocol):
    """The interface of a kind of simple condition."""

    async def check(self, stated: Mapping[str, Any], known: NameLookup) -> Mapping[str, Any]:
        """Check the parameters that a person states, and return them with names replaced by ids.

        Raises:
            InvalidInputError: a parameter is missing, unknown or invalid.
        """

    def subjects(self, parts: Mapping[str, Any], trigger: str) -> Sequence[tuple[FactKind, str]]:
        """Return the facts that may fulfil the condition, as pairs of kind and subject. `trigger` is the id of the condition's trigger."""

    def fulfils(self, parts: Mapping[str, Any], fact: Fact) -> bool:
        """Whether a fact fulfils the condition. The predicate over rows is evaluated elsewhere."""

    def where(self, parts: Mapping[str, Any]) -> str | None:
        """Return the condition's predicate. It must select at least one of the new rows."""

    def describe(self, parts: Mapping[str, Any]) -> str:
        """Return the condition in words. Predicates are left out, because they may contain values of records."""


class Combining(Protocol):
    """The interface of a kind of condition that combines others."""

    combination: Combination


def refuse_unknown(stated: Mapping[str, Any], parts: Sequence[str], kind: str) -> None:
    """Check that a statement has only the parameters in `parts`.

    Raises:
        InvalidInputError: the statement has another parameter.
    """
    if extra := sorted(set(stated) - set(parts)):
        raise InvalidInputError(
            f"{kind} takes no {extra[0]!r}.",
            field=f"{kind}.{extra[0]}",
            hint=f"It takes {', '.join(parts)}." if parts else "It takes nothing.",
        )


def text_of(stated: Mapping[str, Any], part: str, kind: str) -> str:
    """Return a required parameter, which must be a text.

    Raises:
        InvalidInputError: the parameter is missing or is not a text.
    """
    value = stated.get(part)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{kind} needs {part}.", field=f"{kind}.{part}", hint=f"Give a text for {part}.")
    return value


def choice_of(stated: Mapping[str, Any], part: str, choices: Sequence[str], kind: str, default: str) -> str:
    """Return a parameter whose value is one of `choices`.

    Raises:
        InvalidInputError: the value is not one of them.
    """
    value = stated.get(part, default)
    if value not in choices:
        raise InvalidInputError(f"{kind}.{part} is {value!r}.", field=f"{kind}.{part}", hint=f"It is one of {', '.join(choices)}.")
    return str(value)
