"""Data of a program: rows of a file, ranges of bytes, positions of a stream, keys of a table.

Actors record references to such data. A reference is one whole number: a container of the session, and a place in it. It is valid in its
session only, and the manifest states its meaning. A reference costs some nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from headwater.errors import InvalidInputError
from headwater.graph.associations.references import ORDINAL_MASK, POSITION_BITS
from headwater.spark_listener.lineage.naming import dataset_at

if TYPE_CHECKING:
    from headwater.capture.replayed import Shadow

Stated = tuple[str, int, int]  # path, length in bytes, time of modification in milliseconds
_MOST_NAME = 1_000  # characters of a name or key


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A file, a stream, or the rows of one key of a table. `ordinal` is its number in the session."""

    ordinal: int
    path: str
    local: Path | None = None  # of a file
    version: int = 0  # of a table or stream

    def stated(self) -> Stated:
        """Return the link to other captures: the current length and time of a file.

        Raises:
            OSError: the file cannot be read.
        """
        if self.local is None:
            return self.path, 0, self.version * 1000
        status = self.local.stat()
        return self.path, status.st_size, status.st_mtime_ns // 1_000_000


Number = Callable[["Data", str, "Path | None", int], Container]


@dataclass(slots=True, eq=False)
class Data:
    """A dataset that actors read or write. `number` returns the number of a new container in the session."""

    namespace: str
    name: str
    path: str
    format: str
    number: Number
    options: Mapping[str, str] = field(default_factory=dict)
    columns: Sequence[tuple[str, str]] = ()
    shadow: Shadow | None = None  # in a replay

    @property
    def lengths(self) -> Mapping[int, int] | None:
        """Return the lengths of ranges of bytes, or None for other data."""
        return None

    @property
    def described(self) -> tuple[object, ...]:
        """Return the description in a manifest. Data with the same description are one source there."""
        return self.namespace, self.name, self.path, self.format, *sorted(self.options.items()), *self.columns


class Rows(Data):
    """The records of one file, by number from 0, as Spark counts them (without a header). `data[n]` refers to one."""

    __slots__ = ("_base", "container")

    @property
    def read_path(self) -> Path:
        """The path at which the program reads the file. In a replay, this may be the file that the replay wrote."""
        path = self.container.local or Path(self.path)
        return self.shadow.read(path) if self.shadow else path

    @property
    def write_path(self) -> Path:
        """The path at which the program writes the file. In a replay, this is a file in the shadow folder."""
        path = self.container.local or Path(self.path)
        return self.shadow.write(path) if self.shadow else path

    def open(self, path: Path) -> Rows:
        """Number the file."""
        self.container = self.number(self, f"file:{path}", path, 0)
        self._base = self.container.ordinal << POSITION_BITS
        return self

    def __getitem__(self, position: int) -> int:
        if position >> POSITION_BITS:
            raise beyond(position)
        return self._base | position


class Bytes(Rows):
    """Ranges of bytes of one file. `data.at(offset, length)` refers to one."""

    __slots__ = ("_lengths", "ambiguous")

    def open(self, path: Path) -> Bytes:
        """Number the file."""
        Rows.open(self, path)
        self._lengths: dict[int, int] = {}
        self.ambiguous: set[int] = set()  # references to several ranges with the same first byte
        return self

    def join(self, other: Bytes) -> None:
        """Add ranges of other data with the same description."""
        self._lengths, self.ambiguous = other._lengths, other.ambiguous

    def at(self, offset: int, length: int) -> int:
        """Return a reference to a range. For two ranges with the same first byte, both references mean the longer range.

        The run then reports a superset.
        """
        if offset >> POSITION_BITS or length >> POSITION_BITS:
            raise beyond(offset if offset >> POSITION_BITS else length)
        reference = self._base | offset
        known = self._lengths.setdefault(reference, length)
        if known != length:
            self.ambiguous.add(reference)
            self._lengths[reference] = max(known, length)
        return reference

    def __getitem__(self, position: int) -> int:
        raise InvalidInputError(
            f"Ranges of {self.name} need a length.", field="position", hint="Write data.at(offset, length); session.rows() has rows."
        )

    @property
    def lengths(self) -> Mapping[int, int]:
        return self._lengths


class Stream(Data):
    """An append-only stream. `data[position]` refers to a record of it."""

    __slots__ = ("_base",)

    def open(self) -> Stream:
        """Number the stream."""
        self._base = self.number(self, self.path, None, 0).ordinal << POSITION_BITS
        return self

    def __getitem__(self, position: int) -> int:
        if position >> POSITION_BITS:
            raise beyond(position)
        return self._base | position


class Table(Data):
    """Rows of a table by key: whole numbers from 0, or texts. `version` distinguishes states of the table if its writer counts them."""

    __slots__ = ("_base", "_keys", "reasons", "version")

    def open(self, version: int) -> Table:
        """Number the table."""
        self.reasons: Mapping[str, str] = {}  # for a table of failed inputs: the reasons of one commit by key
        self.version = version
        self._keys: dict[str, int] = {}
        self._base = self.number(self, self.path, None, version).ordinal << POSITION_BITS
        return self

    def __getitem__(self, key: int | str) -> int:
        if isinstance(key, int):
            if key >> POSITION_BITS:
                raise beyond(key)
            return self._base | key
        reference = self._keys.get(key)
        if reference is None:
            container = self.number(self, f"{self.path}/{quote(checked_name(key, 'key'), safe='')}", None, self.version)
            reference = self._keys[key] = container.ordinal << POSITION_BITS
        return reference


def beyond(position: Any) -> InvalidInputError:
    return InvalidInputError(
        f"{position} is no place.", field="position", hint=f"Places are whole numbers from 0 to {2**POSITION_BITS - 1}."
    )


def checked_name(name: str, what: str) -> str:
    """Check a name that a person or program gave.

    Raises:
        InvalidInputError: the name is empty or too long.
    """
    if not 0 < len(name) <= _MOST_NAME:
        raise InvalidInputError(f"{str(name)[:80]!r} is no {what}.", field=what, hint=f"It has 1 to {_MOST_NAME} characters.")
    return name


def named(path: str | Path) -> tuple[str, str]:
    return dataset_at(str(path))


MOST_CONTAINERS = ORDINAL_MASK
