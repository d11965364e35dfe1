"""The runner `this-machine`, the default: the program is a process of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from headwater.backend.rerun.runners.launch import Launch, StopReason

POLL = 1.0  # seconds between two looks at the limits


class ThisMachine:
    def run(self, launch: Launch, *, stop: StopReason, holding: Collection[int] = ()) -> int:
        command = [sys.executable, "-m", "headwater", "run", *launch.options, launch.script, *launch.arguments]
        return run_process(
            command, working_directory=launch.working_directory, environment=launch.environment, log=launch.log, stop=stop, holding=holding
        )


def run_process(
    command: Sequence[str],
    *,
    working_directory: str,
    environment: Mapping[str, str],
    log: Path,
    stop: StopReason,
    holding: Collection[int] = (),
    has_session: bool = False,
    at_end: Callable[[int | None], None] = lambda _: None,
) -> int:
    """Run a command without a shell to its end, and return its exit code. Its output goes to `log`.

    With `has_session`, the process leads a session, and its whole group is killed. Otherwise only the process is killed: the JVM of PySpark
    then ends too, because it reads a pipe from the process, and an interrupt at the terminal reaches it. `at_end` is called with the exit
    code, or with None if this process is interrupted.
    """
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=working_directory, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            pass_fds=tuple(holding), start_new_session=has_session,
        ) as process,
    ):  # fmt: skip
        code: int | None = None
        try:
            while code is None:
                try:
                    code = process.wait(POLL)
                except subprocess.TimeoutExpired:
                    if stop():
                        kill_process(process.pid)
        finally:
            if process.poll() is None:
                kill_process(process.pid)
            at_end(code)
    return code


def kill_process(process: int) -> None:
    """Kill a process. If it leads a process group, the whole group is killed."""
    with suppress(ProcessLookupError, PermissionError):
        if os.getpgid(process) == process:
            os.killpg(process, signal.SIGKILL)
        os.kill(process, signal.SIGKILL)
