"""Finds records again in later files of the same table that no captured run wrote, if a captured run read these files.

The downstream walk uses it for tables that other programs compacted or changed. Records that passed through a captured run in between are
left out, because the walk goes through that run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.row_ids import RowNumbers, TableRows
from headwater.graph.records import FileBlock
from headwater.graph.records.moved_files import Evidence
from headwater.graph.trace.rewrites.tables import CANNOT, NEW_NUMBERS, WalkTables, format_table_name
from headwater.graph.trace.session import KnownFile, Session


class LaterFiles:
    """Finds records in later files, for one walk."""

    def __init__(self, session: Session, held_blocks: Mapping[str, Sequence[FileBlock]]) -> None:
        self._session = session
        self._held_blocks = held_blocks
        self._foreign_files: dict[str, list[FileBlock]] = {}  # by dataset
        self._tables = WalkTables(session)

    def find_later_records(self, table: str, files: Sequence[KnownFile]) -> str | None:
        """Return the records of a table `origin, file, row` at their places in later files."""
        parts: list[Columns] = []
        for dataset in dict.fromkeys(file.dataset for file in files if format_table_name(file)):
            foreign_blocks = self._list_foreign_files(dataset)
            table_rows = self._tables.find_table(dataset) if foreign_blocks else None
            if table_rows is None:
                continue
            group = [file for file in files if file.dataset == dataset]
            if isinstance(table_rows, str):
                reason = f"what became of its records in files that no known run wrote cannot be told: {table_rows}"
                self._session.report(dataset, reason, "missing")
                continue
            parts += self._find_in_foreign_files(table, group, table_rows, foreign_blocks)
        if not parts:
            return None
        return self._session.keep_in_memory(memory_tables.united(parts))

    def _find_in_foreign_files(
        self, table: str, files: Sequence[KnownFile], table_rows: TableRows, foreign_blocks: Sequence[FileBlock]
    ) -> Iterator[Columns]:
        session = self._session
        if any(file.block.path not in table_rows.files for file in files):  # snapshots have expired
            table_rows = self._tables.add_captured_files(files[0].dataset, table_rows)
        begins, first_added = self._number_records(table, files, table_rows, foreign_blocks)
        if not begins:
            return
        records = {name: np.concatenate([part[name] for part in begins]) for name in begins[0]}
        numbers = memory_tables.values(np.sort(records["number"]))
        for block in foreign_blocks:
            entry = table_rows.files.get(block.path)
            if entry is None or entry.length != block.length:
                self._session.report(block.path, "a run that is not known wrote it, and which records it took over is not known", "missing")
                continue
            if entry.added <= first_added or entry.first is None:
                continue
            target = session.add_file(block, files[0].dataset, files[0].shape)
            try:
                target_numbers = self._tables.read_numbers(table_rows, entry, target, None, numbers)
                if entry.is_rewrite and self._tables.has_new_rows(table_rows, entry, target):
                    self._tables.report_missing(target, NEW_NUMBERS)
            except CANNOT as error:
                self._tables.report_missing(
                    target, f"a run that is not known wrote it, and which records it took over cannot be told: {error}"
                )
                continue
            yield from self._match_later_rows(table_rows, target, records, target_numbers)

    def _number_records(
        self, table: str, files: Sequence[KnownFile], table_rows: TableRows, foreign_blocks: Sequence[FileBlock]
    ) -> tuple[list[Columns], int]:
        numbered_records: list[Columns] = []
        added: list[int] = []
        for file in files:
            entry = table_rows.files.get(file.block.path)
            if entry is None or entry.length != file.block.length or entry.first is None:
                if entry is None or entry.first is not None or self._report_takeovers(table_rows, foreign_blocks):
                    self._tables.report_missing(file, "what became of its records in later files that no known run wrote is not known")
                continue
            if not self._tables.check_agreement(entry, file.block):
                continue
            places = self._tables.list_places(table, file)
            try:
                own_numbers = self._tables.read_numbers(table_rows, entry, file, memory_tables.values(np.sort(places["row"])))
            except CANNOT as error:
                self._tables.report_missing(
                    file, f"what became of its records in later files that no known run wrote cannot be told: {error}"
                )
                continue
            indexes = np.searchsorted(own_numbers.rows, places["row"])
            numbered_records.append(
                {"origin": places["origin"], "number": own_numbers.numbers[indexes], "version": own_numbers.versions[indexes]}
            )
            added.append(entry.added)
        return numbered_records, min(added, default=0)

    def _match_later_rows(
        self, table_rows: TableRows, target: KnownFile, records: Columns, target_numbers: RowNumbers
    ) -> Iterator[Columns]:
        order = np.argsort(target_numbers.numbers, kind="stable")
        pairs = memory_tables.matched(records["number"], target_numbers.numbers[order], most=2**31)
        assert pairs is not None  # noqa: S101 - no number is there twice
        record_indexes, target_indexes = pairs[0], order[pairs[1]]
        is_later = target_numbers.versions[target_indexes] > records["version"][record_indexes]
        if is_later.any():
            written_numbers = {
                version: bool(self._tables.find_written_files(dict(enumerate(table_rows.list_files_of_commit(version))), target.dataset))
                for version in memory_tables.values(np.sort(target_numbers.versions[target_indexes][is_later])).tolist()
            }
            by_known = np.array(
                [written_numbers.get(version, False) for version in target_numbers.versions[target_indexes].tolist()], np.bool_
            )
            if (is_later & ~by_known).any():
                reason = "some of its records were changed, by which run is not known: what became of them may be of others too"
                self._session.report(target.block.path, reason, "superset")
            is_later &= ~by_known
        is_kept = is_later | (target_numbers.versions[target_indexes] == records["version"][record_indexes])
        if is_kept.any():
            yield {
                "origin": records["origin"][record_indexes[is_kept]], "file": np.full(int(is_kept.sum()), target.number, np.int64),
                "row": target_numbers.rows[target_indexes[is_kept]],
            }  # fmt: skip

    def _report_takeovers(self, table_rows: TableRows, foreign_blocks: Sequence[FileBlock]) -> bool:
        entries = [table_rows.files.get(block.path) for block in foreign_blocks]
        return any(entry is None or entry.is_rewrite is not False for entry in entries)

    def _list_foreign_files(self, dataset: str) -> list[FileBlock]:
        """Return the files of a dataset that a captured run read and that no captured run wrote, here or elsewhere."""
        if dataset not in self._foreign_files:
            session = self._session
            catalog = session.store.catalog
            entries = catalog.datasets.called(session.tenant, dataset)
            unwritten_blocks = catalog.unwritten(session.tenant, entries[0].path) if entries else []
            moves = catalog.moves.origins(session.tenant, unwritten_blocks)
            foreign_blocks = [block for block in unwritten_blocks if block not in moves or moves[block].evidence is Evidence.UNKNOWN]
            self._foreign_files[dataset] = list(dict.fromkeys([*foreign_blocks, *self._held_blocks.get(dataset, ())]))
        return self._foreign_files[dataset]
