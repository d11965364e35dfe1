"""Replaces locks in forked processes. A thread of the parent may hold a lock, and no thread of the child can release it.

Objects with such a lock may be inconsistent in the child. The child records nothing with them.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Any
from weakref import WeakSet

_HOLDERS: WeakSet[Any] = WeakSet()


def renewed(holder: Any) -> None:
    """Give an object a new `_lock` in every forked child."""
    _HOLDERS.add(holder)


def _renew() -> None:
    for holder in list(_HOLDERS):
        holder._lock = RLock()  # noqa: SLF001 - what it was given for


os.register_at_fork(after_in_child=_renew)
