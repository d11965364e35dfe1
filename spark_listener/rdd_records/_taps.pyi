# What `_taps.c` offers, where it was compiled at the install.

from collections.abc import Callable, Iterable, Iterator
from typing import Any

VERSION: int

class Counter(Iterator[Any]):
    def __init__(self, first: int, /) -> None: ...
    def over(self, records: Iterable[Any], /) -> Counter: ...
    @property
    def current(self) -> int: ...
    def __next__(self) -> Any: ...

class Groups(Counter):
    def __init__(
        self, size: int, flush: Callable[[bytes, bytes], None], fail: Callable[[Exception], None], odd: Callable[[Any], int],
        check: Callable[[Any], int], of_split: int,
    ) -> None: ...  # fmt: skip
    def drain(self) -> None: ...

class Keys(Iterator[Any]):
    def __init__(
        self, iterator: Iterable[Any], counter: Counter, size: int, flush: Callable[[bytes, bytes], None],
        fail: Callable[[Exception], None], odd: Callable[[Any], int],
    ) -> None: ...  # fmt: skip
    def __next__(self) -> Any: ...
    def drain(self) -> None: ...

class References(Iterator[Any]):
    def __init__(
        self, iterator: Iterable[Any], counter: Counter, size: int, flush: Callable[[bytes], None], fail: Callable[[Exception], None],
        odd: Callable[[Any], bytes] = ...,
    ) -> None: ...  # fmt: skip
    def __next__(self) -> Any: ...
    def drain(self) -> None: ...

class Column:
    def block(self, longs: Any, /) -> bytes: ...
