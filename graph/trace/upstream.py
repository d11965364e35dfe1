"""The walk upstream: from records to the records that they came from, capture by capture, the latest first.

If a capture wrote a file block, the walk goes on into that capture. If no known run wrote it, its records are sources. Every table of the
walk has the columns `origin, file, row`; `file` is the number that the session gave the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from headwater.graph.associations import Source
from headwater.graph.duck import memory_tables
from headwater.graph.trace.hops import Hops, say_problems
from headwater.graph.trace.links import (
    Names,
    attributes_of,
    counts_alike,
    datasets_of,
    names_at_writer,
    needed_names,
    say_counted_otherwise,
    say_overwritten,
    writers,
)
from headwater.graph.trace.merge_actions import merged
from headwater.graph.trace.moved_files import former_places, renumber
from headwater.graph.trace.record_places import placed
from headwater.graph.trace.rewrites.former_files import Former
from headwater.graph.trace.session import Capture, KnownFile, Session, places_among
from headwater.graph.trace.step.backward import Backward
from headwater.graph.trace.writers_by_place import by_writers
from headwater.graph.trace.writers_by_row_number import by_numbers, is_shared

_PLACED = ["origin", "file", "row"]


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a walk ends.

    `to` is a dataset to stop at; `follows` tells which datasets lead there. `within` is a table of the only records (`file, row`) to be
    followed, `targets` one of those to stop at.
    """

    to: str | None = None
    follows: Callable[[str], bool] = lambda _: True
    within: str | None = None
    targets: str | None = None


class Upstream:
    """See the module's docstring. `reached`, `ends` and `vague` hold what came out."""

    def __init__(self, session: Session, goal: Goal, *, witness: bool) -> None:
        self.hops = Hops()
        self.reached: list[str] = []  # records of the goal's dataset, or its targets
        self.ends: list[str] = []  # records that nobody known wrote
        self.end_files: set[int] = set()  # the files that hold them
        self.vague: set[int] = set()  # files of which it cannot be told any more which record it was
        self.blurred: list[str] = []  # tables `origin, file` of them
        self._session = session
        self._former = Former(session)
        self._goal = goal
        self._witness = witness
        self._waiting: dict[tuple[str, Names], list[str]] = {}
        self._seen: dict[tuple[str, Names], list[str]] = {}

    def run(self, begin: str, names: Names) -> None:
        """From a table of records; `names` are the columns of a witness."""
        self._sort(begin, self._met([begin])[0], lambda _: names, None, first=True)
        while self._waiting:
            key = max(self._waiting, key=lambda key: (self._session.capture(key[0]).manifest.ended, key[0], sorted(key[1] or ())))
            tables = self._waiting.pop(key)
            if (fresh := self._fresh(key, tables)) is not None:
                self._step(self._session.capture(key[0]), key[1], fresh)

    def _step(self, capture: Capture, names: Names, begin: str) -> None:
        session, sink = self._session, capture.manifest.sink
        if sink is None:
            return
        say_problems(session, capture, witness=self._witness)
        _, datasets = datasets_of(capture)
        wanted = [scan for scan, dataset in datasets.items() if self._goal.follows(dataset)]
        columns = attributes_of(sink, names) if self._witness else None
        step = Backward(session, capture, witness=self._witness, columns=columns, towards=capture.plan.above(wanted))
        reached = step.run(begin, places_among(session, capture, sorted(session.files_of([begin]))))
        sources = {scan: capture.source(capture.plan.operators[scan].source) for scan, _ in reached.scans}
        located = [placed(session, capture, sources[scan], self._one(parts)) for (scan, _), parts in reached.scans.items()]
        found = dict(zip((scan for scan, _ in reached.scans), located, strict=True))
        done = merged(session, capture, begin, found) if len(wanted) == len(datasets) and len(found) == len(located) else None
        self.hops.add(capture, begin, {scan for (scan, _), table in zip(reached.scans, located, strict=True) if session.count(table)}, done)
        kept = [self._wanted(table) for table in located]
        for (scan, given), table, met in zip(reached.scans, kept, self._met(kept), strict=True):
            needed = needed_names(capture.plan.operators[scan], given) if self._witness else None
            self._sort(table, met, partial(self._at_writer, sources[scan], needed), capture, sources[scan])

    def _at_writer(self, source: Source, needed: Names, writer: Capture) -> Names:
        if writer.manifest.sink is None:
            return needed
        names = names_at_writer(source, writer.manifest.sink, needed)
        if names is None and needed is not None:
            reason = "its columns may have been found by field ids: all columns of its records count as read"
            self._session.say(source.path, reason, "superset")
        return names

    def _wanted(self, table: str) -> str:
        """Of a step's records those that are to be followed; the goal's targets among them are reached."""
        session, goal = self._session, self._goal
        if not goal.targets:
            return table
        self.reached.append(
            session.table(f"SELECT DISTINCT r.origin, r.file, r.row FROM {table} r SEMI JOIN {goal.targets} USING (file, row)")
        )
        return session.table(f"SELECT r.origin, r.file, r.row FROM {table} r SEMI JOIN {goal.within} USING (file, row)")

    def _met(self, tables: Sequence[str]) -> list[dict[int, bool]]:
        """Of each table the files that it has records of, and whether it is not known of some of these which they are."""
        known = [self._session.columns(table) for table in tables]
        met = [dict.fromkeys(memory_tables.values(columns["file"]).tolist(), False) if columns else {} for columns in known]
        parts = [(part, table) for part, (table, columns) in enumerate(zip(tables, known, strict=True)) if columns is None]
        if parts:
            rows = " UNION ALL ".join(f"SELECT {part} AS part, file, row IS NULL AS vague FROM {table}" for part, table in parts)
            query = f"SELECT part, file, bool_or(vague) FROM ({rows}) GROUP BY part, file ORDER BY part, file"
            for part, file, vague in self._session.database.execute(query).fetchall():
                met[part][file] = vague
        return met

    def _sort(
        self,
        table: str,
        met: Mapping[int, bool],
        names: Callable[[Capture], Names],
        reader: Capture | None,
        source: Source | None = None,
        *,
        first: bool = False,
    ) -> None:
        """Hand records on: to the goal, to the captures that wrote them, or to the ends."""
        session, goal = self._session, self._goal
        vague = {number for number, unknown in met.items() if unknown}
        self.vague |= vague
        if vague:
            self.blurred.append(session.table(f"SELECT DISTINCT origin, file FROM {table} WHERE row IS NULL"))
        numbers = list(met)
        here = {number for number in numbers if goal.to is not None and not first and session.files[number].dataset == goal.to}
        onward = [session.files[number] for number in numbers if number not in here]
        wrote = writers(session, onward)
        if goal.to is not None and not first:  # what was read as a file of another dataset may have been written as one of this
            here |= {number for number, writer in wrote.items() if datasets_of(session.capture(writer))[0] == goal.to}
            onward = [file for file in onward if file.number not in here]
        if here:
            self.reached.append(self._only(table, here, not vague and len(here) == len(numbers)))
        onward = self._sort_moved(table, onward, wrote, names, reader, source)
        shared = {file.number: file for file in onward if file.number in wrote and is_shared(session, file, wrote[file.number], source)}
        if shared:
            self._sort_shared(table, list(shared.values()), names, reader, source)
        onward = [file for file in onward if file.number not in shared]
        found = self._followed({file.number: wrote[file.number] for file in onward if file.number in wrote}, reader, source)
        if pruned := session.pruned(set(found.values())):
            found = {number: writer for number, writer in found.items() if writer not in pruned}
        by_writer: dict[str, set[int]] = {}
        for number, writer in found.items():
            by_writer.setdefault(writer, set()).add(number)
        for writer, files in by_writer.items():
            needed = names(session.capture(writer)) if self._witness else None
            self._waiting.setdefault((writer, needed), []).append(self._only(table, files, not vague and len(files) == len(numbers)))
        ends = {file.number for file in onward} - found.keys()
        if ends:
            self._end(self._only(table, ends, not vague and len(ends) == len(numbers)), ends, ends - wrote.keys(), names)
            for number in ends if reader else ():
                say_overwritten(session, session.files[number], reader)  # type: ignore[arg-type]

    def _end(self, table: str, files: set[int], unwritten: set[int], names: Callable[[Capture], Names]) -> None:
        """Records of which no known run wrote the file: ends, but for those that a run which is not known took over from other files."""
        former = self._former.of(table, [self._session.files[number] for number in sorted(unwritten)])
        for writer, records in former.by_writer:
            needed = names(self._session.capture(writer)) if self._witness else None
            self._waiting.setdefault((writer, needed), []).append(self._wanted(records))
        if former.rest == table or self._session.count(former.rest):
            self.end_files |= files if former.rest == table else self._session.files_of([former.rest])
            self.ends.append(former.rest)

    def _sort_moved(
        self,
        table: str,
        files: list[KnownFile],
        wrote: Collection[int],
        names: Callable[[Capture], Names],
        reader: Capture | None,
        source: Source | None,
    ) -> list[KnownFile]:
        """Hand on the records of files that lay elsewhere when they were written, as they lay there; return the other files."""
        moved = former_places(self._session, [file for file in files if file.number not in wrote])
        if moved:
            self._sort(renumber(self._session, table, moved), dict.fromkeys(moved.values(), False), names, reader, source)
        return [file for file in files if file.number not in moved]

    def _sort_shared(
        self, table: str, files: Sequence[KnownFile], names: Callable[[Capture], Names], reader: Capture | None, source: Source | None
    ) -> None:
        """Hand on the records of files that several captures may have written."""
        session = self._session
        together = by_numbers(session, table, files, source)
        one_by_one = [by_writers(session, table, file, reader, source) for file in together.left]
        for writer, records in [*together.by_writer, *(found for parts in one_by_one for found in parts.by_writer)]:
            needed = names(session.capture(writer)) if self._witness else None
            self._waiting.setdefault((writer, needed), []).append(records)
        for rest in [together.rest, *(parts.rest for parts in one_by_one)]:
            if rest is not None and session.count(rest):
                self.end_files |= {row[0] for row in session.database.execute(f"SELECT DISTINCT file FROM {rest}").fetchall()}
                self.ends.append(rest)

    def _followed(self, found: dict[int, str], reader: Capture | None, source: Source | None) -> dict[int, str]:
        """Those writers whose n-th record of the file is the reader's n-th."""
        if reader is None or source is None:
            return found
        kept: dict[int, str] = {}
        for number, writer in found.items():
            sink = self._session.capture(writer).manifest.sink
            if sink is None or counts_alike(sink, source):
                kept[number] = writer
            else:
                say_counted_otherwise(self._session, self._session.files[number], reader.id)
        return kept

    def _only(self, table: str, files: set[int], all_of_it: bool) -> str:
        """The records in some files, each once."""
        if all_of_it:
            return table
        known = self._session.columns(table)
        if known is not None:
            return self._session.hold(
                memory_tables.distinct(memory_tables.taken(memory_tables.chosen(known, _PLACED), np.isin(known["file"], list(files))))
            )
        listed = ", ".join(map(str, sorted(files)))
        return self._session.table(f"SELECT DISTINCT origin, file, row FROM {table} WHERE row IS NOT NULL AND file IN ({listed})")

    def _one(self, queries: Sequence[str]) -> str:
        """The rows `origin, ref` of several tables or queries, each once."""
        if len(queries) == 1:
            return queries[0]
        if all(self._session.columns(query) is not None for query in queries):
            return self._session.united(queries, ["origin", "ref"])
        return f"({' UNION '.join(f'FROM {query}' for query in queries)})"

    def _fresh(self, key: tuple[str, Names], tables: list[str]) -> str | None:
        """Records that have not gone through this capture for these columns before."""
        known = "".join(f" EXCEPT SELECT origin, file, row FROM {table}" for table in self._seen.get(key, ()))
        table = tables[0] if len(tables) == 1 else self._session.united(tables, _PLACED)
        table = self._session.table(f"SELECT origin, file, row FROM {table}{known}") if known else table
        if not self._session.count(table):
            return None
        self._seen.setdefault(key, []).append(table)
        return table
