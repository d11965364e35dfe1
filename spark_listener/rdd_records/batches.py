"""Keeps the batches in which PySpark sends records between stages. Shipped by value to workers that may lack Headwater.

PySpark sends records in batches, and `cartesian` pairs batches: their sizes decide the order of its results, and how often the functions of
its right side run. A tap adds references to records, which changes the batches. This module restores them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pyspark.serializers import AutoBatchedSerializer, BatchedSerializer, CPickleSerializer, Serializer, write_int


class Noting(Serializer):
    """Reads records with the serializer `inner`, and notes the sizes of batches if `SourceBatches` writes one result for each record."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.sizes: deque[int] | None = None

    def load_stream(self, stream: Any) -> Iterator[Any]:
        for batch in self._load_stream_without_unbatching(stream):
            yield from batch

    def _load_stream_without_unbatching(self, stream: Any) -> Iterator[Any]:
        for batch in self._inner._load_stream_without_unbatching(stream):  # noqa: SLF001  # as PySpark's own serializers do
            records = batch if isinstance(batch, list) else list(batch)
            if self.sizes is not None and records:
                self.sizes.append(len(records))
            yield records


class SourceBatches(BatchedSerializer):
    """Writes records in the batches in which their source records were read."""

    def __init__(self, read: Noting) -> None:
        super().__init__(CPickleSerializer(), BatchedSerializer.UNKNOWN_BATCH_SIZE)  # type: ignore[no-untyped-call]  # untyped in PySpark
        self._read = read

    def dump_stream(self, iterator: Iterable[Any], stream: Any) -> None:
        sizes = self._read.sizes = deque()
        records = iter(iterator)
        for first in records:
            size = sizes.popleft() if sizes else 1
            _write(self.serializer.dumps([first, *islice(records, size - 1)]), stream)


class AsIfBare(AutoBatchedSerializer):
    """Writes records with references in the batches that PySpark would make of the records alone."""

    def __init__(self) -> None:
        super().__init__(CPickleSerializer())  # type: ignore[no-untyped-call]  # untyped in PySpark

    def dump_stream(self, iterator: Iterable[Any], stream: Any) -> None:
        count, best = 1, self.bestSize
        records = iter(iterator)
        while batch := list(islice(records, count)):
            _write(self.serializer.dumps(batch), stream)
            size = len(self.serializer.dumps([record for record, _ in batch]))
            if size < best:
                count *= 2
            elif size > best * 10 and count > 1:
                count //= 2


def _write(data: bytes, stream: Any) -> None:
    write_int(len(data), stream)  # type: ignore[no-untyped-call]  # untyped in PySpark
    stream.write(data)
