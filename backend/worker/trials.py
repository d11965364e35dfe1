"""Runs trials of entries at which a worker crashed, while the worker continues with all other tenants.

A tenant with suspects is excluded from the usual projection until a trial has passed them, so that a bad entry delays no
other tenant. One trial runs at a time, and the tenants take turns. A crash of a trial counts against its current entry. A trial without a
result (the store is away, another replica has the lease) is repeated and does not count.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from headwater.backend.home.quick_settings import HomeSettings
from headwater.backend.ingest.log import IngestLog
from headwater.backend.process.logs import configured
from headwater.backend.process.messages import packed
from headwater.backend.projector.current_entries import Patience, left_in
from headwater.backend.worker.messages import Trial
from headwater.backend.worker.poison_entries import Suspect, Suspects, end_of
from headwater.backend.worker.trial import LATER, PASSED, STAYS

_LOOK = 5.0  # seconds between two checks for suspects of other replicas
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds after a trial that did not pass


class RunningTrial:
    """The running process that projects suspicious entries as a trial."""

    def __init__(self, trial: Trial, *, seconds: float) -> None:
        self.trial = trial
        trial.note.unlink(missing_ok=True)
        self._patience = Patience(trial.note, seconds)
        self._seconds = seconds
        self._was_too_long = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headwater.backend.worker.trial"], stdin=subprocess.PIPE, start_new_session=True, bufsize=0
        )
        assert self._process.stdin is not None  # noqa: S101 - it was made with a pipe
        with suppress(OSError):
            self._process.stdin.write(packed(trial))

    def has_ended(self) -> bool:
        """Whether the trial has ended. A trial that reads one entry for too long is terminated."""
        if self._process.poll() is not None:
            return True
        if self._patience.is_over(self._process.pid, time.monotonic()):
            self._was_too_long = True
            self._process.kill()
        return False

    def wait(self) -> int:
        while not self.has_ended():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.2)
        self.close()
        return int(self._process.returncode)

    def how(self) -> str:
        return too_long(self._seconds) if self._was_too_long else end_of(self._process.returncode)

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


class Trials:
    """The trials of one worker."""

    def __init__(self, settings: HomeSettings, log: IngestLog) -> None:
        self._settings = settings
        self._note = settings.folder.trial_note
        self._marks = Suspects(log)
        self._suspects: dict[str, Suspect] = {}
        self._running: RunningTrial | None = None
        self._look_due = self._next_due = 0.0
        self._pause = _FIRST_PAUSE

    @property
    def tenants(self) -> Collection[str]:
        return self._suspects.keys()

    def learn(self, note: Path, how: str) -> None:
        """Record the current entries of a worker that ended, and of the trial that ended with it."""
        for path, end in ((note, how), (self._note, how)):
            stretch = left_in(path)
            if stretch is not None:
                self._marks.ended(stretch, end)
            path.unlink(missing_ok=True)
        self._look()

    def go_on(self) -> None:
        """Start a due trial, or evaluate one that has ended. Never waits."""
        now = time.monotonic()
        if self._running is not None:
            if self._running.has_ended():
                self._judge(self._running)
                self._running = None
            return
        if now >= self._look_due:
            self._look()
        if self._suspects and now >= self._next_due:
            tenant, suspect = next(iter(self._suspects.items()))
            trial = Trial(self._settings, configured(), self._note, tenant, suspect.first, suspect.last)
            self._running = RunningTrial(trial, seconds=self._settings.entry_seconds)

    def stop(self) -> None:
        """Stop the current trial. It does not count."""
        if self._running is not None:
            self._running.close()
            self._note.unlink(missing_ok=True)

    def _look(self) -> None:
        found = self._marks.read()
        # Keep the order of turns.
        kept = [tenant for tenant in self._suspects if tenant in found]
        self._suspects = {tenant: found[tenant] for tenant in dict.fromkeys([*kept, *found])}
        self._look_due = time.monotonic() + _LOOK

    def _judge(self, ended: RunningTrial) -> None:
        code = ended.wait()
        tenant = ended.trial.tenant
        stretch = left_in(self._note)
        if code == PASSED:
            self._marks.passed(tenant)
            self._pause = _FIRST_PAUSE
        else:
            if code not in (STAYS, LATER) and stretch is not None:
                self._marks.ended(stretch, ended.how())
                self._pause = _FIRST_PAUSE
            self._next_due = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._suspects[tenant] = self._suspects.pop(tenant)  # moved to the end, so that the others have their turns
        self._look()


def too_long(seconds: float) -> str:
    return f"it was ended after {seconds:g} s at one entry"
