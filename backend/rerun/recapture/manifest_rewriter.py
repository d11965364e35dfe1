"""Rewrites the manifest of a second run's capture into a manifest of the run that wrote the real data.

The second run wrote to a separate folder (the shadow). Each of its files must have been compared, and be unchanged since. In the new
manifest, the real file with its length and time replaces it. No path of the shadow may remain. Segments stay unchanged.
The footers of segments name files of the shadow, so the manifest states the sink's files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headwater.backend.rerun.recapture.file_pairs import Pair
from headwater.backend.rerun.recapture.original_run import OriginalRun
from headwater.errors import InvalidCaptureError
from headwater.graph.associations.segment import Footer


class Rewriting:
    """Rewrites manifests for one shadow root. `pairs` contains all files that were written there."""

    def __init__(self, shadow: Path, pairs: Iterable[Pair]) -> None:
        self._shadow = str(shadow)
        self._spellings = tuple(dict.fromkeys([self._shadow, quote(self._shadow)]))
        self._pairs = {str(pair.shadow): pair for pair in pairs}

    def dataset(self, named: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return the namespace and the name of the real dataset for a dataset of the shadow, or None for other datasets."""
        name = str(named["name"])
        return (str(named["namespace"]), self._real(name)) if self.is_shadow(name) else None

    def pair(self, file: Mapping[str, Any]) -> Pair:
        """Return the pair for a file of the shadow, by its path in a manifest or footer.

        Raises:
            InvalidCaptureError: the file was not compared or changed since.
        """
        pair = self._pairs.get("/" + str(file["path"]).removeprefix("file:").lstrip("/"))
        if pair is None or (file["length"], file["modified"]) != (pair.before.length, pair.before.modified):
            raise InvalidCaptureError(f"{file['path']} is no file that was compared, or is not as it was then.", field="$.segments")
        return pair

    def is_shadow(self, path: object) -> bool:
        text = str(path)
        if text.startswith("file:"):
            text = "/" + text.removeprefix("file:").lstrip("/")
        return any(text == shadow or text.startswith(f"{shadow}/") for shadow in self._spellings)

    def manifest(self, manifest: Mapping[str, Any], footers: Mapping[str, Footer], run: OriginalRun) -> dict[str, Any]:
        """Return the manifest for the first run. `footers` maps the segments of the sink to their footers.

        Raises:
            InvalidCaptureError: the manifest names a file of the shadow that was not compared.
        """
        sink = manifest["sink"]
        again = {"started": manifest["started"], "ended": manifest["ended"]}
        clean: dict[str, Any] = self._clean({
            **manifest,
            "sources": [self._source(source) for source in manifest["sources"]],
            "segments": [
                self._segment(entry, footers.get(entry["name"])) if entry["boundary"] == sink["boundary"] else entry
                for entry in manifest["segments"]
            ],
            "sink": {**sink, "committed": [self._file(file) for file in sink.get("committed") or ()]},
        })  # fmt: skip
        namespace, job = run.job
        clean |= {
            "run": {"namespace": namespace, "job": job, "runId": run.run_id},
            "started": run.started,
            "ended": run.ended,
            "recaptured": again,
        }
        if any(shadow in json.dumps(clean, ensure_ascii=False) for shadow in self._spellings):
            raise InvalidCaptureError("The manifest still names a file of the shadow.", field="$")
        return clean

    def _source(self, source: Mapping[str, Any]) -> dict[str, Any]:
        before = list(source.get("files") or ())
        files = [self._file(file) if self.is_shadow(file["path"]) else file for file in before]
        real = {str(file["path"]): now["path"] for file, now in zip(before, files, strict=True)}
        splits = [{**split, "path": real.get(str(split["path"]), split["path"])} for split in source.get("splits") or ()]
        return {**source, "files": files, "splits": splits}

    def _segment(self, entry: Mapping[str, Any], footer: Footer | None) -> dict[str, Any]:
        if entry.get("files") is not None:
            files, runs = list(entry["files"]), entry.get("runs")
        elif footer is not None:
            files, runs = [file.to_json() for file in footer.files], [list(run) for run in footer.runs]
        else:
            raise InvalidCaptureError(f"Segment {entry['name']} does not name its files.", field="$.segments")
        return {**entry, "files": [self._file(file) for file in files], "runs": runs}

    def _file(self, file: Mapping[str, Any]) -> dict[str, Any]:
        pair = self.pair(file)
        path = self._real(f"{str(file['path']).rpartition('/')[0]}/{Path(pair.named).name}")
        return {**file, "path": path, "length": pair.now.length, "modified": pair.now.modified}

    def _real(self, text: str) -> str:
        for shadow in self._spellings:
            text = text.replace(shadow, "")
        return text

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._real(value)
        if isinstance(value, list):
            return [self._clean(child) for child in value]
        if isinstance(value, dict):
            return {name: self._clean(child) for name, child in value.items()}
        return value
