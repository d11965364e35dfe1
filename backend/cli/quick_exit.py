"""How a command that ends after its answer avoids work that Python does for long-lived programs.

Python searches for garbage after every 700 new objects. A command makes hundreds of thousands of objects while its
modules load, and none is garbage. At its end, Python takes all of them apart, one by one, before the operating system
takes back the memory. Each of the two is a tenth of the processor time of a short trace. A service that is stopped
avoids the second.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence

_NEW_OBJECTS = 50_000
_NOT_BRIEF = frozenset({"run", "serve", "demo", "replay", "recapture"})  # they run the user's program in this process, or go on for long


def collect_rarely(arguments: Sequence[str]) -> None:
    """Search for garbage after more objects, unless one of the arguments may be a command that is not brief."""
    if not _NOT_BRIEF.intersection(arguments):
        gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])


def end_at_once() -> None:
    """End a process after its work: run the functions registered for the end, flush the output, and exit.

    No thread may be at work any more. If something fails, this function returns, and the interpreter ends the process
    in its own way.
    """
    try:
        atexit._run_exitfuncs()  # noqa: SLF001  # databases are closed there, and their folders removed
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:  # noqa: BLE001  # as a pipe that nobody reads any more
        return
    os._exit(0)
