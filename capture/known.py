"""The data of one session: each file, stream and table key with its number, and the state of files when they were read or written.

In a replay, it also holds the records to leave out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import quote

from headwater.capture.columns import PACKED, Columns, columns_of
from headwater.capture.data import MOST_CONTAINERS, Bytes, Container, Data, Rows, Stated, Stream, Table, checked_name, named
from headwater.capture.forks import renewed
from headwater.capture.parts import Part, parts_of
from headwater.errors import InvalidInputError, UnsupportedError
from headwater.graph.associations.references import POSITION_BITS
from headwater.spark_listener.replay import ReplayOrder

if TYPE_CHECKING:
    from headwater.capture.replayed import Shadow

_FORMATS = {
    ".avro": "avro", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".orc": "orc", ".parquet": "parquet",
}  # fmt: skip
_OF_CSV = frozenset({"delimiter", "header", "quote", "sep"})  # options of the CSV reader alone
_SPELT = {name.lower(): name for name in (*_FORMATS.values(), "binaryFile", "text", "xml")}
_MOST_VERSION = 1 << 40
D = TypeVar("D", bound=Data)
R = TypeVar("R", bound=Rows)


class FileState(NamedTuple):
    """The state of a file at one time: its link to other captures, and its columns."""

    stated: Stated
    columns: Columns = ()
    mark: tuple[int, ...] = ()  # differs after every write


class SessionData:
    """The data of one session. Safe to use from several threads."""

    def __init__(self, order: ReplayOrder | None) -> None:
        self.left_out: set[int] = set()  # references to the records that a replay leaves out
        self._lock = RLock()
        renewed(self)
        self._containers: list[tuple[Data, Container]] = []  # each with the first data of its description
        self._alike: dict[tuple[object, ...], Data] = {}
        self._seen: dict[int, FileState] = {}  # state of files when they were named or written
        self._data: dict[tuple[str, ...], Data] = {}
        self.order = order
        self.shadow: Shadow | None = None
        if order is not None:
            from headwater.capture.replayed import Shadow  # used by replays only

            self.shadow = Shadow(order)

    def __getitem__(self, ordinal: int) -> tuple[Data, Container]:
        if not 0 <= ordinal < len(self._containers):
            raise InvalidInputError("What was captured is no reference of this session.", hint="Make references of this session's data.")
        return self._containers[ordinal]

    def check(self, ordinals: Iterable[int]) -> None:
        """Check that each number is the number of a container.

        Raises:
            InvalidInputError: there is no such container.
        """
        for ordinal in ordinals:
            self[ordinal]

    def rows(
        self,
        path: str | Path,
        format_: str | None,
        options: Mapping[str, str],
        columns: Sequence[tuple[str, str]],
        dataset: str | Path | None,
    ) -> Rows:
        given = {name.lower(): _option(value) for name, value in options.items()}
        return self._file(Rows, path, _format(format_, Path(path), given), given, _checked_columns(columns), dataset)

    def bytes(self, path: str | Path, dataset: str | Path | None) -> Bytes:
        return self._file(Bytes, path, "bytes", {}, (), dataset)

    def stream(self, name: str) -> Stream:
        return self._once(
            ("stream", name),
            Stream,
            lambda: Stream("stream", checked_name(name, "name"), _path("stream", name), "stream", self.number).open(),
        )

    def table(self, name: str, version: int) -> Table:
        if not 0 <= version < _MOST_VERSION:
            raise InvalidInputError(f"{version} is no version.", field="version", hint="Count from 0.")

        def make() -> Table:
            return Table("table", checked_name(name, "name"), _path("table", name), "table", self.number).open(version)

        return self._once(("table", name, str(version)), Table, make)

    def number(self, data: Data, path: str, local: Path | None, version: int) -> Container:
        """Return a number for a container.

        Raises:
            InvalidInputError: there are too many containers.
        """
        with self._lock:
            ordinal = len(self._containers)
            if ordinal > MOST_CONTAINERS:
                raise InvalidInputError(
                    f"A session has {MOST_CONTAINERS} files and keys at most.", field="key", hint="Begin another session."
                )
            container = Container(ordinal, path, local, version)
            self._containers.append((self._alike.setdefault(data.described, data), container))
            if local is not None:
                with suppress(OSError):  # the file does not exist yet
                    self._seen[ordinal] = _look_at(data, container)
            if self.order is not None and (left_out := self.order.exclude.get(path)):
                if isinstance(data, Bytes):
                    raise UnsupportedError(f"Records of {path} are left out by number, which ranges of bytes have not.")
                self.left_out.update(ordinal << POSITION_BITS | int(place) for place in left_out)
                self.order.note_met(path)
            return container

    def stated(self, container: Container) -> Stated:
        """Return the state of a container for a commit."""
        return self._seen[container.ordinal].stated if container.ordinal in self._seen else container.stated()

    def parts(self, ordinals: Iterable[int]) -> list[Part]:
        """Return containers, grouped by their data and columns."""
        by_data: dict[Data, list[tuple[Container, Columns]]] = {}
        for ordinal in sorted(ordinals):
            data, container = self._containers[ordinal]
            seen = self._seen.get(ordinal)
            columns = tuple(data.columns) if data.columns or seen is None else seen.columns
            by_data.setdefault(data, []).append((container, columns))
        return [part for data, of_data in by_data.items() for part in parts_of(data, of_data)]

    def look(self, written: Collection[int], read: Collection[int], now: Collection[int]) -> tuple[list[str], list[tuple[str, str]]]:
        """Look at files at a commit. Return their paths, and remarks: reasons with their kinds.

        The current state of written files is recorded. A changed file that was read is a problem. `now` are the files in
        `read` with records in this commit. If one of them was also written, its records may be of the file before or after.
        """
        paths: list[str] = []
        problems: list[tuple[str, str]] = []
        for ordinal in sorted({*written, *read}):
            data, container = self._containers[ordinal]
            if container.local is None:
                continue
            paths.append(str(container.local))
            if isinstance(data, Bytes) and any(reference >> POSITION_BITS == ordinal for reference in data.ambiguous):
                problems.append((f"of ranges of {container.path} that begin at the same byte the longest is given", "superset"))
            try:
                found = _look_at(data, container, self._seen.get(ordinal))
            except OSError as error:
                found = FileState((container.path, 0, 0))
                problems.append((f"{container.path} is not there at the commit ({error.strerror}): its records lead nowhere", "missing"))
            if ordinal in written or ordinal not in self._seen:
                if ordinal in now and self._seen.get(ordinal, found).stated != found.stated:
                    problems.append((f"{container.path} was read and rewritten: what was read of it is not known", "missing"))
                self._seen[ordinal] = found
            elif self._seen[ordinal].stated != found.stated:
                problems.append((f"{container.path} changed after it was named: which state was read is not known", "missing"))
        return paths, problems

    def _file(
        self,
        kind: type[R],
        path: str | Path,
        format_: str,
        options: Mapping[str, str],
        columns: Sequence[tuple[str, str]],
        dataset: str | Path | None,
    ) -> R:
        local = Path(os.path.abspath(path))
        whole = local if dataset is None else Path(os.path.abspath(dataset))
        namespace, name = named(whole)

        def make() -> R:
            made = kind(namespace, name, f"file:{whole}", format_, self.number, options, columns, self.shadow)
            made.open(local)
            if isinstance(made, Bytes):
                made.join(self._bytes_alike(made))
            return made

        asked = (format_, *(f"{name}={value}" for name, value in sorted(options.items())))
        return self._once(("file", str(local), str(whole), *asked), kind, make)

    def _bytes_alike(self, data: Bytes) -> Bytes:
        first = self._alike[data.described]
        return first if isinstance(first, Bytes) else data

    def _once(self, key: tuple[str, ...], kind: type[D], make: Callable[[], D]) -> D:
        """Return the data of a key. The same key always returns the same object."""
        with self._lock:
            found = self._data.get(key)
            if not isinstance(found, kind):
                found = self._data[key] = make()
            return found


def _look_at(data: Data, container: Container, before: FileState | None = None) -> FileState:
    """Return the current state of a file. An unchanged file keeps the columns of `before`.

    Raises:
        OSError: the file cannot be read.
    """
    if container.local is None:
        return FileState(container.stated())
    status = container.local.stat()
    mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if before is not None and before.mark == mark:
        return before
    columns = () if data.columns else columns_of(container.local, data.format, data.options)
    return FileState((container.path, status.st_size, status.st_mtime_ns // 1_000_000), columns, mark)


def _format(asked: str | None, path: Path, options: Mapping[str, str]) -> str:
    """Return the format of a file: the requested one, else the one of the file name without the ending of a compression.

    Without either, options of CSV mean CSV, and other files are text.
    """
    if asked:
        return _SPELT.get(asked.lower(), asked)
    suffix = Path(path.stem).suffix if path.suffix in PACKED else path.suffix
    return _FORMATS.get(suffix.lower()) or ("csv" if _OF_CSV & options.keys() else "text")


def _checked_columns(columns: object) -> Columns:
    """Check columns that a program states.

    Raises:
        InvalidInputError: they are not pairs of a name and a type.
    """
    listed: list[object] = [columns] if isinstance(columns, str | bytes | Mapping) or not isinstance(columns, Iterable) else [*columns]
    checked: list[tuple[str, str]] = []
    for column in listed if columns is not None else ():
        match column:
            case (str(name), str(kind)) if kind:
                checked.append((name, kind))
            case _:
                raise InvalidInputError(
                    f"{column!r} is no column.",
                    field="columns",
                    hint='Write a list of pairs of a name and a type of Spark: [("city", "string")].',
                )
    return tuple(checked)


def _option(value: object) -> str:
    """Return an option in the notation of Spark's readers."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _path(scheme: str, name: str) -> str:
    return f"{scheme}:{quote(name, safe='')}"
