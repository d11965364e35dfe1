"""Prints culprits for people: the records with their values, what they came from, and whether fewer records suffice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.backend.cli.output import note, screen
from headwater.graph.culprits.record_set import RecordSet
from headwater.graph.model import parse_id
from headwater.graph.trace import TracedRecord

_SHOWN = 20  # culprits that are printed
Values = Mapping[tuple[str, int], Mapping[str, str | None]]


def line(text: str) -> None:
    screen().print(text, soft_wrap=True, markup=False, highlight=False)


def print_records(records: RecordSet, values: Values, origins: Sequence[TracedRecord], *, one: str, many: str) -> None:
    """Print culprits below a title: `one` for a single record, `many` with a number for more."""
    count = len(records)
    line(one if count == 1 else many.format(f"{count:,}"))
    for file, row in records.slice(0, _SHOWN):
        line(f"  {file.removeprefix('file:')} row {row}")
        for column, value in values.get((file, row), {}).items():
            line(f"    {column}  {'NULL' if value is None else value}")
    if count > _SHOWN:
        line(f"  … and {count - _SHOWN:,} more (--format json lists up to 1,000)")
    for origin in origins:
        place = (origin.file or parse_id(origin.dataset)[1][-1]).removeprefix("file:")
        line(f"  came from {place}" + ("" if origin.row is None else f" row {origin.row}"))
        for column, value in origin.values.items():
            line(f"    {column}  {value}")


def print_verdict(records: RecordSet, trials: int, seconds: float, *, is_minimal: bool, does: str) -> None:
    """Print whether each record is needed. `does` says what the program does with these records only."""
    if is_minimal:
        what = "With this record only" if len(records) == 1 else "With these records only, and not without any one of them"
        line(f"{what}, {does}.  ({trials} trials, {seconds:.0f} s)")
    else:
        note(f"the time limit came first, after {trials} trials; fewer records may suffice. --seconds raises it.", label="not minimal")
