"""Follows records downstream, to the records that were made from them, capture by capture.

This is the inverse of the upstream walk for influence. A record from which the walk reaches no other record is an end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence

from headwater.graph.associations import Operator, Source
from headwater.graph.associations.references import POSITION_BITS
from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.trace.changed_records import report_edited_records
from headwater.graph.trace.file_checks import DatasetContent
from headwater.graph.trace.hops import Hops, report_problems
from headwater.graph.trace.links import (
    find_files_of_dataset,
    find_readers,
    find_unread_files,
    find_writers,
    has_same_numbering,
    has_shape_numbering,
    list_datasets,
    list_scans,
    renumber_records,
    report_changed_file,
    report_numbering,
)
from headwater.graph.trace.moved_files import find_later_files, renumber_files
from headwater.graph.trace.record_places import find_first_of_split
from headwater.graph.trace.rewrites.later_files import LaterFiles
from headwater.graph.trace.session import Capture, KnownFile, Session, format_mapping
from headwater.graph.trace.step.forward import Forward
from headwater.graph.trace.writers_by_place import number_as_reader, uses_byte_ranges
from headwater.graph.trace.writers_by_row_number import report_unstated_records

_WITHOUT_END = 2**62


class Downstream:
    """A walk downstream from a table of records. `visited` are all tables of records that the walk reached, including the start."""

    def __init__(
        self,
        session: Session,
        *,
        target: str | None = None,
        goal_datasets: Collection[str] | None = None,
        holding: DatasetContent | None = None,
    ) -> None:
        self.hops = Hops()
        self.reached: list[str] = []
        self.ends: list[str] = []
        self.visited: list[str] = []
        self._session = session
        self._later = LaterFiles(session, {holding.dataset: holding.foreign_files} if holding is not None else {})
        self._target = target
        self._arrivals = holding.moved_files if holding is not None else {}
        self._is_shared = target is not None and bool(session.store.catalog.datasets.written_as(session.tenant, target))
        self._goal_datasets = goal_datasets  # the datasets that lead to `target`; None: follow all
        self._visited_tables: dict[str, list[str]] = {}

    def run(self, begin: str, *, reports_changes: bool = True) -> None:
        """Follow the records. `reports_changes`: report files of `begin` that changed after a job had read them."""
        queue = deque([begin])
        carried: set[str] = set()  # tables of `Later`, which cover all later files
        first = True
        while queue:
            table = queue.popleft()
            self.visited.append(table)
            files = [self._session.files[number] for number in self._session.list_files_of([table])]
            is_goal = not first and self._keep_goal_records(table, files, is_carried=table in carried)
            read_by = find_readers(self._session, files, self._goal_datasets)
            for file in find_unread_files(self._session, [file for file in files if file.number not in read_by]) if reports_changes else ():
                report_changed_file(self._session, file)
            reports_changes = False
            first = False
            by_reader: dict[str, set[int]] = {}
            for number, captures in read_by.items():
                for capture in captures:
                    by_reader.setdefault(capture, set()).add(number)
            pruned_captures = self._session.find_pruned(by_reader.keys())
            steps = [
                self._step(self._session.get_capture(reader), table, block_numbers)
                for reader, block_numbers in by_reader.items()
                if reader not in pruned_captures
            ]
            next_tables = [step for step in steps if step]
            next_tables += self._follow_moves(table, files)
            if table not in carried and (later_table := self._later.find_later_records(table, files)):
                carried.add(later_table)
                next_tables.append(later_table)
            queue.extend(next_tables)
            if table != begin and not is_goal and (ends := self._find_ends(table, next_tables)):
                self.ends.append(ends)

    def _keep_goal_records(self, table: str, files: Collection[KnownFile], *, is_carried: bool) -> bool:
        """Return whether records belong to the target dataset, and collect them if so.

        The walk continues from collected records, because a job may read and overwrite the same dataset.
        """
        if self._target is None or not files:
            return False
        if next(iter(files)).dataset == self._target:
            self.reached.append(table)
            return True
        if self._is_shared and not is_carried and (goal_files := find_files_of_dataset(self._session, files, self._target)):
            self.reached.append(self._select_files(table, goal_files))
            return True
        return False

    def _follow_moves(self, table: str, files: Collection[KnownFile]) -> list[str]:
        """Return the records at the places to which their files were moved or copied, as a table for each dataset."""
        turns: dict[tuple[str, int], dict[int, int]] = {}  # a file may have been copied to several places
        later_files = find_later_files(self._session, files)
        for file in files:
            if known_arrivals := self._arrivals.get(file.number):
                later_files[file.number] = list(
                    {place.number: place for place in [*later_files.get(file.number, ()), *known_arrivals]}.values()
                )
        for number, places in later_files.items():
            for turn, file in enumerate(places):
                if self._goal_datasets is None or file.dataset in self._goal_datasets:
                    turns.setdefault((file.dataset, turn), {})[number] = file.number
        return [renumber_files(self._session, table, numbers) for numbers in turns.values()]

    def _select_files(self, table: str, files: Collection[int]) -> str:
        numbers = ", ".join(map(str, sorted(files)))
        return self._session.make_table(f"SELECT origin, file, row FROM {table} WHERE file IN ({numbers})")

    def _find_ends(self, table: str, next_tables: list[str]) -> str | None:
        if not next_tables:
            return table
        union = " UNION ".join(f"SELECT origin FROM {after}" for after in next_tables)
        ends = self._session.make_table(f"SELECT * FROM {table} ANTI JOIN ({union}) USING (origin)")
        return ends if self._session.count_rows(ends) else None

    def _step(self, capture: Capture, table: str, files: set[int]) -> str | None:
        """Return the records that a capture made from records of a table. None if the walk had reached all of them before."""
        session = self._session
        output, _ = list_datasets(capture)
        if output is None or (self._goal_datasets is not None and output not in self._goal_datasets):
            return None
        with session.reports_about(output):
            return self._write_records(capture, table, files)

    def _write_records(self, capture: Capture, table: str, files: set[int]) -> str | None:
        session = self._session
        report_problems(session, capture)
        report_unstated_records(session, capture)
        references = {scan.id: refs for scan in list_scans(capture) if (refs := self._find_references(capture, scan, table, files))}
        written_tables = Forward(session, capture, references).run()
        if written_tables is None:
            return None
        new_records = self._keep_new_records(capture, written_tables)
        if not session.count_rows(new_records):
            return None
        report_edited_records(session, capture, [table])
        self._visited_tables.setdefault(capture.id, []).append(new_records)
        self.hops.add(capture, new_records, references)
        return new_records

    def _keep_new_records(self, capture: Capture, written_table: str) -> str:
        session, visited_tables = self._session, self._visited_tables.get(capture.id, ())
        numbers = {place: session.get_written_file(capture, place).number for place in sorted(session.list_files_of([written_table]))}
        rows = session.get_columns(written_table) if not visited_tables else None
        if rows is not None:
            return session.keep_in_memory(
                memory_tables.distinct({"origin": rows["origin"], "file": memory_tables.mapped(rows["file"], numbers), "row": rows["row"]})
            )
        exclusions = "".join(f" EXCEPT SELECT origin, file, row FROM {table}" for table in visited_tables)
        return session.make_table(
            f"SELECT DISTINCT w.origin, {format_mapping('w.file', numbers)} AS file, w.row FROM {written_table} w{exclusions}"
        )

    def _find_references(self, capture: Capture, scan: Operator, table: str, files: set[int]) -> str | None:
        session, source = self._session, capture.source(scan.source)
        files = {number for number in files if capture.files_of(source).of(session.files[number].block) is not None}
        table, range_files = self._renumber_byte_ranges(capture, source, table, files)
        usable_files = [*self._select_files_to_follow(capture, scan, files - range_files), *sorted(range_files)]
        renumbered_files = [
            number for number in usable_files if number not in range_files and not has_shape_numbering(session.files[number].shape, source)
        ]
        if renumbered_files:
            same_numbers = f"(SELECT origin, file, row FROM {table} WHERE file NOT IN ({', '.join(map(str, renumbered_files))}))"
            parts = [same_numbers, *self._renumber_files(capture, source, table, renumbered_files)]
            table = session.unite_columns(parts, ["origin", "file", "row"])
        ranges = [entry for number in usable_files for entry in self._list_ranges(capture, scan, number)]
        if not ranges:
            return None
        in_memory = self._session.get_columns(table)
        if in_memory is not None:
            return self._session.keep_in_memory(memory_tables.united([_select_range(in_memory, *entry) for entry in ranges]))
        values = ", ".join(f"({file}, {ordinal}, {first_row}, {end_row})" for file, ordinal, first_row, end_row in ranges)
        return self._session.make_table(
            f"SELECT DISTINCT t.origin, (m.ordinal::BIGINT << 40) | (t.row - m.low) AS ref FROM {table} t "
            f"JOIN (VALUES {values}) m(file, ordinal, low, high) ON m.file = t.file AND t.row >= m.low AND t.row < m.high"
        )

    def _renumber_byte_ranges(self, capture: Capture, source: Source, table: str, files: set[int]) -> tuple[str, set[int]]:
        known_files = [self._session.files[number] for number in sorted(files)]
        range_files = [file for file in known_files if uses_byte_ranges(file, source) and capture.files_of(source).of(file.block)]
        if not range_files:
            return table, set()
        numbers = ", ".join(str(file.number) for file in range_files)
        parts = [f"(SELECT origin, file, row FROM {table} WHERE file NOT IN ({numbers}))"]
        for file in range_files:
            renumbered_table = number_as_reader(self._session, table, file, capture, source)
            if renumbered_table is None:
                report_numbering(self._session, file, capture.id)
            else:
                parts.append(renumbered_table)
        return self._session.unite_columns(parts, ["origin", "file", "row"]), {file.number for file in range_files}

    def _renumber_files(self, capture: Capture, source: Source, table: str, files: Sequence[int]) -> Iterator[str]:
        for number in files:
            file = self._session.files[number]
            renumbered_table = renumber_records(self._session, table, file, source)
            if renumbered_table is None:
                report_numbering(self._session, file, capture.id)
            else:
                yield renumbered_table

    def _select_files_to_follow(self, capture: Capture, scan: Operator, files: set[int]) -> list[int]:
        session, source = self._session, capture.source(scan.source)
        usable_files = []
        writer_of_file = find_writers(session, [session.files[number] for number in sorted(files)])
        for number in sorted(files):
            sink = session.get_capture(writer_of_file[number]).manifest.sink if number in writer_of_file else None
            is_read = capture.files_of(source).of(session.files[number].block) is not None
            if sink is None or not is_read or has_same_numbering(sink, source):
                usable_files.append(number)
            else:
                report_numbering(session, session.files[number], capture.id)
        return usable_files

    def _list_ranges(self, capture: Capture, scan: Operator, number: int) -> list[tuple[int, int, int, int]]:
        """Return tuples of a file number, an ordinal, and the first and end row that the ordinal covers."""
        source, file = capture.source(scan.source), self._session.files[number]
        entry = capture.files_of(source).of(file.block)
        if entry is None:
            return []
        if get_format(source.format).spans_ordinals:
            return [(number, entry.ordinal, 0, 2**63 - 1)]
        if get_format(source.format).counts_from_file:
            return [(number, ordinal, 0, _WITHOUT_END) for ordinal in range(entry.ordinal, entry.ordinal + entry.ordinals)]
        splits = sorted((split.start, split.ordinal) for split in capture.files_of(source).splits(entry))
        if not splits or (len(splits) == 1 and splits[0][0] == 0):
            return [(number, splits[0][1] if splits else entry.ordinal, 0, _WITHOUT_END)]
        shape = Shape.from_source(source)
        lows = [0 if start == 0 else find_first_of_split(self._session, file, shape, start) for start, _ in splits]
        if None in lows:
            return []
        known_lows = [first_row for first_row in lows if first_row is not None]
        highs = [*known_lows[1:], _WITHOUT_END]
        return [(number, ordinal, first_row, end_row) for (_, ordinal), first_row, end_row in zip(splits, known_lows, highs, strict=True)]


def _select_range(places: Columns, file: int, ordinal: int, first_row: int, end_row: int) -> Columns:
    """Return references `origin, ref` to the rows from `first_row` up to `end_row` of a file."""
    matching_places = memory_tables.taken(places, (places["file"] == file) & (places["row"] >= first_row) & (places["row"] < end_row))
    return {"origin": matching_places["origin"], "ref": (ordinal << POSITION_BITS) | (matching_places["row"] - first_row)}
