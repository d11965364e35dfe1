"""Runs a search for culprits on a home, in a thread, with a folder and a process of its own. It does not wait for other programs."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Protocol

from headwater.backend.home.folder import Home
from headwater.backend.rerun.culprits.blame import BlameReport, find_blamed_records
from headwater.backend.rerun.culprits.crash import CrashReport, Progress, find_crash_culprit
from headwater.backend.rerun.culprits.failed_runs import FailedRun
from headwater.backend.rerun.culprits.trials import Trials
from headwater.backend.rerun.culprits.wrong_rows import BlameRequest, WrongRows, find_wrong_rows
from headwater.backend.rerun.replay.checks import file_states
from headwater.backend.rerun.replay.kinds import Sources
from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.rerun.runners import Runners
from headwater.backend.rerun.runners.this_machine import ThisMachine
from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.records import AssociationStore
from headwater.graph.stores import GraphStore
from headwater.graph.trace.questions import Questions
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.shadow_paths import ShadowPaths


class HomeOfSearch(Protocol):
    """The parts of a home that a search uses."""

    home: Home
    registry: Registry
    graph: GraphStore
    records: AssociationStore


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


async def explain_failure(
    home: HomeOfSearch, failed: FailedRun, *, seconds: float, progress: Progress = lambda *_: None, cancel: Event | None = None
) -> CrashReport:
    """Search for the records at which a run failed. `cancel` ends the search early, as the time limit does.

    Raises:
        UnsupportedError: the program is not registered, changed since, or cannot run in trials.
        TrialsFailedError: the process of the trials ended by itself.
    """
    invocation = failed.invocation(home.registry)
    check_runner(home.home, [invocation])

    def search() -> CrashReport:
        with Trials(trials_folder(home.home), [invocation], seconds, cancel) as trials:
            return find_crash_culprit(trials, failed.failure, progress)

    return await asyncio.to_thread(search)


async def find_wrong_result(home: HomeOfSearch, tenant: str, request: BlameRequest, questions: Questions) -> WrongRows:
    """Return the wrong rows of an output, and the programs that can run again. Raises as `find_wrong_rows`."""
    sources = Sources(tenant, home.graph, home.records.sources, questions.trace)
    wrong = await find_wrong_rows(request, sources, questions, home.records, home.registry)
    check_runner(home.home, wrong.invocations)
    return wrong


async def blame_records(
    home: HomeOfSearch,
    tenant: str,
    wrong: WrongRows,
    *,
    seconds: float,
    progress: Progress = lambda *_: None,
    cancel: Event | None = None,
) -> BlameReport:
    """Search for the records that make rows wrong. `cancel` ends the search early, as the time limit does.

    Raises:
        SourceChangedError: a file with one of the records changed during the search.
        TrialsFailedError: the process of the trials ended by itself, or the programs cannot run in trials.
    """
    from headwater.graph.trace.rows_elsewhere import has_row  # imported late, because it loads DuckDB

    files = {file for records in wrong.lineages for file in records.by_file()}
    before = await asyncio.to_thread(file_states, files, home.records.sources)

    def is_wrong(shadow: Path) -> bool:
        return has_row(home.records, tenant, wrong.read_as, ShadowPaths(str(shadow)).folder(wrong.read_as.place), wrong.where)

    def search() -> BlameReport:
        with Trials(trials_folder(home.home), wrong.invocations, seconds, cancel) as trials:
            return find_blamed_records(trials, is_wrong, wrong.lineages, wrong.restrict, progress)

    report = await asyncio.to_thread(search)
    after = await asyncio.to_thread(file_states, files, home.records.sources)
    if changed := sorted(file for file in before if before[file] != after.get(file)):
        raise SourceChangedError(f"{changed[0]} changed during the search, so its records have other numbers now.", hint="Search again.")
    return report
