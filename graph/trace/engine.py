"""Traces records upstream or downstream, to the records that they were made from or went into.

For the service and the command line. An answer equals the table of operators in docs/guide/semantics.md. Otherwise it states the reason for
every record too many or too few: an operator that made a superset, a file that changed, a hop that is known by datasets only. A trace reads
the kept associations, and the source files for values. A trace never writes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.formats import format_of
from headwater.graph.files.reader import FILE, ROW
from headwater.graph.files.shapes import Shape
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import Grain, Origin, Semantics, TraceAnswer, TracedRecord, TraceRequest
from headwater.graph.trace.coarse_hops import Lifted, lift
from headwater.graph.trace.datasets import (
    Dataset,
    Version,
    current_files,
    find_dataset,
    in_own_shapes,
    named_files,
    readable_files,
    shape_of,
)
from headwater.graph.trace.downstream import Downstream
from headwater.graph.trace.estimate import expected_rows
from headwater.graph.trace.file_checks import held_now, holding_of, say_gone, say_snapshot
from headwater.graph.trace.hops import Hops, failures_in, notes_of
from headwater.graph.trace.links import Names, datasets_of
from headwater.graph.trace.partition_locations import files_apart
from headwater.graph.trace.paths_between import towards_of
from headwater.graph.trace.selection import check_rows, column_names, own_names, places_of, read_back, records, select, select_at, unread
from headwater.graph.trace.session import KnownFile, Session, mapped
from headwater.graph.trace.tracer import tracer_of
from headwater.graph.trace.upstream import Goal, Upstream
from headwater.graph.trace.value_sources import origins_of
from headwater.graph.trace.versions import find_asked

Elsewhere = Callable[[Session], AbstractContextManager[Session]]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a walk: tables of the goal's records or of ends, the hops, and files with an unknown choice of records (`vague`)."""

    begin: str
    selected: Sequence[TracedRecord]
    reached: Sequence[str]
    ends: Sequence[str]
    hops: Hops
    vague: Collection[int] = ()
    blurred: Sequence[str] = ()  # tables `origin, file`: the origins with records in the files of `vague`
    end_files: Collection[int] | None = None  # the files of `ends`, if the walk knows them


async def trace(
    graph: GraphStore | None,
    store: AssociationStore,
    tenant: str,
    request: TraceRequest,
    *,
    elsewhere: Elsewhere = nullcontext,
    larger_than: int | None = None,
) -> TraceAnswer:
    """Answer a request. Without a graph, coarse hops are not followed. `elsewhere` gives the session for the walk over records.

    With `larger_than`, a trace uses `elsewhere` only if it is expected to read more rows than that.

    Raises:
        NotFoundError: a dataset or file in the request is not known.
        InvalidQueryError: the predicate, a row or the column cannot be used.
        UnsupportedError: the records of the dataset cannot be read here.
    """
    began = time.perf_counter()
    with tracer_of(store).session(tenant) as session:
        dataset = await find_asked(session, graph, request)
        target = await find_dataset(session, graph, request.to) if request.to else None
        to = target.id if target is not None else None
        towards = await towards_of(session, graph, dataset.id, to, forward=request.forward) if to else None
        begin, selected = await asyncio.to_thread(_chosen, session, dataset, request, each=False)
        there: AbstractContextManager[Session] = nullcontext(session)
        if larger_than is None or await asyncio.to_thread(_is_larger, session, begin, towards, request, larger_than):
            there = elsewhere(session)
        with there as walking:
            taken = await asyncio.to_thread(walking.take, session, begin)
            found = await asyncio.to_thread(_followed, walking, taken, selected, to, towards, request, each=False)
            lifted = await lifted_of(graph, walking, found, to, towards, forward=request.forward)
            places, count = await asyncio.to_thread(_listed_places, walking, found, lifted, target, request)
            names: Names = frozenset({request.column.lower()}) if request.column and not request.forward else None
            hops = [*await asyncio.to_thread(found.hops.listed, walking, dataset.id, names), *lifted.hops]
        entries, total = await asyncio.to_thread(_entries, session, found, lifted, to, request, places, count)
        lifted.say(session)
        captures = found.hops.captures()
        exact = session.is_whole and all(entry.grain is Grain.RECORD for entry in entries)
        return TraceAnswer(
            semantics=request.semantics, exact=exact, records=entries, path=hops,
            incomplete=list(session.incomplete), total=total, selected=found.selected, elapsed_ms=(time.perf_counter() - began) * 1000,
            found_again=list(session.found_again), storage_requests=session.traffic.requests, storage_bytes=session.traffic.bytes,
            as_of=dataset.version.as_of if dataset.version else None,
            origins=_origins(session, dataset, [*entries, *found.selected], searched=request.where is not None) if request.origins else (),
            notes=[*notes_of(captures, (record.file for record in entries if record.file)), *failures_in(captures, entries)],
        )  # fmt: skip


def _is_larger(session: Session, begin: str, towards: Collection[str] | None, request: TraceRequest, most: int) -> bool:
    """Return whether a walk from these records is expected to read more than `most` rows."""
    session.expected = expected_rows(session, begin, forward=request.forward, towards=towards, enough=most)
    return session.expected > most


def _origins(session: Session, dataset: Dataset, records: Iterable[TracedRecord], *, searched: bool) -> list[Origin]:
    """Return the files of the records in the answer, under the names that the trace used.

    With `searched`, return all files of the dataset.
    """
    paths = {record.file for record in records}
    files = [file for file in session.files if file.block.path in paths or (searched and file.dataset == dataset.id)]
    return origins_of(session, files, dataset)


def walk(
    session: Session, dataset: Dataset, to: str | None, towards: Collection[str] | None, request: TraceRequest, *, each: bool = False
) -> Found:
    """Select the records, and follow them as far as record lineage goes.

    With `each`, every result names the selected record it belongs to: `origin` is the record's position by file and row. `selected` is then
    empty, as there may be millions.
    """
    begin, selected = _chosen(session, dataset, request, each=each)
    return _followed(session, begin, selected, to, towards, request, each=each)


def _followed(
    session: Session,
    begin: str,
    selected: Sequence[TracedRecord],
    to: str | None,
    towards: Collection[str] | None,
    request: TraceRequest,
    *,
    each: bool,
) -> Found:
    """Follow records, a table of a session, as far as record lineage goes."""
    names: Names = frozenset({request.column.lower()}) if request.column else None
    if not request.forward:
        goal = Goal(to=to, follows=lambda other: towards is None or other in towards)
        up = Upstream(session, goal, witness=request.semantics is Semantics.WITNESS)
        up.run(begin, names)
        say_gone(session, up.reached)
        return Found(begin, selected, up.reached, up.ends, up.hops, up.vague, up.blurred, up.end_files)
    holding = holding_of(session, to) if to is not None else None
    down = Downstream(session, to=to, towards=towards, holding=holding)
    down.run(begin)
    found = Found(begin, selected, down.reached, down.ends, down.hops)
    if request.semantics is Semantics.WITNESS:
        found = _witnessed(session, down, begin, selected, names, each=each)
    if to is None:
        say_gone(session, found.ends)
    if holding is None:
        return found
    say_snapshot(session, holding)
    return replace(found, reached=held_now(session, holding, found.reached))


def _chosen(session: Session, dataset: Dataset, request: TraceRequest, *, each: bool) -> tuple[str, Sequence[TracedRecord]]:
    """Select the records to begin with, as a table `origin, file, row` and as records for the answer.

    If the dataset cannot be read here, records are selected by file and row, without reading them.
    """
    if dataset.version is not None:
        return _chosen_then(session, dataset, dataset.version, request, each=each)
    shape, _ = shape_of(session, dataset)
    by_place = format_of(shape.format).has_snapshots and request.rows  # a run knows the file, even if the table no longer has it
    try:
        listed = named_files(session, dataset, shape, [path for path, _ in request.rows]) if by_place else _listed(session, dataset, shape)
    except UnsupportedError as error:
        if not request.rows or request.where is not None:
            hint = error.hint or ""
            if "by file and row" not in hint:
                hint = f"Name its records by file and row. {hint}".rstrip()
            raise UnsupportedError(error.message, hint=hint) from error
        named = [path for path, _ in request.rows]
        known = in_own_shapes(session, dataset, named_files(session, dataset, shape, named), named)
        return _unseen(session, known, request, each=each)
    if not by_place:
        named = [path for path, _ in request.rows]
        listed = in_own_shapes(session, dataset, [*listed, *files_apart(session, dataset, shape, listed, named)], named)
    files = readable_files(session, listed)
    begin, columns, selected = _begun(session, shape, files, request, each=each)
    if request.column is not None and not request.forward:
        met = [session.files[number] for number in session.files_of([begin])]
        _check_column(request.column, dataset, (own_names(session, shape, some, columns) for some in (met, files)))
    return begin, selected


def _chosen_then(
    session: Session, dataset: Dataset, version: Version, request: TraceRequest, *, each: bool
) -> tuple[str, Sequence[TracedRecord]]:
    """Select records of a version of the dataset. In files that are gone or changed, records are selected by number, or all of them.

    Raises:
        UnsupportedError: a predicate cannot select among records that are gone.
    """
    files = version.files
    if request.rows:
        places = places_of(files, request.rows)
        for number, row in places:
            if number in session.left_out and row in session.left_out[number]:
                raise InvalidQueryError(f"{dataset.name} had no row {row} of {session.files[number].block.path} then: it was deleted.")
        numbers = {number for number, _ in places}
        files = [file for file in files if file.number in numbers]
    gone = [file for file in files if file.problem]
    if gone and request.where is None:
        return _unseen(session, files, request, each=each)
    if gone and not request.rows and request.where is not None and request.where.strip().lower() == "true" and version.rows:
        return _all_unseen(session, version, each=each, limit=request.limit)
    if gone and (len(gone) == len(files) or request.rows):
        raise UnsupportedError(
            f"{dataset.name} cannot be searched as of {version.as_of.at}: {gone[0].block.path}: {gone[0].problem}.",
            hint="Name its records by file and row (--row FILE:N), or all of them (--where true).",
        )
    shapes = {(file.shape.format, file.shape.options) for file in files} if request.where is not None else set()
    if len(shapes) > 1:
        raise UnsupportedError(
            f"The files of {dataset.name} as of {version.as_of.at} are of several formats.", hint="Name records by file and row."
        )
    readable = readable_files(session, files)
    begin, columns, selected = _begun(session, version.shape, readable, request, each=each)
    if request.column is not None and not request.forward:
        _check_column(request.column, dataset, [own_names(session, version.shape, readable, columns)])
    return begin, selected


def _all_unseen(session: Session, version: Version, *, each: bool, limit: int) -> tuple[str, Sequence[TracedRecord]]:
    """Return all records of a version, from the number of records that a run wrote to each file."""
    counts = [version.rows[file.number] for file in version.files]
    file = np.repeat(np.array([file.number for file in version.files], np.int64), counts)
    row = np.concatenate([np.arange(count, dtype=np.int64) for count in counts] or [np.empty(0, np.int64)])
    begin = session.hold(
        {"origin": np.arange(len(file), dtype=np.int64) if each else np.zeros(len(file), np.int64), "file": file, "row": row}
    )
    first = list(zip(file[:limit].tolist(), row[:limit].tolist(), strict=True))
    return begin, [] if each else unread(session, first)


def _listed(session: Session, dataset: Dataset, shape: Shape) -> list[KnownFile]:
    """Return the files of a dataset, to select records from.

    Raises:
        UnsupportedError: the files cannot be read here, or not be listed.
    """
    listed = current_files(session, dataset, shape)
    known = format_of(shape.format)
    if known.in_files and known.unreadable:
        raise UnsupportedError(f"{known.unreadable.capitalize()}.")
    return listed


def _unseen(session: Session, files: Sequence[KnownFile], request: TraceRequest, *, each: bool) -> tuple[str, Sequence[TracedRecord]]:
    """Return the records that the request names, without reading their files. A row number beyond the written rows is refused."""
    places = sorted(set(places_of(files, request.rows)))
    written = session.store.catalog.writers(session.tenant, [file.block for file in files])
    rows = {
        entry.block: entry.rows
        for capture in map(session.capture, set(written.values()))
        if capture.plan.sink is not None and not capture.plan.sink.is_placed
        for entry in capture.files
    }
    check_rows(session, places, {file.number: rows[file.block] for file in files if file.block in rows})
    for file in files:
        session.say(file.block.path, file.problem or "it was not read", "unreadable")
    begin = session.hold(_begin_in_memory(places, each=each))
    return begin, [] if each else unread(session, places)[: request.limit]


def _begin_in_memory(places: Iterable[tuple[int, int]], *, each: bool) -> Columns:
    file, row = np.array(list(places), np.int64).T
    return {"origin": np.arange(len(file), dtype=np.int64) if each else np.zeros(len(file), np.int64), "file": file, "row": row}


def _check_column(asked: str, dataset: Dataset, columns: Iterable[Sequence[str]]) -> None:
    """Check that the dataset has a column, in the files of the records, or in all files."""
    there: Sequence[str] = ()
    for there in columns:
        if asked.lower() in {name.lower() for name in there}:
            return
    listed = ", ".join(name for name in there if not name.startswith("__"))
    raise InvalidQueryError(f"{dataset.name} has no column {asked}.", field="column", hint=f"It has {listed}.")


def _begun(
    session: Session, shape: Shape, files: Sequence[KnownFile], request: TraceRequest, *, each: bool
) -> tuple[str, Sequence[str], Sequence[TracedRecord]]:
    """Return the records to begin with: as a table `origin, file, row`, their columns, and as records for the answer."""
    if request.rows and request.where is None:
        read = select_at(session, shape, files, request.rows, values=request.selected_values)
        begin = session.hold(_begin_in_memory(read.records, each=each))
        return begin, read.columns, [] if each else list(read.records.values())[: request.limit]
    chosen = select(session, shape, files, where=request.where, rows=request.rows)
    place = f"dense_rank() OVER (ORDER BY {FILE}, {ROW}) - 1" if each else "0::BIGINT"
    begin = session.table(f"SELECT DISTINCT {place} AS origin, {FILE} AS file, {ROW} AS row FROM {chosen}")
    return begin, column_names(session, chosen), [] if each else records(session, chosen, request.limit)


def _witnessed(session: Session, down: Downstream, begin: str, selected: Sequence[TracedRecord], names: Names, *, each: bool) -> Found:
    """Keep the reached records whose witness contains a record that the trace began with."""
    within = session.table(" UNION ".join(f"SELECT file, row FROM {table}" for table in down.visited))
    hops = Hops()

    def kept(tables: Sequence[str]) -> list[str]:
        if not tables:
            return []
        union = " UNION ".join(f"SELECT file, row FROM {table}" for table in tables)
        candidates = session.table(f"SELECT row_number() OVER () AS origin, file, row FROM ({union})")
        back = Upstream(session, Goal(within=within, targets=begin), witness=True)
        back.hops = hops
        back.run(candidates, names)
        if not back.reached:
            return []
        if each:
            met = " UNION ".join(f"SELECT origin, file, row FROM {table}" for table in back.reached)
            pairs = f"SELECT DISTINCT b.origin, c.file, c.row FROM {candidates} c JOIN ({met}) m USING (origin) JOIN {begin} b"
            return [session.table(f"{pairs} ON b.file = m.file AND b.row = m.row")]
        origins = " UNION ".join(f"SELECT origin FROM {table}" for table in back.reached)
        return [session.table(f"SELECT 0::BIGINT AS origin, c.file, c.row FROM {candidates} c SEMI JOIN ({origins}) USING (origin)")]

    reached, ends = kept(down.reached), kept(down.ends)
    return Found(begin, selected, reached, ends, hops)


async def lifted_of(
    graph: GraphStore | None, session: Session, found: Found, to: str | None, towards: Collection[str] | None, *, forward: bool
) -> Lifted:
    """Continue the trace by datasets where the walk over records ended."""
    if graph is None:
        return Lifted()
    numbers = found.end_files
    if numbers is None or forward:
        numbers = await asyncio.to_thread(session.files_of, [*found.ends, found.begin] if forward else found.ends)
    datasets = {session.files[number].dataset for number in {*numbers, *found.vague}}
    if forward:
        datasets |= {output for capture in found.hops.captures() if (output := datasets_of(capture)[0])}
    taken_by = partial(session.store.catalog.datasets.taken_by, session.tenant)
    lifted = await lift(graph, session.tenant, datasets - {to}, forward=forward, to=to, taken_by=taken_by if forward else None)
    if towards is None:
        return lifted
    kept = [hop for hop in lifted.hops if hop.output in towards and (forward or set(hop.inputs) & set(towards))]
    return replace(lifted, hops=kept)


def _listed_places(
    session: Session, found: Found, lifted: Lifted, to: Dataset | None, request: TraceRequest
) -> tuple[list[tuple[int, int]], int]:
    """Return the first records of the answer, as number of file and row, and their total number."""
    shown = files_shown(session, lifted, to, request)
    return _places(session, found.reached if to else found.ends, shown, request.limit)


def files_shown(session: Session, lifted: Lifted, to: Dataset | None, request: TraceRequest) -> set[int]:
    """Return the files whose records an answer lists: those of the requested part of the target dataset, if there is a target."""
    files = [file for file in session.files if request.forward or file.dataset not in lifted.left]
    return {file.number for file in files if to is None or to.has(file)}


def _entries(
    session: Session, found: Found, lifted: Lifted, to: str | None, request: TraceRequest, places: Sequence[tuple[int, int]], count: int
) -> tuple[list[TracedRecord], int]:
    """Return the records of the answer, and their number before the limit."""
    wider = [_vague(session, number) for number in sorted(found.vague) if to is None or session.files[number].dataset == to]
    if to is None:
        wider += [TracedRecord(dataset, None, None, Grain.DATASET) for dataset in sorted(lifted.datasets)]
    elif to in lifted.passed:
        wider.append(TracedRecord(to, None, None, Grain.DATASET))
    entries = read_back(session, places) if request.values else unread(session, places)
    return [*entries, *wider][: request.limit], count + len(wider)


def _places(session: Session, tables: Sequence[str], shown: Collection[int], limit: int) -> tuple[list[tuple[int, int]], int]:
    """Return the first records of tables, by dataset, path and row, as number of file and row, and their total number."""
    if not tables:
        return [], 0
    ordered = sorted((session.files[number] for number in shown), key=lambda file: (file.dataset, file.block.path))
    ranks = {file.number: place for place, file in enumerate(ordered)}
    known = [session.columns(table) for table in tables]
    if all(columns is not None for columns in known):
        return _places_in_memory([columns for columns in known if columns is not None], ranks, limit)
    rank = mapped("file", ranks)
    union = " UNION ALL ".join(f"SELECT file, row FROM {table}" for table in tables)
    each_once = (
        "DISTINCT " if len(tables) > 1 else ""
    )  # one table has no duplicates; to remove them from millions takes longer than the walk
    ranked = f"SELECT {each_once}file, row, {rank} AS rank FROM ({union})"
    table = session.table(f"SELECT file, row, rank FROM ({ranked}) WHERE rank IS NOT NULL")
    return session.database.execute(f"SELECT file, row FROM {table} ORDER BY rank, row LIMIT {limit:d}").fetchall(), session.count(table)


def _places_in_memory(tables: Sequence[Columns], ranks: Mapping[int, int], limit: int) -> tuple[list[tuple[int, int]], int]:
    """As `_places`, for tables in memory."""
    ranked = [
        {"rank": memory_tables.mapped(columns["file"], ranks), **memory_tables.chosen(columns, ["file", "row"])} for columns in tables
    ]
    places = memory_tables.united([memory_tables.taken(columns, columns["rank"] >= 0) for columns in ranked])
    first = zip(places["file"][:limit].tolist(), places["row"][:limit].tolist(), strict=True)
    return list(first), memory_tables.count(places)


def _vague(session: Session, number: int) -> TracedRecord:
    file = session.files[number]
    return TracedRecord(file.dataset, file.block.path, None, Grain.PARTITION)
