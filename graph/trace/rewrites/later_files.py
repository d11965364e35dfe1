"""Records as they lie in later files of their table that no known run wrote, and that a known run read.

For the walk downstream, at tables that others compacted or changed. What a known run made of a record in between is not told here: the walk
goes through that run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.row_ids import RowNumbers, TableRows
from headwater.graph.records import FileBlock
from headwater.graph.records.moved_files import Evidence
from headwater.graph.trace.rewrites.tables import CANNOT, NEW_NUMBERS, Tables, of_table
from headwater.graph.trace.session import KnownFile, Session


class Later:
    """Finds them, for one walk. `held` are, by dataset, files that no known run wrote or read and that the dataset has now."""

    def __init__(self, session: Session, held: Mapping[str, Sequence[FileBlock]]) -> None:
        self._session = session
        self._held = held
        self._foreign_files: dict[str, list[FileBlock]] = {}  # by dataset
        self._tables = Tables(session)

    def of(self, table: str, files: Sequence[KnownFile]) -> str | None:
        """The records of a table `origin, file, row` as they lie in later files that no known run wrote and a known run read."""
        parts: list[Columns] = []
        for dataset in dict.fromkeys(file.dataset for file in files if of_table(file)):
            read = self._foreign(dataset)
            known = self._tables.known(dataset) if read else None
            if known is None:
                continue
            group = [file for file in files if file.dataset == dataset]
            if isinstance(known, str):
                reason = f"what became of its records in files that no known run wrote cannot be told: {known}"
                self._session.say(dataset, reason, "missing")
                continue
            parts += self._later_of(table, group, known, read)
        if not parts:
            return None
        return self._session.hold(memory_tables.united(parts))

    def _later_of(self, table: str, files: Sequence[KnownFile], known: TableRows, read: Sequence[FileBlock]) -> Iterator[Columns]:
        session = self._session
        if any(file.block.path not in known.files for file in files):  # snapshots have expired
            known = self._tables.of_captures(files[0].dataset, known)
        begins, first_added = self._begins(table, files, known, read)
        if not begins:
            return
        asked = {name: np.concatenate([part[name] for part in begins]) for name in begins[0]}
        numbers = memory_tables.values(np.sort(asked["number"]))
        for block in read:
            entry = known.files.get(block.path)
            if entry is None or entry.length != block.length:
                self._session.say(block.path, "a run that is not known wrote it, and which records it took over is not known", "missing")
                continue
            if entry.added <= first_added or entry.first is None:
                continue
            target = session.known(block, files[0].dataset, files[0].shape)
            try:
                there = self._tables.numbers(known, entry, target, None, numbers)
                if entry.is_rewrite and self._tables.has_new_rows(known, entry, target):
                    self._tables.missing(target, NEW_NUMBERS)
            except CANNOT as error:
                self._tables.missing(target, f"a run that is not known wrote it, and which records it took over cannot be told: {error}")
                continue
            yield from self._taken_over(known, target, asked, there)

    def _begins(self, table: str, files: Sequence[KnownFile], known: TableRows, read: Sequence[FileBlock]) -> tuple[list[Columns], int]:
        """The records with their numbers and versions; and which commit brought the first of their files."""
        found: list[Columns] = []
        added: list[int] = []
        for file in files:
            entry = known.files.get(file.block.path)
            if entry is None or entry.length != file.block.length or entry.first is None:
                if entry is None or entry.first is not None or self._took_over(known, read):
                    self._tables.missing(file, "what became of its records in later files that no known run wrote is not known")
                continue
            if not self._tables.agrees(entry, file.block):
                continue
            places = self._tables.places(table, file)
            try:
                own = self._tables.numbers(known, entry, file, memory_tables.values(np.sort(places["row"])))
            except CANNOT as error:
                self._tables.missing(file, f"what became of its records in later files that no known run wrote cannot be told: {error}")
                continue
            at = np.searchsorted(own.rows, places["row"])
            found.append({"origin": places["origin"], "number": own.numbers[at], "version": own.versions[at]})
            added.append(entry.added)
        return found, min(added, default=0)

    def _taken_over(self, known: TableRows, target: KnownFile, asked: Columns, there: RowNumbers) -> Iterator[Columns]:
        """Those of the records that a later file has, as they were or changed since; not what a known run made of them, which it tells."""
        order = np.argsort(there.numbers, kind="stable")
        pairs = memory_tables.matched(asked["number"], there.numbers[order], most=2**31)
        assert pairs is not None  # noqa: S101 - no number is there twice
        ours, theirs = pairs[0], order[pairs[1]]
        later = there.versions[theirs] > asked["version"][ours]
        if later.any():
            made = {
                version: bool(self._tables.written(dict(enumerate(known.changed_at(version))), target.dataset))
                for version in memory_tables.values(np.sort(there.versions[theirs][later])).tolist()
            }
            by_known = np.array([made.get(version, False) for version in there.versions[theirs].tolist()], np.bool_)
            if (later & ~by_known).any():
                reason = "some of its records were changed, by which run is not known: what became of them may be of others too"
                self._session.say(target.block.path, reason, "superset")
            later &= ~by_known
        kept = later | (there.versions[theirs] == asked["version"][ours])
        if kept.any():
            yield {
                "origin": asked["origin"][ours[kept]], "file": np.full(int(kept.sum()), target.number, np.int64),
                "row": there.rows[theirs[kept]],
            }  # fmt: skip

    def _took_over(self, known: TableRows, read: Sequence[FileBlock]) -> bool:
        """Whether one of some files may hold rows of earlier ones."""
        entries = [known.files.get(block.path) for block in read]
        return any(entry is None or entry.is_rewrite is not False for entry in entries)

    def _foreign(self, dataset: str) -> list[FileBlock]:
        """The files of a dataset that a known run read and none wrote, here or elsewhere."""
        if dataset not in self._foreign_files:
            session = self._session
            catalog = session.store.catalog
            named = catalog.datasets.called(session.tenant, dataset)
            read = catalog.unwritten(session.tenant, named[0].path) if named else []
            moves = catalog.moves.origins(session.tenant, read)
            unknown = [block for block in read if block not in moves or moves[block].evidence is Evidence.UNKNOWN]
            self._foreign_files[dataset] = list(dict.fromkeys([*unknown, *self._held.get(dataset, ())]))
        return self._foreign_files[dataset]
