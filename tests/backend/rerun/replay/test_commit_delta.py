"""Commits of tables of Delta: a new version that replaces the rows, refused over versions of others, undone, and killed at any point."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.backend.rerun.replay.commit import check_places, commit, expire, undo
from headwater.backend.rerun.replay.compare import compare
from headwater.backend.rerun.replay.model import CommitState, Replay, ReplayState, TableBase
from headwater.backend.rerun.replay.output_places import OutputPlaces
from headwater.backend.rerun.replay.output_places.delta_table import DeltaTables
from headwater.backend.rerun.replay.shadow_tables import delta
from headwater.errors import NotFoundError, SourceChangedError, UnsupportedError
from headwater.graph.files.delta_log import locate_file, read_table_state
from headwater.graph.records.roots import ANYWHERE, DataRoots

FIELDS = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("id", "v")]
# Commits or undoes the replay in a file, and ends without any clean-up before or after a call of a method.
KILLED = """
import os, sys
from pathlib import Path
from headwater.backend.rerun.replay import commit as module
from headwater.backend.rerun.replay.model import Replay
from headwater.backend.rerun.replay.output_places.writable_folder import LocalWritableFolder

action, file, name, when = sys.argv[1:]
replay = Replay.model_validate_json(Path(file).read_text())
owner = module if name == "_save" else LocalWritableFolder
original = getattr(owner, name)

def call(*arguments, **options):
    if when == "before":
        os._exit(9)
    original(*arguments, **options)
    os._exit(9)

setattr(owner, name, call)
module.commit(replay, Path(file).parent, keep_days=1) if action == "commit" else module.undo(replay.id, Path(file).parent)
"""


class Table:
    """A table of Delta, written as its protocol says."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.log = folder, folder / "_delta_log"
        self.log.mkdir(parents=True)
        schema = json.dumps({"type": "struct", "fields": FIELDS})
        metadata = {"id": str(uuid.uuid4()), "format": {"provider": "parquet", "options": {}}, "schemaString": schema}
        metadata |= {"partitionColumns": [], "configuration": settings}
        self.write({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata})

    @property
    def version(self) -> int:
        return max(int(file.stem) for file in self.log.glob("*.json"))

    def write(self, *actions: dict[str, Any]) -> None:
        number = len(list(self.log.glob("*.json")))
        (self.log / f"{number:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))

    def add(self, *rows: tuple[int, int], name: str = "", removes: Sequence[str] = ()) -> str:
        """Commit a version with a new file of rows."""
        name = name or f"part-{uuid.uuid4()}.parquet"
        pq.write_table(pa.table({"id": [i for i, _ in rows], "v": [v for _, v in rows]}), self.folder / name)
        size = (self.folder / name).stat().st_size
        removed = [{"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True}} for path in removes]
        self.write(*removed, {"add": {"path": name, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}})
        return name

    def rows(self, version: int | None = None) -> list[tuple[int, int]]:
        state = read_table_state(ANYWHERE.look(), str(self.folder), version)
        assert state is not None
        found = []
        for entry in state.entries:
            table = pq.ParquetFile(locate_file(f"file:{self.folder}", entry["path"]).removeprefix("file:")).read().to_pylist()
            found += [(row["id"], row["v"]) for row in table]
        return sorted(found)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table with a file of an earlier run, and a file of the run to replay."""
    made = Table(tmp_path / "data" / "out")
    made.add((1, 10), (2, 20), name="a b.parquet")
    made.add((3, 30))
    return made


OLD, NEW = [(1, 10), (2, 20), (3, 30)], [(1, 10), (2, 20), (3, 33), (4, 44)]


def _replay(table: Table, *, base: int | None = 1, **changes: Any) -> tuple[Replay, Path]:
    """A complete replay that appended other rows to the rows that the table had before the run."""
    folder = table.folder.parent.parent / "replays" / ("a" * 32)
    shadow = folder / "data" / str(table.folder).lstrip("/")
    dataset = f"dataset:file:{table.folder}"
    if base is not None:
        delta.lay(TableBase(dataset=dataset, kind="Delta", version=base), str(table.folder), shadow, ANYWHERE.look())
        written = Table.__new__(Table)
        written.folder, written.log = shadow, shadow / "_delta_log"
    else:
        written = Table(shadow)
        written.add((1, 10), (2, 20))
    written.add((3, 33), (4, 44))
    places, before = OutputPlaces(ANYWHERE).states([dataset])
    given: dict[str, Any] = {
        "id": folder.name, "tenant": "t", "output": dataset, "started_at": datetime.now(UTC).isoformat(), "shadow": str(folder / "data"),
        "process": os.getpid(), "exclude": {}, "state": ReplayState.COMPLETE, "changed": [dataset], "before": before, "places": places,
    }  # fmt: skip
    return Replay(**(given | changes)), folder


def test_a_shadow_table_has_the_rows_before_the_run_and_its_own_new_files(table: Table) -> None:
    _, folder = _replay(table)
    shadow = folder / "data" / str(table.folder).lstrip("/")
    found, count = compare("d", table.folder, shadow, sources=DataRoots.of([table.folder.parent]))
    assert count == 2
    assert [(one.before, one.after) for one in found if one.before] == [({"id": 3, "v": 30}, {"id": 3, "v": 33})]
    assert [file.name for file in shadow.glob("*.parquet")], "the new file is in the shadow"
    assert len(list(shadow.glob("*.parquet"))) == 1


def _vector(*rows: int) -> dict[str, Any]:
    """An inline deletion vector: a Roaring bitmap of one list, as text of Z85."""
    listed = struct.pack(f"<IIHHI{len(rows)}H", 12346, 1, 0, len(rows) - 1, 16, *rows)
    data = struct.pack("<iqI", 1681511377, 1, 0) + listed
    padded = data + bytes(-len(data) % 4)
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    words = [int.from_bytes(padded[at : at + 4]) for at in range(0, len(padded), 4)]
    text = "".join(digits[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(rows)}


def test_deleted_rows_of_a_table_are_not_compared(tmp_path: Path) -> None:
    other = Table(tmp_path / "other")
    name = other.add(*[(i, i) for i in range(30)])
    add = {"path": name, "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    other.write({"remove": {**add, "deletionTimestamp": 1}}, {"add": {**add, "deletionVector": _vector(3, 11, 29)}})
    rest = Table(tmp_path / "rest")
    rest.add(*[(i, i) for i in range(30) if i not in (3, 11, 29)])
    assert compare("d", other.folder, rest.folder, sources=DataRoots.of([tmp_path])) == ([], 0)


@pytest.mark.parametrize("base", [1, None])
def test_a_commit_is_a_version_with_the_new_rows_and_an_undo_one_with_the_old(table: Table, base: int | None) -> None:
    replay, folder = _replay(table, base=base)
    check_places(replay)
    (one,) = commit(replay, folder, keep_days=1).folders
    assert (table.version, table.rows(), table.rows(2)) == (3, NEW, OLD)
    assert any("VACUUM" in note for note in one.notes)
    assert commit(replay, folder, keep_days=1).folders == [one]
    undo(replay.id, folder)
    assert (table.version, table.rows(), table.rows(3)) == (4, OLD, NEW)
    with pytest.raises(NotFoundError):
        undo(replay.id, folder)


def test_rows_that_stay_keep_their_entries_and_a_new_schema_is_part_of_the_version(table: Table) -> None:
    replay, folder = _replay(table)
    shadow = folder / "data" / str(table.folder).lstrip("/")
    state = read_table_state(DataRoots.of([shadow]).look(), str(shadow))
    assert state is not None
    wider = json.dumps({"type": "struct", "fields": [*FIELDS, {"name": "w", "type": "string", "nullable": True, "metadata": {}}]})
    written = Table.__new__(Table)
    written.folder, written.log = shadow, shadow / "_delta_log"
    written.write({"metaData": {**state.metadata, "schemaString": wider}})
    commit(replay, folder, keep_days=1)
    actions = [json.loads(line) for line in (table.log / f"{3:020}.json").read_text().splitlines()]
    assert [action for action in actions if "a b.parquet" in json.dumps(action) or "a%20b.parquet" in json.dumps(action)] == []
    assert [action["metaData"]["schemaString"] for action in actions if "metaData" in action] == [wider]
    undo(replay.id, folder)
    undone = [json.loads(line) for line in (table.log / f"{4:020}.json").read_text().splitlines()]
    assert [json.loads(action["metaData"]["schemaString"])["fields"] for action in undone if "metaData" in action] == [FIELDS]


@pytest.mark.parametrize("when", ["before the commit", "during the commit", "before the undo", "during the undo"])
def test_a_version_of_another_program_is_never_replaced(table: Table, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from headwater.backend.rerun.replay.output_places.writable_folder import LocalWritableFolder

    replay, folder = _replay(table)
    original = LocalWritableFolder.create

    def write_first(self: LocalWritableFolder, name: str, data: bytes) -> bool:
        table.add((9, 9))
        return original(self, name, data)

    if "undo" in when:
        commit(replay, folder, keep_days=1)
    if when.startswith("before"):
        table.add((9, 9))
    else:
        monkeypatch.setattr(LocalWritableFolder, "create", write_first)
    with pytest.raises(SourceChangedError):
        undo(replay.id, folder) if "undo" in when else commit(replay, folder, keep_days=1)
    assert table.rows() == sorted([*(NEW if "undo" in when else OLD), (9, 9)])
    assert table.version == (4 if "undo" in when else 3)


@pytest.mark.parametrize("action", ["commit", "undo"])
def test_a_version_that_comes_after_the_check_is_never_replaced(table: Table, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    replay, folder = _replay(table)
    if action == "undo":
        commit(replay, folder, keep_days=1)
    original, is_new, written = DeltaTables._read, action == "commit", []

    def append_first(self: DeltaTables, place: str, version: int | None = None) -> Any:
        if (folder / "commit.json").exists() and not written:  # the first look after the check of the exchange
            written.append(table.add((9, 9)))
        return original(self, place, version)

    monkeypatch.setattr(DeltaTables, "_read", append_first)
    with pytest.raises(SourceChangedError):
        commit(replay, folder, keep_days=1) if is_new else undo(replay.id, folder)
    assert written
    assert table.rows() == sorted([*(OLD if is_new else NEW), (9, 9)])


def test_an_undo_whose_old_files_vacuum_removed_is_refused_and_leaves_the_new_rows(table: Table) -> None:
    replay, folder = _replay(table)
    commit(replay, folder, keep_days=1)
    (removed,) = set(table.folder.glob("part-*")) - {
        table.folder / entry["path"]
        for entry in read_table_state(ANYWHERE.look(), str(table.folder)).entries  # type: ignore[union-attr]
    }
    removed.unlink()
    with pytest.raises(UnsupportedError, match="VACUUM removed it"):
        undo(replay.id, folder)
    assert table.rows() == NEW


@pytest.mark.parametrize(
    ("protocol", "settings", "said"),
    [
        ({"minReaderVersion": 1, "minWriterVersion": 2}, {"delta.appendOnly": "true"}, "append-only"),
        ({"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}, {}, "the feature rowTracking"),
        ({"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["soonKnown"]}, {}, "the feature soonKnown"),
        ({"minReaderVersion": 1, "minWriterVersion": 8}, {}, "writers must be of version 8"),
        ({"minReaderVersion": 1, "minWriterVersion": 6}, {}, "identity columns"),
    ],
)
def test_a_table_whose_rules_a_commit_does_not_know_is_refused_by_name(
    table: Table, protocol: dict[str, Any], settings: dict[str, str], said: str
) -> None:
    state = read_table_state(ANYWHERE.look(), str(table.folder))
    assert state is not None
    table.write({"protocol": protocol}, {"metaData": {**state.metadata, "configuration": settings}})
    replay, folder = _replay(table)
    for call in (lambda: check_places(replay), lambda: commit(replay, folder, keep_days=1)):
        with pytest.raises(UnsupportedError, match=said):
            call()
    assert (table.version, len(list(table.folder.glob("*.parquet")))) == (3, 2)


def test_a_replay_that_did_not_check_a_constraint_is_not_committed(table: Table) -> None:
    state = read_table_state(ANYWHERE.look(), str(table.folder))
    assert state is not None
    table.write({"metaData": {**state.metadata, "configuration": {"delta.constraints.small": "v < 40"}}})
    replay, folder = _replay(table, base=None)
    with pytest.raises(UnsupportedError, match="did not check the constraint"):
        commit(replay, folder, keep_days=1)


@pytest.mark.parametrize(
    ("action", "name", "when"),
    [
        ("commit", "put", "after"), ("commit", "_save", "before"), ("commit", "_save", "after"), ("commit", "create", "before"),
        ("commit", "create", "after"), ("undo", "_save", "after"), ("undo", "create", "after"),
    ],
)  # fmt: skip
def test_a_killed_commit_or_undo_shows_whole_rows_and_is_finished_later(table: Table, action: str, name: str, when: str) -> None:
    replay, folder = _replay(table)
    if action == "undo":
        commit(replay, folder, keep_days=1)
    (folder / "replay.json").write_text(replay.model_dump_json())
    command = [sys.executable, "-c", KILLED, action, str(folder / "replay.json"), name, when]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 9, done.stderr
    assert table.rows() in (OLD, NEW)
    expire(folder.parent)
    rows = table.rows()
    assert rows in (OLD, NEW)
    is_recorded = (name, when) not in (("put", "after"), ("_save", "before"))  # a copy that no journal names waits for VACUUM
    assert not is_recorded or len(list(table.folder.glob("*.parquet"))) == 2 or table.version > 2
    if action == "commit":
        (one,) = commit(replay, folder, keep_days=1).folders
        assert (one.state, table.rows()) == (CommitState.DONE, NEW)
        undo(replay.id, folder)
    elif rows == NEW:
        undo(replay.id, folder)
    assert table.rows() == OLD


def test_the_base_of_a_run_is_the_version_before_its_first(table: Table) -> None:
    look, place = ANYWHERE.look, str(table.folder)
    assert delta.find_base("d", place, [2], look()).version == 1
    assert delta.find_base("d", place, [0, 1, 2], look()).version is None
    with pytest.raises(UnsupportedError, match="Another program wrote version 1"):
        delta.find_base("d", place, [0, 2], look())
    assert delta.find_base("d", place, [1], look()).later == "version 2"
    replay, folder = _replay(table)
    commit(replay, folder, keep_days=1)
    assert not delta.find_base("d", place, [2], look()).later, "the commit of a replay may be replaced by that of another"
    table.add((9, 9))
    assert delta.find_base("d", place, [2], look()).later == "version 4"
