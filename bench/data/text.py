"""Lines of words for word count and grep: 5 to 15 words a line, from 100,000 words by default. The frequency of the n-th word is 1/n."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.data.cache import kept
from bench.data.draw import strings, zipf

_WORDS = 100_000
_LINES = 250_000  # lines to write at a time
_LINE_BYTES = 66  # on average
_FILE_BYTES = 128 * 1024 * 1024


def text(gigabytes: float, *, terms: int = _WORDS) -> Path:
    """Return a folder of text files with this total size (10⁹ bytes) and number of different words, from the cache if possible."""

    def make(folder: Path) -> None:
        random = np.random.default_rng(1974)
        words = strings(random, 6, terms)
        left, number = int(gigabytes * 1e9), 0
        while left > 0:
            with (folder / f"part-{number:02}.txt").open("wb") as file:
                while file.tell() < min(_FILE_BYTES, left):
                    file.write(_lines(random, words, min(_LINES, 1 + (min(_FILE_BYTES, left) - file.tell()) // _LINE_BYTES)))
                left -= file.tell()
            number += 1

    return kept(f"text-{gigabytes:g}-gb" + (f"-{terms}-terms" if terms != _WORDS else ""), make)


def _lines(random: np.random.Generator, words: pa.Array, count: int) -> bytes:
    lengths = random.integers(5, 16, count)
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))
    drawn = words.take(pa.array(zipf(random, len(words), int(lengths.sum()))))
    lines = pc.binary_join(pa.ListArray.from_arrays(offsets, drawn), " ")
    return ("\n".join(lines.to_pylist()) + "\n").encode()
