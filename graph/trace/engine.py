"""Traces records upstream or downstream, to the records that they were made from or went into.

The service and the command line use this module. An exact answer follows the table of operators in docs/guide/semantics.md. Any other
answer states its reasons, such as an operator that made a superset, a file that changed, or a hop known by datasets only. A trace reads
kept associations, and the source files for values. A trace never writes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from headwater.errors import InvalidQueryError
from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import Grain, Origin, Semantics, TraceAnswer, TracedRecord, TraceRequest
from headwater.graph.trace.coarse_hops import CoarseLineage, follow_datasets
from headwater.graph.trace.datasets import (
    Dataset,
    find_dataset,
)
from headwater.graph.trace.downstream import Downstream
from headwater.graph.trace.estimate import expected_rows
from headwater.graph.trace.file_checks import keep_current_records, read_content, report_earlier_versions, report_snapshot
from headwater.graph.trace.hops import Hops, list_failures, list_notes
from headwater.graph.trace.links import Names, list_datasets
from headwater.graph.trace.paths_between import datasets_towards
from headwater.graph.trace.reached_datasets import describe_reach, find_searched_files, mark_former_records
from headwater.graph.trace.replay_alternates import find_targets, report_missed_alternates, report_reached_alternates
from headwater.graph.trace.replayed_ends import drop_discarded_hops, drop_replayed_ends, find_discarded
from headwater.graph.trace.selection import (
    list_without_values,
    read_values,
)
from headwater.graph.trace.session import Session, format_mapping
from headwater.graph.trace.start_records import select_start
from headwater.graph.trace.tracer import get_tracer
from headwater.graph.trace.upstream import Goal, Upstream
from headwater.graph.trace.value_sources import list_origins
from headwater.graph.trace.versions import find_requested_dataset

SessionFactory = Callable[[Session], AbstractContextManager[Session]]


@dataclass(frozen=True, slots=True)
class WalkResult:
    """The result of a walk: the hops, and tables of records. The walk reached the target at some, and ended at others.

    `uncertain_files` are files of which only some records were reached, and their row numbers are unknown.
    """

    begin: str
    selected: Sequence[TracedRecord]
    reached_tables: Sequence[str]
    end_tables: Sequence[str]
    hops: Hops
    uncertain_files: Collection[int] = ()
    uncertain_tables: Sequence[str] = ()  # tables `origin, file`: the origins with records in the files of `uncertain_files`
    end_files: Collection[int] | None = None  # the files of `end_tables`, if the walk knows them


async def trace(
    graph: GraphStore | None,
    store: AssociationStore,
    tenant: str,
    request: TraceRequest,
    *,
    session_factory: SessionFactory = nullcontext,
    larger_than: int | None = None,
) -> TraceAnswer:
    """Answer a request.

    Without a graph, hops by dataset are not followed. `session_factory` makes the session in which the walk runs. With `larger_than`, it is
    used only for traces that are expected to read more rows than that.

    Raises:
        NotFoundError: a dataset or file in the request does not exist.
        InvalidQueryError: the predicate, a row or the column cannot be used.
        UnsupportedError: the records of the dataset cannot be read here.
    """
    started_at = time.perf_counter()
    if request.everywhere and (not request.forward or request.to or request.semantics is not Semantics.INFLUENCE):
        raise InvalidQueryError(
            "All datasets on the way are listed for the influence of records downstream, without a target.", field="everywhere"
        )
    with get_tracer(store).session(tenant) as session:
        dataset = await find_requested_dataset(session, graph, request)
        target = await find_dataset(session, graph, request.to) if request.to else None
        targets = await find_targets(session, target, forward=request.forward)
        goal_datasets = await find_goal_datasets(session, graph, dataset, targets, forward=request.forward)
        begin, selected = await asyncio.to_thread(select_start, session, dataset, request, by_origin=False)
        searched = find_searched_files(session, dataset) if request.everywhere and request.where is not None else None
        session_context: AbstractContextManager[Session] = nullcontext(session)
        if request.everywhere:
            larger_than = None
        elif larger_than is None or await asyncio.to_thread(_exceeds_rows, session, begin, goal_datasets, request, larger_than):
            session_context = session_factory(session)
        with session_context as walking:
            start_table = await asyncio.to_thread(walking.take_table, session, begin)
            result = await asyncio.to_thread(
                follow_records, walking, start_table, selected, targets, goal_datasets, request, by_origin=False
            )
            if request.forward:
                result = await drop_discarded(walking, graph, dataset, result, goal_datasets, reports_versions=not request.everywhere)
            coarse_lineage = await lift_to_datasets(graph, walking, result, targets, goal_datasets, forward=request.forward)
            reach = (
                await describe_reach(session, graph, dataset, searched, result.end_tables, coarse_lineage) if request.everywhere else None
            )
            places, count = await asyncio.to_thread(_list_places, walking, result, coarse_lineage, targets, request)
            names: Names = frozenset({request.column.lower()}) if request.column and not request.forward else None
            hops = [*await asyncio.to_thread(result.hops.list_hops, walking, dataset.id, names), *coarse_lineage.hops]
        entries, total = await asyncio.to_thread(_make_entries, session, result, coarse_lineage, targets, request, places, count)
        if reach is not None:
            entries = await asyncio.to_thread(mark_former_records, session, reach, places, entries)
        coarse_lineage.report(session)
        captures = result.hops.captures()
        is_exact = session.is_whole and all(entry.grain is Grain.RECORD for entry in entries)
        is_exact = is_exact and (reach is None or all(one.exact for one in reach.datasets))
        return TraceAnswer(
            semantics=request.semantics, exact=is_exact, records=entries, path=hops,
            incomplete=list(session.incomplete), total=total, selected=result.selected,
            elapsed_ms=(time.perf_counter() - started_at) * 1000,
            found_again=list(session.recomputed_groups), storage_requests=session.traffic.requests, storage_bytes=session.traffic.bytes,
            as_of=dataset.version.as_of if dataset.version else None,
            origins=_find_origins(session, dataset, [*entries, *result.selected], searched=request.where is not None)
            if request.origins else (),
            notes=[*list_notes(captures, (record.file for record in entries if record.file)), *list_failures(captures, entries)],
            reached=reach.datasets if reach is not None else (),
        )  # fmt: skip


async def find_goal_datasets(
    session: Session, graph: GraphStore | None, dataset: Dataset, targets: Sequence[Dataset], *, forward: bool
) -> set[str] | None:
    """Return the datasets that lead from `dataset` to the targets. None if the trace has no target."""
    if not targets:
        return None
    alternates = [target.id for target in targets[1:]]
    return await datasets_towards(session, graph, dataset.id, targets[0].id, forward=forward, alternates=alternates)


async def drop_discarded(
    session: Session,
    graph: GraphStore | None,
    dataset: Dataset,
    result: WalkResult,
    goal_datasets: Collection[str] | None,
    *,
    reports_versions: bool = True,
) -> WalkResult:
    """Return the result of a forward walk without what only replays had, and report what replays made from alternates of `dataset`."""
    await report_missed_alternates(session, graph, dataset, goal_datasets)
    discarded = await find_discarded(session, graph, result.hops.captures())
    await asyncio.to_thread(drop_discarded_hops, session, discarded, result.hops)
    if goal_datasets is not None:
        return result
    ends = await asyncio.to_thread(drop_replayed_ends, session, discarded, result.end_tables)
    if reports_versions:
        await asyncio.to_thread(report_earlier_versions, session, ends, replaced=True)
    return replace(result, end_tables=ends)


def _exceeds_rows(session: Session, begin: str, goal_datasets: Collection[str] | None, request: TraceRequest, most_rows: int) -> bool:
    session.expected_rows = expected_rows(session, begin, forward=request.forward, goal_datasets=goal_datasets, row_limit=most_rows)
    return session.expected_rows > most_rows


def _find_origins(session: Session, dataset: Dataset, records: Iterable[TracedRecord], *, searched: bool) -> list[Origin]:
    paths = {record.file for record in records}
    files = [file for file in session.files if file.block.path in paths or (searched and file.dataset == dataset.id)]
    return list_origins(session, files, dataset)


def walk(
    session: Session,
    dataset: Dataset,
    targets: Sequence[Dataset],
    goal_datasets: Collection[str] | None,
    request: TraceRequest,
    *,
    by_origin: bool = False,
) -> WalkResult:
    """Select the records, and follow them as far as record lineage goes.

    With `by_origin`, the column `origin` of each result is the position, by file and row, of the selected record that led there. `selected`
    is then empty, because there may be millions.
    """
    begin, selected = select_start(session, dataset, request, by_origin=by_origin)
    return follow_records(session, begin, selected, targets, goal_datasets, request, by_origin=by_origin)


def follow_records(
    session: Session,
    begin: str,
    selected: Sequence[TracedRecord],
    targets: Sequence[Dataset],
    goal_datasets: Collection[str] | None,
    request: TraceRequest,
    *,
    by_origin: bool,
) -> WalkResult:
    """Follow the records of a table as far as record lineage goes. See `walk`."""
    names: Names = frozenset({request.column.lower()}) if request.column else None
    if not request.forward:
        goal = Goal(datasets={target.id for target in targets}, follows=lambda dataset: goal_datasets is None or dataset in goal_datasets)
        upstream = Upstream(session, goal, witness=request.semantics is Semantics.WITNESS)
        upstream.run(begin, names)
        report_earlier_versions(session, upstream.reached)
        report_reached_alternates(session, targets, upstream.reached)
        return WalkResult(
            begin,
            selected,
            upstream.reached,
            upstream.ends,
            upstream.hops,
            upstream.uncertain_files,
            upstream.uncertain_tables,
            upstream.end_files,
        )
    target_id = targets[0].id if targets else None
    holding = read_content(session, target_id) if target_id is not None else None
    downstream = Downstream(session, target=target_id, goal_datasets=goal_datasets, holding=holding)
    downstream.run(begin, reports_changes=not request.everywhere)
    if request.everywhere:
        return WalkResult(begin, selected, (), downstream.visited[1:], downstream.hops)
    result = WalkResult(begin, selected, downstream.reached, downstream.ends, downstream.hops)
    if request.semantics is Semantics.WITNESS:
        result = _keep_witnessed(session, downstream, begin, selected, names, by_origin=by_origin)
    if target_id is None:
        report_earlier_versions(session, result.end_tables)
    if holding is None:
        return result
    report_snapshot(session, holding)
    return replace(result, reached_tables=keep_current_records(session, holding, result.reached_tables))


def _keep_witnessed(
    session: Session, downstream: Downstream, begin: str, selected: Sequence[TracedRecord], names: Names, *, by_origin: bool
) -> WalkResult:
    """Keep only those reached records whose witness contains a selected record."""
    visited_records = session.make_table(" UNION ".join(f"SELECT file, row FROM {table}" for table in downstream.visited))
    hops = Hops()

    def kept(tables: Sequence[str]) -> list[str]:
        if not tables:
            return []
        union = " UNION ".join(f"SELECT file, row FROM {table}" for table in tables)
        candidates = session.make_table(f"SELECT row_number() OVER () AS origin, file, row FROM ({union})")
        upstream = Upstream(session, Goal(allowed_records=visited_records, targets=begin), witness=True)
        upstream.hops = hops
        upstream.run(candidates, names)
        if not upstream.reached:
            return []
        if by_origin:
            reached_records = " UNION ".join(f"SELECT origin, file, row FROM {table}" for table in upstream.reached)
            pairs = f"SELECT DISTINCT b.origin, c.file, c.row FROM {candidates} c JOIN ({reached_records}) m USING (origin) JOIN {begin} b"
            return [session.make_table(f"{pairs} ON b.file = m.file AND b.row = m.row")]
        origins = " UNION ".join(f"SELECT origin FROM {table}" for table in upstream.reached)
        return [session.make_table(f"SELECT 0::BIGINT AS origin, c.file, c.row FROM {candidates} c SEMI JOIN ({origins}) USING (origin)")]

    reached_tables, ends = kept(downstream.reached), kept(downstream.ends)
    return WalkResult(begin, selected, reached_tables, ends, hops)


async def lift_to_datasets(
    graph: GraphStore | None,
    session: Session,
    result: WalkResult,
    targets: Sequence[Dataset],
    goal_datasets: Collection[str] | None,
    *,
    forward: bool,
) -> CoarseLineage:
    if graph is None:
        return CoarseLineage()
    numbers = result.end_files
    if numbers is None or forward:
        numbers = await asyncio.to_thread(session.list_files_of, [*result.end_tables, result.begin] if forward else result.end_tables)
    datasets = {session.files[number].dataset for number in {*numbers, *result.uncertain_files}}
    if forward:
        datasets |= {output for capture in result.hops.captures() if (output := list_datasets(capture)[0])}

    def list_followed_jobs(dataset: str) -> dict[str, Collection[str]]:
        catalog = session.store.catalog.datasets
        jobs = catalog.taken_by(session.tenant, dataset)
        runs = catalog.refused_runs(session.tenant, jobs)
        return {job: runs.get(job, ()) for job in jobs}

    coarse_lineage = await follow_datasets(
        graph,
        session.tenant,
        datasets - {target.id for target in targets},
        forward=forward,
        target=targets[0].id if targets else None,
        followed_jobs=list_followed_jobs if forward else None,
    )
    if goal_datasets is None:
        return coarse_lineage
    goal_hops = [hop for hop in coarse_lineage.hops if hop.output in goal_datasets and (forward or set(hop.inputs) & set(goal_datasets))]
    return replace(coarse_lineage, hops=goal_hops)


def _list_places(
    session: Session, result: WalkResult, coarse_lineage: CoarseLineage, targets: Sequence[Dataset], request: TraceRequest
) -> tuple[list[tuple[int, int]], int]:
    listed_files = select_listed_files(session, coarse_lineage, targets, request)
    return _order_places(session, result.reached_tables if targets else result.end_tables, listed_files, request.limit)


def select_listed_files(session: Session, coarse_lineage: CoarseLineage, targets: Sequence[Dataset], request: TraceRequest) -> set[int]:
    """Return the files whose records the answer lists. With targets, only their files in the requested partition count."""
    files = [file for file in session.files if request.forward or file.dataset not in coarse_lineage.left_datasets]
    return {file.number for file in files if not targets or any(target.contains(file) for target in targets)}


def _make_entries(
    session: Session,
    result: WalkResult,
    coarse_lineage: CoarseLineage,
    targets: Sequence[Dataset],
    request: TraceRequest,
    places: Sequence[tuple[int, int]],
    count: int,
) -> tuple[list[TracedRecord], int]:
    target_ids = [target.id for target in targets]
    coarse_records = [
        _make_partition_record(session, number)
        for number in sorted(result.uncertain_files)
        if not targets or session.files[number].dataset in target_ids
    ]
    if not targets:
        datasets = coarse_lineage.datasets | (coarse_lineage.passed_datasets if request.everywhere else set())
        coarse_records += [TracedRecord(dataset, None, None, Grain.DATASET) for dataset in sorted(datasets)]
    elif target_ids[0] in coarse_lineage.passed_datasets:
        coarse_records.append(TracedRecord(target_ids[0], None, None, Grain.DATASET))
    entries = read_values(session, places) if request.values else list_without_values(session, places)
    return [*entries, *coarse_records][: request.limit], count + len(coarse_records)


def _order_places(session: Session, tables: Sequence[str], listed_files: Collection[int], limit: int) -> tuple[list[tuple[int, int]], int]:
    if not tables:
        return [], 0
    ordered_files = sorted((session.files[number] for number in listed_files), key=lambda file: (file.dataset, file.block.path))
    ranks = {file.number: place for place, file in enumerate(ordered_files)}
    in_memory = [session.get_columns(table) for table in tables]
    if all(columns is not None for columns in in_memory):
        return _order_places_in_memory([columns for columns in in_memory if columns is not None], ranks, limit)
    rank = format_mapping("file", ranks)
    union = " UNION ALL ".join(f"SELECT file, row FROM {table}" for table in tables)
    distinct = (
        "DISTINCT " if len(tables) > 1 else ""
    )  # one table has no duplicates; to remove them from millions takes longer than the walk
    ranked_query = f"SELECT {distinct}file, row, {rank} AS rank FROM ({union})"
    table = session.make_table(f"SELECT file, row, rank FROM ({ranked_query}) WHERE rank IS NOT NULL")
    return session.database.execute(f"SELECT file, row FROM {table} ORDER BY rank, row LIMIT {limit:d}").fetchall(), session.count_rows(
        table
    )


def _order_places_in_memory(tables: Sequence[Columns], ranks: Mapping[int, int], limit: int) -> tuple[list[tuple[int, int]], int]:
    ranked_tables = [
        {"rank": memory_tables.mapped(columns["file"], ranks), **memory_tables.chosen(columns, ["file", "row"])} for columns in tables
    ]
    places = memory_tables.united([memory_tables.taken(columns, columns["rank"] >= 0) for columns in ranked_tables])
    first = zip(places["file"][:limit].tolist(), places["row"][:limit].tolist(), strict=True)
    return list(first), memory_tables.count(places)


def _make_partition_record(session: Session, number: int) -> TracedRecord:
    file = session.files[number]
    return TracedRecord(file.dataset, file.block.path, None, Grain.PARTITION)
