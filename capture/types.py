"""Declared types of actors and data, checked before they are sent, because a service refuses the whole event of an invalid type."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from headwater.errors import InvalidInputError

# The built-in kinds of nodes. A type may have them as containers, but cannot be one of them.
KINDS = frozenset({
    "platform", "dataset", "version", "partition", "column", "system", "pipeline", "job", "run", "stage", "task", "operator", "type",
    "actor", "data", "owner", "tag", "term", "check",
})  # fmt: skip
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")


def declared_type(name: str, axis: str, within: Iterable[str], holds: Iterable[str], after: Iterable[str]) -> dict[str, Any]:
    """Return a type in the form of the facet of an actor's job.

    Raises:
        InvalidInputError: the name is invalid or reserved, or the axis is invalid.
    """
    if axis not in {"actor", "data"}:
        raise InvalidInputError(f"{axis!r} is no axis.", field="axis", hint="It is actor or data.")
    if name in KINDS:
        raise InvalidInputError(f"{name!r} is a kind of its own.", field="name", hint="Choose another name.")
    about = {"within": [*within], "holds": [*holds], "after": [*after]}
    for each in (name, *about["within"], *about["holds"], *about["after"]):
        if not _TYPE.fullmatch(each):
            raise InvalidInputError(f"{each!r} is no name of a type.", field="name", hint="Use letters, digits, - . and _.")
    return {"name": name, "axis": axis, **about}
