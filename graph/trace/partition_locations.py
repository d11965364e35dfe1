"""Finds files of a table outside of its folder, in partitions with a location of their own.

Only the table's catalog knows these locations, and a trace does not ask it. Instead, the trace uses the files that the last captured run
read, and its answer reports this.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from headwater.errors import NotFoundError
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import block_at, uri_of
from headwater.graph.trace.datasets import Dataset, find_named_files
from headwater.graph.trace.session import KnownFile, Session

_MOST = 100_000  # files of a table that are checked


def find_files_outside(
    session: Session, dataset: Dataset, shape: Shape, inside_files: Sequence[KnownFile], paths: Sequence[str]
) -> list[KnownFile]:
    """Return the files of a dataset outside of its folder. With `paths`, return only the files at these paths."""
    if not shape.partitions or get_format(shape.format).is_table:
        return []
    inside_paths = {file.block.path for file in inside_files}
    if outside_paths := [path for path in paths if not inside_paths.intersection((uri_of(path), uri_of(Path(os.path.abspath(path)))))]:
        files_by_path = {file.block.path: file for file in _list_files_outside(session, dataset, shape)}
        outside_files = [files_by_path[path] for path in map(uri_of, outside_paths) if path in files_by_path]
        for path in outside_paths:
            if uri_of(path) not in files_by_path:
                outside_files += _find_named_files(session, dataset, shape, path)
        return outside_files
    if paths:
        return []
    outside_files = _list_files_outside(session, dataset, shape)
    if outside_files:
        reason = (
            f"partitions of it lie elsewhere: {len(outside_files)} files that a run read there were searched, and there may be more by now"
        )
        session.report(dataset.name, reason, "missing")
    return outside_files


def _find_named_files(session: Session, dataset: Dataset, shape: Shape, path: str) -> list[KnownFile]:
    try:
        return find_named_files(session, dataset, shape, [path])
    except NotFoundError:  # the search among all files reports it
        return []


def _list_files_outside(session: Session, dataset: Dataset, shape: Shape) -> list[KnownFile]:
    capture = session.store.catalog.datasets.latest(session.tenant, dataset.id, "source")
    if capture is None:
        return []
    reader_capture, folder_prefix = session.get_capture(capture), f"{dataset.path.rstrip('/')}/"
    outside_files: dict[int, KnownFile] = {}
    for source in reader_capture.manifest.sources:
        if node_id(NodeKind.DATASET, source.dataset.namespace, source.dataset.name) != dataset.id:
            continue
        for entry in reader_capture.files_of(source).first(_MOST):
            block = block_at(entry.path, entry.length, entry.modified)
            if not block.path.startswith(folder_prefix):
                file = session.add_file(block, dataset.id, shape, entry.partition)
                outside_files[file.number] = file
    return list(outside_files.values())
