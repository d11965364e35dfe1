"""Locks in a forked process: a thread of the parent may have held a lock, and no thread of the child can release it.

For objects with a lock that a forked child may use. Their state may be inconsistent there, but the child records nothing.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Any
from weakref import WeakSet

_HOLDERS: WeakSet[Any] = WeakSet()


def renewed(holder: Any) -> None:
    """Give the holder a new `_lock` in every forked child."""
    _HOLDERS.add(holder)


def _renew() -> None:
    for holder in list(_HOLDERS):
        holder._lock = RLock()  # noqa: SLF001 - what it was given for


os.register_at_fork(after_in_child=_renew)
