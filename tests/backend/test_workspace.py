"""One home, used by several at once: what applications left is taken in once, and one process at a time projects."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.projector.role import ProjectorRole
from headwater.backend.workspace import SpoolDelivery, Workspace, deliver_spool
from headwater.errors import ConfigurationError, UnsupportedError
from headwater.spark_listener.spool import SpoolFolder
from tests.backend.captures import capture
from tests.backend.events import body, run_event
from tests.backend.service import ServiceProcess

_TENANT = "default"
_LIMIT = 10_000_000


def _spool(home: Path, application: str, *, events: int = 3, captures: int = 1, ended: bool = True) -> SpoolFolder:
    """The spool that an application leaves. The test closes it."""
    folder = SpoolFolder.create(home / "spool", application, limit=_LIMIT)
    folder.describe(ended=ended, start=run_event(900, "START"))
    seed = sum(application.encode())
    for number in range(events):
        assert folder.event(run_event(seed * 100 + number))
    for number in range(captures):
        manifest, segments = capture(seed * 100 + number)
        place = folder.segments / manifest["capture"]
        place.mkdir(parents=True)
        for name, data in segments.items():
            (place / name).write_bytes(data)
        assert folder.capture(manifest)
    return folder


async def _counts(home: Path) -> tuple[dict[str, int], int, int]:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        return workspace.log.counts(_TENANT), workspace.records.count(_TENANT), await workspace.projector.pending(_TENANT)


def test_a_spool_is_taken_in_and_removed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        _spool(tmp_path, name).close(remove_if_done=False)
    assert deliver_spool(tmp_path) == SpoolDelivery(arrived=8, refused=(), damaged=0, pending=0)
    assert list((tmp_path / "spool").iterdir()) == []
    assert asyncio.run(_counts(tmp_path)) == ({"event": 6, "capture": 2, "declaration": 0, "prov": 0, "dead_letters": 0}, 2, 0)
    assert deliver_spool(tmp_path).arrived == 0


async def test_a_spool_is_taken_in_also_where_a_loop_runs(tmp_path: Path) -> None:
    _spool(tmp_path, "a").close(remove_if_done=False)
    assert deliver_spool(tmp_path).arrived == 4


def test_the_spool_of_a_living_application_is_left_to_it(tmp_path: Path) -> None:
    folder = _spool(tmp_path, "a")
    assert deliver_spool(tmp_path).arrived == 0
    folder.close(remove_if_done=False)
    assert deliver_spool(tmp_path).arrived == 4


def test_what_was_not_acknowledged_to_the_spool_comes_again_and_counts_once(tmp_path: Path) -> None:
    _spool(tmp_path, "a").close(remove_if_done=False)
    log = (tmp_path / "spool" / "a" / "log").read_bytes()
    deliver_spool(tmp_path)
    again = _spool(tmp_path, "a", events=0, captures=0)
    again.close(remove_if_done=False)
    (again.path / "log").write_bytes(log)
    assert deliver_spool(tmp_path).arrived == 4  # the segments are gone, and none is missing: the capture is published
    assert asyncio.run(_counts(tmp_path)) == ({"event": 3, "capture": 1, "declaration": 0, "prov": 0, "dead_letters": 0}, 1, 0)


def test_what_can_never_be_taken_is_a_dead_letter_and_does_not_come_again(tmp_path: Path) -> None:
    folder = _spool(tmp_path, "a", events=1)
    folder.event({"eventTime": "never"})
    manifest, _ = capture(77)
    folder.capture(manifest)  # without its segments
    folder.event(run_event(78))
    folder.close(remove_if_done=False)
    delivered = deliver_spool(tmp_path)
    assert (delivered.arrived, len(delivered.refused)) == (3, 2)
    counts, _, pending = asyncio.run(_counts(tmp_path))
    # The second capture is the refused one, without records: its run says why.
    assert (counts, pending) == ({"event": 2, "capture": 2, "declaration": 0, "prov": 0, "dead_letters": 2}, 0)
    assert [path.name for path in (tmp_path / "spool").iterdir()] == ["refused"], "the reasons, for the next summary"


def test_several_processes_take_in_one_home_at_once(tmp_path: Path) -> None:
    for number in range(6):
        _spool(tmp_path, f"app{number}").close(remove_if_done=False)
    program = (
        "import json, sys; from dataclasses import asdict; from headwater.backend.workspace import deliver_spool;"
        "print(json.dumps(asdict(deliver_spool(sys.argv[1]))))"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) for _ in range(3)]
    told = [json.loads(process.communicate(timeout=300)[0]) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert sum(item["arrived"] for item in told) == 24
    assert all(item["pending"] == 0 for item in told)
    assert asyncio.run(_counts(tmp_path)) == ({"event": 18, "capture": 6, "declaration": 0, "prov": 0, "dead_letters": 0}, 6, 0)


def test_a_command_waits_for_what_another_process_takes_in(tmp_path: Path) -> None:
    _spool(tmp_path, "app").close(remove_if_done=False)
    program = (
        "import sys; from pathlib import Path; from headwater.spark_listener.spool import SpoolFolder;"
        "folder = SpoolFolder.take(Path(sys.argv[1])); print(folder is not None, flush=True); sys.stdin.read(); folder.close()"
    )
    place = str(tmp_path / "spool" / "app")
    with subprocess.Popen([sys.executable, "-c", program, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert deliver_spool(tmp_path, patience=0.2).arrived == 0, "the other has it still"
        with ThreadPoolExecutor(1) as pool:
            delivered = pool.submit(deliver_spool, tmp_path)
            other.stdin.close()
            assert delivered.result().arrived == 4


def test_a_service_and_a_command_use_one_home_at_once(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path) as service:
        _spool(tmp_path, "app").close(remove_if_done=False)
        with service.client() as client:
            assert client.post("/api/v1/lineage", content=body(*map(run_event, range(50)))).status_code == 201
            delivered = deliver_spool(tmp_path)
            assert delivered.pending == 0  # the service projected what the command appended
        counts, records, pending = asyncio.run(_counts(tmp_path))
        assert (counts["event"], counts["capture"], records, pending) == (53, 1, 1, 0)


@pytest.mark.slow
def test_a_service_takes_in_what_an_application_that_died_left(tmp_path: Path) -> None:
    _spool(tmp_path, "app", ended=False).close(remove_if_done=False)
    with ServiceProcess(tmp_path) as service, service.client() as client:
        while client.get("/readyz").json()["checks"]["projector"] == "starting":
            time.sleep(0.05)
        service.settled()
    counts, records, _ = asyncio.run(_counts(tmp_path))
    assert (counts["event"], counts["capture"], records) == (4, 1, 1)  # one more: the end that it could not state


async def test_while_another_has_the_role_the_log_is_left_to_it(tmp_path: Path) -> None:
    async with await Workspace.open(load_settings(home=tmp_path)) as workspace:
        workspace.events.submit(_TENANT, body(run_event(1))).result()
        other = ProjectorRole(workspace.home.projector_lock)
        assert other.take()
        assert not workspace.role.take()
        assert await workspace.settle(patience=0.3) == 1
        other.release()
        assert await workspace.settle() == 0
        assert not workspace.role.taken


def test_the_role_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    program = (
        "import sys; from pathlib import Path; from headwater.backend.projector.role import ProjectorRole;"
        "role = ProjectorRole(Path(sys.argv[1])); print(role.take(), flush=True); input()"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"True\n"
    mine = ProjectorRole(path)
    assert not mine.take()
    process.kill()
    process.communicate()
    assert mine.take()
    mine.release()


def test_a_home_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="--home or HEADWATER_HOME"):
        deliver_spool(tmp_path / "file" / "home")


def test_the_homes_of_two_users_are_two(tmp_path: Path) -> None:
    _spool(tmp_path / "a", "x").close(remove_if_done=False)
    deliver_spool(tmp_path / "a")
    assert asyncio.run(_counts(tmp_path / "b"))[0] == {"event": 0, "capture": 0, "declaration": 0, "prov": 0, "dead_letters": 0}
    assert list((tmp_path / "b" / "spool").iterdir()) == []


async def test_the_data_roots_that_are_set_stand_in_place_of_those_that_programs_noted(monkeypatch, tmp_path: Path) -> None:
    for name in ("noted", "chosen", "home"):
        (tmp_path / name).mkdir()
    home = tmp_path / "home"

    async def readable() -> list[str]:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            workspace.registry.add_roots([str(tmp_path / "noted"), str(home)])
            look = workspace.records.sources.look()
            found = []
            for name in ("noted", "chosen", "home", "home/key"):
                with suppress(UnsupportedError):
                    found.append(look.path(str(tmp_path / name)).name)
            return found

    assert await readable() == ["noted"]
    monkeypatch.setenv("HEADWATER_DATA_ROOTS", json.dumps([str(tmp_path / "chosen")]))
    assert await readable() == ["chosen"]
    monkeypatch.setenv("HEADWATER_DATA_ROOTS", '["/"]')
    assert await readable() == ["noted", "chosen"]
    monkeypatch.setenv("HEADWATER_DATA_ROOTS", "[]")
    assert await readable() == []
    monkeypatch.setenv("HEADWATER_DATA_ROOTS", '["lake"]')
    with pytest.raises(ConfigurationError, match=r"lake is no whole path.*HEADWATER_DATA_ROOTS"):
        load_settings()


async def test_remote_roots_are_those_of_the_home_or_of_the_file_that_is_set(monkeypatch, tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere.toml"

    async def covered() -> list[str]:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            remote = workspace.records.sources.remote
            return [uri for uri in ("s3://lake/a", "s3a://other/a") if remote.covers(uri)]

    assert await covered() == []
    (home / "storage.toml").write_text('[[root]]\nurl = "s3://lake"\n')
    assert await covered() == ["s3://lake/a"]
    elsewhere.write_text('[[root]]\nurl = "s3://other"\n')
    monkeypatch.setenv("HEADWATER_STORAGE", str(elsewhere))
    assert await covered() == ["s3a://other/a"]
    elsewhere.unlink()
    with pytest.raises(ConfigurationError, match="HEADWATER_STORAGE"):
        await covered()
