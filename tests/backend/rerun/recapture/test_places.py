"""Clean-up after killed recaptures: not while their program runs, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from headwater.backend.rerun.recapture.shadow_folder import place_in, sweep

# Begins a recapture, starts a program for it as `run_program` does, says which, and waits to be killed.
_KILLED = """
import subprocess, sys, time
from pathlib import Path
from headwater.backend.rerun.recapture.shadow_folder import place_in

with place_in(Path(sys.argv[1])) as (place, holding):
    (place / "order.json").write_text("{}")
    (place / "data").mkdir()
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], pass_fds=[holding])
    print(program.pid, flush=True)
    time.sleep(300)
"""


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_folder_of_a_killed_recapture_is_removed_once_its_program_has_ended(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as recapture:
        assert recapture.stdout is not None
        program = int(recapture.stdout.readline())
        try:
            assert sweep(tmp_path) == 0
            recapture.kill()
            recapture.wait(60)
            assert sweep(tmp_path) == 0, "its program still writes there"
            assert len(list(tmp_path.iterdir())) == 1
        finally:
            recapture.kill()
            os.kill(program, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while _is_there(program):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert sweep(tmp_path) == 1
    assert not list(tmp_path.iterdir())


def test_logs_of_failed_programs_and_replays_are_left_alone(tmp_path: Path) -> None:
    with place_in(tmp_path) as (place, _):
        (place / "order.json").write_text("{}")
        (place / "program.log").write_text("why it failed")
    replay = tmp_path / "0123"
    (replay / "data").mkdir(parents=True)
    (replay / "order-1.json").write_text("{}")
    (replay / "replay.json").write_text("{}")
    assert sweep(tmp_path) == 0
    assert {path.name for path in tmp_path.iterdir()} == {place.name, "0123"}
    old = time.time() - 40 * 86_400
    os.utime(place / "order.json", (old, old))
    sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["0123"]
    assert sweep(tmp_path / "not-there") == 0
