"""Thrift's compact protocol without a schema, as far as Parquet's footers and page headers need it.

A struct is read as a mapping from field numbers to values, and written from a list of fields with their kinds. Parquet's field numbers are
explained where they are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Field = tuple[int, int, Any]  # number, kind, value
Struct = dict[int, Any]


class Scanner:
    """Reads values one after the other; `position` is the begin of the next value. A struct that ends early raises IndexError."""

    def __init__(self, data: bytes, position: int = 0) -> None:
        self._data = data
        self.position = position

    def read_struct(self, last_field: int | None = None) -> Struct:
        """Read a struct. With `last_field`, read only the fields up to that number."""
        fields: Struct = {}
        field = 0
        while head := self._read_byte():
            field = field + (head >> 4) if head >> 4 else self._read_zigzag()
            fields[field] = self._read_value(head & 15)
            if field == last_field:
                break
        return fields

    def _read_value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind in (SHORT, INT, LONG):
            return self._read_zigzag()
        if kind == STRUCT:
            return self.read_struct()
        if kind in (LIST, SET):
            return self._read_list()
        if kind == MAP:
            raise ValueError("Parquet's metadata have no maps")
        size = {BYTE: 1, DOUBLE: 8}.get(kind) or self.read_varint()
        self.position += size
        return self._data[self.position - size : self.position]

    def _read_list(self) -> list[Any]:
        head = self._read_byte()
        kind, size = head & 15, head >> 4
        size = self.read_varint() if size == 15 else size
        if kind in (TRUE, FALSE):
            return [self._read_byte() == TRUE for _ in range(size)]
        return [self._read_value(kind) for _ in range(size)]

    def _read_byte(self) -> int:
        self.position += 1
        return self._data[self.position - 1]

    def read_varint(self) -> int:
        """Read a number with seven bits per byte, the lowest first."""
        value = shift = 0
        while (byte := self._read_byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _read_zigzag(self) -> int:
        value = self.read_varint()
        return (value >> 1) ^ -(value & 1)


def write_varint(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def write_struct(fields: Sequence[Field]) -> bytes:
    """Return an encoded struct. Fields must be in the order of their numbers.

    The value of a list field is the kind of its entries, and the entries.
    """
    result = bytearray()
    last_number = 0
    for number, kind, value in fields:
        result += bytes([(number - last_number) << 4 | kind]) if number - last_number < 16 else bytes([kind]) + _write_zigzag(number)
        result += _write_value(kind, value)
        last_number = number
    return bytes(result) + b"\0"


def _write_value(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE):
        return b""
    if kind in (SHORT, INT, LONG):
        return _write_zigzag(value)
    if kind == BINARY:
        return write_varint(len(value)) + bytes(value)
    if kind == LIST:
        entry_kind, entries = value
        head = bytes([len(entries) << 4 | entry_kind]) if len(entries) < 15 else bytes([0xF0 | entry_kind]) + write_varint(len(entries))
        return head + b"".join(_write_value(entry_kind, entry) for entry in entries)
    return bytes(value)  # a struct in bytes


def _write_zigzag(value: int) -> bytes:
    return write_varint(value << 1 if value >= 0 else (-value << 1) - 1)
