"""Deletes associations that no trace from present data needs any more, by a policy.

`headwater store prune` and the service use it. A capture is pruned only if all its output was replaced, and no remaining capture read any
of it, so every trace from present data stays the same. The folder keeps the note of `prune_note`, and the lists of files. Pruning may be
stopped at any time: each capture is marked in the catalog, then noted in its folder, then its tables are deleted. The next run first
deletes the tables of captures that are still marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from headwater.errors import InvalidQueryError
from headwater.graph.records.prune_candidates import Candidate
from headwater.graph.records.prune_note import Pruned
from headwater.graph.records.store import AssociationStore

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Policy:
    """The captures that may be pruned: they ended `older_days` ago, and their outputs were replaced `replaced_days` ago.

    `namespace` and `dataset` are patterns (`*`, `?`) for the output's namespace and name. With `most_bytes`, the captures that were
    replaced first are pruned first, until the remaining tables have no more bytes.
    """

    replaced_days: float = 30.0
    older_days: float = 0.0
    namespace: str | None = None
    dataset: str | None = None
    most_bytes: int | None = None

    def __post_init__(self) -> None:
        for name, days in (("replaced_days", self.replaced_days), ("older_days", self.older_days)):
            if not 0 <= days <= 36_500:
                raise InvalidQueryError(f"{days:g} is no number of days to keep associations.", field=name, hint="Use 0 to 36500.")

    def __str__(self) -> str:
        parts = [f"replaced {self.replaced_days:g} days ago"]
        parts += [f"ended {self.older_days:g} days ago"] if self.older_days else []
        parts += [f"namespace {self.namespace}"] if self.namespace is not None else []
        parts += [f"dataset {self.dataset}"] if self.dataset is not None else []
        parts += [f"more than {self.most_bytes} bytes"] if self.most_bytes is not None else []
        return ", ".join(parts)

    def fits(self, candidate: Candidate, now: datetime) -> bool:
        """Return whether age and output of a capture match the policy. The caller has checked when the output was replaced."""
        return (
            candidate.ended < _find_instant(now, self.older_days)
            and (self.namespace is None or fnmatchcase(candidate.namespace, self.namespace))
            and (self.dataset is None or fnmatchcase(candidate.name, self.dataset))
        )


@dataclass
class Report:
    """The captures that were pruned, or would be, and the bytes of their tables, by dataset.

    `finished` is the number of captures that an earlier prune marked and did not finish. `bytes_left` are the bytes of all remaining
    tables.
    """

    captures: Counter[tuple[str, str]] = field(default_factory=Counter)
    bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    finished: int = 0
    bytes_left: int = 0
    stopped: bool = False


def prune(
    store: AssociationStore,
    tenant: str,
    policy: Policy,
    *,
    by: str,
    now: datetime | None = None,
    dry_run: bool = False,
    until: Callable[[], bool] = lambda: False,
) -> Report:
    """Prune the captures that match a policy. `until` returns whether to stop after a capture; the next prune continues."""
    now = now or datetime.now(UTC)
    store.refresh(tenant, at_once=True)
    report = Report(bytes_left=store.catalog.prunable.bytes_kept(tenant))
    if dry_run:
        report.finished = len(store.catalog.prunable.going(tenant, _PAGE))
    else:
        report.finished = _remove(store, tenant, Pruned("a prune that was stopped", _text(now), "the policy of that prune"))
        report.bytes_left = store.catalog.prunable.bytes_kept(tenant)
    note = Pruned(by, _text(now), str(policy))
    for candidate in _find_unneeded(store, tenant, policy, now, report, dry_run=dry_run):
        if not dry_run:
            if not store.catalog.prunable.mark(candidate.number):
                continue  # meanwhile a new capture has read its output
            store.note_pruned(tenant, candidate.capture, note)
        key = candidate.namespace, candidate.name
        report.captures[key] += 1
        report.bytes[key] += candidate.bytes
        report.bytes_left -= candidate.bytes
        if until():
            report.stopped = True
            break
    if not dry_run:
        _remove(store, tenant, note)
    return report


def _find_unneeded(
    store: AssociationStore, tenant: str, policy: Policy, now: datetime, report: Report, *, dry_run: bool
) -> Iterator[Candidate]:
    """Yield the captures to prune, each reader before the captures whose output it read.

    The caller must mark each capture before it takes the next.
    """
    catalog, replaced_before = store.catalog.prunable, _find_instant(now, policy.replaced_days)
    unneeded: set[int] = set()
    holding: dict[int, list[Candidate]] = {}
    place = ("", 0)
    while page := catalog.candidates(tenant, replaced_before, place, _PAGE):
        place = (page[-1].replaced, page[-1].number)
        stack = page[::-1]
        while stack:
            if policy.most_bytes is not None and report.bytes_left <= policy.most_bytes:
                return
            candidate = stack.pop()
            if candidate.number in unneeded or candidate.replaced >= replaced_before or not policy.fits(candidate, now):
                continue
            holder = catalog.holder(candidate.number, unneeded if dry_run else ())
            if holder is not None:
                if dry_run:
                    holding.setdefault(holder, []).append(candidate)
                else:
                    catalog.hold(candidate.number, holder)
                continue
            freed_captures = [*holding.pop(candidate.number, ()), *catalog.held_by(candidate.number)]
            unneeded.add(candidate.number)
            yield candidate
            stack += freed_captures


def _remove(store: AssociationStore, tenant: str, note: Pruned) -> int:
    """Delete the tables of marked captures, and return the number of captures. A marked capture without a note gets `note`."""
    removed_count = 0
    while marked_captures := store.catalog.prunable.going(tenant, _PAGE):
        for number, capture in marked_captures:
            store.drop_tables(tenant, capture, note)
            store.catalog.prunable.gone(number)
            removed_count += 1
    return removed_count


def _find_instant(now: datetime, days: float) -> str:
    try:
        return _text(now - timedelta(days=days))
    except OverflowError:
        return ""


def _text(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
