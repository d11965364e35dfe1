"""The programs that a replay may run: registered on the home, as they were registered; nothing that an event names."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.projection import fold
from headwater.backend.projection.event import event_stamp, project_event
from headwater.backend.rerun.replay import ReplayRequest
from headwater.backend.rerun.replay.model import Invocation, Limits, Replay, ReplayState, Step
from headwater.backend.rerun.replay.runner import CANCEL, ReplayStoppedError, run_steps, story
from headwater.backend.rerun.replay.service import Replays
from headwater.errors import ConfigurationError, InvalidQueryError, UnsupportedError
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from headwater.spark_listener.registry import Program, Registry
from headwater.spark_listener.replay import VARIABLE, ReplayOrder
from tests.backend.events import facet, run_event
from tests.captured import project_captures
from tests.graph.jobs import TENANT, write_csv
from tests.graph.trace.small import COLUMNS, ROWS, copy

APPLICATION = "0190a6f2-0000-7000-8000-00000000000a"


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """The file that a program leaves when it runs."""
    return tmp_path / "it-ran"


@pytest.fixture
def script(tmp_path: Path, marker: Path) -> Path:
    target = tmp_path / "job.py"
    target.write_text(f"import sys\nopen({str(marker)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n")
    return target


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    (tmp_path / "home").mkdir()
    opened = Registry(tmp_path / "home")
    yield opened
    opened.close()


def program(script: Path, *, operator: bool = False, **changes: Any) -> Program:
    digest = hashlib.sha256(script.read_bytes()).hexdigest()
    given = {"argv": [script.name, "x"], "script": str(script), "script_sha256": digest, "working_directory": str(script.parent)}
    return Program(**{"namespace": "tests", "job": "pipeline", "operator": operator, **given, **changes})


@pytest.fixture
async def replays(tmp_path: Path, registry: Registry) -> AsyncIterator[Replays]:
    """Replays over one captured job, `raw` to `out`, whose application said over the network that it was started as `evil.py`."""
    data = tmp_path / "data"
    sources = DataRoots.of([data], never=[tmp_path / "home"])
    store, graph = AssociationStore(tmp_path / "home" / "associations", sources=sources), SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    copy(store, write_csv(data / "t.csv", list(COLUMNS), ROWS), data / "out", 1)
    await project_captures(graph, store)
    (entry,) = store.catalog.captures(TENANT)
    parent = {"run": {"runId": APPLICATION}, "job": {"namespace": "tests", "name": "pipeline"}}
    job = {"namespace": entry.job_namespace, "name": entry.job_name}
    flows = [{"namespace": "file", "name": str(data / name)} for name in ("t.csv", "out")]
    of_job = run_event(job=job, run={"runId": entry.run, "facets": {"parent": facet(**parent)}}, inputs=flows[:1], outputs=flows[1:])
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'it-ran')!r}, 'w')\n")
    invocation = facet(
        argv=["evil.py"], script=str(evil), script_sha256=hashlib.sha256(evil.read_bytes()).hexdigest(), working_directory=str(tmp_path),
        environment={"PYTHONSTARTUP": str(evil), "PYSPARK_PYTHON": str(evil)}, interpreter=str(evil),
    )  # fmt: skip
    of_application = run_event(
        job=parent["job"], run={"runId": APPLICATION, "facets": {"headwater_invocation": invocation}}, inputs=[], outputs=[]
    )
    for number, event in enumerate((of_application, of_job)):
        await fold(graph, TENANT, [project_event(event, event_stamp(event, str(number)))])

    async def ask(tenant: str, request: TraceRequest) -> TraceAnswer:
        return await trace(graph, store, tenant, request)

    yield Replays(tmp_path / "home" / "replays", graph, ask, registry, sources)
    await graph.close()
    store.close()


async def _plan(replays: Replays, tmp_path: Path) -> Replay:
    return await replays.plan(TENANT, str(tmp_path / "data" / "t.csv"), "v = 5", (), None)


async def test_an_event_that_names_a_program_starts_none(replays, tmp_path, marker) -> None:
    with pytest.raises(UnsupportedError, match=r"job pipeline .* is not registered .*headwater jobs register --namespace tests pipeline"):
        await replays.start(TENANT, str(tmp_path / "data" / "t.csv"), "v = 5", (), None)
    assert not marker.exists()


async def test_what_is_registered_is_run_and_not_what_an_event_says(replays, registry, script, tmp_path) -> None:
    registry.register(program(script, environment={"TZ": "UTC"}), APPLICATION)
    (step,) = (await _plan(replays, tmp_path)).steps
    assert (step.invocation.script, list(step.invocation.argv), dict(step.invocation.environment)) == (
        str(script), ["job.py", "x"], {"TZ": "UTC"},
    )  # fmt: skip


async def test_a_program_of_another_run_is_not_taken_for_it_and_an_operators_is(replays, registry, script, tmp_path) -> None:
    registry.register(program(script), "0190a6f2-0000-7000-8000-00000000000b")
    with pytest.raises(UnsupportedError, match="not registered"):
        await _plan(replays, tmp_path)
    registry.register(program(script, operator=True, argv=["job.py", "first"]))
    registry.register(program(script, operator=True, argv=["job.py", "second"]))
    (step,) = (await _plan(replays, tmp_path)).steps
    assert list(step.invocation.argv) == ["job.py", "second"]


async def test_a_service_starts_a_kind_and_runs_no_script_of_a_request(replays, registry, script, marker, tmp_path) -> None:
    registry.register(program(script), APPLICATION)
    out = str(tmp_path / "data" / "out")
    other = tmp_path / "other.py"
    other.write_text(script.read_text())
    with pytest.raises(UnsupportedError, match="registered scripts only"):
        await replays.start_kind(TENANT, kind="what-if", request=ReplayRequest(output=out, script=other))
    with pytest.raises(InvalidQueryError, match="There is no kind of replay 'other'"):
        await replays.start_kind(TENANT, kind="other", request=ReplayRequest(output=out))
    for kind, request in (
        ("verify", ReplayRequest(output=out, where="v = 1")),
        ("refresh", ReplayRequest(dataset=out, rows=[("a", 1)])),
        ("selective", ReplayRequest(output=out, where="v = 1", set_values={"v": "1"})),
        ("exclusive", ReplayRequest(output=out, dataset=out, where="v = 1", set_values={"v": "1"})),
    ):
        with pytest.raises(InvalidQueryError, match=f"the kind {kind} takes no"):
            await replays.start_kind(TENANT, kind=kind, request=request)
    assert not marker.exists()
    identifier = await replays.start_kind(TENANT, kind="verify", request=ReplayRequest(output=out))
    await asyncio.gather(*replays._tasks.values())
    ended = await replays.get(TENANT, identifier)
    assert (marker.read_text(), ended.kind, ended.state) == ("x\n", "verify", ReplayState.FAILED)  # it wrote no output
    assert "holds no data file that could be compared" in ended.error


@pytest.mark.parametrize("change", ["older", "newer", "longer", "another file"])
async def test_a_source_that_is_not_as_the_run_read_it_is_noted(replays, registry, script, tmp_path, change: str) -> None:
    registry.register(program(script), APPLICATION)
    request, source = ReplayRequest(output=str(tmp_path / "data" / "out")), tmp_path / "data" / "t.csv"
    assert (await replays.plan_kind(TENANT, kind="verify", request=request)).notes == []
    match change:
        case "older":
            os.utime(source, (0, 0))
        case "newer":
            os.utime(source, (4e9, 4e9))
        case "longer":
            status = source.stat()
            source.write_text(source.read_text() + "\n")
            os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
        case _:
            content = source.read_text()
            source.unlink()
            source.mkdir()
            (source / "part.csv").write_text(content)
    (note,) = (await replays.plan_kind(TENANT, kind="verify", request=request)).notes
    assert note == f"dataset:file:{source} has changed since the run that read it, so a difference may come from there."


async def test_an_output_that_cannot_be_committed_is_refused_before_anything_runs(replays, registry, script, marker, tmp_path) -> None:
    registry.register(program(script), APPLICATION)
    request = ReplayRequest(dataset=str(tmp_path / "data" / "t.csv"))
    (tmp_path / "data" / "out" / ".hoodie").mkdir()
    for is_kept in (True, False):
        with pytest.raises(UnsupportedError, match="cannot take the place of"):
            await replays.plan_kind(TENANT, kind="refresh", request=request, commits=True, is_kept=is_kept)
    assert await replays.list(TENANT, 10) == []
    (tmp_path / "data" / "out" / ".hoodie").rmdir()
    await replays.plan_kind(TENANT, kind="refresh", request=request, commits=True)
    assert not marker.exists()


async def test_a_source_that_is_gone_is_refused(replays, registry, script, marker, tmp_path) -> None:
    registry.register(program(script), APPLICATION)
    (tmp_path / "data" / "t.csv").unlink()
    for kind in ("verify", "step"):
        with pytest.raises(UnsupportedError, match=r"t\.csv is gone, and no program that could write it again is known"):
            await replays.plan_kind(TENANT, kind=kind, request=ReplayRequest(output=str(tmp_path / "data" / "out")))
    assert not marker.exists()


async def test_a_script_of_another_hash_is_refused(replays, registry, script, marker, tmp_path) -> None:
    registry.register(program(script), APPLICATION)
    planned = await _plan(replays, tmp_path)
    script.write_text(script.read_text() + "\n")
    with pytest.raises(UnsupportedError, match="has changed since it was registered"):
        await _plan(replays, tmp_path)
    done = await replays.run(planned)
    assert (done.state, "has changed since it was registered" in str(done.error)) == (ReplayState.FAILED, True)
    script.unlink()
    with pytest.raises(UnsupportedError, match="cannot be read any more"):
        await _plan(replays, tmp_path)
    assert not marker.exists()


async def test_a_replay_whose_programs_left_nothing_out_fails_and_says_so(replays, registry, script, marker, tmp_path) -> None:
    registry.register(program(script), APPLICATION)
    done = await replays.run(await _plan(replays, tmp_path))
    assert marker.exists()
    assert (done.state, done.differences) == (ReplayState.FAILED, [])
    assert f"The records of file:{tmp_path}/data/t.csv were left out by no program" in str(done.error)


async def test_a_variable_without_its_secret_is_not_run_with(replays, registry, script, tmp_path) -> None:
    registry.register(program(script, environment={"TZ": "UTC", "PYSPARK_SUBMIT_ARGS": "--conf key=[redacted]"}), APPLICATION)
    with pytest.raises(UnsupportedError, match=r"PYSPARK_SUBMIT_ARGS .* held a secret, which was not kept.*--env PYSPARK_SUBMIT_ARGS"):
        await _plan(replays, tmp_path)


async def test_arguments_without_their_secret_are_not_run(replays, registry, script, tmp_path) -> None:
    registry.register(program(script, argv=["job.py", "--password", "[redacted]"]), APPLICATION)
    with pytest.raises(UnsupportedError, match=r"held a secret, which was not kept.*headwater jobs register"):
        await _plan(replays, tmp_path)


@pytest.mark.parametrize("mode", [0o620, 0o602])
async def test_a_registry_that_others_may_write_counts_for_nothing(replays, registry, script, tmp_path, mode: int) -> None:
    registry.register(program(script), APPLICATION)
    assert registry.path.stat().st_mode & 0o777 == 0o600
    registry.path.chmod(mode)
    with pytest.raises(ConfigurationError, match="may be written by others"):
        await _plan(replays, tmp_path)


def test_a_registry_behind_a_link_counts_for_nothing(registry: Registry, script: Path, tmp_path: Path) -> None:
    registry.register(program(script), APPLICATION)
    registry.path.rename(tmp_path / "elsewhere.db")
    registry.path.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(ConfigurationError):
        registry.programs()
    with pytest.raises(ConfigurationError):
        registry.add_roots(["/"])


async def test_an_output_outside_of_the_data_roots_is_refused_before_anything_runs(replays, registry, script, tmp_path) -> None:
    registry.register(program(script), APPLICATION)
    replays._sources = DataRoots.of([tmp_path / "data" / "t.csv"])  # the trace goes by those of its store
    with pytest.raises(UnsupportedError, match="outside of the data roots"):
        await _plan(replays, tmp_path)


def _invocation(script: Path) -> Invocation:
    made = program(script)
    return Invocation(
        run="run:1", namespace="tests", job="pipeline", argv=made.argv, working_directory=made.working_directory, script=made.script,
        script_sha256=made.script_sha256,
    )  # fmt: skip


def test_a_registered_program_runs_with_its_arguments(script: Path, marker: Path, tmp_path: Path) -> None:
    replay = Replay(
        id="a" * 32, tenant=TENANT, output="dataset:file:/o", started_at="2013", shadow=str(tmp_path / "shadow"), process=os.getpid(),
        exclude={}, steps=[Step(job="pipeline", invocation=_invocation(script))],
    )  # fmt: skip
    run_steps(replay, tmp_path / "replay", lambda _: None)
    assert marker.read_text() == "x\n"
    assert replay.steps[0].state is ReplayState.COMPLETE


@pytest.mark.parametrize("reason", ["cancelled", "time limit", "disk limit"])
def test_a_replay_that_reaches_a_limit_or_is_cancelled_ends_its_program(script: Path, marker: Path, tmp_path: Path, reason: str) -> None:
    shadow = tmp_path / "shadow"
    script.write_text(f"import time\nopen({str(shadow / 'out')!r}, 'w').write('x' * 100)\ntime.sleep(3600)\nopen({str(marker)!r}, 'w')\n")
    limits = {"cancelled": Limits(), "time limit": Limits(seconds=0.1), "disk limit": Limits(disk_bytes=99)}[reason]
    shadow.mkdir()
    steps = [Step(job="pipeline", invocation=_invocation(script)), Step(job="later", invocation=_invocation(script))]
    replay = Replay(
        id="a" * 32, tenant=TENANT, output="dataset:file:/o", started_at="2013", shadow=str(shadow), process=os.getpid(), exclude={},
        steps=steps, limits=limits,
    )  # fmt: skip

    def changed(now: Replay) -> None:
        if reason == "cancelled" and now.steps[0].state is ReplayState.RUNNING:
            (tmp_path / "replay" / CANCEL).touch()

    with pytest.raises(ReplayStoppedError, match=reason):
        run_steps(replay, tmp_path / "replay", changed)
    assert not marker.exists()
    assert [step.state for step in steps] == [ReplayState.FAILED, ReplayState.QUEUED]


@pytest.mark.parametrize("kind", ["script", "archive", "folder", "module"])
def test_the_bytes_that_would_run_are_held_against_the_hash(script: Path, marker: Path, tmp_path: Path, kind: str) -> None:
    order = ReplayOrder(replay="a" * 32, shadow=str(tmp_path / "shadow"), exclude={}, script_sha256="0" * 64)
    order.save(tmp_path / "order.json")
    folder = tmp_path / "program"
    folder.mkdir()
    script.rename(folder / "__main__.py")
    target: list[str] = [str(folder)]
    if kind == "script":
        target = [str(folder / "__main__.py")]
    elif kind == "module":
        target = ["-m", "program"]
    elif kind == "archive":
        subprocess.run([sys.executable, "-m", "zipapp", str(folder), "-o", str(tmp_path / "program.pyz")], check=True)
        plain = (tmp_path / "program.pyz").read_bytes()
        (tmp_path / "program.pyz").write_bytes(plain[plain.index(b"PK\x03\x04") :])
        target = [str(tmp_path / "program.pyz")]
    command = [sys.executable, "-m", "headwater", "run", "--mode", "off", *target]
    ran = subprocess.run(
        command, env={**os.environ, VARIABLE: str(tmp_path / "order.json")}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "not the script that was registered" in ran.stderr or "is no script" in ran.stderr
    assert not marker.exists()


def test_a_failed_program_without_a_log_is_described(tmp_path: Path, script: Path) -> None:
    started = Invocation(
        run="run:a", namespace="tests", job="pipeline", argv=[], working_directory="/", script=str(script), script_sha256=""
    )
    assert story(started, 1, tmp_path / "none.log") == "job.py ended with exit code 1: \n  It wrote no log."
