"""A folder on S3 that a commit writes, with the credentials of its root in `storage.toml`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headwater.backend.rerun.replay.output_places.protocol import refuse
from headwater.backend.rerun.replay.output_places.writable_folder import WritableFolder
from headwater.errors import ConfigurationError
from headwater.graph.records import DataRoots


class ObjectFiles(WritableFolder):
    """Objects below a prefix. A conditional request creates an object, so a store without conditional writes cannot be used."""

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
