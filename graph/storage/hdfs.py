"""HDFS, by hdfs-native, without an installation of Hadoop.

HDFS has no tag for a file's content and no conditional read. To detect a file that was replaced while it was read, the caller checks it
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from headwater.errors import MissingExtraError
from headwater.graph.storage.protocol import Stat, Store, unavailable
from headwater.graph.storage.settings import RootSettings

_PAGE = 1000
_PART = 4 << 20  # bytes per call
_T = TypeVar("_T")


class Hdfs(Store):
    """An HDFS file system, by its name node, or by the name service in a Hadoop configuration."""

    def __init__(self, settings: RootSettings) -> None:
        try:
            import fsspec  # noqa: F401 - DuckDB reads by it
            from hdfs_native import Client
        except ImportError:
            raise MissingExtraError(f"Reading {settings.url}", extra="hdfs") from None
        self._settings = settings
        options = {name: str(value) for name, value in settings.options.items()}
        self._client: Any = self._in_time(
            lambda: Client(
                f"hdfs://{settings.address.authority}",
                config_dir=options.get("conf"),
                kerberos_principal=options.get("kerberos_principal"),
                kerberos_keytab=options.get("kerberos_keytab"),
            )
        )

    def stat(self, path: str) -> Stat | None:
        try:
            status = self._in_time(lambda: self._client.get_file_info(f"/{path}"))
        except FileNotFoundError:
            return None
        return None if status.isdir else Stat(status.length, status.modification_time)

    def files(self, path: str) -> Iterator[list[tuple[str, Stat]]]:
        try:
            statuses = self._in_time(lambda: self._client.list_status(f"/{path}", recursive=True))
            while page := self._in_time(lambda: list(islice(statuses, _PAGE))):
                yield [(_relative(status.path), Stat(status.length, status.modification_time)) for status in page if not status.isdir]
        except FileNotFoundError:
            return

    def read(self, path: str, stat: Stat, offset: int, length: int) -> bytes:
        del stat
        try:
            content = self._in_time(lambda: bytes(self._client.read(f"/{path}").read_range(offset, length)))
        except FileNotFoundError:
            raise unavailable(self._settings.url, "a file is not there any more") from None
        if len(content) != length:
            raise unavailable(self._settings.url, f"of {length} bytes {len(content)} came", transient=True)
        return content

    def is_folder(self, path: str) -> bool | None:
        """Return whether a path is a folder. None if nothing is there."""
        try:
            return bool(self._in_time(lambda: self._client.get_file_info(f"/{path}")).isdir)
        except FileNotFoundError:
            return None

    def make_folder(self, path: str, like: str) -> None:
        """Make a folder with the permissions of the folder `like`."""
        permission = self._in_time(lambda: self._client.get_file_info(f"/{like}").permission)
        self._in_time(lambda: self._client.mkdirs(f"/{path}", create_parent=True))
        self._in_time(lambda: self._client.set_permission(f"/{path}", permission))

    def put(self, path: str, source: Path) -> None:
        """Copy a local file to a new file, and make its folders."""
        options = self._options(overwrite=True, create_parent=True)
        writer = self._in_time(lambda: self._client.create(f"/{path}", options))
        with source.open("rb") as file:
            while part := file.read(_PART):
                self._in_time(partial(writer.write, part))
        self._in_time(writer.close)

    def rename(self, path: str, target: str) -> bool:
        """Rename a file or folder in one step. Return false if the target exists, or the path does not."""
        if self.is_folder(target) is not None:
            return False
        try:
            self._in_time(lambda: self._client.rename(f"/{path}", f"/{target}", overwrite=False))
        except (FileNotFoundError, FileExistsError):
            return False
        return True

    def delete(self, path: str) -> None:
        """Delete a file or a folder with its files. A missing one is no error."""
        with suppress(FileNotFoundError):
            self._in_time(lambda: self._client.delete(f"/{path}", recursive=True))

    @staticmethod
    def _options(**options: bool) -> Any:
        from hdfs_native import WriteOptions

        return WriteOptions(**options)

    def _in_time(self, call: Callable[[], _T]) -> _T:
        """Return the result of a call within the root's seconds, because the client has no limit. A late thread ends with the process."""
        answers: SimpleQueue[tuple[_T | None, Exception | None]] = SimpleQueue()

        def asked() -> None:
            try:
                answers.put((call(), None))
            except Exception as error:  # noqa: BLE001 - the client raises RuntimeError, OSError and its own
                answers.put((None, error))

        Thread(target=asked, name="headwater-hdfs", daemon=True).start()
        try:
            answer, error = answers.get(timeout=self._settings.seconds)
        except Empty:
            reason = f"its name node or a data node did not answer within {self._settings.seconds:g} s"
            raise unavailable(self._settings.url, reason, transient=True) from None
        if isinstance(error, FileNotFoundError | FileExistsError):
            raise error
        if error is not None:
            is_denied = isinstance(error, PermissionError)
            raise unavailable(self._settings.url, "HDFS denied it" if is_denied else f"HDFS failed ({type(error).__name__})") from None
        return answer  # type: ignore[return-value]  # there was no error


def _relative(path: str) -> str:
    return path.partition("://")[2].partition("/")[2] if "://" in path else path.lstrip("/")
