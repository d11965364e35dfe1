"""A replica for tests: a worker that projects and drives triggers, until it is killed. Its settings are in the environment.

Three of these share a log in PostgreSQL, the store of triggers in it, and one graph file. They serve no requests.
"""

from __future__ import annotations

import asyncio
import sys
from threading import Event

from headwater.backend.home.settings import load_settings
from headwater.backend.worker.thread import Worker
from headwater.backend.workspace import Workspace


async def main() -> None:
    async with await Workspace.open(load_settings()) as workspace:
        worker = Worker(workspace)
        worker.start()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(Event().wait)


if __name__ == "__main__":
    asyncio.run(main())
