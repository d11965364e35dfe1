"""All roots of remote storage together: stats, lists and reads, with a cache of ranges by the identity of their file.

One instance serves one process. The cache is limited, and is valid for one state of a file: a replaced file is another file. A root whose
service did not answer is not asked again for some seconds, so a question about many files waits for it once.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from headwater.errors import ConfigurationError, MissingExtraError, SourceUnavailableError, UnsupportedError
from headwater.graph.storage.addresses import Address, address_of
from headwater.graph.storage.files import RemoteFile
from headwater.graph.storage.key_places import keyed_address, parts_of
from headwater.graph.storage.protocol import Stat, Store, unavailable
from headwater.graph.storage.settings import RootSettings
from headwater.graph.storage.tables import RowRequest, StoredTable, TableRows

if TYPE_CHECKING:
    from headwater.graph.storage.hdfs import Hdfs
    from headwater.graph.storage.object_folder import Place

_STORES = {
    "s3": "objects:Objects",
    "gs": "objects:Objects",
    "abfss": "objects:Objects",
    "hdfs": "hdfs:Hdfs",
    "webhdfs": "webhdfs:WebHdfs",
    "swebhdfs": "webhdfs:WebHdfs",
    "postgres": "postgres:Postgres",
    "kafka": "topics:Topics",
}
_REMEMBERED = 128 << 20  # bytes of cached ranges
_TAIL = 64 << 10  # bytes at the end of a file that are read at once, because most footers are there
_PART = 16 << 20  # bytes per request
_AT_ONCE = 4  # parallel requests per read
_MOST = 512 << 20  # bytes per read; only a damaged footer asks for more
_MOST_LISTED = 200_000  # files of a folder
_LISTING = 3  # times the seconds of one request that a listing may take
_AGAIN = 5.0  # seconds until a root that did not answer is asked again
_HINT = "Name it as a root, with its endpoint and credentials, in storage.toml in the home, or in the file that HEADWATER_STORAGE names."

Range = tuple[int, int]  # offset, length


class Traffic(NamedTuple):
    """Requests to remote storage, and their bytes."""

    requests: int = 0
    bytes: int = 0

    def since(self, before: Traffic) -> Traffic:
        return Traffic(self.requests - before.requests, self.bytes - before.bytes)


class Remote:
    """The roots of a service. Safe to use from several threads."""

    def __init__(self, roots: Sequence[RootSettings]) -> None:
        self._never: Address | None = None  # a folder of the service's own below a root: nothing of it is read as data
        self._roots = sorted(roots, key=lambda root: -len(root.address.path))  # the nearest root decides
        self._stores: dict[int, Store] = {}
        self._silent: dict[int, tuple[float, SourceUnavailableError]] = {}
        self._ranges: OrderedDict[tuple[Address, Stat, int, int], bytes] = OrderedDict()
        self._remembered = 0
        self._traffic = Traffic()
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._roots)

    @property
    def traffic(self) -> Traffic:
        return self._traffic

    def covers(self, uri: str) -> bool:
        """Return whether a URI is below a root."""
        try:
            return self._root(address_of(uri)) is not None
        except UnsupportedError:
            return False

    def file(self, uri: str) -> RemoteFile | None:
        """Return the file of a URI, in its present state. None if there is no file.

        Raises:
            UnsupportedError: the URI is below no root.
            SourceUnavailableError: the store does not answer.
        """
        address = self._allowed(uri)
        number = self._number(address)
        with self._ask(number):
            self._count(1)
            stat = self._store(number).stat(address.path)
        return None if stat is None else RemoteFile(self, uri, address, stat)

    def table(self, uri: str) -> StoredTable:
        """Return the table, or the partition of a topic, of a URI. No request is made yet.

        Raises:
            UnsupportedError: the URI is below no root.
        """
        address, number = self._keyed(uri)
        parts = parts_of(address)
        if len(parts) != 3:
            raise UnsupportedError(f"{uri} is not readable here: it is no table, and no partition of a topic")
        return StoredTable(uri, parts, _RemoteDatabase(self, number))

    def tables(self, uri: str) -> list[str]:
        """Return the URIs of the parts of a dataset: the partitions of a topic, or the table itself. Raises as `rows` does."""
        address, number = self._keyed(uri)
        parts = parts_of(address)
        if address.scheme != "kafka" or len(parts) != 1:
            return [uri]
        with self._ask(number):
            self._count(1)
            store: Any = self._store(number)  # the root is a broker
            topic, partitions = store.topic(parts[0])
            return [f"{uri.rstrip('/')}/{topic}/{partition}" for partition in range(partitions)]

    def _keyed(self, uri: str) -> tuple[Address, int]:
        address = keyed_address(uri)
        number = self._root(address)
        if number is None:
            raise UnsupportedError(f"the values of {uri} are not readable here: no root states its database, or its brokers", hint=_HINT)
        return address, number

    def rows(self, number: int, parts: Sequence[str], asked: RowRequest) -> TableRows:
        """Return rows of a table of a root. Raises as `file` does."""
        with self._ask(number):
            self._count(1)
            store: Any = self._store(number)  # the root is a database: a TableStore
            rows_found: TableRows = store.rows(parts, asked)
            return rows_found

    def files(self, uri: str) -> list[RemoteFile]:
        """Return the files below a folder, at any depth, by path. Their URIs begin with this one. Raises as `file` does."""
        remote_files: list[RemoteFile] = []
        base = "/".join([*uri.split("/", 3)[:3], ""])
        address = self._allowed(uri)
        number = self._number(address)
        deadline = time.monotonic() + _LISTING * self._roots[number].seconds
        with self._ask(number):
            self._count(1)
            for page in self._store(number).files(address.path):
                self._count(1 if remote_files else 0)
                remote_files += [RemoteFile(self, base + path, address._replace(path=path), stat) for path, stat in page]
                if len(remote_files) > _MOST_LISTED or time.monotonic() > deadline:
                    raise unavailable(self._roots[number].url, f"a folder of it has more than {len(remote_files)} files")
        folders = {parent for file in remote_files for parent in _above(file.address.path)}  # some stores keep an empty object for each
        plain = [file for file in remote_files if file.address.path not in folders and _is_plain(file.address)]
        return sorted((file for file in plain if not file.address.path.endswith("/")), key=lambda file: file.uri)

    def read(self, file: RemoteFile, offset: int, length: int) -> bytes:
        """Return bytes of a file in a known state, up to its end.

        Raises:
            SourceUnavailableError: the file was replaced, or the store does not return the bytes.
        """
        length = min(length, file.stat.length - offset)
        if length <= 0 or offset < 0:
            return b""
        if length > _MOST:
            raise SourceUnavailableError(f"{file.uri} is damaged: {length} bytes of it are asked for at once.", transient=False)
        begin = max(file.stat.length - _TAIL, 0)
        if offset >= begin:
            return self._range(file, begin, file.stat.length - begin)[offset - begin :][:length]
        parts = [(start, min(_PART, offset + length - start)) for start in range(offset, offset + length, _PART)]
        return b"".join(self._read_all(file, parts))

    def _read_all(self, file: RemoteFile, parts: Sequence[Range]) -> Iterable[bytes]:
        if len(parts) == 1:
            return [self._range(file, *parts[0])]
        with ThreadPoolExecutor(min(len(parts), _AT_ONCE), thread_name_prefix="headwater-read") as threads:
            return list(threads.map(lambda part: self._range(file, *part), parts))

    def _range(self, file: RemoteFile, offset: int, length: int) -> bytes:
        key = (file.address, file.stat, offset, length)
        with self._lock:
            if (cached_range := self._ranges.get(key)) is not None:
                self._ranges.move_to_end(key)
                return cached_range
        number = self._number(file.address)
        with self._ask(number):
            content = self._store(number).read(file.address.path, file.stat, offset, length)
        self._count(1, length)
        with self._lock:
            if key not in self._ranges:
                self._ranges[key] = content
                self._remembered += length
            while self._remembered > _REMEMBERED:
                self._remembered -= len(self._ranges.popitem(last=False)[1])
        return content

    def _allowed(self, uri: str) -> Address:
        """Return the address of a URI, if it is below a root."""
        address = address_of(uri)
        if self._root(address) is None or self._owns(address):
            raise UnsupportedError(f"{uri} is not on a local file system, and lies below no root of remote storage.", hint=_HINT)
        return address

    def _owns(self, address: Address) -> bool:
        return self._never is not None and RootSettings(self._never).covers(address)

    def place(self, uri: str) -> Place:
        """Return the folder of a URI in which the service itself keeps objects.

        Raises:
            ConfigurationError: the URI is below no root, or the service cannot write there.
        """
        place = self.folder(uri)
        self._never = address_of(uri)
        return place

    def folder(self, uri: str) -> Place:
        """Return the folder of a URI whose objects the service reads completely.

        Raises:
            ConfigurationError: the URI is below no root, or the storage is not an object store.
        """
        from headwater.graph.storage.object_folder import Place

        try:
            address = address_of(uri)
        except UnsupportedError as error:
            raise ConfigurationError(f"{uri!r} cannot be used: {error.message}", hint=_HINT) from None
        number = self._root(address)
        if number is None:
            raise ConfigurationError(f"{uri} lies below no root of remote storage.", hint=_HINT)
        try:
            return Place(self._roots[number], address.path)
        except MissingExtraError as error:
            raise ConfigurationError(error.message, hint=error.hint) from None

    def hdfs(self, uri: str) -> Hdfs:
        """Return the HDFS file system of a URI, for writing.

        Raises:
            UnsupportedError: the URI is below no root, or on another storage.
            SourceUnavailableError: the name node does not answer.
        """
        address = self._allowed(uri)
        if address.scheme != "hdfs":
            raise UnsupportedError(f"{uri} is not on HDFS.")
        return cast("Hdfs", self._store(self._number(address)))

    def _root(self, address: Address) -> int | None:
        return next((number for number, root in enumerate(self._roots) if root.covers(address)), None)

    def _number(self, address: Address) -> int:
        number = self._root(address)
        assert number is not None  # noqa: S101 - whoever has a file has asked `_allowed`
        return number

    def _store(self, number: int) -> Store:
        with self._lock:
            if number not in self._stores:
                settings = self._roots[number]
                module, _, kind = _STORES[settings.address.scheme].partition(":")
                try:
                    self._stores[number] = getattr(import_module(f"headwater.graph.storage.{module}"), kind)(settings)
                except MissingExtraError as error:
                    raise SourceUnavailableError(error.message, hint=error.hint, transient=False) from None
            return self._stores[number]

    def _count(self, requests: int, size: int = 0) -> None:
        with self._lock:
            self._traffic = Traffic(self._traffic.requests + requests, self._traffic.bytes + size)

    def _ask(self, number: int) -> _Asking:
        return _Asking(self._silent, number)


class _RemoteDatabase:
    """One database, reached through its root."""

    def __init__(self, remote: Remote, number: int) -> None:
        self._remote = remote
        self._number = number

    def rows(self, parts: Sequence[str], asked: RowRequest) -> TableRows:
        return self._remote.rows(self._number, parts, asked)


class _Asking:
    """A request to a root. It is refused if the root did not answer a moment ago."""

    def __init__(self, silent: dict[int, tuple[float, SourceUnavailableError]], number: int) -> None:
        self._silent = silent
        self._number = number

    def __enter__(self) -> None:
        silent_until, error = self._silent.get(self._number, (0.0, None))
        if error is not None and time.monotonic() < silent_until:
            raise SourceUnavailableError(error.message, hint=error.hint)

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, SourceUnavailableError) and error.transient:
            self._silent[self._number] = (time.monotonic() + _AGAIN, error)


def _above(path: str) -> Iterable[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


def _is_plain(address: Address) -> bool:
    """Return whether a listed path can be requested. A store may have names that no Hadoop program could use."""
    try:
        return address_of(f"{address.scheme}://{address.authority}/{address.path}") == address
    except UnsupportedError:
        return False


NOWHERE = Remote(())  # without a root
