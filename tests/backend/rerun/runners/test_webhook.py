"""The runner for schedulers: a receiver on loopback starts the program as the request says, and the service waits for its end."""

from __future__ import annotations

import hmac
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread

import pytest

from headwater.backend.rerun.runners import Launch, Runners, elsewhere, webhook
from headwater.backend.rerun.runners.elsewhere import LostProgramError, launch_folder, offer
from headwater.backend.targets import DeliveryError
from headwater.errors import InvalidInputError, UnsupportedError
from headwater.spark_listener.invocation import script_sha256
from tests.backend.triggers.conftest import TriggeredHome
from tests.backend.triggers.receiver import SECRET, Receiver
from tests.backend.triggers.test_refusals import MANUAL, register

PROGRAM = "import os, pathlib, sys\npathlib.Path('it-ran').write_text(' '.join(sys.argv[1:]))\nsys.exit(int(os.environ.get('CODE', 0)))\n"
RUNNERS = 'default = "scheduler"\n[[runner]]\nname = "scheduler"\nkind = "webhook"\ntarget = "there"\n'


@pytest.fixture
def folder(tmp_path: Path, there: Receiver) -> Path:
    there.list_in(tmp_path / "home")
    (tmp_path / "home" / "runners.toml").write_text(RUNNERS)
    return tmp_path


def launch(folder: Path, text: str = PROGRAM, **environment: str) -> Launch:
    script = folder / "program.py"
    script.write_text(text)
    place = folder / "home" / "replays" / "x"
    place.mkdir(parents=True)
    return Launch(
        id="c" * 32, folder=place / "step-1", log=place / "step-1.log", namespace="default", job="report", script=str(script),
        script_sha256=str(script_sha256(str(script))), arguments=["--month", "2; $(id)"], options=["--mode", "off"],
        working_directory=str(folder), environment={"PATH": os.environ["PATH"], **environment},
    )  # fmt: skip


class Scheduler:
    """Starts the command of each request that came, once each, as a scheduler does."""

    def __init__(self, there: Receiver, home: Path, *, count: int = 1) -> None:
        self.results: list[subprocess.CompletedProcess[str]] = []
        self._there, self._home = there, home
        self._thread = Thread(target=self._go_on, args=(count,))
        self._thread.start()

    def _go_on(self, count: int) -> None:
        for number in range(1, count + 1):
            self._there.wait(lambda now, number=number: sum(document["status"] == 200 for _, document in now.requests) >= number)
            document = [document for _, document in self._there.requests if document["status"] == 200][number - 1]
            command = [sys.executable, "-m", *document["command"], "--home", str(self._home)]
            self.results.append(subprocess.run(command, capture_output=True, text=True))

    def join(self) -> None:
        self._thread.join(120)


@pytest.mark.parametrize("code", [0, 7])
def test_a_scheduler_runs_the_program_and_its_code_comes_back(
    folder: Path, there: Receiver, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "_FIRST_PAUSE", 0.01)
    there.answers = [503]
    asked = launch(folder, CODE=str(code))
    scheduler = Scheduler(there, folder / "home")
    runner = Runners.of_home(folder / "home").of_program("default", "report")
    assert runner.run(asked, stop=lambda: None) == code
    scheduler.join()
    assert (folder / "it-ran").read_text() == "--month 2; $(id)"
    (refused, taken) = there.requests
    assert refused[0]["idempotency-key"] == taken[0]["idempotency-key"] == asked.id
    seconds, signature = (part.partition("=")[2] for part in taken[0]["x-headwater-signature"].split(","))
    assert signature == hmac.new(SECRET, f"{seconds}.{taken[0][':body']}".encode(), sha256).hexdigest()
    assert taken[1]["command"] == ["headwater", "jobs", "launch", str(asked.folder)]
    assert "$(id)" not in taken[0][":body"]
    assert [result.returncode for result in scheduler.results] == [code]
    again = subprocess.run([sys.executable, "-m", *taken[1]["command"], "--home", str(folder / "home")], capture_output=True, text=True)
    assert (again.returncode, "Another process" in again.stderr) == (0, True)


def test_a_cancelled_program_is_ended_on_the_other_machine(folder: Path, there: Receiver) -> None:
    asked = launch(folder, "import pathlib, time\npathlib.Path('it-ran').touch()\ntime.sleep(600)\n")
    scheduler = Scheduler(there, folder / "home")
    runner = Runners.of_home(folder / "home").of_program("default", "report")
    assert runner.run(asked, stop=lambda: "cancelled" if (folder / "it-ran").exists() else None) == -9
    scheduler.join()


def test_a_program_that_nobody_starts_is_lost_and_never_starts_later(folder: Path, there: Receiver) -> None:
    (folder / "home" / "runners.toml").write_text(RUNNERS + "start_seconds = 0.1\n")
    asked = launch(folder)
    runner = Runners.of_home(folder / "home").of_program("default", "report")
    with pytest.raises(LostProgramError, match="Nobody started the program of report"):
        runner.run(asked, stop=lambda: None)
    launch_folder(asked.folder, folder / "home" / "replays")
    assert not (folder / "it-ran").exists()


def test_a_program_without_a_sign_of_life_is_lost(folder: Path, there: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "SILENCE", 0.1)
    asked = launch(folder)
    started = Event()

    def stop() -> None:
        if not started.is_set():
            (asked.folder / "started").touch()
            started.set()

    runner = Runners.of_home(folder / "home").of_program("default", "report")
    with pytest.raises(LostProgramError, match="no sign of life"):
        runner.run(asked, stop=stop)


def test_a_request_that_the_scheduler_refuses_ends_the_program(folder: Path, there: Receiver) -> None:
    there.answers = [404]
    runner = Runners.of_home(folder / "home").of_program("default", "report")
    with pytest.raises(DeliveryError, match="404"):
        runner.run(launch(folder), stop=lambda: None)


def test_only_folders_of_the_home_are_launched_and_only_unchanged_scripts(folder: Path) -> None:
    asked = launch(folder)
    replays = folder / "home" / "replays"
    offer(asked)
    elsewhere_folder = folder / "elsewhere"
    elsewhere_folder.mkdir()
    (elsewhere_folder / "launch.json").write_bytes((asked.folder / "launch.json").read_bytes())
    (replays / "link").symlink_to(elsewhere_folder)
    for place in (elsewhere_folder, replays / "link", replays / ".." / ".." / "elsewhere", replays / "missing", replays):
        with pytest.raises(InvalidInputError, match="holds no program of this home"):
            launch_folder(place, replays)
    Path(asked.script).write_text(PROGRAM + "#")
    with pytest.raises(UnsupportedError, match="has changed"):
        launch_folder(asked.folder, replays)
    assert "has changed" in asked.log.read_text()
    assert not (folder / "it-ran").exists()
    assert asked.folder.stat().st_mode & 0o077 == 0


async def test_a_triggered_program_runs_where_the_operator_says(home: TriggeredHome, there: Receiver, tmp_path: Path) -> None:
    (home.workspace.home.path / "runners.toml").write_text(RUNNERS)
    register(home, tmp_path, text=PROGRAM)
    scheduler = Scheduler(there, home.workspace.home.path)
    trigger = await home.create(MANUAL, {"run": {"job": "report"}})
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert (entry.execution.state, entry.execution.error) == ("complete", None)
    assert (tmp_path / "it-ran").exists()
    assert there.requests[0][1]["program"] == {"namespace": "default", "job": "report"}
    scheduler.join()


async def test_an_invalid_list_of_runners_starts_no_program(home: TriggeredHome, tmp_path: Path) -> None:
    (home.workspace.home.path / "runners.toml").write_text('default = "gone"\n')
    register(home, tmp_path, text=PROGRAM)
    trigger = await home.create(MANUAL, {"run": {"job": "report"}})
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert "runners.toml cannot be used" in str(entry.execution.error)
    assert not (tmp_path / "it-ran").exists()
