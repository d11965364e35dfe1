"""Repairs workflows after a crash: committed runs are finished, and the files of other runs are removed.

The caller holds the lock of the workflow, and uses the workflow only after the repair.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from headwater.backend.rerun.runners.this_machine import kill_process
from headwater.backend.rerun.shadow_lineage import MakeDelivery, deliver_lineage
from headwater.backend.workflows.ledger import Ledger, MoveKind, Run, RunState
from headwater.backend.workflows.report import note_outputs, spool_report
from headwater.backend.workflows.shadow import make_move, remove_shadow
from headwater.backend.workflows.stragglers import find_stragglers, is_of_run
from headwater.errors import UnavailableError

_POLL = 0.02  # seconds
_MOST_FOLDERS = 100  # limit of stored run folders, which have the logs of their programs
_log = logging.getLogger("headwater.workflows")


def finish_runs(ledger: Ledger, workflow: str, folder: Path, make_delivery: MakeDelivery) -> list[str]:
    """Finish or undo the runs that a crash interrupted. Returns warnings about missing lineage.

    `folder` contains the folders of runs.
    """
    warnings: list[str] = []
    unfinished = ledger.unfinished(workflow)
    for run in unfinished:
        if run.state is RunState.RUNNING:
            _end_program(run, folder / run.id)
            ledger.fail(run.id, "Headwater was stopped before the end of this run. Nothing was committed.")
        warnings += finish_run(ledger, run, folder / run.id, make_delivery)
    if unfinished:
        _remove_old_folders(folder)
    return warnings


def finish_run(ledger: Ledger, run: Run, folder: Path, make_delivery: MakeDelivery) -> list[str]:
    """Move the blocks of a committed run, deliver its lineage, and remove temporary files. Every step can be repeated."""
    warnings: list[str] = []
    moves = ledger.moves(run.id)
    if run.state is RunState.COMMITTED:  # only then: a later run may have replaced the blocks of a complete one
        numbers = ledger.blocks_of_run(run.id)
        for move in moves:
            make_move(move, numbers[move.channel])
        ledger.complete(run.id)
    if run.state in (RunState.COMMITTED, RunState.COMPLETE):
        try:
            deliver = partial(
                deliver_lineage, folder / "home", Path(run.shadow), ledger.modes_of_run(run.id), make_delivery,
                note_outputs=partial(note_outputs, folder),
            )  # fmt: skip
            refused = deliver()
            unreported = spool_report(folder)
            refused += deliver() if unreported else []
            warnings = [f"Lineage of {run.task} was refused: {reason}" for reason in refused]
            warnings += [
                f"The program of {run.task} reported no lineage of {name}. The block has lineage by dataset only." for name in unreported
            ]
        except UnavailableError as error:
            return [f"The lineage of {run.task} waits for the next run of the workflow: {error}"]
    before = [ledger.earlier_exchange(run, move.channel) for move in moves if move.kind is MoveKind.EXCHANGE]
    for shadow in {Path(run.shadow), *(Path(earlier) for earlier in before if earlier)}:
        kept = [Path(move.source) for move in moves if move.kind is MoveKind.EXCHANGE] if shadow == Path(run.shadow) else []
        remove_shadow(shadow, kept)
    shutil.rmtree(folder / "home", ignore_errors=True)
    ledger.note_clean(run.id)
    return warnings


@contextmanager
def hold_run(folder: Path) -> Iterator[int]:
    """Create the folder of a run, and yield an open file of it. A program that inherits the file is known to run still."""
    folder.mkdir(mode=0o700, parents=True)
    (folder / "home").mkdir(mode=0o700)
    holding = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(holding, fcntl.LOCK_EX)
        yield holding
    finally:
        os.close(holding)


def _end_program(run: Run, folder: Path) -> None:
    """Kill the program of a run whose Headwater process is gone, and wait for its end. Until then it may write to the shadow.

    The program has the run's folder open and the run's id in its environment. Other processes are left alone. If the system does not show
    open files, the program runs to its own end.
    """
    try:
        holding = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        while not _is_free(holding):
            for process in _programs_of(run.id, folder):
                _log.warning("ending the program of the interrupted run %s (process %d)", run.id, process)
                kill_process(process)
            time.sleep(_POLL)
    finally:
        os.close(holding)
    for process in find_stragglers(run.id, Path(run.shadow)):  # a detached process may have closed the folder
        if is_of_run(process, run.id):
            kill_process(process)


def _is_free(holding: int) -> bool:
    try:
        fcntl.flock(holding, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _programs_of(run: str, folder: Path) -> list[int]:
    """Return the processes of a run's program that have the folder of the run open. Their environment has the id of the run."""
    real = os.path.realpath(folder)
    found = []
    for place in Path("/proc").glob("[0-9]*/fd"):
        process = int(place.parent.name)
        with suppress(OSError):  # the process has ended, or is another user's
            is_holder = process != os.getpid() and any(str(file.readlink()) == real for file in place.iterdir())
            if is_holder and is_of_run(process, run):
                found.append(process)
    return found


def _remove_old_folders(folder: Path) -> None:
    for old in sorted(folder.iterdir(), reverse=True)[_MOST_FOLDERS:] if folder.is_dir() else ():
        shutil.rmtree(old, ignore_errors=True)
