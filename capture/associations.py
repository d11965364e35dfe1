"""The associations of one actor before the commit: pairs of references, in memory and, beyond a limit, in a file without a name.

The actor appends to the two arrays itself, because nothing else may happen for every record. A failed input takes back its earlier pairs.
A forked process shares the file with its parent, so it never writes to it.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 16  # pairs, as a block of a segment
_IN_MEMORY = 64 << 20  # bytes
_PAIR = 16  # bytes


class Associations:
    """`inputs[n]` and `outputs[n]` are a pair. `limit` is the limit of all pairs in bytes; `dropped` counts the pairs beyond it."""

    def __init__(self, limit: int) -> None:
        self.inputs: array[int] = array("q")
        self.outputs: array[int] = array("q")
        self.dropped = 0
        self._limit = limit
        self._count = 0
        self._failed: dict[int, int] = {}
        self._end = 0  # end of the complete pairs in the file
        self._process = os.getpid()
        self._file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(_IN_MEMORY, buffering=0, prefix="headwater-")  # noqa: SIM115 - see `close`

    def __len__(self) -> int:
        return self._count + len(self.inputs)

    def fail(self, reference: int) -> None:
        """Remove all earlier pairs of an input."""
        self._failed[reference] = len(self)

    @property
    def failed(self) -> int:
        """The number of failed inputs."""
        return len(self._failed)

    def spill(self) -> None:
        """Move the arrays to the file. Pairs that do not fit, or cannot be written, are counted as dropped."""
        count = len(self.inputs)
        if (self._count + count) * _PAIR <= self._limit and self._write(count.to_bytes(8, "little"), self.inputs, self.outputs):
            self._count += count
        else:
            self.dropped += count
        del self.inputs[:], self.outputs[:]

    def _write(self, *parts: bytes | array[int]) -> bool:
        """Append to the file, and return whether that worked. On a full disk the program goes on, and the ledger reports the loss."""
        if os.getpid() != self._process:
            return False
        data = b"".join(parts)
        try:
            self._file.seek(self._end)
            written = self._file.write(data)
        except OSError:
            return False
        if written != len(data):
            return False
        self._end += written
        return True

    def batches(self) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Yield all pairs in order, without pairs of failed inputs. May be called again."""
        import pyarrow as pa

        if self.inputs:
            self.spill()
        self._file.seek(0)
        done = 0
        while done < self._count:
            count = int.from_bytes(self._file.read(8), "little")
            pair = [pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(self._file.read(count * 8))]) for _ in range(2)]
            yield self._without_failed(pair[0], pair[1], done)
            done += count

    def clear(self) -> None:
        del self.inputs[:], self.outputs[:]
        self._count = self.dropped = self._end = 0
        self._failed.clear()
        if os.getpid() == self._process:
            self._file.seek(0)
            self._file.truncate()

    def close(self) -> None:
        self.clear()
        self._file.close()

    def _without_failed(self, inputs: pa.Array, outputs: pa.Array, first: int) -> tuple[pa.Array, pa.Array]:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._failed:
            return inputs, outputs
        suspects = pc.indices_nonzero(pc.is_in(inputs, value_set=pa.array(list(self._failed), pa.int64()))).to_pylist()
        gone = {place for place in suspects if first + place < self._failed[inputs[place].as_py()]}
        if not gone:
            return inputs, outputs
        kept = pa.array([place not in gone for place in range(len(inputs))])
        return inputs.filter(kept), outputs.filter(kept)
