"""Files of a dataset that lie outside of its folder: partitions of a table that have a location of their own.

For whoever chooses the records that a trace begins with. Only the table's catalog knows where such partitions are, and a trace does not ask
it: the files are those that the last run read, and an answer that searched them says so.
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

_MOST = 100_000  # files of a table that are gone through


def files_apart(session: Session, dataset: Dataset, shape: Shape, listed: Sequence[KnownFile], paths: Sequence[str]) -> list[KnownFile]:
    """Files of a dataset beside those that lie in its folder: those at some paths, as runs knew them; without paths, all that are known."""
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
    except NotFoundError:  # whoever looks for it among all files says so
        return []


def _read_apart(session: Session, dataset: Dataset, shape: Shape) -> list[KnownFile]:
    """The files that the last run which read the dataset read elsewhere."""
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
