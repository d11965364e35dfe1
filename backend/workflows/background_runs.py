"""Runs of workflows that a service starts for its callers. A request waits only until the run has begun.

A thread runs the tasks. If the service ends, the thread is abandoned, with the same effect as a crash: the next run, or the next query of
the workflow's state, finishes or undoes the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from headwater.backend.rerun.replay.process_wait import in_thread_left_behind
from headwater.backend.workflows.service import TaskResult, Workflows
from headwater.errors import HeadwaterError, UnavailableError

_log = logging.getLogger("headwater.workflows")


class BackgroundRuns:
    """The workflow runs of one service. `open_workflows` returns the workflows of the home."""

    def __init__(self, open_workflows: Callable[[], Workflows]) -> None:
        self._open_workflows = open_workflows
        self._running: dict[str, asyncio.Task[list[TaskResult]]] = {}
        self._problems: dict[str, str] = {}

    def is_running(self, name: str) -> bool:
        return name in self._running

    def problem(self, name: str) -> str | None:
        """Return the error that ended the last run of a workflow outside of its tasks, or None."""
        return self._problems.get(name)

    async def start(self, name: str, tasks: Sequence[str] | None) -> None:
        """Start a run of a workflow, or of some of its tasks.

        Raises:
            NotFoundError: there is no such workflow or task.
            UnavailableError: the workflow is already running.
            HeadwaterError: a program or a channel is invalid.
        """
        if name in self._running:
            raise UnavailableError(f"The workflow {name} runs now.", hint="Try again when it has ended.")
        began, loop = asyncio.Event(), asyncio.get_running_loop()

        def note_beginning() -> None:
            loop.call_soon_threadsafe(began.set)

        work = partial(self._open_workflows().run, name, tasks=tasks, began=note_beginning)
        run = self._running[name] = asyncio.create_task(in_thread_left_behind(work))
        run.add_done_callback(lambda _: self._end(name, run, has_begun=began.is_set()))
        beginning = asyncio.create_task(began.wait())
        try:
            await asyncio.wait({run, beginning}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            beginning.cancel()
        if not began.is_set():
            run.result()  # raises the reason
        self._problems.pop(name, None)

    async def close(self) -> None:
        runs = list(self._running.values())
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)

    def _end(self, name: str, run: asyncio.Task[list[TaskResult]], *, has_begun: bool) -> None:
        del self._running[name]
        error = None if run.cancelled() else run.exception()
        if error is None or not has_begun:
            return
        self._problems[name] = str(error) if isinstance(error, HeadwaterError) else f"A fault of ours: {type(error).__name__}."
        _log.warning("a run of the workflow %s ended early", name, exc_info=error)
