"""Who read records of a dataset in a window of time, from the lines of the audit log.

A line names datasets, and no columns. At most 50 names are in a line. So a line that names more datasets may be about any dataset, and the
answer counts such lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from headwater.backend.audit.lines import Entry, Wanted
from headwater.backend.audit.reader import AuditLines
from headwater.graphql.audit import Decision

MOST_LINES = 50_000


@dataclass(slots=True)
class DatasetReader:
    """A caller with the operations by which the caller got records. `records` counts the records of these answers, of any dataset."""

    who: str
    answers: int = 0
    records: int = 0
    first: str = ""
    last: str = ""
    operations: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class DatasetReaders:
    """The readers of a dataset, by name. `uncertain` counts lines with more names than the log keeps.

    If `left_at` is set, the search ended there, and earlier lines of the window were not read.
    """

    readers: tuple[DatasetReader, ...]
    uncertain: int
    damaged: int
    left_at: datetime | None


def list_readers(
    lines: AuditLines, tenant: str | None, dataset: str, since: datetime, until: datetime | None, *, quickly: bool
) -> DatasetReaders:
    """Return the callers who got records of a dataset. Only lines of the window are read.

    Raises:
        UnavailableError: the log cannot be read now.
    """
    wanted = Wanted(None, dataset, str(Decision.ALLOWED), since, until, tenant=tenant, is_shortened_too=True)
    found = lines.latest(wanted, MOST_LINES, quickly=quickly)
    exact = [entry for entry in found.entries if dataset in entry.get("on", ()) and _has_records(entry)]
    uncertain = sum(dataset not in entry.get("on", ()) and bool(entry.get("more")) and _has_records(entry) for entry in found.entries)
    left_at = found.left_at
    if left_at is None and len(found.entries) == MOST_LINES:
        left_at = datetime.fromisoformat(found.entries[0]["at"])
    return DatasetReaders(tuple(_group(exact)), uncertain, found.damaged, left_at)


def _has_records(entry: Entry) -> bool:
    records = entry.get("records")
    return isinstance(records, int) and records > 0


def _group(entries: Iterable[Entry]) -> list[DatasetReader]:
    readers: dict[str, DatasetReader] = {}
    for entry in entries:
        at, who = str(entry["at"]), str(entry.get("who", "nobody"))
        reader = readers.setdefault(who, DatasetReader(who, first=at))
        reader.answers += 1
        reader.records += int(entry["records"])
        reader.first, reader.last = min(reader.first, at), max(reader.last, at)
        reader.operations.add(str(entry.get("what", "")))
    return sorted(readers.values(), key=lambda reader: reader.who)
