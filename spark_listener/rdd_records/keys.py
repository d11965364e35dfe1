"""Hashes of keys that are equal in every Python worker. Shipped by value to workers that may lack Headwater: standard library only.

Equal keys must have equal hashes on the map side and the reduce side, in any worker. Python's own hash has this property for text and
numbers (Spark sets PYTHONHASHSEED), but not for None, NaN and objects without a hash method.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import fractions
import hashlib
import pickle
import uuid
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

_NONE, _NAN, _MINUS_ONE, _TUPLE = 0x6A09E667F3BCC908, 0x3C6EF372FE94F82B, 0x510E527FADE682D1, 0x1F83D9ABFB41BD6B
_SET, _DATA = 0x5BE0CD19137E2179, 0x428A2F98D728AE22
_STABLE = (
    str,
    bytes,
    int,
    float,
    dt.date,
    dt.datetime,
    dt.time,
    dt.timedelta,
    decimal.Decimal,
    fractions.Fraction,
    complex,
    uuid.UUID,
    enum.Enum,
)
_COMPARED = {(kind.__hash__, kind.__eq__) for kind in _STABLE}  # a subclass may hash and compare in its own way
_SETS = (frozenset.__hash__, frozenset.__eq__)
_PLAIN: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: lambda key: bytes.__getitem__(key, slice(None)),
}
_LIBRARIES = ("numpy", "pandas")
_REMEMBERED = (float, bool, dt.date, dt.datetime, dt.time, dt.timedelta, decimal.Decimal, uuid.UUID)  # small, and slow to hash
_HALF = (1 << 32) - 1
_MOST = 100_000  # keys whose hashes are remembered
_LONGEST = 256  # characters of a text to keep until it is hashed


class UnstableKeyError(Exception):
    """A key has a type whose hashes may differ between workers."""


class Hashed(NamedTuple):
    """The hash of a key that may be large, and the second hash if needed. It replaces the key."""

    hash: int
    check: int = 0


def stable_hash(key: Any) -> int:
    """Return the hash of a key, 64 bits, signed.

    Raises:
        UnstableKeyError: the hash may differ in another worker.
    """
    if key is None:
        return _NONE
    kind = type(key)
    if isinstance(key, tuple) and getattr(kind, "__hash__") is getattr(tuple, "__hash__"):  # noqa: B009  # mypy takes them to differ
        return hash(tuple(map(stable_hash, key)))
    how = (getattr(kind, "__hash__"), getattr(kind, "__eq__"))  # noqa: B009  # as above
    if how == _SETS:
        return hash(frozenset(map(stable_hash, key)))
    if how not in _COMPARED and kind.__module__.partition(".")[0] not in _LIBRARIES:
        return hash((_DATA, *map(stable_hash, _fields(key))))
    if key != key:  # noqa: PLR0124  # NaN, whose own hash is its address
        return _NAN
    found = hash(key)
    return _MINUS_ONE if found == -2 and key == -1 else found  # Python gives −1 the hash of −2


def _fields(key: Any) -> list[Any]:
    """Return the values by which a frozen data class hashes and compares.

    Raises:
        UnstableKeyError: the key has another class, or its class has its own methods.
    """
    kind = type(key)
    fields = getattr(kind, "__dataclass_fields__", None)
    generated = all(
        getattr(getattr(getattr(kind, name), "__code__", None), "co_filename", "") == "<string>" for name in ("__hash__", "__eq__")
    )
    if fields is None or not generated or any(field.hash not in (None, field.compare) for field in fields.values()):
        raise UnstableKeyError(f"keys of the type {kind.__module__}.{kind.__qualname__} have no hash that is the same in every worker")
    return [getattr(key, name) for name, field in fields.items() if field.compare]


def check_hash(key: Any) -> int:
    """Return a second hash of a key, to distinguish keys with the same hash. Called once for each group."""
    key = _plain(key)
    if type(key) is str:
        return hash("\0" + key)
    if type(key) is int and -(2**63) <= key < 2**63:
        return key
    if key is None:
        return _NONE
    if isinstance(key, tuple) and getattr(type(key), "__eq__") is getattr(tuple, "__eq__"):  # noqa: B009  # as above
        return _of_parts(_TUPLE, map(check_hash, key))
    if isinstance(key, frozenset):
        return _of_parts(_SET, sorted(map(check_hash, key)))
    kind = type(key)
    if isinstance(key, enum.Enum):  # in a worker, pickle cannot find a class of the program
        of_flags = key.value if isinstance(key, enum.Flag) else ""
        return hash(f"{kind.__module__}.{kind.__qualname__}.{key.name} {of_flags}")
    if hasattr(kind, "__dataclass_fields__"):
        return _of_parts(hash(f"{kind.__module__}.{kind.__qualname__}"), map(check_hash, _fields(key)))
    try:
        data = pickle.dumps(key)
    except Exception:  # noqa: BLE001  # as above
        data = f"{kind.__module__}.{kind.__qualname__} {key!r}".encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)


def _plain(key: Any) -> Any:
    """Return the equal key of a built-in type, for numbers of any type, and for classes derived from text or numbers."""
    kind = type(key)
    for base, plain in _PLAIN.items():
        if isinstance(key, base) and getattr(kind, "__eq__") is getattr(base, "__eq__"):  # noqa: B009  # as above
            key = plain(key)
            break
    number: Any = key if isinstance(key, float | fractions.Fraction | decimal.Decimal) else 0.5
    return int(number) if number == number and abs(number) < 2**63 and number == int(number) else key  # noqa: PLR0124  # NaN does not


def _of_parts(first: int, parts: Iterable[int]) -> int:
    """Combine hashes. Python gives equal hashes to different large numbers, so the numbers are split."""
    return hash((first, *(half for found in parts for half in (found >> 32 & _HALF, found & _HALF))))


def is_small(key: Any) -> bool:
    return type(key) is int or (type(key) is str and len(key) <= _LONGEST)


def equals_itself_alone(key: Any) -> bool:
    """Return whether a key is or contains NaN, which equals only the same object in Python's groups."""
    if key != key:  # noqa: PLR0124  # so is NaN
        return True
    parts = key if isinstance(key, tuple | frozenset) else _fields(key) if hasattr(type(key), "__dataclass_fields__") else ()
    return any(map(equals_itself_alone, parts))


class KeyHashes:
    """Hashes many keys at once, in C for text or whole numbers."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def of(self, keys: Sequence[Any]) -> array[int]:
        kinds = set(map(type, keys))
        if kinds == {str}:
            return array("q", map(hash, keys))
        if kinds == {int}:
            hashes = array("q", map(hash, keys))
            if -2 not in hashes:
                return hashes
        return array("q", map(self.of_one, keys))

    def of_one(self, key: Any) -> int:
        kind = type(key)
        if kind is str or kind is bytes:
            return hash(key)
        if kind is Hashed:
            return int(key.hash)
        if kind is tuple:
            return hash(tuple(map(self.of_one, key)))
        if kind not in _REMEMBERED:
            return stable_hash(key)
        found = self._known.get(key)
        if found is None:
            if len(self._known) > _MOST:
                self._known.clear()
            found = self._known[key] = stable_hash(key)
        return found
