"""Each durable file of a home damaged in turn: found by name, repaired by the command that the guide names, nothing acknowledged lost."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.operate.repair.captures import mended_capture
from headwater.backend.operate.soundness.captures import faults_of_capture
from headwater.backend.workspace import Workspace
from headwater.graph.records import ANYWHERE, AssociationStore, lists
from headwater.graph.records.layout import read_files, read_manifest
from tests.backend.captures import capture
from tests.backend.cli.command import headwater
from tests.backend.damage import cut, empty, spoil, whole_in_one_file
from tests.backend.events import body, run_event

_EVENTS = 60
_WAITING = 2  # the capture whose manifest has not come


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a log of several pages, a published capture, a staged segment, and a backup."""
    folder = tmp_path_factory.mktemp("sound")

    async def fill() -> None:
        async with await Workspace.open(load_settings(home=folder / "home")) as workspace:
            workspace.settings.key()
            for number in range(_EVENTS):
                assert not workspace.events.submit("default", body(run_event(number))).result().rejected
            for number in (1, _WAITING):
                manifest, segments = capture(number)
                for name, data in segments.items():
                    (folder / name).write_bytes(data)
                    workspace.captures.stage("default", manifest["capture"], name, folder / name)
                if number != _WAITING:
                    workspace.captures.submit("default", json.dumps(manifest).encode())
            assert await workspace.settle() == 0

    asyncio.run(fill())
    headwater("store", "backup", str(folder / "backup"), "--home", str(folder / "home"))
    return folder


@pytest.fixture
def home(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound / "home", tmp_path / "home"))


def checks(home: Path, *, code: int) -> dict[str, dict[str, Any]]:
    listed = json.loads(headwater("store", "check", "--home", str(home), "-f", "json", code=code).stdout)
    return {check["check"]: check for check in listed}


def documented(root: Path) -> list[list[str]]:
    """The commands of the guide's section on repairs, each as its words."""
    text = (root / "docs" / "guide" / "operations.md").read_text(encoding="utf-8").partition("## Repair it")[2]
    return [line.split() for block in re.findall(r"^```\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL) for line in block.splitlines()]


def run_documented(root: Path, number: int, home: Path, backup: Path, *, code: int = 0) -> list[dict[str, Any]]:
    words = documented(root)[number]
    assert words[0] == "headwater"
    asked = [str(backup) if word.startswith("/backups/") else word for word in words[1:]]
    shown = headwater(*asked, "--home", str(home), *(["-f", "json"] if "repair" in words else []), code=code).stdout
    return json.loads(shown) if "repair" in words else []


def kept(home: Path) -> Path:
    return next(folder for _, folder in AssociationStore.kept_folders(home / "associations"))


_FILES: dict[str, Callable[[Path], Path]] = {
    "log": lambda home: home / "ingest.db",
    "graph": lambda home: home / "graph.db",
    "catalog": lambda home: home / "associations" / "catalog.db",
    "manifest": lambda home: kept(home) / "manifest.json",
    "files": lambda home: kept(home) / "files.json",
    "table": lambda home: kept(home) / "b0.parquet",
    "segment": lambda home: min((home / "associations").glob("*/staging/*/*.seg")),
    "key": lambda home: home / "key",
}
_WAYS: dict[str, Callable[[Path], None]] = {"spoiled": lambda path: spoil(path, begin=16), "cut": cut, "emptied": empty}


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("name", _FILES)
def test_a_damaged_file_is_found_by_name_and_repaired_with_a_backup(root: Path, sound: Path, home: Path, name: str, way: str) -> None:
    if (name, way) == ("key", "cut"):
        way = "emptied"  # half a key is a key of half the length
    file = _FILES[name](home)
    if file.suffix == ".db":
        whole_in_one_file(file)
    _WAYS[way](file)
    found = checks(home, code=1)
    assert any(str(file) in check["detail"] and not check["ok"] for check in found.values()), found
    done = run_documented(root, 1, home, sound / "backup")
    assert str(file) in {each["file"] for each in done}
    assert all(check["ok"] for check in checks(home, code=0).values())
    assert _entries(home) == _entries(sound / "home")
    assert AssociationStore(home / "associations", sources=ANYWHERE).count("default") == 1


@pytest.mark.parametrize("name", ["graph", "catalog"])
def test_what_is_made_of_the_rest_is_made_again_without_a_word(home: Path, name: str) -> None:
    before = checks(home, code=0)["graph"]["detail"]
    for file in _FILES[name](home).parent.glob(f"{_FILES[name](home).name}*"):
        file.unlink()
    assert headwater("store", "repair", "--home", str(home)).stderr
    assert checks(home, code=0)["graph"]["detail"] == before
    assert AssociationStore(home / "associations", sources=ANYWHERE).count("default") == 1


@pytest.mark.parametrize("name", ["log", "graph", "catalog", "manifest", "files", "segment", "key"])
def test_most_files_are_repaired_without_a_backup(root: Path, sound: Path, home: Path, name: str) -> None:
    file = _FILES[name](home)
    if name == "log":
        _spoil_pages(file, 1)  # SQLite reads nothing of it any more; every entry is there
    else:
        spoil(file, begin=16)
    checks(home, code=1)
    (done,) = run_documented(root, 0, home, sound / "backup")
    assert done["ok"]
    assert all(check["ok"] for check in checks(home, code=0).values())
    assert _entries(home) == _entries(sound / "home")


def test_a_table_that_nothing_else_has_is_left_and_said(root: Path, sound: Path, home: Path) -> None:
    spoil(_FILES["table"](home), begin=16)
    (done,) = run_documented(root, 0, home, sound / "backup", code=1)
    assert not done["ok"]
    assert "backup" in done["done"]
    assert "which records capture" in done["lost"]


def test_entries_that_are_lost_are_named_and_the_graph_keeps_them(root: Path, sound: Path, home: Path) -> None:
    before = json.loads(headwater("store", "check", "--home", str(home), "-f", "json").stdout)
    file = _FILES["log"](home)
    gone = _spoil_page_with_an_entry(file)
    (done,) = run_documented(root, 0, home, sound / "backup")
    assert all(str(offset) in re.split(r"[ ,:;]+", done["lost"]) or "to" in done["lost"] for offset in gone)
    assert {*_entries(home)} == {*_entries(sound / "home")} - gone
    asyncio.run(_take_in(home, run_event(1_000)))  # goes on after the last offset, and is projected
    assert max(_entries(home)) == max(_entries(sound / "home")) + 1
    (projected,) = [check for check in before if check["check"] == "projected"]
    assert projected["ok"]
    run_documented(root, 1, home, sound / "backup")  # the log is sound now: there is nothing to mend


async def _take_in(home: Path, event: dict[str, Any]) -> None:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        assert not workspace.events.submit("default", body(event)).result().rejected
        assert await workspace.settle() == 0
        assert await workspace.graph.get("default", [f"run:{event['run']['runId']}", f"run:{run_event(0)['run']['runId']}"])


def test_a_log_that_vanished_goes_on_where_the_graph_is(root: Path, sound: Path, home: Path) -> None:
    for file in home.glob("ingest.db*"):
        file.unlink()
    asyncio.run(_accept(home, run_event(1_000)))  # a service that was started meanwhile
    assert not checks(home, code=1)["projected"]["ok"]
    other = Path(shutil.copytree(home, home.with_name("other")))
    run_documented(root, 1, other, sound / "backup")  # with the backup nothing is lost, and the new entry stays
    assert set(_entries(other).values()) == {*_entries(sound / "home").values(), body(run_event(1_000))}
    assert checks(other, code=0)["projected"]["ok"]
    (done,) = run_documented(root, 0, home, sound / "backup")
    assert "graph keeps" in done["lost"]
    asyncio.run(_take_in(home, run_event(1_001)))
    run = f"run:{run_event(1_000)['run']['runId']}"
    assert headwater("lineage", run, "--home", str(home)).stdout


async def _accept(home: Path, event: dict[str, Any]) -> None:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        assert not workspace.events.submit("default", body(event)).result().rejected


def test_a_graph_that_is_not_what_the_log_says_is_rebuilt(root: Path, sound: Path, home: Path) -> None:
    with closing(sqlite3.connect(home / "graph.db", isolation_level=None)) as graph:
        graph.execute("UPDATE node SET name = 'another' WHERE kind = 'job'")
    assert not checks(home, code=1)["graph"]["ok"]
    run_documented(root, 2, home, sound / "backup")
    checks(home, code=0)


def test_a_sound_home_needs_no_repair(root: Path, sound: Path, home: Path) -> None:
    assert run_documented(root, 0, home, sound / "backup") == []


def test_a_folder_that_is_no_backup_is_refused(home: Path, tmp_path: Path) -> None:
    assert "is no backup" in headwater("store", "repair", "--from", str(tmp_path), "--home", str(home), code=2).stderr


def test_a_graph_of_neo4j_apart_every_command_of_the_guide_is_run_here(root: Path) -> None:
    assert [words[2] for words in documented(root)] == ["repair", "repair", "rebuild"]


def _entries(home: Path) -> dict[int, bytes]:
    with closing(sqlite3.connect(home / "ingest.db")) as log:
        return dict(log.execute("SELECT offset, body FROM entry"))


def _spoil_pages(path: Path, *numbers: int) -> None:
    whole_in_one_file(path)
    data = bytearray(path.read_bytes())
    for number in numbers:
        data[(number - 1) * 4096 : number * 4096] = bytes(4096)
    path.write_bytes(data)


def _spoil_page_with_an_entry(path: Path) -> set[int]:
    """The offsets of a leaf of the log that is no more."""
    from headwater.backend.operate.repair.salvage import whole_entries

    whole_in_one_file(path)
    before = {row.offset for row in whole_entries(path)}
    for number in range(3, path.stat().st_size // 4096):
        whole = path.read_bytes()
        _spoil_pages(path, number)
        if gone := before - {row.offset for row in whole_entries(path)}:
            return gone
        path.write_bytes(whole)
    raise AssertionError("no page has an entry")


@pytest.mark.parametrize("name", ["lists.db", "brief.json"])
@pytest.mark.parametrize("way", [spoil, empty, Path.unlink])
def test_the_lists_of_a_capture_with_many_files_are_made_again(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, way: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(lists, "MANY", 0)
    folder = kept(home)
    lists.keep_lists(read_manifest(folder), read_files(folder), folder)
    assert list(faults_of_capture(folder)) == []
    way(folder / name) if way is not spoil else spoil(folder / name, begin=16)
    found = list(faults_of_capture(folder))
    if (name, way) == ("brief.json", Path.unlink):
        assert found == []  # traces read the whole manifest then
        return
    assert [fault.path for fault in found] == [folder / name]
    assert mended_capture(Home.at(home), found[0], None, has_catalog=True).ok
    assert list(faults_of_capture(folder)) == []
