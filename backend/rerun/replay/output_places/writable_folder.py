"""Folders that a commit writes: local, on an object store, or on HDFS. Names are paths in the folder.

A commit needs three verbs. `create` is the one that decides between two writers, so it must be atomic and must never replace a file.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from headwater.backend.rerun.replay.output_places.protocol import refuse
from headwater.errors import ConfigurationError
from headwater.graph.records import DataRoots
from headwater.graph.records.atomic_files import sync
from headwater.graph.storage.addresses import address_of, is_remote


class WritableFolder(Protocol):
    """All methods may raise `SourceUnavailableError` or `UnavailableError` if the store does not answer."""

    def put(self, name: str, source: Path) -> None:
        """Copy a local file to the storage. The copy survives a crash. It replaces a file of this name: a copy of an earlier call."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Write a small file, whole or not at all, if there is none of this name. Return whether it was written."""
        ...

    def delete(self, names: Sequence[str]) -> None:
        """Delete files. A missing file is no error."""
        ...


class LocalWritableFolder(WritableFolder):
    """A folder on a local file system."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, name: str, source: Path) -> None:
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        sync(target)
        sync(target.parent)

    def create(self, name: str, data: bytes) -> bool:
        target = self._folder / name
        draft = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
        try:
            draft.write_bytes(data)
            sync(draft)
            os.link(draft, target)
        except FileExistsError:
            return False
        finally:
            draft.unlink(missing_ok=True)
        sync(target.parent)
        return True

    def delete(self, names: Sequence[str]) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)


class ObjectFiles(WritableFolder):
    """Objects below a prefix of S3. A conditional request creates an object, so a store without conditional writes cannot be used."""

    def __init__(self, place: str, dataset: str, sources: DataRoots) -> None:
        try:
            self._place = sources.remote.folder(place)
        except ConfigurationError as error:
            raise refuse(dataset, error.message.rstrip("."), error.hint) from None

    def put(self, name: str, source: Path) -> None:
        self._place.put(name, source)

    def create(self, name: str, data: bytes) -> bool:
        return self._place.put_where(name, data, None)

    def delete(self, names: Sequence[str]) -> None:
        self._place.delete_all(list(names))


def open_folder(place: str, dataset: str, sources: DataRoots) -> WritableFolder:
    """Return the folder of a dataset for writing. `place` is its path or URI.

    Raises:
        UnsupportedError: no root of remote storage contains it, or its storage cannot be written.
    """
    if not is_remote(place):
        return LocalWritableFolder(sources.look().path(place))
    scheme = address_of(place).scheme
    if scheme == "s3":
        return ObjectFiles(place, dataset, sources)
    raise refuse(dataset, f"{scheme}: is not written here", "Tables can be replaced on local file systems and on s3:.")
