"""Estimates how many rows a walk will read, from the counts in manifests, without reading a table.

The estimate decides where a trace runs, and never changes the answer. A capture counts the rows of its boundaries, times the share of its
records that are needed. The estimate assumes groups of equal size.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from headwater.graph.associations import Source
from headwater.graph.model import node_id
from headwater.graph.records.lists import block_of_source
from headwater.graph.trace.session import Capture, Session

_FILES = 1_000  # files of a source or sink; further files are assumed to have the same writers and readers
_CAPTURES = 500  # captures that an estimate visits
_SCANNED = 50  # rows that can be scanned in the time that one row takes to follow


def expected_rows(session: Session, begin: str, *, forward: bool, goal_datasets: Collection[str] | None, row_limit: int) -> int:
    """Return the number of rows that a walk from the records of a table is expected to read. Counting stops at `row_limit`."""
    counts = _count_by_file(session, begin)
    return (_DownstreamEstimate if forward else _UpstreamEstimate)(session, goal_datasets, row_limit).run(counts)


class _EstimatedWalk:
    """An estimate that visits each capture of a walk once. `_needed_records` holds the number of needed records of each capture."""

    def __init__(self, session: Session, goal_datasets: Collection[str] | None, row_limit: int) -> None:
        self._session = session
        self._goal_datasets = goal_datasets
        self._row_limit = row_limit
        self._needed_records: dict[str, float] = {}
        self._total = 0.0

    def run(self, counts: dict[int, int]) -> int:
        self._start_captures(counts)
        visits = 0
        while self._needed_records and visits < _CAPTURES and self._total <= self._row_limit:
            visits += 1
            identifier = self._pick_capture()
            needed_rows = self._needed_records.pop(identifier)
            capture = self._session.get_capture(identifier)
            self._step(capture, needed_rows, self._session.store.boundary_rows(self._session.tenant, identifier))
        return int(min(self._total, 2.0**62))

    def _start_captures(self, counts: dict[int, int]) -> None:
        raise NotImplementedError

    def _pick_capture(self) -> str:
        raise NotImplementedError

    def _step(self, capture: Capture, needed_rows: float, rows: dict[int, int]) -> None:
        raise NotImplementedError

    def _is_finished(self, identifier: str) -> tuple[str, str]:
        return self._session.get_capture(identifier).manifest.ended, identifier

    def _add(self, identifier: str, records: float) -> None:
        self._needed_records[identifier] = self._needed_records.get(identifier, 0.0) + records


class _UpstreamEstimate(_EstimatedWalk):
    """The estimate of a walk from the files that captures wrote to the files that they read."""

    def _start_captures(self, counts: dict[int, int]) -> None:
        files = {self._session.files[number].block: number for number in counts}
        for block, writer in self._session.store.catalog.writers(self._session.tenant, files).items():
            self._add(writer, counts[files[block]])

    def _pick_capture(self) -> str:
        return max(self._needed_records, key=self._is_finished)

    def _step(self, capture: Capture, needed_rows: float, rows: dict[int, int]) -> None:
        sink = capture.manifest.sink
        written_rows = rows.get(sink.boundary, 0) if sink else 0
        if not written_rows:
            return
        share = min(1.0, needed_rows / written_rows)
        self._total += share * sum(rows.values())
        for source in capture.manifest.sources:
            if self._goal_datasets is None or _find_dataset_id(source) in self._goal_datasets:
                self._read(capture, source, share)

    def _read(self, capture: Capture, source: Source, share: float) -> None:
        """Add a share of a source's records to the needed records of each capture that wrote the source."""
        files = capture.files_of(source)
        first = [block_of_source(file) for file in files.first(_FILES)]
        writer_of_block = self._session.store.catalog.writers(self._session.tenant, first)
        for writer in set(writer_of_block.values()):
            writer_capture = self._session.get_capture(writer)
            read_share = sum(writer_id == writer for writer_id in writer_of_block.values()) * len(files) / len(first)
            self._add(
                writer,
                share * _count_written_rows(self._session, writer_capture) * min(1.0, read_share / max(1, len(writer_capture.files))),
            )


class _DownstreamEstimate(_EstimatedWalk):
    """The estimate of a walk from the files that captures read to the files that they wrote."""

    def _start_captures(self, counts: dict[int, int]) -> None:
        files = {self._session.files[number].block: number for number in counts}
        read_by = self._session.store.catalog.readers(self._session.tenant, files, self._goal_datasets)
        for block, captures in read_by.items():
            for capture in captures:
                self._add(capture, counts[files[block]])

    def _pick_capture(self) -> str:
        return min(self._needed_records, key=self._is_finished)

    def _step(self, capture: Capture, needed_rows: float, rows: dict[int, int]) -> None:
        most_rows = max(rows.values(), default=0)
        if not most_rows:
            return
        share = min(1.0, needed_rows / most_rows)
        self._total += share * sum(rows.values()) + sum(rows.values()) / _SCANNED
        written_rows = share * _count_written_rows(self._session, capture)
        first = [file.block for file in capture.files.first(_FILES)]
        readers: set[str] = set().union(*self._session.store.catalog.readers(self._session.tenant, first, self._goal_datasets).values())
        for reader in readers - {capture.id}:
            self._add(reader, written_rows)


def _count_by_file(session: Session, table: str) -> dict[int, int]:
    in_memory = session.get_columns(table)
    if in_memory is not None:
        numbers, counts = np.unique(in_memory["file"], return_counts=True)
        return dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    return dict(session.database.execute(f"SELECT file, count(*) FROM {table} GROUP BY file").fetchall())


def _count_written_rows(session: Session, capture: Capture) -> int:
    sink = capture.manifest.sink
    return session.store.boundary_rows(session.tenant, capture.id).get(sink.boundary, 0) if sink else 0


def _find_dataset_id(source: Source) -> str:
    return node_id("dataset", source.dataset.namespace, source.dataset.name)
