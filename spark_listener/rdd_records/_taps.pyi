"""What `_taps.c` offers, where it was compiled at the install."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

VERSION: int

class Counter(Iterator[Any]):
    """Numbers records as they are pulled."""

    def __init__(self, first: int, /) -> None: ...
    def over(self, records: Iterable[Any], /) -> Counter: ...
    @property
    def current(self) -> int: ...
    def __next__(self) -> Any: ...

class Keys(Iterator[Any]):
    """Hands on pairs; `flush` gets the hashes of their keys, and references, as the bytes of longs."""

    def __init__(
        self, iterator: Iterable[Any], counter: Counter, size: int, flush: Callable[[bytes, bytes], None],
        fail: Callable[[Exception], None], odd: Callable[[Any], int],
    ) -> None: ...  # fmt: skip
    def __next__(self) -> Any: ...
    def drain(self) -> None: ...

class References(Iterator[Any]):
    """Hands on records; `flush` gets a reference for each, or for each line of it."""

    def __init__(
        self, iterator: Iterable[Any], counter: Counter, size: int, flush: Callable[[bytes], None], fail: Callable[[Exception], None],
        *, lines: bool = False,
    ) -> None: ...  # fmt: skip
    def __next__(self) -> Any: ...
    def drain(self) -> None: ...

def column(longs: Any, /) -> bytes: ...
