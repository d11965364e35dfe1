"""What was said so far, in its order: in memory while it is little, beyond that in a temporary file.

A document can be written only when its last derivation is known, since that may close a circle; what comes before need not stay in memory.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile

from headwater.graph.prov.model import Statement

_PORTION = 5_000  # statements, some megabytes
_IN_MEMORY = 4 * 1024 * 1024


class Said:
    """Append statements; read them as often as wanted, as long as none is appended meanwhile."""

    def __init__(self) -> None:
        # Never closed by hand: it has no name, and goes with the last reference.
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self._portions = 0
        self._last: list[Statement] = []

    def append(self, statement: Statement) -> None:
        """Say one more."""
        self._last.append(statement)
        if len(self._last) >= _PORTION:
            pickle.dump(self._last, self._file, pickle.HIGHEST_PROTOCOL)
            self._portions += 1
            self._last = []

    def __iter__(self) -> Iterator[Statement]:
        self._file.seek(0)
        for _ in range(self._portions):
            yield from pickle.load(self._file)  # noqa: S301  # this object wrote it, into a file without a name
        yield from self._last
