"""The request for the difference between two versions of a dataset, and the answer.

Records that both versions have are not listed. Without a key, versions are compared as bags of whole records: a record that occurs three
times before and twice after counts as removed once. With a key, a removed and an added record of the same key are one changed record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headwater.graph.trace.answer import Incomplete, Origin

NOW = "now"  # names the files at the dataset's path as they are


class Change(StrEnum):
    """The kind of a difference between two versions."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRequest:
    """A request for the records in which version `after` of a dataset differs from version `before`.

    - `before`, `after`: the sequence of a block, `now`, or whatever `TraceRequest.as_of` accepts. A Delta or Iceberg table has
      snapshots in place of sequences
    - `key`: the columns that identify a record
    - `changes`: the kinds of change to list. The counts include all kinds
    - `first`: most changes on the page. With 0, nothing is compared: the answer has columns and origins only
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
    """A record of one version: its place, its values in the order of the page's columns, and the run that wrote its file.

    A trace by `file`, `row` and the version's `as_of` gives the lineage of the record.
    """

    file: str
    row: int
    line: int | None
    values: Sequence[Any]
    run: str | None


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A record that differs between two versions. `before` is None for an added record, `after` is None for a removed record."""

    change: Change
    before: DiffRecord | None
    after: DiffRecord | None


@dataclass(frozen=True, slots=True)
class DiffSide:
    """A compared version: its name in the request, its name for traces (None for `now`), its time, and its runs, latest first."""

    name: str
    as_of: str | None
    at: str | None
    runs: Sequence[str]


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """One page of a difference. `total` counts the changes of the requested kinds; the three counts cover all kinds.

    If `exact` is false, a version may have had other records. `incomplete` has the reasons.
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
