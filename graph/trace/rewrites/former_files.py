"""Records of files that no known run wrote, as they lay in earlier files of their table which a known run wrote.

For the walk upstream, at tables that others compacted or changed. A row that was changed since is made of its former self, and of what
else is not known: the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.row_ids import RowNumbers, TableFile, TableRows
from headwater.graph.trace.rewrites.tables import CANNOT, NEW_NUMBERS, Tables, of_table
from headwater.graph.trace.session import KnownFile, Session

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass
class FormerRecords:
    """Tables `origin, file, row`: records as they were before, by who wrote them; `rest` are those of which no earlier file is known."""

    rest: str
    by_writer: list[tuple[str, str]] = field(default_factory=list)


class Former:
    """Finds them, for one walk."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tables = Tables(session)

    def of(self, table: str, files: Sequence[KnownFile]) -> FormerRecords:
        """Those records of a table `origin, file, row` that an earlier file of their table held; no known run wrote `files`."""
        session, found = self._session, FormerRecords(rest=table)
        parts: list[Columns] = []
        for file in filter(of_table, files):
            known = self._tables.known(file.dataset)
            if isinstance(known, str):
                self._tables.missing(file, f"no known run wrote it, and whether it holds rows of earlier files cannot be told: {known}")
            elif known is not None:
                parts += self._former_of(table, file, known)
        if not parts:
            return found
        moved = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        left = session.hold({"origin": moved["origin"], "file": moved["from_file"], "row": moved["from_row"]})
        found.rest = session.table(f"SELECT origin, file, row FROM {table} ANTI JOIN {left} USING (origin, file, row)")
        writers = session.store.catalog.writers(
            session.tenant, [session.files[number].block for number in memory_tables.values(moved["file"])]
        )
        by_writer: dict[str, list[int]] = {}
        for number in memory_tables.values(moved["file"]).tolist():
            by_writer.setdefault(writers[session.files[number].block], []).append(number)
        for writer, numbers in by_writer.items():
            rows = memory_tables.taken(memory_tables.chosen(moved, ["origin", "file", "row"]), np.isin(moved["file"], numbers))
            found.by_writer.append((writer, session.hold(memory_tables.distinct(rows))))
        return found

    def _former_of(self, table: str, file: KnownFile, known: TableRows) -> Iterator[Columns]:
        entry = known.files.get(file.block.path)
        if entry is None or entry.length != file.block.length:
            self._tables.missing(
                file, "no known run wrote it, and its table's metadata do not tell of it: which rows it took over is not known"
            )
            return
        if entry.first is None:
            if entry.is_rewrite is not False:
                who = "a run that is not known put" if entry.is_rewrite else "a run that is not known wrote it, and may have put"
                self._tables.missing(file, f"{who} rows of earlier files into it; its table does not number its rows")
            return
        places = self._tables.places(table, file)
        try:
            rows = self._tables.numbers(known, entry, file, memory_tables.values(np.sort(places["row"])))
        except CANNOT as error:
            self._tables.missing(file, f"no known run wrote it, and which of its rows earlier files had cannot be told: {error}")
            return
        targets = self._targets(known, entry, file, rows)
        order = np.searchsorted(rows.rows, places["row"])
        order = np.minimum(order, max(len(rows.rows) - 1, 0))
        met = (rows.rows[order] == places["row"]) & (targets["file"][order] >= 0) if len(rows.rows) else np.zeros(0, np.bool_)
        if met.any():
            chosen = order[met]
            yield {
                "origin": places["origin"][met], "from_file": np.full(len(chosen), file.number, np.int64), "from_row": places["row"][met],
                "file": targets["file"][chosen], "row": targets["row"][chosen],
            }  # fmt: skip

    def _targets(self, known: TableRows, entry: TableFile, file: KnownFile, rows: RowNumbers) -> Columns:
        """For each row the file of the session, and the place in it, where a known run wrote it; −1 where none did."""
        places, listed = known.holders(rows.numbers)
        if (places < 0).any():  # snapshots have expired
            known = self._tables.of_captures(file.dataset, known)
            places, listed = known.holders(rows.numbers)
        to = {"file": np.full(len(places), -1, np.int64), "row": np.full(len(places), -1, np.int64)}
        met = {place: listed[place] for place in memory_tables.values(np.sort(places)).tolist() if place >= 0}
        own = np.isin(places, [place for place, holder in met.items() if holder.path == entry.path])
        if entry.is_rewrite and own.any():
            self._tables.missing(file, NEW_NUMBERS)
        new = {place: holder for place, holder in met.items() if holder.added < entry.added}
        as_new = rows.versions == memory_tables.mapped(places, {place: holder.version for place, holder in new.items()})
        written = self._tables.written(new, file.dataset)
        in_known = np.isin(places, list(written))
        left = ~own & ~(np.isin(places, list(new)) & as_new)  # others are in known files, or nobody known ever wrote them
        self._search(known, entry, file, rows, left, to)
        for place, number in written.items():
            here = (places == place) & (to["file"] < 0)
            to["file"][here], to["row"][here] = number, rows.numbers[here] - (new[place].first or 0)
        if count := int((left & in_known).sum()):
            reason = f"{count} of its records were changed since, by which run is not known: what else they are made of is missing"
            self._tables.missing(file, reason)
        if count := int((left & ~in_known).sum()):
            self._tables.missing(
                file, f"what {count} of its records were before is not known: the metadata of its table do not tell any more"
            )
        return to

    def _search(self, known: TableRows, entry: TableFile, file: KnownFile, rows: RowNumbers, left: Mask, to: Columns) -> None:
        """Find rows, number and version, in earlier files that known runs wrote; `left` are then those that are in none."""
        if not left.any():
            return
        candidates = known.before(entry, int(rows.versions[left].min()))
        for place, number in sorted(self._tables.written(dict(enumerate(candidates)), file.dataset).items()):
            asked = left.copy()
            if not asked.any():
                return
            try:
                there = self._tables.numbers(known, candidates[place], self._session.files[number], None, rows.numbers[asked])
            except CANNOT as error:
                self._session.say(candidates[place].path, f"which rows it holds cannot be told: {error}", "missing")
                continue
            versions = dict(zip(there.numbers.tolist(), there.versions.tolist(), strict=True))
            found = asked & (rows.versions == memory_tables.mapped(rows.numbers, versions))
            to["file"][found] = number
            to["row"][found] = memory_tables.mapped(
                rows.numbers[found], dict(zip(there.numbers.tolist(), there.rows.tolist(), strict=True))
            )
            left &= ~found
