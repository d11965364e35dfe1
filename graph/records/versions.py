"""The captures that made a version of a dataset, latest first, back to one that replaced the whole dataset.

Traces use it through the catalog to find an earlier state of a dataset. A query reads as many rows as the version has writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.graph.model import parse_id
from headwater.graph.records.overwrites import Replaces, instant

_PAGE = 200
_DATASET = "(SELECT number FROM dataset WHERE tenant = ? AND namespace = ? AND name = ?)"
_LAST = "\U0010ffff"  # sorts after all instants


@dataclass(frozen=True, slots=True)
class Write:
    """A capture that wrote a dataset, from `started` to `ended` (both in UTC, in a form that sorts as text)."""

    capture: str
    run: str
    job: str
    started: str
    ended: str
    replaces: Replaces
    status: str


class KnownVersions:
    """Queries for the captures that wrote a dataset. `rows` runs an SQL statement on the catalog."""

    def __init__(self, rows: Callable[[str, Sequence[object]], list[tuple[Any, ...]]]) -> None:
        self._rows = rows

    def writes(self, tenant: str, dataset: str, until: str | None = None) -> Iterator[Write]:
        """Yield all captures that wrote a dataset (by node id) and ended by an instant, latest first."""
        bound, number = (until or _LAST, 1 << 62)
        while True:
            rows = self._rows(
                "SELECT c.capture, c.run, j.name, c.started, c.at, c.replaces, c.status, c.number FROM capture c "
                f"JOIN job j ON j.number = c.job WHERE c.output = {_DATASET} AND (c.at, c.number) <= (?, ?) "
                "ORDER BY c.output DESC, c.at DESC, c.number DESC LIMIT ?",
                [*_named(tenant, dataset), bound, number, _PAGE],
            )
            for capture, run, job, started, ended, replaces, status, _ in rows:
                yield Write(capture, run, job, instant(started), ended, Replaces(replaces), status)
            if len(rows) < _PAGE:
                return
            bound, number = rows[-1][4], rows[-1][7] - 1

    def last_write(self, tenant: str, dataset: str, run: str) -> str | None:
        """Return the end time of the last capture of a run that wrote a dataset. None if no capture of the run did."""
        rows = self._rows(
            f"SELECT max(at) FROM capture WHERE tenant = ? AND run = ? AND output = {_DATASET}", [tenant, run, *_named(tenant, dataset)]
        )
        return rows[0][0] if rows else None

    def reader(self, tenant: str, dataset: str, *, until: str | None = None, run: str | None = None) -> tuple[str, str, str] | None:
        """Return the last capture that read a dataset, by an instant or in a run, with its run and end time. None if there is none."""
        condition, values = ("c.at <= ?", until or _LAST) if run is None else ("c.run = ?", run)
        rows = self._rows(
            f"SELECT c.capture, c.run, c.at FROM use u JOIN capture c ON c.number = u.capture WHERE u.dataset = {_DATASET} "
            f"AND u.role = 'source' AND {condition} ORDER BY c.at DESC, c.number DESC LIMIT 1",
            [*_named(tenant, dataset), values],
        )
        return rows[0] if rows else None


def _named(tenant: str, dataset: str) -> tuple[str, str, str]:
    _, (namespace, name) = parse_id(dataset)
    return tenant, namespace, name
