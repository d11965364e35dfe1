"""The growth of a reader's processor time when its input doubles.

For tests of readers that anybody may send to. A reader whose time grows with the square of its input takes minutes for a body within the
limits. The time is that of the thread, the best of several, and it is compared over three doublings, so that other work of the machine
changes it little.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress
from math import log2

from headwater.errors import HeadwaterError

Read = Callable[[bytes], object]
Make = Callable[[int], bytes]
MOST = 2.3
"""By what the time of a reader may be multiplied at most, where its input is twice as large."""
_LEAST_SECONDS = 0.004  # below, the clock and the first call of anything say more than the reader
_TRIES = 4


def growth(read: Read, make: Make, size: int) -> float:
    """By what the time is multiplied with each doubling, from an input of `size` bytes to one of eight times as many."""
    small, large = sized(make, size), sized(make, 8 * size)
    doublings = log2(len(large) / len(small))
    least = float("inf")
    for _ in range(_TRIES):
        ratio = seconds(read, large, best_of=1) / max(seconds(read, small, best_of=3), _LEAST_SECONDS)
        least = min(least, ratio ** (1 / doublings))
        if least <= MOST:
            break
    return least


def sized(make: Make, size: int) -> bytes:
    """An input of about so many bytes."""
    count = 16
    while len(body := make(count)) < size and count <= 8 * size:  # what packs well never comes to the size
        count = max(count + 1, min(8 * count, count * size // len(body)))
    return body


def seconds(read: Read, body: bytes, *, best_of: int) -> float:
    """The least processor time of some readings. A refusal is an answer, too."""
    return min(_seconds(read, body) for _ in range(best_of))


def _seconds(read: Read, body: bytes) -> float:
    gc.collect()
    began = time.thread_time()
    with suppress(HeadwaterError):
        read(body)
    return time.thread_time() - began
