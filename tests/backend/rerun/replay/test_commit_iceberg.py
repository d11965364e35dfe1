"""Commits of tables of Iceberg: another program commits between the check and the new metadata file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.rerun.replay.model import CommittedFolder
from headwater.backend.rerun.replay.output_places.iceberg_table import IcebergTables
from headwater.errors import SourceChangedError
from headwater.graph.records import FileBlock
from headwater.graph.records.roots import ANYWHERE


def _write(table: Path, version: int, **properties: str) -> None:
    metadata = {"format-version": 2, "location": str(table), "last-updated-ms": version, "snapshots": [], "properties": properties}
    (table / "metadata").mkdir(parents=True, exist_ok=True)
    (table / "metadata" / f"v{version}.metadata.json").write_text(json.dumps(metadata))


@pytest.mark.parametrize("action", ["commit", "undo"])
def test_a_commit_of_another_program_after_the_check_stays_current(tmp_path: Path, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, places, original, is_new = tmp_path / "t", IcebergTables(ANYWHERE), IcebergTables._newest, action == "commit"
    _write(table, 1)
    version, block = places._newest(str(table))
    output = CommittedFolder(
        dataset=f"dataset:file:{table}", place=str(table), old="snapshot None", kind="iceberg", files={},
        before={f"metadata of version {version}": (block.length, block.modified)},
        detail={"replay": "r", "snapshot": None, "files": [], "old": None, "old-schema": {}, "schema": {}, "last-sequence-number": 0},
    )  # fmt: skip
    if not is_new:
        places.exchange(output, new=True)
    latest = 1 if is_new else 2

    def commit_after(self: IcebergTables, place: str) -> tuple[int, FileBlock]:
        found: Any = original(self, place)
        if found[0] == latest:
            _write(table, latest + 1, other="yes")
        return found  # type: ignore[no-any-return]

    monkeypatch.setattr(IcebergTables, "_newest", commit_after)
    with pytest.raises(SourceChangedError, match="written meanwhile"):
        places.exchange(output, new=is_new)
    assert max(file.name for file in (table / "metadata").glob("v*.json")) == f"v{latest + 1}.metadata.json"
    assert json.loads((table / "metadata" / f"v{latest + 1}.metadata.json").read_text())["properties"] == {"other": "yes"}
