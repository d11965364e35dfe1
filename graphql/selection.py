"""Finds the fields that a query selects, because other fields of an answer need not be read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from strawberry.types.nodes import SelectedField, Selection

if TYPE_CHECKING:
    from headwater.graphql.types import Info


def asks(info: Info, field: str, names: Collection[str]) -> bool:
    """Whether a query selects one of `names` in a list or object `field` of the answer. Fields with directives count."""
    selections = [one for chosen in info.selected_fields for one in _fields(chosen.selections) if one.name == field]
    return any(one.name in names for chosen in selections for one in _fields(chosen.selections))


def selects(info: Info, field: str) -> bool:
    """Whether a query selects a field of the answer."""
    return any(one.name == field for chosen in info.selected_fields for one in _fields(chosen.selections))


def _fields(selections: Iterable[Selection]) -> Iterable[SelectedField]:
    for selection in selections:
        if isinstance(selection, SelectedField):
            yield selection
        else:
            yield from _fields(selection.selections)
