"""The walk downstream: from records to the records that were made from them, capture by capture.

The walk is the inverse of the walk upstream for influence. Records of a visit are ends if nothing further is reached from them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence

from headwater.graph.associations import Operator, Source
from headwater.graph.associations.references import POSITION_BITS
from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.trace.file_checks import Holding
from headwater.graph.trace.hops import Hops, say_problems
from headwater.graph.trace.links import (
    counts_alike,
    datasets_of,
    numbered_alike,
    read_as,
    readers,
    renumbered,
    say_counted_otherwise,
    say_read_before,
    scans_of,
    unread,
    writers,
)
from headwater.graph.trace.moved_files import later_places, renumber
from headwater.graph.trace.record_places import first_of_split
from headwater.graph.trace.rewrites.later_files import Later
from headwater.graph.trace.session import Capture, KnownFile, Session, mapped
from headwater.graph.trace.step.forward import Forward
from headwater.graph.trace.writers_by_place import as_read, counts_bytes

_WITHOUT_END = 2**62


class Downstream:
    """The walk downstream from a table of records. `visited` are all tables of records that the walk reached, including the start."""

    def __init__(
        self, session: Session, *, to: str | None = None, towards: Collection[str] | None = None, holding: Holding | None = None
    ) -> None:
        self.hops = Hops()
        self.reached: list[str] = []
        self.ends: list[str] = []
        self.visited: list[str] = []
        self._session = session
        self._later = Later(session, {holding.dataset: holding.foreign} if holding is not None else {})
        self._to = to
        self._arrived = holding.moved if holding is not None else {}
        self._is_shared = to is not None and bool(session.store.catalog.datasets.written_as(session.tenant, to))
        self._towards = towards  # the datasets that lead to `to`; None: follow all
        self._seen: dict[str, list[str]] = {}

    def run(self, begin: str) -> None:
        """Walk from a table `origin, file, row`."""
        waiting = deque([begin])
        carried: set[str] = set()  # tables of `Later`, which cover all later files
        first = True
        while waiting:
            table = waiting.popleft()
            self.visited.append(table)
            files = [self._session.files[number] for number in self._session.files_of([table])]
            is_goal = not first and self._reaches(table, files, is_carried=table in carried)
            read_by = readers(self._session, files, self._towards)
            for file in unread(self._session, [file for file in files if file.number not in read_by]) if first else ():
                say_read_before(self._session, file)
            first = False
            by_reader: dict[str, set[int]] = {}
            for number, captures in read_by.items():
                for capture in captures:
                    by_reader.setdefault(capture, set()).add(number)
            pruned = self._session.pruned(by_reader.keys())
            steps = [self._step(self._session.capture(reader), table, read) for reader, read in by_reader.items() if reader not in pruned]
            onward = [step for step in steps if step]
            onward += self._moved(table, files)
            if table not in carried and (later := self._later.of(table, files)):
                carried.add(later)
                onward.append(later)
            waiting.extend(onward)
            if table != begin and not is_goal and (ends := self._ends(table, onward)):
                self.ends.append(ends)

    def _reaches(self, table: str, files: Collection[KnownFile], *, is_carried: bool) -> bool:
        """Return whether records belong to the goal. The walk continues from them: a dataset may be made from its earlier content."""
        if self._to is None or not files:
            return False
        if next(iter(files)).dataset == self._to:
            self.reached.append(table)
            return True
        if self._is_shared and not is_carried and (read := read_as(self._session, files, self._to)):
            self.reached.append(self._in_files(table, read))
            return True
        return False

    def _moved(self, table: str, files: Collection[KnownFile]) -> list[str]:
        """Return the records at their later places in other files, a table for each dataset."""
        turns: dict[tuple[str, int], dict[int, int]] = {}  # a file may have been copied to several places
        found = later_places(self._session, files)
        for file in files:
            if arrived := self._arrived.get(file.number):
                found[file.number] = list({place.number: place for place in [*found.get(file.number, ()), *arrived]}.values())
        for number, places in found.items():
            for turn, file in enumerate(places):
                if self._towards is None or file.dataset in self._towards:
                    turns.setdefault((file.dataset, turn), {})[number] = file.number
        return [renumber(self._session, table, numbers) for numbers in turns.values()]

    def _in_files(self, table: str, files: Collection[int]) -> str:
        listed = ", ".join(map(str, sorted(files)))
        return self._session.table(f"SELECT origin, file, row FROM {table} WHERE file IN ({listed})")

    def _ends(self, table: str, onward: list[str]) -> str | None:
        """Return the records of a visit whose origin reached nothing further, or None if there are none."""
        if not onward:
            return table
        union = " UNION ".join(f"SELECT origin FROM {after}" for after in onward)
        ends = self._session.table(f"SELECT * FROM {table} ANTI JOIN ({union}) USING (origin)")
        return ends if self._session.count(ends) else None

    def _step(self, capture: Capture, table: str, files: set[int]) -> str | None:
        """Return the records that a capture made from these, or None if no record is new."""
        session = self._session
        output, _ = datasets_of(capture)
        if output is None or (self._towards is not None and output not in self._towards):
            return None
        say_problems(session, capture)
        references = {scan.id: refs for scan in scans_of(capture) if (refs := self._references(capture, scan, table, files))}
        written = Forward(session, capture, references).run()
        if written is None:
            return None
        reached = self._reached(capture, written)
        if not session.count(reached):
            return None
        self._seen.setdefault(capture.id, []).append(reached)
        self.hops.add(capture, reached, references)
        return reached

    def _reached(self, capture: Capture, written: str) -> str:
        """Return the written records that were not reached before. `file` is a number of the session."""
        session, seen = self._session, self._seen.get(capture.id, ())
        numbers = {place: session.written(capture, place).number for place in sorted(session.files_of([written]))}
        rows = session.columns(written) if not seen else None
        if rows is not None:
            return session.hold(
                memory_tables.distinct({"origin": rows["origin"], "file": memory_tables.mapped(rows["file"], numbers), "row": rows["row"]})
            )
        known = "".join(f" EXCEPT SELECT origin, file, row FROM {table}" for table in seen)
        return session.table(f"SELECT DISTINCT w.origin, {mapped('w.file', numbers)} AS file, w.row FROM {written} w{known}")

    def _references(self, capture: Capture, scan: Operator, table: str, files: set[int]) -> str | None:
        """Return the references of a scan to these records: a table `origin, ref`."""
        session, source = self._session, capture.source(scan.source)
        files = {number for number in files if capture.files_of(source).of(session.files[number].block) is not None}
        table, ranged = self._by_ranges(capture, source, table, files)
        followed = [*self._followed(capture, scan, files - ranged), *sorted(ranged)]
        otherwise = [number for number in followed if number not in ranged and not numbered_alike(session.files[number].shape, source)]
        if otherwise:
            kept = f"(SELECT origin, file, row FROM {table} WHERE file NOT IN ({', '.join(map(str, otherwise))}))"
            parts = [kept, *self._renumbered(capture, source, table, otherwise)]
            table = session.united(parts, ["origin", "file", "row"])
        ranges = [entry for number in followed for entry in self._ranges(capture, scan, number)]
        if not ranges:
            return None
        known = self._session.columns(table)
        if known is not None:
            return self._session.hold(memory_tables.united([_within(known, *entry) for entry in ranges]))
        values = ", ".join(f"({file}, {ordinal}, {low}, {high})" for file, ordinal, low, high in ranges)
        return self._session.table(
            f"SELECT DISTINCT t.origin, (m.ordinal::BIGINT << 40) | (t.row - m.low) AS ref FROM {table} t "
            f"JOIN (VALUES {values}) m(file, ordinal, low, high) ON m.file = t.file AND t.row >= m.low AND t.row < m.high"
        )

    def _by_ranges(self, capture: Capture, source: Source, table: str, files: set[int]) -> tuple[str, set[int]]:
        """Renumber the records of files whose writer or reader counts ranges of bytes. Return the table and these files."""
        met = [self._session.files[number] for number in sorted(files)]
        ranged = [file for file in met if counts_bytes(file, source) and capture.files_of(source).of(file.block)]
        if not ranged:
            return table, set()
        listed = ", ".join(str(file.number) for file in ranged)
        parts = [f"(SELECT origin, file, row FROM {table} WHERE file NOT IN ({listed}))"]
        for file in ranged:
            found = as_read(self._session, table, file, capture, source)
            if found is None:
                say_counted_otherwise(self._session, file, capture.id)
            else:
                parts.append(found)
        return self._session.united(parts, ["origin", "file", "row"]), {file.number for file in ranged}

    def _renumbered(self, capture: Capture, source: Source, table: str, files: Sequence[int]) -> Iterator[str]:
        """Yield the records of files that the reader numbers differently, in its numbers. Report the files whose numbers are not known."""
        for number in files:
            file = self._session.files[number]
            found = renumbered(self._session, table, file, source)
            if found is None:
                say_counted_otherwise(self._session, file, capture.id)
            else:
                yield found

    def _followed(self, capture: Capture, scan: Operator, files: set[int]) -> list[int]:
        """Return the files whose n-th record is the scan's n-th, as far as their writer is known."""
        session, source = self._session, capture.source(scan.source)
        kept = []
        made = writers(session, [session.files[number] for number in sorted(files)])
        for number in sorted(files):
            sink = session.capture(made[number]).manifest.sink if number in made else None
            read = capture.files_of(source).of(session.files[number].block) is not None
            if sink is None or not read or counts_alike(sink, source):
                kept.append(number)
            else:
                say_counted_otherwise(session, session.files[number], capture.id)
        return kept

    def _ranges(self, capture: Capture, scan: Operator, number: int) -> list[tuple[int, int, int, int]]:
        """Return tuples of the file, an ordinal, and the range of the file's records that the ordinal covers."""
        source, file = capture.source(scan.source), self._session.files[number]
        entry = capture.files_of(source).of(file.block)
        if entry is None:
            return []
        if format_of(source.format).spans_ordinals:
            return [(number, entry.ordinal, 0, 2**63 - 1)]
        if format_of(source.format).counts_from_file:
            return [(number, ordinal, 0, _WITHOUT_END) for ordinal in range(entry.ordinal, entry.ordinal + entry.ordinals)]
        splits = sorted((split.start, split.ordinal) for split in capture.files_of(source).splits(entry))
        if not splits or (len(splits) == 1 and splits[0][0] == 0):
            return [(number, splits[0][1] if splits else entry.ordinal, 0, _WITHOUT_END)]
        shape = Shape.of_source(source)
        lows = [0 if start == 0 else first_of_split(self._session, file, shape, start) for start, _ in splits]
        if None in lows:
            return []
        known = [low for low in lows if low is not None]
        highs = [*known[1:], _WITHOUT_END]
        return [(number, ordinal, low, high) for (_, ordinal), low, high in zip(splits, known, highs, strict=True)]


def _within(places: Columns, file: int, ordinal: int, low: int, high: int) -> Columns:
    """Return the references `origin, ref` to the places that are in a range of a file."""
    met = memory_tables.taken(places, (places["file"] == file) & (places["row"] >= low) & (places["row"] < high))
    return {"origin": met["origin"], "ref": (ordinal << POSITION_BITS) | (met["row"] - low)}
