"""How a process that answers for long has its memory looked through for cycles."""

from __future__ import annotations

import gc

# New containers until the young are looked through, and how often the older are. By default it is 700: an answer, or a batch of events, is
# a hundred thousand objects without a cycle among them, and was looked through a hundred times while it was made.
_YOUNG, _OLDER, _OLDEST = 50_000, 20, 100


def settle() -> None:
    """Call once all is imported: that stays, and what is made from now on is looked through more seldom."""
    gc.freeze()
    gc.set_threshold(_YOUNG, _OLDER, _OLDEST)
