"""The question which inputs an aggregated value depends on most, and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headwater.graph.trace.answer import Incomplete, TracedRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRequest:
    """A question for the `first` input records on which the value in `column` of one row depends most.

    `where` or `row` (file, row) selects the row of `dataset`.
    """

    dataset: str
    column: str
    where: str | None = None
    row: tuple[str, int] | None = None
    first: int = 20


@dataclass(frozen=True, slots=True)
class RankedRecord:
    """An input record, and the value `without` it. `change` is the difference, if both values are numbers.

    `is_row_gone`: the row would not be there without the record. `without` is then None.
    """

    record: TracedRecord
    without: Any
    change: Any
    is_row_gone: bool


@dataclass(frozen=True, slots=True)
class RankAnswer:
    """The input records of an aggregated value, those with the largest change first, then by dataset, file and row.

    `value` is that of `function`, computed again from the inputs. `total` counts all inputs. `exact` is false for the reasons in
    `incomplete`. `notes` are needed to read an exact answer, too.
    """

    run: str
    function: str
    row: TracedRecord
    value: Any
    records: Sequence[RankedRecord]
    total: int
    exact: bool
    incomplete: Sequence[Incomplete]
    notes: Sequence[str]
