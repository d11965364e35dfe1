"""Earlier states of datasets: the files of a version, and the runs that wrote them.

A trace uses them for an earlier time, a run, a version of the graph or a table's snapshot. A version consists of the last block that
replaced the dataset, and of all blocks added since. If a run without record lineage also wrote to the version, the answer reports that, or
the version is refused. Tables with metadata of their own list the files of a version there (`snapshots`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from uuid import UUID

from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.files.shapes import Shape
from headwater.graph.model import Node, NodeKind, Stamp, node_id, parse_id
from headwater.graph.model.instants import instant_of, shown_instant
from headwater.graph.records.lists import block_of_source
from headwater.graph.records.overwrites import Replaces
from headwater.graph.records.safe_names import uri_of
from headwater.graph.records.versions import Write
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.stores.write_times import UNDONE_AT, with_ends
from headwater.graph.trace.answer import AsOf, TraceRequest
from headwater.graph.trace.datasets import Dataset, Version, find_dataset
from headwater.graph.trace.session import Capture, KnownFile, Session
from headwater.graph.trace.snapshots import find_run_snapshot, find_snapshot, find_table_shape

_PAGE = 1_000
_NEVER = "\U0010ffff"  # sorts after all instants
_HINT = "Name an instant (2026-01-31T23:59:59Z), a run's id, a version's id, or a snapshot of a table. `headwater jobs` lists runs."


async def find_requested_dataset(session: Session, graph: GraphStore | None, request: TraceRequest) -> Dataset:
    """Return the dataset of a request, at the version that `as_of` or the text after an `@` names.

    Raises:
        NotFoundError: there is no such dataset, or no such version.
        InvalidQueryError: several datasets have this name, or the text names no version.
        UnsupportedError: the records of that version are not known.
    """
    text, as_of = request.dataset, request.as_of
    try:
        dataset = await find_dataset(session, graph, text)
    except NotFoundError:
        name, _, version_text = text.rpartition("@")
        if not name or not version_text or "/" in version_text or as_of is not None:
            raise
        dataset, as_of = await find_dataset(session, graph, name), version_text
    if as_of is None:
        return dataset
    versioned_dataset = await find_version(session, graph, dataset, as_of)
    if not versioned_dataset.part or versioned_dataset.version is None:
        return versioned_dataset
    files = [file for file in versioned_dataset.version.files if versioned_dataset.contains(file)]
    rows = {file.number: versioned_dataset.version.rows[file.number] for file in files if file.number in versioned_dataset.version.rows}
    return replace(versioned_dataset, version=replace(versioned_dataset.version, files=files, rows=rows))


async def find_version(session: Session, graph: GraphStore | None, dataset: Dataset, as_of: str) -> Dataset:
    """Return a dataset at a version. Raises as `find_requested_dataset` does."""
    known_versions, tenant = session.store.catalog.versions, session.tenant
    shape = await asyncio.to_thread(find_table_shape, session, dataset)
    if shape is not None:
        return await _find_table_version(session, graph, dataset, shape, as_of)
    run, latest_instant = await _parse_version(session, graph, dataset, as_of)
    if run is not None:
        latest_instant = await asyncio.to_thread(known_versions.last_write, tenant, dataset.id, run)
        if latest_instant is None:
            return await asyncio.to_thread(_find_read_state, session, dataset, None, run)
    assert latest_instant is not None  # noqa: S101 - `_parse_version` gives the one or the other
    versions = [version async for version in _list_versions(graph, tenant, dataset)]
    undone = [version for version in versions if run is None and _get_undo_time(version) <= latest_instant]
    undone_runs = {parse_id(version.id)[1][2] for version in undone}
    coarse = [
        version for version in versions if _is_coarse(version) and version not in undone and _get_write_time(version) <= latest_instant
    ]
    return await asyncio.to_thread(_find_written_state, session, dataset, as_of, latest_instant, coarse, undone_runs)


async def _find_table_version(session: Session, graph: GraphStore | None, dataset: Dataset, shape: Shape, as_of: str) -> Dataset:
    """Return a version of a Delta or Iceberg table. Names in the table's metadata take precedence over names in the graph."""
    run, latest_instant = _parse_run_or_instant(dataset, as_of)
    name = as_of if run is None and latest_instant is None else None
    runs: list[str] = []
    if run is not None:
        name = await asyncio.to_thread(find_run_snapshot, session, dataset, run)
    if name is not None:
        labels = [(_get_label(version), parse_id(version.id)[1][2]) async for version in _list_versions(graph, session.tenant, dataset)]
        runs = [maker for label, maker in labels if label == name]
    return await asyncio.to_thread(find_snapshot, session, dataset, shape, name=name, latest_instant=latest_instant, runs=runs)


async def _parse_version(session: Session, graph: GraphStore | None, dataset: Dataset, as_of: str) -> tuple[str | None, str | None]:
    """Return the run that a text names. If it names no run, return the instant that it names."""
    run, latest_instant = _parse_run_or_instant(dataset, as_of)
    if run is not None or latest_instant is not None:
        return run, latest_instant
    versions_by_id = {
        version.id: version async for version in _list_versions(graph, session.tenant, dataset) if _get_label(version) == as_of
    }
    if len(versions_by_id) > 1:
        runs = ", ".join(parse_id(version)[1][2] for version in sorted(versions_by_id))
        raise InvalidQueryError(
            f"{len(versions_by_id)} versions of {dataset.name} are called {as_of}: of the runs {runs}.", field="as_of", hint="Name the run."
        )
    if not versions_by_id:
        raise InvalidQueryError(f"{as_of!r} names no version of {dataset.name}.", field="as_of", hint=_HINT)
    return parse_id(next(iter(versions_by_id)))[1][2], None


def _parse_run_or_instant(dataset: Dataset, as_of: str) -> tuple[str | None, str | None]:
    kind, parts = parse_id(as_of) if as_of.startswith((f"{NodeKind.RUN}:", f"{NodeKind.VERSION}:")) else (None, ())
    if kind == NodeKind.VERSION:
        if node_id(NodeKind.DATASET, *parts[:2]) != dataset.id or len(parts) != 3:
            raise InvalidQueryError(f"{as_of} is no version of {dataset.name}.", field="as_of", hint="Name the version's own dataset.")
        return parts[2], None
    if kind == NodeKind.RUN and len(parts) == 1:
        return parts[0].lower(), None
    try:
        return str(UUID(as_of)), None
    except ValueError:
        pass
    if as_of.isdecimal():  # digits are a snapshot, not a date without hyphens
        return None, None
    try:
        return None, instant_of(as_of, "as_of", end=True)
    except InvalidQueryError:
        return None, None


def _find_written_state(
    session: Session, dataset: Dataset, as_of: str, latest_instant: str, coarse: list[Node], undone_runs: Collection[str]
) -> Dataset:
    """Return a dataset as its captured writes had made it by an instant. Writes of `undone_runs` do not count."""
    writes: list[Write] = []
    base: Write | None = None
    for write in session.store.catalog.versions.writes(session.tenant, dataset.id, latest_instant):
        if write.run in undone_runs:
            continue
        if base is not None and write.ended <= base.started:
            break
        if base is not None:
            reason = f"run {write.run} wrote it while run {base.run} replaced it: what the one wrote may be in that version or not"
            session.report(dataset.id, reason, "superset")
        writes.append(write)
        if base is None and write.replaces is Replaces.ALL:
            base = write
    start_instant = base.ended if base is not None else ""
    _check_coarse(session, dataset, as_of, [version for version in coarse if _get_write_time(version) > start_instant])
    if not writes:
        return _find_read_state(session, dataset, latest_instant, None)
    return _make_version(session, dataset, as_of, latest_instant, writes, base)


def _make_version(session: Session, dataset: Dataset, as_of: str, latest_instant: str, writes: list[Write], base: Write | None) -> Dataset:
    pieces: dict[str, tuple[KnownFile, int]] = {}
    for write in reversed(writes):
        if write.status == "refused":
            if write is base:
                raise _make_unknown_error(dataset, as_of, write.run)
            session.report(dataset.id, f"run {write.run} wrote to it too, and which records is not known", "missing")
            continue
        capture = session.get_capture(write.capture)
        if write.replaces is Replaces.SOME and pieces:
            session.report(dataset.id, f"run {write.run} replaced some of its partitions; which it was is not known", "superset")
        files = [(session.add_written_file(capture, kept_file), kept_file.rows) for kept_file in capture.files]
        if write.replaces is Replaces.PARTITIONS:
            folders, replaced_prefix = {_get_folder(file) for file, _ in files}, _find_replaced_folder(capture)
            pieces = {
                path: piece
                for path, piece in pieces.items()
                if _get_folder(piece[0]) not in folders and not path.startswith(replaced_prefix)
            }
        pieces |= {file.block.path: (file, rows) for file, rows in files}
    latest = next((write for write in writes if write.status != "refused"), None)
    if latest is None:
        raise _make_unknown_error(dataset, as_of, writes[0].run)
    sink = session.get_capture(latest.capture).manifest.sink
    assert sink is not None  # noqa: S101 - it wrote the dataset
    writer_runs = {write.run: None for write in writes if write.status != "refused"}
    version_time = AsOf(latest_instant, [node_id(NodeKind.RUN, run) for run in writer_runs])
    listed_files = [pieces[path][0] for path in sorted(pieces)]
    return replace(
        dataset, version=Version(version_time, listed_files, Shape.from_sink(sink), {file.number: rows for file, rows in pieces.values()})
    )


def _find_replaced_folder(capture: Capture) -> tuple[str, ...]:
    """Return the folder of a partition that a capture overwrote, as a prefix of paths. Empty if it overwrote no partition."""
    sink = capture.manifest.sink
    return (f"{uri_of(sink.path).rstrip('/')}/",) if sink is not None and sink.within and not sink.extra.get("dynamic") else ()


def _find_read_state(session: Session, dataset: Dataset, latest_instant: str | None, run: str | None) -> Dataset:
    """Return a dataset without a captured writer, as one run read it, or as the last run before an instant read it."""
    last_read = session.store.catalog.versions.reader(session.tenant, dataset.id, until=latest_instant, run=run)
    if last_read is None:
        time_text = (
            f"Run {run} neither wrote nor read"
            if run is not None
            else f"By {shown_instant(latest_instant or '')} no known run had written or read"
        )
        raise NotFoundError(f"{time_text} {dataset.name} with its records.", hint=_HINT)
    capture, reader, end_time = session.get_capture(last_read[0]), last_read[1], last_read[2]
    sources = [s for s in capture.manifest.sources if node_id(NodeKind.DATASET, s.dataset.namespace, s.dataset.name) == dataset.id]
    shape = Shape.from_source(sources[0])
    file_shapes = [(file, Shape.from_source(source)) for source in sources for file in capture.files_of(source)]
    files = {
        known_file.number: known_file
        for file, source_shape in file_shapes
        for known_file in [session.add_file(block_of_source(file), dataset.id, source_shape, file.partition)]
    }
    as_of = AsOf(latest_instant or end_time, [node_id(NodeKind.RUN, reader)], is_read=True)
    return replace(dataset, version=Version(as_of, sorted(files.values(), key=_get_path), shape, {}))


def _check_coarse(session: Session, dataset: Dataset, as_of: str, versions: list[Node]) -> None:
    """Report runs without record lineage that wrote to a version. If one of them replaced the dataset, refuse the version."""
    for version in versions:
        run = parse_id(version.id)[1][2]
        if version.properties.get("block") == "base":
            raise _make_unknown_error(dataset, as_of, run)
        session.report(dataset.id, f"run {run} wrote to it by then too, and is known by datasets only", "missing")


def _make_unknown_error(dataset: Dataset, as_of: str, run: str) -> UnsupportedError:
    return UnsupportedError(
        f"Which records {dataset.name} had as of {as_of} is not known: run {run}, which wrote it, was not captured by record.",
        hint=f"`headwater lineage {dataset.name} --as-of …` shows its lineage by datasets.",
    )


def _is_coarse(version: Node) -> bool:
    return "capture" not in version.properties and bool(_get_write_time(version))


async def _list_versions(graph: GraphStore | None, tenant: str, dataset: Dataset) -> AsyncIterator[Node]:
    """Yield the versions of a dataset in the graph: one for each run that wrote to the dataset."""
    cursor: str | None = None
    while graph is not None:
        page = await graph.children(tenant, dataset.id, kinds=[NodeKind.VERSION], first=_PAGE, after=cursor)
        for node in await with_ends(graph, tenant, page.nodes):
            yield node
        cursor = page.cursor
        if cursor is None:
            return


def _get_write_time(version: Node) -> str:
    write_time = version.properties.get("writtenAt")
    return Stamp.at(write_time, "").time if isinstance(write_time, str) else ""


def _get_undo_time(version: Node) -> str:
    undo_time = version.properties.get(UNDONE_AT)
    return Stamp.at(undo_time, "").time if isinstance(undo_time, str) else _NEVER


def _get_label(version: Node) -> str | None:
    version_facet = version.properties.get("version")
    return str(version_facet["datasetVersion"]) if isinstance(version_facet, dict) and "datasetVersion" in version_facet else None


def _get_folder(file: KnownFile) -> str:
    return file.block.path.rpartition("/")[0]


def _get_path(file: KnownFile) -> str:
    return file.block.path
