"""The question for the difference between two versions of a dataset, and its answer.

Records that both versions have are not listed. Without a key, a record is its whole content, and a version is a bag of records: of three
equal records in one version and two in the other, one was added or removed. With a key, a removed and an added record of the same key are
one changed record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headwater.graph.trace.answer import Incomplete, Origin

NOW = "now"  # names the files at the dataset's path as they are


class Change(StrEnum):
    """The difference in one record."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRequest:
    """A page of the records in which version `after` of a dataset differs from version `before`.

    - `before`, `after`: the sequence of a block, `now`, or whatever `TraceRequest.as_of` accepts. For tables of Delta and Iceberg,
      a number is a snapshot
    - `key`: the columns that identify a record
    - `changes`: the kinds of change to list. The counts are of all kinds
    - `first`: with 0, nothing is compared: the answer has columns and origins only
    - `hidden`: columns that are not compared and not returned
    """

    dataset: str
    before: str
    after: str = NOW
    key: Sequence[str] = ()
    changes: Sequence[Change] = tuple(Change)
    first: int = 50
    offset: int = 0
    hidden: Sequence[str] = ()
    origins: bool = False


@dataclass(frozen=True, slots=True)
class DiffRecord:
    """A record of one version: its place, its values in the order of the page's columns, and the run that wrote its file, if known.

    A trace by `file`, `row` and the version's `as_of` gives the lineage of the record.
    """

    file: str
    row: int
    line: int | None
    values: Sequence[Any]
    run: str | None


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A record that differs. `before` is None for an added record, `after` for a removed one."""

    change: Change
    before: DiffRecord | None
    after: DiffRecord | None


@dataclass(frozen=True, slots=True)
class DiffSide:
    """A compared version: its name in the request, the name for traces (None for `now`), the time, the runs that wrote it, latest first."""

    name: str
    as_of: str | None
    at: str | None
    runs: Sequence[str]


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """One page of a difference. `total` counts the entries of the requested kinds; the three counts cover all records that differ.

    `exact` is false if a version may have had other records, for the reasons in `incomplete`.
    """

    dataset: str
    before: DiffSide
    after: DiffSide
    columns: Sequence[tuple[str, str]]
    key: Sequence[str]
    entries: Sequence[RecordChange]
    total: int
    added: int
    removed: int
    changed: int
    exact: bool
    incomplete: Sequence[Incomplete]
    notes: Sequence[str]
    origins: Sequence[Origin] = ()
