"""The parts of a commit: groups of containers with one description. Each is one source or one sink of a capture.

A manifest states the columns of a source once for all its files. CSV files with different headers are therefore separate sources. In
other formats each record or file names its columns, so a source has the columns of all its files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headwater.capture.columns import Columns
from headwater.capture.data import Container, Data


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Containers of one dataset in one shape, by their ordinals."""

    data: Data
    columns: Columns
    containers: Sequence[Container]


def parts_of(data: Data, containers: Iterable[tuple[Container, Columns]]) -> list[Part]:
    """Group containers of data by their columns. A file with unknown columns joins another group."""
    by_columns: dict[Columns, list[Container]] = {}
    for container, columns in containers:
        by_columns.setdefault(columns, []).append(container)
    merged = sorted(by_columns, key=len, reverse=True)
    if data.format == "csv":
        wholes = [columns for place, columns in enumerate(merged) if not any(other[: len(columns)] == columns for other in merged[:place])]
    else:
        wholes = [tuple({name: (name, kind) for columns in merged for name, kind in columns}.values())]
    found: dict[Columns, list[Container]] = {}
    for columns, of_columns in by_columns.items():
        found.setdefault(_whole(columns, wholes), []).extend(of_columns)
    return [Part(data, columns, sorted(of_columns, key=lambda one: one.ordinal)) for columns, of_columns in found.items()]


def _whole(columns: Columns, wholes: Sequence[Columns]) -> Columns:
    """Return the only columns among `wholes` that begin with the given columns."""
    return next((whole for whole in wholes if whole[: len(columns)] == columns), wholes[0])
