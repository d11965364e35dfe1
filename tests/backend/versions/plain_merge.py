"""A merge of a compaction in plain Python, which captures as tasks of Spark do. For histories that would take too long with Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headwater.backend.versions.compaction.journal import CompactionJournal
from headwater.backend.versions.compaction.merged_files import read_facts
from headwater.graph.associations import Manifest
from headwater.graph.associations.segment import Segment
from headwater.graph.records import AssociationStore
from headwater.graph.versions.compaction import CompactionPlan
from tests.graph.jobs import TENANT, Job

COLUMNS = {"k": "string", "v": "int"}


class _Spool:
    """Keeps a capture in a folder until its delivery. Has the verbs of a store that `Job` uses."""

    def __init__(self, store: AssociationStore, folder: Path) -> None:
        self._store = store
        self._folder = folder

    def stage_segment(self, tenant: str, capture: str, name: str, data: bytes) -> str:
        (self._folder / name).write_bytes(data)
        return self._store.stage_segment(tenant, capture, name, data)

    def publish(self, tenant: str, manifest: Manifest) -> None:
        body = manifest.to_json()
        for entry in body["segments"]:  # footers name files of the shadow, so the manifest has to name them
            footer = Segment.open(entry["name"], self._folder / entry["name"]).footer
            entry |= {"files": [file.to_json() for file in footer.files], "runs": [list(run) for run in footer.runs]}
        (self._folder / "manifest.json").write_text(json.dumps(body))


class PlainMerge:
    """Implements `Merge`. The capture gets the time `clock`."""

    def __init__(self, store: AssociationStore, clock: int) -> None:
        self._store = store
        self._clock = clock

    def run(self, journal: CompactionJournal, place: Path, holding: int, plan: CompactionPlan) -> None:
        home = place / "home"
        home.mkdir()
        said = {"mode": "overwrite", "block": "base", "merges": True}
        spool: Any = _Spool(self._store, home)
        job = Job(spool, "headwater_compact", self._clock, part=f"merged{self._clock}", said=said)
        names = [Path(file.path).name for file in plan.files]
        job.write(job.scan(Path(journal.folder), "parquet", COLUMNS, only=names), journal.other, "parquet", list(COLUMNS), files=1)

    def check(self, journal: CompactionJournal, place: Path) -> tuple[str, str]:
        manifest = json.loads((place / "home" / "manifest.json").read_text())
        before = read_facts(Path(file.path.removeprefix("file:")) for file in journal.files)
        after = read_facts(path for path in journal.other.iterdir())
        assert (before.rows, before.columns) == (after.rows, after.columns)
        return manifest["capture"], manifest["run"]["runId"]

    def deliver(self, journal: CompactionJournal, place: Path, note_refusal: Callable[[str], None]) -> None:
        text = (place / "home" / "manifest.json").read_text().replace(f"{Path(journal.shadow).name}/", "")
        manifest = Manifest.from_json(json.loads(text))
        if manifest.capture not in {entry.capture for entry in self._store.catalog.captures(TENANT)}:
            self._store.publish(TENANT, manifest)

    def clean(self, place: Path) -> None:
        for path in (place / "home").iterdir():
            path.unlink()
        (place / "home").rmdir()
