"""A trial: a separate process that projects, one by one, entries of a tenant that may crash their process.

The worker (`trials`) or `headwater store retry` starts it as `python -m headwater.backend.worker.trial`, and passes a `Trial` on standard
input. The trial records its current entry (`at_work`), so that the parent knows where it crashed. If standard input ends, the parent is
gone, and this process ends too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from threading import Thread

from headwater.backend.ingest.log import Stage
from headwater.backend.process.logs import configure
from headwater.backend.process.messages import read
from headwater.backend.projector.current_entries import AtWork
from headwater.backend.projector.projector import Projector
from headwater.backend.worker.messages import Trial
from headwater.backend.workspace import Workspace
from headwater.errors import HeadwaterError

PASSED, STAYS, LATER = 0, 1, 75  # exit codes: all is projected; an entry is still refused; no result now (EX_TEMPFAIL)


async def _tried(trial: Trial, at_work: AtWork) -> int:
    async with await Workspace.open(trial.settings, for_worker=True) as workspace:
        await workspace.graph.open()
        projector = Projector(workspace.log, workspace.graph, workspace.records, at_work=at_work)
        offsets = range(trial.first, trial.last + 1)
        if trial.again:
            return PASSED if await projector.retry(trial.tenant, stage=Stage.QUARANTINE, offsets=offsets) else STAYS
        if not await projector.project_singly(trial.tenant, trial.last):
            return LATER
        await projector.retry(trial.tenant, offsets=offsets)
        return PASSED


def main() -> None:
    requests = os.fdopen(os.dup(0), "rb")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.dup2(2, 1)
    trial = read(requests)
    if not isinstance(trial, Trial):
        sys.exit(LATER)
    if trial.logs is not None:
        configure(*trial.logs)
    at_work = AtWork(trial.note)

    def listen() -> None:
        requests.read()
        at_work.close()  # the process ends, but not because of an entry
        os._exit(LATER)

    Thread(target=listen, name="headwater-listener", daemon=True).start()
    try:
        code = asyncio.run(_tried(trial, at_work))
    except HeadwaterError as error:
        sys.stderr.write(f"{error}\n")
        code = LATER
    at_work.close()
    os._exit(code)  # the listening thread would wait for the parent


if __name__ == "__main__":
    main()
