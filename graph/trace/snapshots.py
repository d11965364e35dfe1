"""Tables of Delta and Iceberg as they were: their own metadata say which files, and which rows of them, a snapshot has.

For traces that begin with records of such a table at a snapshot, an instant, or as a run wrote or read it. Other programs may have written
to the table too, so what captures know of it is never taken for all of it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.model import NodeKind, Stamp, node_id
from headwater.graph.trace.answer import AsOf
from headwater.graph.trace.datasets import Dataset, Version, shape_of
from headwater.graph.trace.session import Session

_HINT = "Name the snapshot itself."


def table_shape(session: Session, dataset: Dataset) -> Shape | None:
    """How a table's records are read; None where the dataset is no such table."""
    try:
        shape, _ = shape_of(session, dataset)
    except NotFoundError:
        return None
    return shape if format_of(shape.format).is_table else None


def at_snapshot(
    session: Session, dataset: Dataset, shape: Shape, *, name: str | None = None, until: str | None = None, runs: Collection[str] = ()
) -> Dataset:
    """A table at a snapshot that it calls so, or at an instant. `runs`: ids of those that are known to have made it.

    Raises:
        NotFoundError: there is no such snapshot, or no table any more.
        UnsupportedError: its metadata may not be read, are damaged, or do not tell which rows it had.
        SourceUnavailableError: their storage does not give them.
    """
    try:
        found = format_of(shape.format).version(session.look, dataset.path, shape, name=name, until=_milliseconds(until))
    except OSError as error:
        raise UnsupportedError(f"The metadata of {dataset.name} cannot be read ({error.strerror}).") from None
    if found is None:
        raise NotFoundError(f"{dataset.name} is no table of {shape.format} any more: its folder has no metadata.")
    files = []
    for file in found.files:
        known = session.known(file.block, dataset.id, shape, file.partition)
        if file.left_out is not None:
            session.left_out[known.number] = file.left_out
        files.append(known)
    made = Stamp.at(datetime.fromtimestamp(found.made / 1000, UTC), "").time
    return replace(dataset, version=Version(AsOf(made, [node_id(NodeKind.RUN, run) for run in runs]), files, shape, {}))


def snapshot_of_run(session: Session, dataset: Dataset, run: str) -> str:
    """The snapshot that a run left of a table, or else the one that it read.

    Raises:
        NotFoundError: the run neither wrote nor read it with its records.
        UnsupportedError: it is not known which snapshot that was.
    """
    versions = session.store.catalog.versions
    wrote = next((write.capture for write in versions.writes(session.tenant, dataset.id) if write.run == run), None)
    if wrote is not None:
        sink = session.capture(wrote).manifest.sink
        stated = sink.extra.get("version") if sink is not None else None
    else:
        reader = versions.reader(session.tenant, dataset.id, run=run)
        if reader is None:
            raise NotFoundError(f"Run {run} neither wrote nor read {dataset.name} with its records.", hint=_HINT)
        sources = session.capture(reader[0]).manifest.sources
        read = {source.extra.get("version") for source in sources if _is_of(source.dataset.namespace, source.dataset.name, dataset)}
        stated = next(iter(read)) if len(read) == 1 else None
    if stated is None:
        raise UnsupportedError(f"Which snapshot of {dataset.name} run {run} had is not known.", hint=_HINT)
    return str(stated)


def _is_of(namespace: str, name: str, dataset: Dataset) -> bool:
    return node_id(NodeKind.DATASET, namespace, name) == dataset.id


def _milliseconds(until: str | None) -> int | None:
    return None if until is None else int(datetime.fromisoformat(until).timestamp() * 1000)
