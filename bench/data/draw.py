"""Draws random columns like PigMix's published generator, from a seed: uniform or zipf, with a share of nulls."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]
Draw = Callable[[np.random.Generator, int, int], Numbers]

_FIRST, _LAST = 65, 122  # PigMix's strings consist of the characters from A to y


def uniform(random: np.random.Generator, cardinality: int, rows: int) -> Numbers:
    """Draw uniform integers from 0 up to the cardinality."""
    return random.integers(0, cardinality, rows)


def zipf(random: np.random.Generator, cardinality: int, rows: int) -> Numbers:
    """Draw ranks from 0. The n-th has a probability proportional to 1/(n+1)."""
    return np.searchsorted(_harmonic(cardinality), random.random(rows)).astype(np.int64)


def strings(random: np.random.Generator, size: int, count: int) -> pa.Array:
    """Draw random strings of about `size` characters."""
    spread = max(1, int(size * 0.3))
    lengths = random.integers(size - spread, size + spread, count)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    characters = random.integers(_FIRST, _LAST, int(offsets[-1]), dtype=np.uint8)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(characters))


def named(random: np.random.Generator, draw: Draw, *, size: int, cardinality: int, rows: int) -> pa.Array:
    """Return a column of strings, one string for each distinct value of `draw`."""
    values, places = np.unique(draw(random, cardinality, rows), return_inverse=True)
    return strings(random, size, len(values)).take(pa.array(places))


def numbered(random: np.random.Generator, draw: Draw, *, cardinality: int, rows: int) -> pa.Array:
    """Return a column of doubles, one random double for each distinct value of `draw`."""
    values, places = np.unique(draw(random, cardinality, rows), return_inverse=True)
    return pa.array((random.random(len(values)) * random.integers(-(1 << 31), 1 << 31, len(values)))[places])


def with_nulls(random: np.random.Generator, column: pa.Array, percent: int) -> pa.Array:
    """Return the column with a percentage of its values replaced by nulls."""
    absent = pa.array(random.integers(0, 100, len(column)) < percent)
    return pc.if_else(absent, pa.scalar(None, column.type), column)


def maps(random: np.random.Generator, size: int, count: int) -> pa.Array:
    """Return maps of 6 to 25 entries, with the keys a to y and random strings."""
    lengths = random.integers(6, 26, count)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    keys = pa.array([chr(97 + place) for place in range(26)]).take(pa.array(places))
    return pa.MapArray.from_arrays(pa.array(offsets), keys, strings(random, size, int(offsets[-1])))


def bags(random: np.random.Generator, make: Callable[[int], Any], count: int) -> pa.Array:
    """Return lists of 5 to 9 elements, which `make` creates."""
    offsets = np.concatenate(([0], np.cumsum(random.integers(5, 10, count)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), make(int(offsets[-1])))


@cache
def _harmonic(cardinality: int) -> npt.NDArray[np.float64]:
    shares = np.cumsum(1.0 / np.arange(1, cardinality + 1))
    found: npt.NDArray[np.float64] = shares / shares[-1]
    return found
