"""Locks in a process that was forked: another thread may have held one, and that thread is not there to let go of it.

For whatever has a lock that a program may come to in a forked child. Its state there may be half made, but nothing of it counts.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Any
from weakref import WeakSet

_HOLDERS: WeakSet[Any] = WeakSet()


def renewed(holder: Any) -> None:
    """In a forked child the `_lock` of the holder is a new one."""
    _HOLDERS.add(holder)


def _renew() -> None:
    for holder in list(_HOLDERS):
        holder._lock = RLock()  # noqa: SLF001 - what it was given for


os.register_at_fork(after_in_child=_renew)
