"""Estimates how many rows a walk will read, from the counts in manifests, without reading a table.

For the choice where a trace runs. The estimate for a capture is the rows of its boundaries times the share of its records that are needed,
as if all groups had one size and all records were alike. The estimate never changes the answer.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from headwater.graph.associations import Source
from headwater.graph.model import node_id
from headwater.graph.records.lists import block_of_source
from headwater.graph.trace.session import Capture, Session

_FILES = 1_000  # of a source or a sink; the others are assumed to have the same writers and readers
_CAPTURES = 500  # that a walk visits; the estimate is then good enough
_SCANNED = 50  # rows that can be scanned in the time that one row takes to follow


def expected_rows(session: Session, begin: str, *, forward: bool, towards: Collection[str] | None, enough: int) -> int:
    """Return the number of rows that a walk from the records of a table is expected to read. Counting stops at `enough`."""
    counts = _by_file(session, begin)
    return (_Down if forward else _Up)(session, towards, enough).run(counts)


class _Walk:
    """Visits the captures of a walk in order, each once. `_waiting` holds the number of needed records of each capture."""

    def __init__(self, session: Session, towards: Collection[str] | None, enough: int) -> None:
        self._session = session
        self._towards = towards
        self._enough = enough
        self._waiting: dict[str, float] = {}
        self._total = 0.0

    def run(self, counts: dict[int, int]) -> int:
        self._begin(counts)
        met = 0
        while self._waiting and met < _CAPTURES and self._total <= self._enough:
            met += 1
            identifier = self._next()
            asked = self._waiting.pop(identifier)
            capture = self._session.capture(identifier)
            self._step(capture, asked, self._session.store.boundary_rows(self._session.tenant, identifier))
        return int(min(self._total, 2.0**62))

    def _begin(self, counts: dict[int, int]) -> None:
        raise NotImplementedError

    def _next(self) -> str:
        raise NotImplementedError

    def _step(self, capture: Capture, asked: float, rows: dict[int, int]) -> None:
        raise NotImplementedError

    def _ended(self, identifier: str) -> tuple[str, str]:
        return self._session.capture(identifier).manifest.ended, identifier

    def _add(self, identifier: str, records: float) -> None:
        self._waiting[identifier] = self._waiting.get(identifier, 0.0) + records


class _Up(_Walk):
    """From the files that captures wrote to the files that they read."""

    def _begin(self, counts: dict[int, int]) -> None:
        files = {self._session.files[number].block: number for number in counts}
        for block, writer in self._session.store.catalog.writers(self._session.tenant, files).items():
            self._add(writer, counts[files[block]])

    def _next(self) -> str:
        return max(self._waiting, key=self._ended)

    def _step(self, capture: Capture, asked: float, rows: dict[int, int]) -> None:
        sink = capture.manifest.sink
        wrote = rows.get(sink.boundary, 0) if sink else 0
        if not wrote:
            return
        share = min(1.0, asked / wrote)
        self._total += share * sum(rows.values())
        for source in capture.manifest.sources:
            if self._towards is None or _dataset(source) in self._towards:
                self._read(capture, source, share)

    def _read(self, capture: Capture, source: Source, share: float) -> None:
        """Add to each writer of a source its share of the needed records."""
        files = capture.files_of(source)
        first = [block_of_source(file) for file in files.first(_FILES)]
        found = self._session.store.catalog.writers(self._session.tenant, first)
        for writer in set(found.values()):
            theirs = self._session.capture(writer)
            read = sum(other == writer for other in found.values()) * len(files) / len(first)
            self._add(writer, share * _written(self._session, theirs) * min(1.0, read / max(1, len(theirs.files))))


class _Down(_Walk):
    """From the files that captures read to the files that they wrote."""

    def _begin(self, counts: dict[int, int]) -> None:
        files = {self._session.files[number].block: number for number in counts}
        read_by = self._session.store.catalog.readers(self._session.tenant, files, self._towards)
        for block, captures in read_by.items():
            for capture in captures:
                self._add(capture, counts[files[block]])

    def _next(self) -> str:
        return min(self._waiting, key=self._ended)

    def _step(self, capture: Capture, asked: float, rows: dict[int, int]) -> None:
        most = max(rows.values(), default=0)
        if not most:
            return
        share = min(1.0, asked / most)
        self._total += share * sum(rows.values()) + sum(rows.values()) / _SCANNED
        written = share * _written(self._session, capture)
        first = [file.block for file in capture.files.first(_FILES)]
        readers: set[str] = set().union(*self._session.store.catalog.readers(self._session.tenant, first, self._towards).values())
        for reader in readers - {capture.id}:
            self._add(reader, written)


def _by_file(session: Session, table: str) -> dict[int, int]:
    """Count the records of a table for each file."""
    known = session.columns(table)
    if known is not None:
        numbers, counts = np.unique(known["file"], return_counts=True)
        return dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    return dict(session.database.execute(f"SELECT file, count(*) FROM {table} GROUP BY file").fetchall())


def _written(session: Session, capture: Capture) -> int:
    sink = capture.manifest.sink
    return session.store.boundary_rows(session.tenant, capture.id).get(sink.boundary, 0) if sink else 0


def _dataset(source: Source) -> str:
    return node_id("dataset", source.dataset.namespace, source.dataset.name)
