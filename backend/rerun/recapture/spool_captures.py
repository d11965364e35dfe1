"""Reads the captures in the spool of a recapture's own home, with the files of their sinks.

The program could have written to this spool, too. For this reason each capture is checked like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.errors import InvalidCaptureError
from headwater.graph.associations import Manifest
from headwater.graph.associations.segment import Footer, Segment
from headwater.spark_listener.spool import Item, SpoolFolder, applications
from headwater.spark_listener.spool.log import ItemKind


@dataclass(frozen=True, slots=True)
class Captured:
    """A capture in a spool. `footers` belong to the segments of its sink. `files` are the written files, each once."""

    item: Item
    folder: SpoolFolder
    manifest: Mapping[str, Any]
    footers: Mapping[str, Footer]
    files: Sequence[Mapping[str, Any]]


@contextmanager
def captured_in(spool: Path) -> Iterator[list[Captured]]:
    """Yield the captures of all applications in a spool. The captures stay in the spool.

    Raises:
        InvalidCaptureError: a capture violates the format.
    """
    folders = [folder for path in applications(spool) if (folder := SpoolFolder.take(path)) is not None]
    try:
        yield [_read(item, folder) for folder in folders for item in folder.pending() if item.kind is ItemKind.CAPTURE]
    finally:
        for folder in folders:
            folder.close(remove_if_done=False)


def _read(item: Item, folder: SpoolFolder) -> Captured:
    manifest = Manifest.from_json(item.body)
    if item.segments is not None:
        raise InvalidCaptureError("A capture of a second run has its segments elsewhere.", field="$.segments")
    footers: dict[str, Footer] = {}
    files: dict[str, Mapping[str, Any]] = {}
    for entry in manifest.segments:
        if manifest.sink is None or entry.boundary != manifest.sink.boundary:
            continue
        if entry.files is None:
            path = folder.segments / manifest.capture / entry.name
            try:
                footers[entry.name] = Segment.open(entry.name, path).footer
            except OSError as error:
                raise InvalidCaptureError(f"Segment {entry.name} cannot be read: {error}.", field="$.segments") from error
        for file in footers[entry.name].files if entry.files is None else entry.files:
            files[file.path] = file.to_json()
    return Captured(item, folder, item.body, footers, list(files.values()))
