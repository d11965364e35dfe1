"""A buffer of PROV statements, in order: in memory while they are few, then in a temporary file.

A document can be written only after its last derivation is known, since that may close a circle. Earlier statements need not stay in
memory.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO
from weakref import finalize

from headwater.graph.prov.model import Statement

_PORTION = 5_000  # statements, some megabytes


class StatementBuffer:
    """A list of statements. It can be read any number of times, but not while statements are appended."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None  # closed, and so removed, with the last reference to this
        self._portions = 0
        self._last: list[Statement] = []

    def append(self, statement: Statement) -> None:
        self._last.append(statement)
        if len(self._last) >= _PORTION:
            self._put_away()

    def __iter__(self) -> Iterator[Statement]:
        if self._file is not None:
            self._file.seek(0)
            for _ in range(self._portions):
                yield from pickle.load(self._file)  # noqa: S301  # this object wrote it, into a file without a name
        yield from self._last

    def _put_away(self) -> None:
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115  # open as long as this is
            finalize(self, self._file.close)
        pickle.dump(self._last, self._file, pickle.HIGHEST_PROTOCOL)
        self._portions += 1
        self._last = []
