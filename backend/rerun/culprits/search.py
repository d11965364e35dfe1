"""Runs a search for culprits on a home, in a thread, with a folder and a process of its own. It does not wait for other programs."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from headwater.backend.home.folder import Home
from headwater.backend.rerun.culprits.crash import CrashReport, Progress, find_crash_culprit
from headwater.backend.rerun.culprits.failed_runs import FailedRun
from headwater.backend.rerun.culprits.trials import Trials
from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.rerun.runners import Runners
from headwater.backend.rerun.runners.this_machine import ThisMachine
from headwater.errors import UnsupportedError
from headwater.spark_listener.registry import Registry


class HomeOfSearch(Protocol):
    """The parts of a home that a search uses."""

    home: Home
    registry: Registry


def trials_folder(home: Home) -> Path:
    return home.replays / f"trials-{uuid.uuid4().hex}"


def check_runner(home: Home, invocations: Sequence[Invocation]) -> None:
    """Check that the programs run on this machine: trials share one process.

    Raises:
        UnsupportedError: the operator has chosen another runner for one of the programs.
    """
    runners = Runners.of_home(home.path)
    for one in invocations:
        if not isinstance(runners.of_program(one.namespace, one.job), ThisMachine):
            raise UnsupportedError(
                f"The program of job {one.job} runs elsewhere (runners.toml), and trials share one process of this machine.",
                hint="Register it on a home of a machine that can run it: headwater jobs register.",
            )


async def explain_failure(home: HomeOfSearch, failed: FailedRun, *, seconds: float, progress: Progress = lambda *_: None) -> CrashReport:
    """Search for the records at which a run failed.

    Raises:
        UnsupportedError: the program is not registered, changed since, or cannot run in trials.
        TrialsFailedError: the process of the trials ended by itself.
    """
    invocation = failed.invocation(home.registry)
    check_runner(home.home, [invocation])

    def search() -> CrashReport:
        with Trials(trials_folder(home.home), [invocation], seconds) as trials:
            return find_crash_culprit(trials, failed.failure, progress)

    return await asyncio.to_thread(search)
