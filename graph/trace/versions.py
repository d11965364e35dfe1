"""Datasets as they were: which files a version consisted of, and which runs wrote them.

For traces that ask about an earlier time, a run, a version of the graph or a table's snapshot. A version is made of blocks: what the last
run that replaced the whole dataset wrote, and what was added since. Which run wrote a record, and what that run read, is then found by
the blocks, as ever. Where a run that is known by datasets only had a part in it, the answer says so, or there is none. Tables that have
metadata of their own tell by these which files a version had (`snapshots`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
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
from headwater.graph.stores.write_times import with_ends
from headwater.graph.trace.answer import AsOf, TraceRequest
from headwater.graph.trace.datasets import Dataset, Version, find_dataset
from headwater.graph.trace.session import Capture, KnownFile, Session
from headwater.graph.trace.snapshots import at_snapshot, snapshot_of_run, table_shape

_PAGE = 1_000
_HINT = "Name an instant (2026-01-31T23:59:59Z), a run's id, a version's id, or a snapshot of a table. `headwater jobs` lists runs."


async def find_asked(session: Session, graph: GraphStore | None, request: TraceRequest) -> Dataset:
    """The dataset that a request is about, at the version that it asks for: by `as_of`, or behind an `@` after the dataset.

    Raises:
        NotFoundError: there is no such dataset, or no such version.
        InvalidQueryError: several datasets are called so, or what is asked for is no version.
        UnsupportedError: records of that version are not known.
    """
    text, as_of = request.dataset, request.as_of
    try:
        dataset = await find_dataset(session, graph, text)
    except NotFoundError:
        name, _, asked = text.rpartition("@")
        if not name or not asked or "/" in asked or as_of is not None:
            raise
        dataset, as_of = await find_dataset(session, graph, name), asked
    if as_of is None:
        return dataset
    found = await version_of(session, graph, dataset, as_of)
    if not found.within or found.version is None:
        return found
    files = [file for file in found.version.files if found.has(file)]
    rows = {file.number: found.version.rows[file.number] for file in files if file.number in found.version.rows}
    return replace(found, version=replace(found.version, files=files, rows=rows))


async def version_of(session: Session, graph: GraphStore | None, dataset: Dataset, as_of: str) -> Dataset:
    """A dataset as it was. Raises as `find_asked` does."""
    known, tenant = session.store.catalog.versions, session.tenant
    shape = await asyncio.to_thread(table_shape, session, dataset)
    if shape is not None:
        return await _of_table(session, graph, dataset, shape, as_of)
    run, until = await _meant(session, graph, dataset, as_of)
    if run is not None:
        until = await asyncio.to_thread(known.last_write, tenant, dataset.id, run)
        if until is None:
            return await asyncio.to_thread(_as_read, session, dataset, None, run)
    assert until is not None  # noqa: S101 - `_meant` gives the one or the other
    coarse = [version async for version in _coarse(graph, tenant, dataset) if _written_at(version) <= until]
    return await asyncio.to_thread(_as_written, session, dataset, as_of, until, coarse)


async def _of_table(session: Session, graph: GraphStore | None, dataset: Dataset, shape: Shape, as_of: str) -> Dataset:
    """A table of Delta or Iceberg as it was: what its metadata know by that name comes before what the graph knows."""
    run, until = _run_or_instant(dataset, as_of)
    name = as_of if run is None and until is None else None
    runs: list[str] = []
    if run is not None:
        name = await asyncio.to_thread(snapshot_of_run, session, dataset, run)
    if name is not None:
        labels = [(_label(version), parse_id(version.id)[1][2]) async for version in _versions(graph, session.tenant, dataset)]
        runs = [maker for label, maker in labels if label == name]
    return await asyncio.to_thread(at_snapshot, session, dataset, shape, name=name, until=until, runs=runs)


async def _meant(session: Session, graph: GraphStore | None, dataset: Dataset, as_of: str) -> tuple[str | None, str | None]:
    """The run, or else the instant, that a text names."""
    run, until = _run_or_instant(dataset, as_of)
    if run is not None or until is not None:
        return run, until
    found = {version.id: version async for version in _versions(graph, session.tenant, dataset) if _label(version) == as_of}
    if len(found) > 1:
        runs = ", ".join(parse_id(version)[1][2] for version in sorted(found))
        raise InvalidQueryError(
            f"{len(found)} versions of {dataset.name} are called {as_of}: of the runs {runs}.", field="as_of", hint="Name the run."
        )
    if not found:
        raise InvalidQueryError(f"{as_of!r} names no version of {dataset.name}.", field="as_of", hint=_HINT)
    return parse_id(next(iter(found)))[1][2], None


def _run_or_instant(dataset: Dataset, as_of: str) -> tuple[str | None, str | None]:
    """The run, or else the instant, that a text names by itself; neither where it can only be what a version is called."""
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


def _as_written(session: Session, dataset: Dataset, as_of: str, until: str, coarse: list[Node]) -> Dataset:
    """A dataset as runs had written it by an instant."""
    writes: list[Write] = []
    base: Write | None = None
    for write in session.store.catalog.versions.writes(session.tenant, dataset.id, until):
        if base is not None and write.ended <= base.started:
            break
        if base is not None:
            reason = f"run {write.run} wrote it while run {base.run} replaced it: what the one wrote may be in that version or not"
            session.say(dataset.id, reason, "superset")
        writes.append(write)
        if base is None and write.replaces is Replaces.ALL:
            base = write
    since = base.ended if base is not None else ""
    _check_coarse(session, dataset, as_of, [version for version in coarse if _written_at(version) > since])
    if not writes:
        return _as_read(session, dataset, until, None)
    return _of_writes(session, dataset, as_of, until, writes, base)


def _of_writes(session: Session, dataset: Dataset, as_of: str, until: str, writes: list[Write], base: Write | None) -> Dataset:
    pieces: dict[str, tuple[KnownFile, int]] = {}
    for write in reversed(writes):
        if write.status == "refused":
            if write is base:
                raise _unknown(dataset, as_of, write.run)
            session.say(dataset.id, f"run {write.run} wrote to it too, and which records is not known", "missing")
            continue
        capture = session.capture(write.capture)
        if write.replaces is Replaces.SOME and pieces:
            session.say(dataset.id, f"run {write.run} replaced some of its partitions; which it was is not known", "superset")
        files = [(session.wrote(capture, kept), kept.rows) for kept in capture.files]
        if write.replaces is Replaces.PARTITIONS:
            folders, below = {_folder(file) for file, _ in files}, _replaced_folder(capture)
            pieces = {path: piece for path, piece in pieces.items() if _folder(piece[0]) not in folders and not path.startswith(below)}
        pieces |= {file.block.path: (file, rows) for file, rows in files}
    latest = next((write for write in writes if write.status != "refused"), None)
    if latest is None:
        raise _unknown(dataset, as_of, writes[0].run)
    sink = session.capture(latest.capture).manifest.sink
    assert sink is not None  # noqa: S101 - it wrote the dataset
    wrote = {write.run: None for write in writes if write.status != "refused"}
    stated = AsOf(until, [node_id(NodeKind.RUN, run) for run in wrote])
    listed = [pieces[path][0] for path in sorted(pieces)]
    return replace(dataset, version=Version(stated, listed, Shape.of_sink(sink), {file.number: rows for file, rows in pieces.values()}))


def _replaced_folder(capture: Capture) -> tuple[str, ...]:
    """The folder of a partition that a capture replaced with all that was below it, as the beginnings of paths."""
    sink = capture.manifest.sink
    return (f"{uri_of(sink.path).rstrip('/')}/",) if sink is not None and sink.within and not sink.extra.get("dynamic") else ()


def _as_read(session: Session, dataset: Dataset, until: str | None, run: str | None) -> Dataset:
    """A dataset that no known run had written: as the last run by an instant read it, or as one run did."""
    found = session.store.catalog.versions.reader(session.tenant, dataset.id, until=until, run=run)
    if found is None:
        when = (
            f"Run {run} neither wrote nor read" if run is not None else f"By {shown_instant(until or '')} no known run had written or read"
        )
        raise NotFoundError(f"{when} {dataset.name} with its records.", hint=_HINT)
    capture, reader, ended = session.capture(found[0]), found[1], found[2]
    sources = [s for s in capture.manifest.sources if node_id(NodeKind.DATASET, s.dataset.namespace, s.dataset.name) == dataset.id]
    shape = Shape.of_source(sources[0])
    read = [(file, Shape.of_source(source)) for source in sources for file in capture.files_of(source)]
    files = {known.number: known for file, of in read for known in [session.known(block_of_source(file), dataset.id, of, file.partition)]}
    stated = AsOf(until or ended, [node_id(NodeKind.RUN, reader)], is_read=True)
    return replace(dataset, version=Version(stated, sorted(files.values(), key=_path), shape, {}))


def _check_coarse(session: Session, dataset: Dataset, as_of: str, versions: list[Node]) -> None:
    """Say which runs that are known by datasets only had a part in a version; where one of them replaced all, nothing is known of it."""
    for version in versions:
        run = parse_id(version.id)[1][2]
        if version.properties.get("block") == "base":
            raise _unknown(dataset, as_of, run)
        session.say(dataset.id, f"run {run} wrote to it by then too, and is known by datasets only", "missing")


def _unknown(dataset: Dataset, as_of: str, run: str) -> UnsupportedError:
    return UnsupportedError(
        f"Which records {dataset.name} had as of {as_of} is not known: run {run}, which wrote it, was not captured by record.",
        hint=f"`headwater lineage {dataset.name} --as-of …` shows its lineage by datasets.",
    )


async def _coarse(graph: GraphStore | None, tenant: str, dataset: Dataset) -> AsyncIterator[Node]:
    """The versions of a dataset that no capture tells of."""
    async for version in _versions(graph, tenant, dataset):
        if "capture" not in version.properties and _written_at(version):
            yield version


async def _versions(graph: GraphStore | None, tenant: str, dataset: Dataset) -> AsyncIterator[Node]:
    """The versions of a dataset that the graph knows: one for each run that wrote it."""
    cursor: str | None = None
    while graph is not None:
        page = await graph.children(tenant, dataset.id, kinds=[NodeKind.VERSION], first=_PAGE, after=cursor)
        for node in await with_ends(graph, tenant, page.nodes):
            yield node
        cursor = page.cursor
        if cursor is None:
            return


def _written_at(version: Node) -> str:
    """When a version was written; '' where it is not known."""
    stated = version.properties.get("writtenAt")
    return Stamp.at(stated, "").time if isinstance(stated, str) else ""


def _label(version: Node) -> str | None:
    """The snapshot of a table that a version is (the OpenLineage facet `version`)."""
    stated = version.properties.get("version")
    return str(stated["datasetVersion"]) if isinstance(stated, dict) and "datasetVersion" in stated else None


def _folder(file: KnownFile) -> str:
    return file.block.path.rpartition("/")[0]


def _path(file: KnownFile) -> str:
    return file.block.path
