"""A cache with a maximum size. It evicts the values that were used least recently."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Bounded(Generic[K, V]):
    """A cache in which the weights of all values add up to at most `most`. Safe to use from several threads.

    A value with a larger weight is kept until the next `put`, because its caller is about to read it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.weight = 0

    def get(self, key: K) -> V | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V, weight: int) -> None:
        with self._lock:
            if key in self._entries:
                self.weight -= self._entries.pop(key)[1]
            self._entries[key] = (value, weight)
            self.weight += weight
            while self.weight > self._most and len(self._entries) > 1:
                self.weight -= self._entries.popitem(last=False)[1][1]

    def __len__(self) -> int:
        return len(self._entries)
