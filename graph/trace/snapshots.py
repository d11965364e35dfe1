"""Earlier states of Delta and Iceberg tables: the files of a snapshot and their rows, from the tables' own metadata.

A trace uses them if it begins at a snapshot, at an instant, or at a run. Captures may not have all files of the table, because other
programs may have written to it too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.model import NodeKind, Stamp, node_id
from headwater.graph.trace.answer import AsOf
from headwater.graph.trace.datasets import Dataset, Version, find_shape
from headwater.graph.trace.session import Session

_HINT = "Name the snapshot itself."


def find_table_shape(session: Session, dataset: Dataset) -> Shape | None:
    """Return how to read a table with snapshots. None for other datasets."""
    try:
        shape, _ = find_shape(session, dataset)
    except NotFoundError:
        return None
    return shape if get_format(shape.format).is_table else None


def find_snapshot(
    session: Session,
    dataset: Dataset,
    shape: Shape,
    *,
    name: str | None = None,
    latest_instant: str | None = None,
    runs: Collection[str] = (),
) -> Dataset:
    """Return the table at a named snapshot, or at an instant. `runs` are the ids of runs that are known to have made the snapshot.

    Raises:
        NotFoundError: the snapshot or the table does not exist any more.
        UnsupportedError: the metadata may not be read, are damaged, or do not determine the rows.
        SourceUnavailableError: the storage does not return the metadata.
    """
    try:
        snapshot = get_format(shape.format).find_version(
            session.look, dataset.path, shape, name=name, latest_instant=_parse_milliseconds(latest_instant)
        )
    except OSError as error:
        raise UnsupportedError(f"The metadata of {dataset.name} cannot be read ({error.strerror}).") from None
    if snapshot is None:
        raise NotFoundError(f"{dataset.name} is no table of {shape.format} any more: its folder has no metadata.")
    files = []
    for file in snapshot.files:
        known_file = session.add_file(file.block, dataset.id, shape, file.partition)
        if file.deleted_rows is not None:
            session.deleted_rows[known_file.number] = file.deleted_rows
        files.append(known_file)
    instant = Stamp.at(datetime.fromtimestamp(snapshot.made_at / 1000, UTC), "").time
    return replace(dataset, version=Version(AsOf(instant, [node_id(NodeKind.RUN, run) for run in runs]), files, shape, {}))


def find_run_snapshot(session: Session, dataset: Dataset, run: str) -> str:
    """Return the snapshot of a table that a run wrote, or else the snapshot that the run read.

    Raises:
        NotFoundError: the run neither wrote the table nor read records of it.
        UnsupportedError: the snapshot is not recorded.
    """
    versions = session.store.catalog.versions
    writer = next((write.capture for write in versions.writes(session.tenant, dataset.id) if write.run == run), None)
    if writer is not None:
        sink = session.get_capture(writer).manifest.sink
        stated_version = sink.extra.get("version") if sink is not None else None
    else:
        reader = versions.reader(session.tenant, dataset.id, run=run)
        if reader is None:
            raise NotFoundError(f"Run {run} neither wrote nor read {dataset.name} with its records.", hint=_HINT)
        sources = session.get_capture(reader[0]).manifest.sources
        read_versions = {
            source.extra.get("version") for source in sources if _is_dataset_of(source.dataset.namespace, source.dataset.name, dataset)
        }
        stated_version = next(iter(read_versions)) if len(read_versions) == 1 else None
    if stated_version is None:
        raise UnsupportedError(f"Which snapshot of {dataset.name} run {run} had is not known.", hint=_HINT)
    return str(stated_version)


def _is_dataset_of(namespace: str, name: str, dataset: Dataset) -> bool:
    return node_id(NodeKind.DATASET, namespace, name) == dataset.id


def _parse_milliseconds(latest_instant: str | None) -> int | None:
    return None if latest_instant is None else int(datetime.fromisoformat(latest_instant).timestamp() * 1000)
