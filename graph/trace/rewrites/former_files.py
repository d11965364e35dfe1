"""Finds the former files of records, if the records are in files that no captured run wrote.

The upstream walk uses it for tables that other programs compacted or changed. A row that such a program changed comes from its former row
and from unknown data. The answer reports that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.row_ids import RowNumbers, TableFile, TableRows
from headwater.graph.trace.rewrites.tables import CANNOT, NEW_NUMBERS, WalkTables, format_table_name
from headwater.graph.trace.session import KnownFile, Session

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass
class FormerRecords:
    """Tables `origin, file, row` of records in former files, by the capture that wrote them.

    `rest` are records without a known former file.
    """

    rest: str
    by_writer: list[tuple[str, str]] = field(default_factory=list)


class FormerFiles:
    """Finds records in former files, for one walk."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tables = WalkTables(session)

    def find_former_records(self, table: str, files: Sequence[KnownFile]) -> FormerRecords:
        """Find the former files of the records in a table `origin, file, row`. No captured run wrote `files`."""
        session, former_records = self._session, FormerRecords(rest=table)
        parts: list[Columns] = []
        for file in filter(format_table_name, files):
            table_rows = self._tables.find_table(file.dataset)
            if isinstance(table_rows, str):
                self._tables.report_missing(
                    file, f"no known run wrote it, and whether it holds rows of earlier files cannot be told: {table_rows}"
                )
            elif table_rows is not None:
                parts += self._find_former_places(table, file, table_rows)
        if not parts:
            return former_records
        moved_records = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        moved_places = session.keep_in_memory(
            {"origin": moved_records["origin"], "file": moved_records["from_file"], "row": moved_records["from_row"]}
        )
        former_records.rest = session.make_table(
            f"SELECT origin, file, row FROM {table} ANTI JOIN {moved_places} USING (origin, file, row)"
        )
        writers = session.store.catalog.writers(
            session.tenant, [session.files[number].block for number in memory_tables.values(moved_records["file"])]
        )
        by_writer: dict[str, list[int]] = {}
        for number in memory_tables.values(moved_records["file"]).tolist():
            by_writer.setdefault(writers[session.files[number].block], []).append(number)
        for writer, numbers in by_writer.items():
            rows = memory_tables.taken(
                memory_tables.chosen(moved_records, ["origin", "file", "row"]), np.isin(moved_records["file"], numbers)
            )
            former_records.by_writer.append((writer, session.keep_in_memory(memory_tables.distinct(rows))))
        return former_records

    def _find_former_places(self, table: str, file: KnownFile, table_rows: TableRows) -> Iterator[Columns]:
        entry = table_rows.files.get(file.block.path)
        if entry is None or entry.length != file.block.length:
            self._tables.report_missing(
                file, "no known run wrote it, and its table's metadata do not tell of it: which rows it took over is not known"
            )
            return
        if entry.first is None:
            if entry.is_rewrite is not False:
                cause = "a run that is not known put" if entry.is_rewrite else "a run that is not known wrote it, and may have put"
                self._tables.report_missing(file, f"{cause} rows of earlier files into it; its table does not number its rows")
            return
        places = self._tables.list_places(table, file)
        try:
            rows = self._tables.read_numbers(table_rows, entry, file, memory_tables.values(np.sort(places["row"])))
        except CANNOT as error:
            self._tables.report_missing(file, f"no known run wrote it, and which of its rows earlier files had cannot be told: {error}")
            return
        targets = self._find_known_targets(table_rows, entry, file, rows)
        order = np.searchsorted(rows.rows, places["row"])
        order = np.minimum(order, max(len(rows.rows) - 1, 0))
        is_present = (rows.rows[order] == places["row"]) & (targets["file"][order] >= 0) if len(rows.rows) else np.zeros(0, np.bool_)
        if is_present.any():
            ordered_rows = order[is_present]
            yield {
                "origin": places["origin"][is_present], "from_file": np.full(len(ordered_rows), file.number, np.int64),
                "from_row": places["row"][is_present],
                "file": targets["file"][ordered_rows], "row": targets["row"][ordered_rows],
            }  # fmt: skip

    def _find_known_targets(self, table_rows: TableRows, entry: TableFile, file: KnownFile, rows: RowNumbers) -> Columns:
        """Return for each row the file and row that a captured run wrote, or −1."""
        places, holders = table_rows.find_holders(rows.numbers)
        if (places < 0).any():  # snapshots have expired
            table_rows = self._tables.add_captured_files(file.dataset, table_rows)
            places, holders = table_rows.find_holders(rows.numbers)
        targets = {"file": np.full(len(places), -1, np.int64), "row": np.full(len(places), -1, np.int64)}
        known_holders = {place: holders[place] for place in memory_tables.values(np.sort(places)).tolist() if place >= 0}
        is_own = np.isin(places, [place for place, holder in known_holders.items() if holder.path == entry.path])
        if entry.is_rewrite and is_own.any():
            self._tables.report_missing(file, NEW_NUMBERS)
        new = {place: holder for place, holder in known_holders.items() if holder.added < entry.added}
        has_new_version = rows.versions == memory_tables.mapped(places, {place: holder.version for place, holder in new.items()})
        written_files = self._tables.find_written_files(new, file.dataset)
        in_known = np.isin(places, list(written_files))
        is_open = ~is_own & ~(
            np.isin(places, list(new)) & has_new_version
        )  # other rows are in captured files, or no captured run ever wrote them
        self._search_candidates(table_rows, entry, file, rows, is_open, targets)
        for place, number in written_files.items():
            is_here = (places == place) & (targets["file"] < 0)
            targets["file"][is_here], targets["row"][is_here] = number, rows.numbers[is_here] - (new[place].first or 0)
        if count := int((is_open & in_known).sum()):
            reason = f"{count} of its records were changed since, by which run is not known: what else they are made of is missing"
            self._tables.report_missing(file, reason)
        if count := int((is_open & ~in_known).sum()):
            self._tables.report_missing(
                file, f"what {count} of its records were before is not known: the metadata of its table do not tell any more"
            )
        return targets

    def _search_candidates(
        self, table_rows: TableRows, entry: TableFile, file: KnownFile, rows: RowNumbers, is_open: Mask, targets: Columns
    ) -> None:
        """Search rows, by number and version, in earlier files that captured runs wrote. `is_open` marks the rows still to find."""
        if not is_open.any():
            return
        candidates = table_rows.find_earlier_files(entry, int(rows.versions[is_open].min()))
        for place, number in sorted(self._tables.find_written_files(dict(enumerate(candidates)), file.dataset).items()):
            is_searched = is_open.copy()
            if not is_searched.any():
                return
            try:
                target_numbers = self._tables.read_numbers(
                    table_rows, candidates[place], self._session.files[number], None, rows.numbers[is_searched]
                )
            except CANNOT as error:
                self._session.report(candidates[place].path, f"which rows it holds cannot be told: {error}", "missing")
                continue
            versions = dict(zip(target_numbers.numbers.tolist(), target_numbers.versions.tolist(), strict=True))
            is_found = is_searched & (rows.versions == memory_tables.mapped(rows.numbers, versions))
            targets["file"][is_found] = number
            targets["row"][is_found] = memory_tables.mapped(
                rows.numbers[is_found], dict(zip(target_numbers.numbers.tolist(), target_numbers.rows.tolist(), strict=True))
            )
            is_open &= ~is_found
