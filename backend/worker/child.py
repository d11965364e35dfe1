"""The worker's process: projects, prunes and stores groups of records for one service, until the service ends it.

The service starts it as `python -m headwater.backend.worker.child`, sends it messages on standard input, and receives its state on standard
output. If standard input ends, the service is gone, and this process ends immediately, because all work may be interrupted anywhere.
"""

from __future__ import annotations

import asyncio
import os
import signal
from threading import Lock, Thread
from typing import BinaryIO

from headwater.backend.operate.upkeep.pruning import policy_of
from headwater.backend.process import tracing
from headwater.backend.process.child_process import give_way
from headwater.backend.process.garbage_collection import settle
from headwater.backend.process.logs import configure
from headwater.backend.process.messages import packed, read
from headwater.backend.worker.messages import Begin, End, Linked, Report, Wake
from headwater.backend.worker.thread import Worker
from headwater.backend.workspace import Workspace
from headwater.graph.records import Wanted

_NICE = 5
_LOOK = 1.0  # seconds between two checks of values that change without an event


class _Reports:
    """Sends changes of the worker's state to the service."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = Lock()
        self._last = Report("starting")

    def tell(self, state: str | None = None, *, projected: int = 0, differences: tuple[str, ...] | None = None) -> None:
        with self._lock:
            last = self._last
            report = Report(
                last.state if state is None else state, projected, tuple(last.differences) if differences is None else differences
            )
            if report != last or projected:
                self._last = Report(report.state, 0, report.differences)
                try:
                    self._stream.write(packed(report))
                    self._stream.flush()
                except BrokenPipeError:
                    os._exit(0)  # the service is gone


async def _work(begin: Begin, requests: BinaryIO, reports: BinaryIO) -> None:
    sender = _Reports(reports)
    ended = asyncio.Event()
    async with await Workspace.open(begin.settings, for_worker=True) as workspace:
        worker = Worker(
            workspace,
            policy=policy_of(begin.settings),
            ended=begin.ended,
            on_projected=lambda entries: sender.tell(projected=entries),
            on_state=sender.tell,
        )
        loop = asyncio.get_running_loop()

        def listen() -> None:
            while (message := read(requests)) is not None:
                if isinstance(message, Wake):
                    workspace.log.appended.set()
                elif isinstance(message, Wanted):
                    worker.wanted.add(message)
                elif isinstance(message, Linked):
                    tracing.note_appended(message.tenant, message.offsets, message.span)
                elif isinstance(message, End):
                    loop.call_soon_threadsafe(ended.set)
            worker.abandon()
            os._exit(0)

        Thread(target=listen, name="headwater-listener", daemon=True).start()
        worker.start()
        while not ended.is_set():
            sender.tell(differences=tuple(worker.differences))
            try:
                async with asyncio.timeout(_LOOK):
                    await ended.wait()
            except TimeoutError:
                pass
        await asyncio.to_thread(worker.stop)


def main() -> None:
    requests: BinaryIO = os.fdopen(os.dup(0), "rb")
    reports: BinaryIO = os.fdopen(os.dup(1), "wb")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # systemd sends these signals to all processes, and the service itself stops this one
    os.dup2(2, 1)  # the output of a library must not mix with the reports
    begin = read(requests)
    if not isinstance(begin, Begin):
        return
    if begin.logs is not None:
        configure(*begin.logs)
    end_tracing = tracing.start(os.environ)
    settle()
    give_way(_NICE)  # accepting documents is more urgent than projecting them
    try:
        asyncio.run(_work(begin, requests, reports))
    finally:
        end_tracing()


if __name__ == "__main__":
    main()
