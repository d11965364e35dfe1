"""Follows records upstream, to the records that they came from, capture by capture, the latest first.

If a capture wrote a file, the walk continues in that capture. If no captured run wrote the file, its records are sources. Every table of
the walk has the columns `origin, file, row`; `file` is the number of the file in the session.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from headwater.graph.associations import Source
from headwater.graph.duck import memory_tables
from headwater.graph.trace.changed_records import report_edited_records
from headwater.graph.trace.hops import Hops, report_problems
from headwater.graph.trace.links import (
    Names,
    find_attributes,
    find_writers,
    has_same_numbering,
    list_datasets,
    list_needed_names,
    report_numbering,
    report_overwritten_file,
    translate_to_writer,
)
from headwater.graph.trace.merge_actions import find_merge_action
from headwater.graph.trace.moved_files import find_former_files, renumber_files
from headwater.graph.trace.record_places import locate_references
from headwater.graph.trace.rewrites.former_files import FormerFiles
from headwater.graph.trace.session import Capture, KnownFile, Session, map_places
from headwater.graph.trace.step.backward import Backward
from headwater.graph.trace.writers_by_place import split_by_writers
from headwater.graph.trace.writers_by_row_number import is_shared, split_by_numbers

_PLACED = ["origin", "file", "row"]


@dataclass(frozen=True, slots=True)
class Goal:
    """The end of an upstream walk.

    The walk stops at `datasets`, and `follows` decides which datasets lead there. `allowed_records` is a table `file, row`: the walk
    follows no other records. `targets` is a table of records to stop at.
    """

    datasets: Collection[str] = ()
    follows: Callable[[str], bool] = lambda _: True
    allowed_records: str | None = None
    targets: str | None = None


class Upstream:
    """An upstream walk. Its results are in `reached`, `ends` and `uncertain_files`."""

    def __init__(self, session: Session, goal: Goal, *, witness: bool) -> None:
        self.hops = Hops()
        self.reached: list[str] = []  # records of the goal's dataset, or its targets
        self.ends: list[str] = []  # records that no known run wrote
        self.end_files: set[int] = set()  # the files of the ends
        self.uncertain_files: set[int] = set()  # files in which the reached record is not known any more
        self.uncertain_tables: list[str] = []  # tables `origin, file` for these files
        self._session = session
        self._former = FormerFiles(session)
        self._goal = goal
        self._witness = witness
        self._queue: dict[tuple[str, Names], list[str]] = {}
        self._visited_tables: dict[tuple[str, Names], list[str]] = {}

    def run(self, begin: str, names: Names) -> None:
        """Walk upstream from a table of records. `names` are the columns of a witness."""
        self._sort_records(begin, self._list_files([begin])[0], lambda _: names, None, first=True)
        while self._queue:
            key = max(self._queue, key=lambda key: (self._session.get_capture(key[0]).manifest.ended, key[0], sorted(key[1] or ())))
            tables = self._queue.pop(key)
            if (new_records := self._keep_new_records(key, tables)) is not None:
                self._step(self._session.get_capture(key[0]), key[1], new_records)

    def _step(self, capture: Capture, names: Names, begin: str) -> None:
        session, sink = self._session, capture.manifest.sink
        if sink is None:
            return
        report_problems(session, capture, witness=self._witness)
        _, datasets = list_datasets(capture)
        wanted_scans = [scan for scan, dataset in datasets.items() if self._goal.follows(dataset)]
        columns = find_attributes(sink, names) if self._witness else None
        step = Backward(
            session, capture, witness=self._witness, columns=columns, goal_operators=capture.plan.find_operators_above(wanted_scans)
        )
        step_result = step.run(begin, map_places(session, capture, sorted(session.list_files_of([begin]))))
        sources = {scan: capture.source(capture.plan.operators[scan].source) for scan, _ in step_result.scans}
        place_tables = [
            locate_references(session, capture, sources[scan], self._unite_tables(parts)) for (scan, _), parts in step_result.scans.items()
        ]
        report_edited_records(session, capture, place_tables)
        tables_by_scan = dict(zip((scan for scan, _ in step_result.scans), place_tables, strict=True))
        effect = (
            find_merge_action(session, capture, begin, tables_by_scan)
            if len(wanted_scans) == len(datasets) and len(tables_by_scan) == len(place_tables)
            else None
        )
        self.hops.add(
            capture,
            begin,
            {scan for (scan, _), table in zip(step_result.scans, place_tables, strict=True) if session.count_rows(table)},
            effect,
        )
        wanted_tables = [self._keep_wanted(table) for table in place_tables]
        for (scan, scan_columns), table, is_uncertain_by_file in zip(
            step_result.scans, wanted_tables, self._list_files(wanted_tables), strict=True
        ):
            needed_columns = list_needed_names(capture.plan.operators[scan], scan_columns) if self._witness else None
            self._sort_records(
                table, is_uncertain_by_file, partial(self._translate_names, sources[scan], needed_columns), capture, sources[scan]
            )

    def _translate_names(self, source: Source, columns: Names, writer: Capture) -> Names:
        if writer.manifest.sink is None:
            return columns
        names = translate_to_writer(source, writer.manifest.sink, columns)
        if names is None and columns is not None:
            reason = "its columns may have been found by field ids: all columns of its records count as read"
            self._session.report(source.path, reason, "superset")
        return names

    def _keep_wanted(self, table: str) -> str:
        session, goal = self._session, self._goal
        if not goal.targets:
            return table
        self.reached.append(
            session.make_table(f"SELECT DISTINCT r.origin, r.file, r.row FROM {table} r SEMI JOIN {goal.targets} USING (file, row)")
        )
        return session.make_table(f"SELECT r.origin, r.file, r.row FROM {table} r SEMI JOIN {goal.allowed_records} USING (file, row)")

    def _list_files(self, tables: Sequence[str]) -> list[dict[int, bool]]:
        in_memory = [self._session.get_columns(table) for table in tables]
        files_by_table = [dict.fromkeys(memory_tables.values(columns["file"]).tolist(), False) if columns else {} for columns in in_memory]
        parts = [(part, table) for part, (table, columns) in enumerate(zip(tables, in_memory, strict=True)) if columns is None]
        if parts:
            rows = " UNION ALL ".join(f"SELECT {part} AS part, file, row IS NULL AS vague FROM {table}" for part, table in parts)
            query = f"SELECT part, file, bool_or(vague) FROM ({rows}) GROUP BY part, file ORDER BY part, file"
            for part, file, is_uncertain in self._session.database.execute(query).fetchall():
                files_by_table[part][file] = is_uncertain
        return files_by_table

    def _sort_records(
        self,
        table: str,
        is_uncertain_by_file: Mapping[int, bool],
        names: Callable[[Capture], Names],
        reader: Capture | None,
        source: Source | None = None,
        *,
        first: bool = False,
    ) -> None:
        """Assign the records of a step to the goal, to the captures that wrote them, or to the ends of the walk."""
        session, goal = self._session, self._goal
        uncertain_numbers = {number for number, is_uncertain in is_uncertain_by_file.items() if is_uncertain}
        self.uncertain_files |= uncertain_numbers
        if uncertain_numbers:
            self.uncertain_tables.append(session.make_table(f"SELECT DISTINCT origin, file FROM {table} WHERE row IS NULL"))
        numbers = list(is_uncertain_by_file)
        goal_files = {number for number in numbers if goal.datasets and not first and session.files[number].dataset in goal.datasets}
        other_files = [session.files[number] for number in numbers if number not in goal_files]
        writer_of_file = find_writers(session, other_files)
        if goal.datasets and not first:  # a file that was read as part of another dataset may have been written as part of this one
            goal_files |= {
                number for number, writer in writer_of_file.items() if list_datasets(session.get_capture(writer))[0] in goal.datasets
            }
            other_files = [file for file in other_files if file.number not in goal_files]
        if goal_files:
            self.reached.append(self._select_files(table, goal_files, not uncertain_numbers and len(goal_files) == len(numbers)))
        other_files = self._sort_moved(table, other_files, writer_of_file, names, reader, source)
        shared = {
            file.number: file
            for file in other_files
            if file.number in writer_of_file and is_shared(session, file, writer_of_file[file.number], source)
        }
        if shared:
            self._sort_shared(table, list(shared.values()), names, reader, source)
        other_files = [file for file in other_files if file.number not in shared]
        matching_writers = self._keep_matching_writers(
            {file.number: writer_of_file[file.number] for file in other_files if file.number in writer_of_file}, reader, source
        )
        if pruned_captures := session.find_pruned(set(matching_writers.values())):
            matching_writers = {number: writer for number, writer in matching_writers.items() if writer not in pruned_captures}
        by_writer: dict[str, set[int]] = {}
        for number, writer in matching_writers.items():
            by_writer.setdefault(writer, set()).add(number)
        for writer, files in by_writer.items():
            needed_columns = names(session.get_capture(writer)) if self._witness else None
            self._queue.setdefault((writer, needed_columns), []).append(
                self._select_files(table, files, not uncertain_numbers and len(files) == len(numbers))
            )
        ends = {file.number for file in other_files} - matching_writers.keys()
        if ends:
            self._add_ends(
                self._select_files(table, ends, not uncertain_numbers and len(ends) == len(numbers)),
                ends,
                ends - writer_of_file.keys(),
                names,
            )
            for number in ends if reader else ():
                report_overwritten_file(session, session.files[number], reader)  # type: ignore[arg-type]

    def _add_ends(self, table: str, files: set[int], unwritten_files: set[int], names: Callable[[Capture], Names]) -> None:
        """Add records of files without a captured writer to the ends, unless another program copied them from other files."""
        former_records = self._former.find_former_records(table, [self._session.files[number] for number in sorted(unwritten_files)])
        for writer, records in former_records.by_writer:
            needed_columns = names(self._session.get_capture(writer)) if self._witness else None
            self._queue.setdefault((writer, needed_columns), []).append(self._keep_wanted(records))
        if former_records.rest == table or self._session.count_rows(former_records.rest):
            self.end_files |= files if former_records.rest == table else self._session.list_files_of([former_records.rest])
            self.ends.append(former_records.rest)

    def _sort_moved(
        self,
        table: str,
        files: list[KnownFile],
        written_files: Collection[int],
        names: Callable[[Capture], Names],
        reader: Capture | None,
        source: Source | None,
    ) -> list[KnownFile]:
        former_files = find_former_files(self._session, [file for file in files if file.number not in written_files])
        if former_files:
            self._sort_records(
                renumber_files(self._session, table, former_files), dict.fromkeys(former_files.values(), False), names, reader, source
            )
        return [file for file in files if file.number not in former_files]

    def _sort_shared(
        self, table: str, files: Sequence[KnownFile], names: Callable[[Capture], Names], reader: Capture | None, source: Source | None
    ) -> None:
        session = self._session
        joint_parts = split_by_numbers(session, table, files, source)
        single_parts = [split_by_writers(session, table, file, reader, source) for file in joint_parts.skipped_files]
        for writer, records in [*joint_parts.by_writer, *(writer_records for parts in single_parts for writer_records in parts.by_writer)]:
            needed_columns = names(session.get_capture(writer)) if self._witness else None
            self._queue.setdefault((writer, needed_columns), []).append(records)
        for unwritten_table in [joint_parts.unwritten, *(parts.unwritten for parts in single_parts)]:
            if unwritten_table is not None and session.count_rows(unwritten_table):
                self.end_files |= {row[0] for row in session.database.execute(f"SELECT DISTINCT file FROM {unwritten_table}").fetchall()}
                self.ends.append(unwritten_table)

    def _keep_matching_writers(self, writer_of_file: dict[int, str], reader: Capture | None, source: Source | None) -> dict[int, str]:
        """Keep the writers whose n-th record of the file is also the reader's n-th record."""
        if reader is None or source is None:
            return writer_of_file
        matching_writers: dict[int, str] = {}
        for number, writer in writer_of_file.items():
            sink = self._session.get_capture(writer).manifest.sink
            if sink is None or has_same_numbering(sink, source):
                matching_writers[number] = writer
            else:
                report_numbering(self._session, self._session.files[number], reader.id)
        return matching_writers

    def _select_files(self, table: str, files: set[int], all_of_it: bool) -> str:
        if all_of_it:
            return table
        in_memory = self._session.get_columns(table)
        if in_memory is not None:
            return self._session.keep_in_memory(
                memory_tables.distinct(
                    memory_tables.taken(memory_tables.chosen(in_memory, _PLACED), np.isin(in_memory["file"], list(files)))
                )
            )
        numbers = ", ".join(map(str, sorted(files)))
        return self._session.make_table(f"SELECT DISTINCT origin, file, row FROM {table} WHERE row IS NOT NULL AND file IN ({numbers})")

    def _unite_tables(self, queries: Sequence[str]) -> str:
        if len(queries) == 1:
            return queries[0]
        if all(self._session.get_columns(query) is not None for query in queries):
            return self._session.unite_columns(queries, ["origin", "ref"])
        return f"({' UNION '.join(f'FROM {query}' for query in queries)})"

    def _keep_new_records(self, key: tuple[str, Names], tables: list[str]) -> str | None:
        """Return the records that have not passed this capture, for these columns, before."""
        exclusions = "".join(f" EXCEPT SELECT origin, file, row FROM {table}" for table in self._visited_tables.get(key, ()))
        table = tables[0] if len(tables) == 1 else self._session.unite_columns(tables, _PLACED)
        table = self._session.make_table(f"SELECT origin, file, row FROM {table}{exclusions}") if exclusions else table
        if not self._session.count_rows(table):
            return None
        self._visited_tables.setdefault(key, []).append(table)
        return table
