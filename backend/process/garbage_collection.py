"""Settings of Python's garbage collector for processes that answer for long."""

from __future__ import annotations

import gc

# New containers until the youngest generation is checked, and the ratios for older ones. The default is 700: an answer, or a batch,
# has a hundred thousand objects without a cycle, and was checked a hundred times while it was made.
_YOUNG, _OLDER, _OLDEST = 50_000, 20, 100


def settle() -> None:
    """Call once after all imports: existing objects are frozen, and later ones are checked less often."""
    gc.freeze()
    gc.set_threshold(_YOUNG, _OLDER, _OLDEST)
