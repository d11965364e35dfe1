"""Files of a dataset outside of its folder, in partitions of a table with a location of their own.

For the selection of the records that a trace begins with. Only the table's catalog knows these locations, and a trace does not ask it. The
files are those that the last run read. An answer that searched them reports this.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from headwater.errors import NotFoundError
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import block_at, uri_of
from headwater.graph.trace.datasets import Dataset, named_files
from headwater.graph.trace.session import KnownFile, Session

_MOST = 100_000  # files of a table that are checked


def files_apart(session: Session, dataset: Dataset, shape: Shape, listed: Sequence[KnownFile], paths: Sequence[str]) -> list[KnownFile]:
    """Return files of a dataset outside of its folder: those at `paths`, as runs knew them, or all known ones without paths."""
    if not shape.partitions or format_of(shape.format).is_table:
        return []
    there = {file.block.path for file in listed}
    if wanted := [path for path in paths if not there.intersection((uri_of(path), uri_of(Path(os.path.abspath(path)))))]:
        read = {file.block.path: file for file in _read_apart(session, dataset, shape)}
        found = [read[path] for path in map(uri_of, wanted) if path in read]
        for path in wanted:
            if uri_of(path) not in read:
                found += _named(session, dataset, shape, path)
        return found
    if paths:
        return []
    found = _read_apart(session, dataset, shape)
    if found:
        reason = f"partitions of it lie elsewhere: {len(found)} files that a run read there were searched, and there may be more by now"
        session.say(dataset.name, reason, "missing")
    return found


def _named(session: Session, dataset: Dataset, shape: Shape, path: str) -> list[KnownFile]:
    try:
        return named_files(session, dataset, shape, [path])
    except NotFoundError:  # the search among all files reports it
        return []


def _read_apart(session: Session, dataset: Dataset, shape: Shape) -> list[KnownFile]:
    """Return the files outside of the folder that the last reader of the dataset read."""
    capture = session.store.catalog.datasets.latest(session.tenant, dataset.id, "source")
    if capture is None:
        return []
    known, below = session.capture(capture), f"{dataset.path.rstrip('/')}/"
    found: dict[int, KnownFile] = {}
    for source in known.manifest.sources:
        if node_id(NodeKind.DATASET, source.dataset.namespace, source.dataset.name) != dataset.id:
            continue
        for entry in known.files_of(source).first(_MOST):
            block = block_at(entry.path, entry.length, entry.modified)
            if not block.path.startswith(below):
                file = session.known(block, dataset.id, shape, entry.partition)
                found[file.number] = file
    return list(found.values())
