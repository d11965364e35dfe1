"""The files that a shadow table of Iceberg adds to the real table: data files, and manifests with their new paths.

A manifest names data files by absolute paths, so the manifests that the replay wrote are written again. Manifests and data files of the
real table keep their names.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from headwater.backend.rerun.replay.output_places.protocol import refuse
from headwater.backend.rerun.replay.output_places.writable_folder import WritableFolder
from headwater.graph.files.avro_blocks import load_avro
from headwater.graph.files.iceberg_log import DELETED
from headwater.graph.records import uri_of

_POSITIONS = 1  # the content of a file with deleted positions
_DROPPED = ("avro.schema", "avro.codec")  # the writer of Avro states them itself


class NewFiles:
    """The new files of a snapshot. `names` are the names of the copies in the real table."""

    def __init__(self, dataset: str, shadow: Path, place: str, folder: WritableFolder, draft: Path) -> None:
        self._dataset, self._shadow, self._place = dataset, uri_of(shadow), place
        self._folder, self._draft = folder, draft
        self.names: list[str] = []

    def copy(self, manifest_list: str) -> str:
        """Copy the new files of a manifest list, and return the path of its copy.

        Raises:
            UnsupportedError: a delete file names a data file of the shadow, and cannot be written again.
        """
        manifests, write = self._read(manifest_list)
        for manifest in manifests:
            inner = self._inner(manifest["manifest_path"])
            if inner is not None:
                entries, write_entries = self._read(manifest["manifest_path"])
                for file in self._living(entries):
                    self._move(file)
                manifest["manifest_length"] = self._put(inner, write_entries(entries))
                manifest["manifest_path"] = f"{self._place}/{inner}"
        inner = self._inner(manifest_list)
        if inner is None:
            return manifest_list
        self._put(inner, write(manifests))
        return f"{self._place}/{inner}"

    @staticmethod
    def _living(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        return (entry["data_file"] for entry in entries if entry["status"] != DELETED)

    def _move(self, file: dict[str, Any]) -> None:
        inner = self._inner(file["file_path"])
        if inner is None:
            return
        if file.get("content") == _POSITIONS and self._names_shadow(file):
            raise refuse(self._dataset, "the replay deleted rows by position that it had written itself")
        self._folder.put(inner, self._path(file["file_path"]))
        self.names.append(inner)
        file["file_path"] = f"{self._place}/{inner}"

    def _names_shadow(self, file: Mapping[str, Any]) -> bool:
        if file.get("referenced_data_file"):
            return self._inner(file["referenced_data_file"]) is not None
        if str(file["file_format"]).upper() != "PARQUET":
            return True
        named = pc.unique(pq.read_table(self._path(file["file_path"]), columns=["file_path"])["file_path"]).to_pylist()
        return any(self._inner(path) is not None for path in named)

    def _inner(self, path: str) -> str | None:
        """Return the path in the table of a file of the shadow, None of another file."""
        uri = uri_of(path)
        return uri.removeprefix(f"{self._shadow}/") if uri.startswith(f"{self._shadow}/") else None

    @staticmethod
    def _path(path: str) -> Path:
        return Path(uri_of(path).removeprefix("file:"))

    def _put(self, inner: str, data: bytes) -> int:
        self._draft.write_bytes(data)
        self._folder.put(inner, self._draft)
        self._draft.unlink()
        self.names.append(inner)
        return len(data)

    def _read(self, path: str) -> tuple[list[dict[str, Any]], Any]:
        """Return the records of an Avro file, and a function that writes such a file."""
        avro = load_avro()
        reader = avro.reader(io.BytesIO(self._path(path).read_bytes()))
        records = list(reader)
        metadata = {name: text for name, text in reader.metadata.items() if name not in _DROPPED}

        def write(changed: list[dict[str, Any]]) -> bytes:
            target = io.BytesIO()
            avro.writer(target, reader.writer_schema, changed, codec=reader.codec, metadata=metadata)
            return target.getvalue()

        return records, write
