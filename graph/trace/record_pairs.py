"""A trace as pairs of records: which of the records reached belongs to which of those that it began with.

For exports, of any number: all records are followed in one walk, and what comes out is read in batches, so that a trace of millions needs
no more memory than one of a few. What an answer would say of itself (the path, what is missing, whether it is exact) is known before the
first pair is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.files.formats import format_of
from headwater.graph.records import AssociationStore
from headwater.graph.records.decode import Longs
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import Hop, Incomplete, TraceRequest
from headwater.graph.trace.coarse_hops import Lifted
from headwater.graph.trace.datasets import Dataset, find_dataset
from headwater.graph.trace.engine import Found, files_shown, lifted_of, walk
from headwater.graph.trace.paths_between import towards_of
from headwater.graph.trace.session import KnownFile, Session, mapped
from headwater.graph.trace.tracer import sparing_session
from headwater.graph.trace.versions import find_asked

_BATCH = 10_000

Place = tuple[int, int]  # number of the file, row in it


@dataclass(frozen=True, slots=True)
class TracedPairs:
    """What one trace found. Rows are 0-based in their file; `files` lists every file that the trace met, by number.

    `datasets` were reached as a whole, through hops that are known by datasets only: they stand for records of every selected one.
    """

    dataset: str
    path: Sequence[Hop]
    incomplete: Sequence[Incomplete]
    exact: bool
    datasets: Sequence[str]
    files: Sequence[KnownFile]
    _session: Session
    _begin: str
    _pairs: str
    _blurred: str | None

    def line_numbers(self, number: int) -> Longs | None:
        """The line, from 1, of each record of a text file; None for other formats, and where the file no longer tells."""
        file = self.files[number]
        try:
            return format_of(file.shape.format).line_numbers(self._session.reader, file.readable(), file.shape)
        except (SourceChangedError, UnsupportedError, OSError):
            return None

    def selected(self) -> Iterator[Place]:
        """The records that the trace began with, by file and row."""
        return self._read(f"SELECT file, row FROM {self._begin} ORDER BY origin")

    def reached(self) -> Iterator[Place]:
        """The records that it reached and that it did not begin with, each once."""
        return self._read(f"SELECT DISTINCT file, row FROM {self._pairs} p ANTI JOIN {self._begin} b USING (file, row) ORDER BY file, row")

    def pairs(self) -> Iterator[tuple[int, int, int, int]]:
        """Selected file and row, reached file and row; each pair once, and no record with itself."""
        return self._read(f"SELECT b.file, b.row, p.file, p.row FROM {self._pairs} p JOIN {self._begin} b USING (origin){self._other}")

    def between_selected(self) -> Iterator[tuple[int, int, int, int]]:
        """Those pairs of which both ends are selected."""
        return self._read(
            f"SELECT b.file, b.row, p.file, p.row FROM {self._pairs} p JOIN {self._begin} b USING (origin) "
            f"JOIN {self._begin} o ON o.file = p.file AND o.row = p.row{self._other}"
        )

    def vague(self) -> Iterator[tuple[int, int, int]]:
        """Selected file and row, and a file of which it cannot be told any more which record it was."""
        if self._blurred is None:
            return iter(())
        return self._read(f"SELECT DISTINCT b.file, b.row, v.file FROM {self._blurred} v JOIN {self._begin} b USING (origin)")

    @property
    def _other(self) -> str:
        return " WHERE b.file <> p.file OR b.row <> p.row"

    def _read(self, query: str) -> Iterator[Any]:
        cursor = self._session.database.execute(query)
        while rows := cursor.fetchmany(_BATCH):
            yield from rows


@asynccontextmanager
async def trace_pairs(graph: GraphStore | None, store: AssociationStore, tenant: str, request: TraceRequest) -> AsyncIterator[TracedPairs]:
    """Trace records, each on its own, in one walk. `limit` and `values` of the request have no part in it.

    The iterators of what it gives are to be read one after the other. Raises as `trace` does.
    """
    with sparing_session(store, tenant) as session:
        dataset = await find_asked(session, graph, request)
        target = await find_dataset(session, graph, request.to) if request.to else None
        to = target.id if target is not None else None
        towards = await towards_of(session, graph, dataset.id, to, forward=request.forward) if to else None
        found = await asyncio.to_thread(walk, session, dataset, to, towards, request, each=True)
        lifted = await lifted_of(graph, session, found, to, towards, forward=request.forward)
        yield await asyncio.to_thread(_pairs, session, dataset.id, found, lifted, target, request)


def _pairs(session: Session, dataset: str, found: Found, lifted: Lifted, target: Dataset | None, request: TraceRequest) -> TracedPairs:
    to = target.id if target is not None else None
    path = [*found.hops.listed(session, dataset, None), *lifted.hops]
    lifted.say(session)
    shown = files_shown(session, lifted, target, request)
    pairs = _union(session, found.reached if to else found.ends, "origin, file, row", shown)
    vague = {number for number in found.vague if to is None or session.files[number].dataset == to}
    blurred = _union(session, found.blurred, "origin, file", vague) if vague else None
    session.forget({found.begin, pairs, blurred})
    datasets = sorted(lifted.datasets) if to is None else [to] if to in lifted.passed else []
    return TracedPairs(
        dataset=dataset, path=path, incomplete=list(session.incomplete), exact=session.is_whole and not vague and not datasets,
        datasets=datasets, files=session.files, _session=session, _begin=found.begin, _pairs=pairs, _blurred=blurred,
    )  # fmt: skip


def _union(session: Session, tables: Sequence[str], columns: str, files: Collection[int]) -> str:
    if not tables:
        return session.table(f"SELECT {', '.join(f'NULL::BIGINT AS {name}' for name in columns.split(', '))} LIMIT 0")
    kept = mapped("file", dict.fromkeys(files, 1))
    # What the walk gives is distinct, table by table; a second look at it would take more memory than all else.
    return session.table(" UNION ".join(f"SELECT {columns} FROM {table} WHERE {kept} = 1" for table in tables))
