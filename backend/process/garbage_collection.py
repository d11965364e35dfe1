"""Settings of Python's garbage collector for long-running processes."""

from __future__ import annotations

import gc

# New containers until the youngest generation is collected, and the ratios for older ones. The default is 700, but an answer or a batch
# has a hundred thousand objects without a cycle, and would be checked a hundred times.
_YOUNG, _OLDER, _OLDEST = 50_000, 20, 100


def settle() -> None:
    """Freeze existing objects, and collect garbage less often. Call once after all imports."""
    gc.freeze()
    gc.set_threshold(_YOUNG, _OLDER, _OLDEST)
