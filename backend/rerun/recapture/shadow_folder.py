"""Makes the folder of a running recapture, and removes folders of killed processes.

The recapture and its program both lock the folder, so the folder is free when both have ended. The error message of a failed program
names its log. A folder that contains only this log is removed after a month.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ORDER = "order.json"  # orders of replays have names with numbers
_DATA = ("home", "data")
_KEPT_SECONDS = 30 * 86_400
_log = logging.getLogger("headwater.recapture")


@contextmanager
def place_in(folder: Path) -> Iterator[tuple[Path, int]]:
    """Make a new folder below `folder`. Yields the folder and the open file that locks it."""
    place = folder / uuid.uuid4().hex
    place.mkdir(parents=True, mode=0o700)
    holding = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(holding, fcntl.LOCK_EX)
        yield place, holding
    finally:
        os.close(holding)


def sweep(folder: Path) -> int:
    """Remove the folders of killed recaptures below `folder`, and return their number."""
    removed = 0
    for order in folder.glob(f"*/{_ORDER}"):
        place = order.parent
        try:
            is_left = any((place / name).exists() for name in _DATA)
            if (is_left or time.time() - order.stat().st_mtime > _KEPT_SECONDS) and _is_free(place):
                shutil.rmtree(place)
                removed += is_left
        except OSError as error:
            _log.warning("%s, which a recapture left, cannot be removed: %s", place, error)
    if removed:
        _log.warning("removed the folders of %d recaptures that were ended before their end", removed)
    return removed


def _is_free(place: Path) -> bool:
    file = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True
