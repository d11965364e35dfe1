"""`headwater versions enrol`, `gc`, `restore`, `hold` and `release` on a home with captured runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.spark_listener.registry import Registry
from tests.backend.cli.command import headwater
from tests.captured import project_captures
from tests.graph.jobs import Job, write_csv

_COLUMNS = {"k": "string", "v": "int"}


@pytest.fixture
def home(tmp_path: Path) -> tuple[str, Path]:
    """A home, and a folder with a block that was replaced and the block that replaced it."""
    path, root = tmp_path / "home", tmp_path / "data"
    path.mkdir(mode=0o700)
    records = AssociationStore(path / "associations", sources=ANYWHERE)
    Registry(path).add_roots([str(root)])
    for clock in (1, 2):
        raw = write_csv(root / "raw" / f"{clock}.csv", [*_COLUMNS], [["a", clock]])
        job = Job(records, "copy", clock, part=f"run{clock}")
        job.write(job.scan(raw, "csv", _COLUMNS, {"header": "true"}), root / "out", "parquet", [*_COLUMNS], files=1)

    async def fill() -> None:
        graph = SqliteStore(str(path / "graph.db"))
        await graph.open()
        await project_captures(graph, records)
        await graph.close()

    asyncio.run(fill())
    records.close()
    return str(path), root / "out"


def _verdicts(home: str, out: Path) -> list[tuple[int, str]]:
    done = headwater("versions", "gc", str(out), "-f", "json", "--home", home)
    return [(row["sequence"], row["verdict"]) for row in json.loads(done.stdout)]


def test_blocks_are_listed_held_dropped_and_restored(home) -> None:
    path, out = home
    blocks = json.loads(headwater("versions", str(out), "-f", "json", "--home", path).stdout)
    assert [block["sequence"] for block in blocks] == [2, 1]
    assert json.loads(headwater("versions", "list", str(out), "-f", "json", "--home", path).stdout) == blocks
    assert "is not enrolled" in headwater("versions", "gc", str(out), "--apply", "--home", path, code=3).stderr
    headwater("versions", "enrol", str(out), "--home", path)
    headwater("versions", "hold", str(out), "--block", "1", "--reason", "case 17", "--home", path)
    assert _verdicts(path, out) == [(1, "keep"), (2, "keep")]
    headwater("versions", "release", str(out), "--block", "1", "--home", path)
    assert _verdicts(path, out) == [(1, "drop"), (2, "keep")]
    assert len([*out.iterdir()]) == 2
    done = headwater("versions", "gc", str(out), "--apply", "--home", path)
    assert [file.name for file in out.iterdir()] == ["run2-00000.parquet"]
    assert _verdicts(path, out) == [(1, "gone"), (2, "keep")]
    assert "collected" in headwater("describe", blocks[1]["version"], "--home", path).stdout
    refused = headwater("diff", str(out), "1", "2", "--home", path, code=5)
    assert "its data is not there as it was written" in refused.stderr
    headwater("versions", "restore", done.stderr.split("Collection ")[1].split(":")[0], "--home", path)
    assert _verdicts(path, out) == [(1, "drop"), (2, "keep")]
    assert "1 added, 1 removed" in headwater("diff", str(out), "1", "2", "--home", path).stderr
    headwater("versions", "withdraw", str(out), "--home", path)
    headwater("versions", "gc", str(out), "--apply", "--home", path, code=3)


def test_a_block_that_is_not_there_cannot_be_held(home) -> None:
    path, out = home
    done = headwater("versions", "hold", str(out), "--block", "7", "--reason", "x", "--home", path, code=3)
    assert "has no block 7" in done.stderr


def test_a_declared_mode_wins_over_what_runs_show(home) -> None:
    path, out = home

    def modes() -> list[str]:
        return [block["mode"] for block in json.loads(headwater("versions", str(out), "-f", "json", "--home", path).stdout)]

    assert modes() == ["base", "base"]
    headwater("versions", "declare", str(out), "--block", "2", "--mode", "delta", "--home", path)
    assert modes() == ["delta", "base"]
    headwater("versions", "declare", str(out), "--block", "2", "--mode", "base", "--home", path)
    assert modes() == ["base", "base"]
    raw = str(out.parent / "raw" / "1.csv")

    def consumers() -> list[str]:
        return [one["mode"] for one in json.loads(headwater("consumers", raw, "-f", "json", "--home", path).stdout)]

    inferred = consumers()
    for mode in ("old", "new", "all"):
        headwater("versions", "declare", raw, "--consumer", "job:tests:copy", "--mode", mode, "--home", path)
        assert consumers() == [mode]
    headwater("versions", "declare", raw, "--consumer", "job:tests:copy", "--mode", "inferred", "--home", path)
    assert consumers() == inferred
    assert "is no mode of a block" in headwater("versions", "declare", raw, "--block", "1", "--mode", "new", "--home", path, code=2).stderr
    assert "consumer or a block" in headwater("versions", "declare", raw, "--mode", "new", "--home", path, code=2).stderr


def test_commands_that_change_files_make_no_home(home, tmp_path: Path, monkeypatch) -> None:
    _, out = home
    assert "no home" in headwater("versions", "enrol", str(out), "--home", str(tmp_path / "none"), code=3).stderr
    assert not (tmp_path / "none").exists()
