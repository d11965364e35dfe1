"""Traces many records at once, and returns pairs of a selected record and a record that it leads to.

Exports use this module for any number of records. One walk follows all records, and the result is read in batches, so memory does not grow
with the number of pairs. The path, the missing parts and the exactness are computed before the first pair is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.files.formats import get_format
from headwater.graph.records import AssociationStore
from headwater.graph.records.decode import Longs
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import Hop, Incomplete, TraceRequest
from headwater.graph.trace.coarse_hops import CoarseLineage
from headwater.graph.trace.datasets import Dataset, find_dataset
from headwater.graph.trace.engine import WalkResult, drop_discarded, find_goal_datasets, lift_to_datasets, select_listed_files, walk
from headwater.graph.trace.replay_alternates import find_targets
from headwater.graph.trace.session import KnownFile, Session, format_mapping
from headwater.graph.trace.tracer import open_sparing_session
from headwater.graph.trace.versions import find_requested_dataset

_BATCH = 10_000

Place = tuple[int, int]  # number of the file, row in it


@dataclass(frozen=True, slots=True)
class TracedPairs:
    """The result of one trace. Rows are 0-based in their file; `files` lists every file of the trace, by number.

    `datasets` were reached as a whole, through hops that are known by datasets only. Each of them belongs to every selected record.
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
    _uncertain_pairs: str | None

    def line_numbers(self, number: int) -> Longs | None:
        """Return the 1-based line of each record of a text file. None for other formats, and for files that cannot be read."""
        file = self.files[number]
        try:
            return get_format(file.shape.format).find_line_numbers(self._session.reader, file.make_read_file(), file.shape)
        except (SourceChangedError, UnsupportedError, OSError):
            return None

    def read_selected(self) -> Iterator[Place]:
        """Yield file and row of each record that the trace began with."""
        return self._read_batches(f"SELECT file, row FROM {self._begin} ORDER BY origin")

    def read_reached(self) -> Iterator[Place]:
        """Yield file and row of each reached record, once, without the records that the trace began with."""
        return self._read_batches(
            f"SELECT DISTINCT file, row FROM {self._pairs} p ANTI JOIN {self._begin} b USING (file, row) ORDER BY file, row"
        )

    def read_pairs(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield tuples of selected file and row, reached file and row. Each pair occurs once. No record is paired with itself."""
        return self._read_batches(
            f"SELECT b.file, b.row, p.file, p.row FROM {self._pairs} p JOIN {self._begin} b USING (origin){self._query_other_pairs}"
        )

    def read_selected_pairs(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield the pairs in which both records are selected."""
        return self._read_batches(
            f"SELECT b.file, b.row, p.file, p.row FROM {self._pairs} p JOIN {self._begin} b USING (origin) "
            f"JOIN {self._begin} o ON o.file = p.file AND o.row = p.row{self._query_other_pairs}"
        )

    def uncertain_pairs(self) -> Iterator[tuple[int, int, int]]:
        """Yield the file and row of a selected record, and a file in which the row of the reached record is unknown."""
        if self._uncertain_pairs is None:
            return iter(())
        return self._read_batches(
            f"SELECT DISTINCT b.file, b.row, v.file FROM {self._uncertain_pairs} v JOIN {self._begin} b USING (origin)"
        )

    @property
    def _query_other_pairs(self) -> str:
        return " WHERE b.file <> p.file OR b.row <> p.row"

    def _read_batches(self, query: str) -> Iterator[Any]:
        cursor = self._session.database.execute(query)
        while rows := cursor.fetchmany(_BATCH):
            yield from rows


@asynccontextmanager
async def trace_pairs(graph: GraphStore | None, store: AssociationStore, tenant: str, request: TraceRequest) -> AsyncIterator[TracedPairs]:
    """Trace all selected records in one walk, and keep their results apart. The request's `limit` and `values` are ignored.

    Read the iterators of the result one after the other. Raises as `trace` does.
    """
    with open_sparing_session(store, tenant) as session:
        dataset = await find_requested_dataset(session, graph, request)
        target = await find_dataset(session, graph, request.to) if request.to else None
        targets = await find_targets(session, target, forward=request.forward)
        goal_datasets = await find_goal_datasets(session, graph, dataset, targets, forward=request.forward)
        result = await asyncio.to_thread(walk, session, dataset, targets, goal_datasets, request, by_origin=True)
        if request.forward:
            result = await drop_discarded(session, graph, dataset, result, goal_datasets)
        coarse_lineage = await lift_to_datasets(graph, session, result, targets, goal_datasets, forward=request.forward)
        yield await asyncio.to_thread(_make_pairs, session, dataset.id, result, coarse_lineage, targets, request)


def _make_pairs(
    session: Session, dataset: str, result: WalkResult, coarse_lineage: CoarseLineage, targets: Sequence[Dataset], request: TraceRequest
) -> TracedPairs:
    target_ids = [target.id for target in targets]
    path = [*result.hops.list_hops(session, dataset, None), *coarse_lineage.hops]
    coarse_lineage.report(session)
    listed_files = select_listed_files(session, coarse_lineage, targets, request)
    pairs = _unite_tables(session, result.reached_tables if targets else result.end_tables, "origin, file, row", listed_files)
    uncertain_files = {number for number in result.uncertain_files if not targets or session.files[number].dataset in target_ids}
    blurred = _unite_tables(session, result.uncertain_tables, "origin, file", uncertain_files) if uncertain_files else None
    session.drop_tables_except({result.begin, pairs, blurred})
    datasets = sorted(coarse_lineage.datasets) if not targets else target_ids[:1] if target_ids[0] in coarse_lineage.passed_datasets else []
    return TracedPairs(
        dataset=dataset, path=path, incomplete=list(session.incomplete), exact=session.is_whole and not uncertain_files and not datasets,
        datasets=datasets, files=session.files, _session=session, _begin=result.begin, _pairs=pairs, _uncertain_pairs=blurred,
    )  # fmt: skip


def _unite_tables(session: Session, tables: Sequence[str], columns: str, files: Collection[int]) -> str:
    if not tables:
        return session.make_table(f"SELECT {', '.join(f'NULL::BIGINT AS {name}' for name in columns.split(', '))} LIMIT 0")
    is_kept = format_mapping("file", dict.fromkeys(files, 1))
    # The rows of each table are distinct already. To remove duplicates again would take more memory than all other steps.
    return session.make_table(" UNION ".join(f"SELECT {columns} FROM {table} WHERE {is_kept} = 1" for table in tables))
