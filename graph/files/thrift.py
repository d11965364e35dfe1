"""Thrift's compact protocol, as far as Parquet's footers and page headers need it, without their schema: structs are read as they are.

Read, a struct is a mapping from field numbers to values; written, a list of fields with their kinds. What Parquet says by a field's number
is told where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Field = tuple[int, int, Any]  # number, kind, value
Struct = dict[int, Any]


class Scanner:
    """Reads values one after the other; `at` is where the next begins. A struct that ends early raises IndexError."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self.at = at

    def struct(self, until: int | None = None) -> Struct:
        """A struct; with `until`, of its fields only those up to that number."""
        found: Struct = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._zigzag()
            found[field] = self._value(head & 15)
            if field == until:
                break
        return found

    def _value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind in (SHORT, INT, LONG):
            return self._zigzag()
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, SET):
            return self._list()
        if kind == MAP:
            raise ValueError("Parquet's metadata have no maps")
        size = {BYTE: 1, DOUBLE: 8}.get(kind) or self.varint()
        self.at += size
        return self._data[self.at - size : self.at]

    def _list(self) -> list[Any]:
        head = self._byte()
        kind, size = head & 15, head >> 4
        size = self.varint() if size == 15 else size
        if kind in (TRUE, FALSE):
            return [self._byte() == TRUE for _ in range(size)]
        return [self._value(kind) for _ in range(size)]

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def varint(self) -> int:
        """A number of seven bits a byte, the lowest first."""
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)


def varint(value: int) -> bytes:
    """A number that is not negative, of seven bits a byte."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def struct(fields: Sequence[Field]) -> bytes:
    """A struct of fields in the order of their numbers; of a list, the value is the kind of its entries and these."""
    out = bytearray()
    last = 0
    for number, kind, value in fields:
        out += bytes([(number - last) << 4 | kind]) if number - last < 16 else bytes([kind]) + _zigzag(number)
        out += _written(kind, value)
        last = number
    return bytes(out) + b"\0"


def _written(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE):
        return b""
    if kind in (SHORT, INT, LONG):
        return _zigzag(value)
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind == LIST:
        of, entries = value
        head = bytes([len(entries) << 4 | of]) if len(entries) < 15 else bytes([0xF0 | of]) + varint(len(entries))
        return head + b"".join(_written(of, entry) for entry in entries)
    return bytes(value)  # a struct, written already


def _zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)
