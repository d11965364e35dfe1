"""The roots below which files may be read as data, on this machine and on remote storage.

Paths come from events, manifests, declarations and provenance, so from anybody who may write to the service. A file is read only if it is
below a root after all links of its path are resolved. Files in a folder of `never`, in `/proc`, `/sys` and `/dev` are never read, except in
`/dev/shm` if a root is there. Every reader of a source asks here first. A refusal reveals nothing about the file, not even whether it
exists.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from headwater.errors import SourceChangedError, SourceUnavailableError, UnsupportedError
from headwater.graph.records.replaced_data import ReplacedData
from headwater.graph.records.safe_names import FileBlock, block_at, uri_of
from headwater.graph.storage import NOWHERE, Identity, LocalFile, OpenedFiles, Remote, RemoteFile, StoredFile
from headwater.graph.storage.addresses import is_remote
from headwater.graph.storage.key_places import is_keyed
from headwater.graph.storage.tables import StoredTable

_FEW = 3  # files of a remote folder that are requested one by one
_NEVER = ("/proc", "/sys", "/dev")
_MEMORY = "/dev/shm"  # noqa: S108  files in memory are data like others, but other programs keep secrets there: only a root in it covers them
_OUTSIDE = "it lies outside of the data roots"
_LED_OUT = "a link in its path leads out of the data roots"
_HINT = "Add its folder to HEADWATER_DATA_ROOTS, or run the program that reads or writes it with `headwater run` on this home."


class DataRoots:
    """The folders and files below which data may be read, and the roots of remote storage.

    `is_root` receives a path and its parent folders, and returns whether one of them is a root. Without it, every path is below a root.
    `replaced` contains the places of data that a compaction replaced.
    """

    def __init__(
        self,
        is_root: Callable[[Sequence[str]], bool] | None,
        *,
        never: Iterable[str | Path] = (),
        remote: Remote = NOWHERE,
        replaced: ReplacedData | None = None,
    ) -> None:
        self._is_root = is_root
        self.replaced = replaced
        self.remote = remote
        self._never = tuple(os.path.realpath(folder) for folder in never) + _NEVER

    @classmethod
    def of(
        cls,
        folders: Iterable[str | Path],
        *,
        never: Iterable[str | Path] = (),
        remote: Remote = NOWHERE,
        replaced: ReplacedData | None = None,
    ) -> DataRoots:
        real_folders = frozenset(os.path.realpath(folder) for folder in folders)
        return cls(lambda paths: not real_folders.isdisjoint(paths), never=never, remote=remote, replaced=replaced)

    def look(self, *, replaced: bool = False) -> Look:
        """Return a new view of the files. With `replaced`, it also finds files that a compaction replaced, by their old paths."""
        return Look(self, replaced=replaced)

    def forbidden(self, real: str) -> str | None:
        """Return the reason why a path without links must never be read. None if it may be read below a root."""
        folder = next((folder for folder in self._never if _is_in(real, folder)), None)
        if folder is None or (folder == "/dev" and _is_in(real, _MEMORY)):
            return None
        return f"it lies in {folder if folder in _NEVER else 'the home of Headwater'}, which is never read as data"

    def cover(self, real: str) -> bool:
        """Return whether a path without links is a root, or is below a root."""
        if self._is_root is None:
            return True
        paths = [real, *map(str, Path(real).parents)]
        return self._is_root([path for path in paths if _is_in(path, _MEMORY)] if _is_in(real, _MEMORY) else paths)


ANYWHERE = DataRoots(None)  # for a user's own process, which may read what the user may


class Look:
    """The files that one trace reads. It remembers where each folder is, whether it may be read, and each file's first state."""

    def __init__(self, roots: DataRoots, *, replaced: bool = False) -> None:
        self._roots = roots
        self._replaced = roots.replaced if replaced else None
        self.opened = OpenedFiles()
        self._folders: dict[str, str] = {}
        self._covered: dict[str, bool] = {}  # folder -> whether it lies below a root
        self._unpinned: dict[str, RemoteFile] = {}  # remote files that were read
        self._local: dict[str, tuple[FileBlock, LocalFile]] = {}
        self._remote: dict[str, RemoteFile] = {}
        self._tables: dict[str, StoredTable] = {}

    def path(self, uri: str) -> Path:
        """Return the path of a URI without links.

        Raises:
            UnsupportedError: the URI is on another file system, or may not be read.
        """
        return self._find(uri)[1]

    def spelt(self, uri: str) -> str:
        """Return the path of a URI as the program wrote it, with links. Raises as `path` does."""
        return self._find(uri)[0]

    def expect(self, uris: Iterable[str]) -> None:
        """Announce the files that will be read. A remote folder with many of them is then listed once."""
        folders: dict[str, int] = {}
        for uri in map(uri_of, uris):
            if is_remote(uri) and uri not in self._remote:
                folder = uri.rpartition("/")[0]
                folders[folder] = folders.get(folder, 0) + 1
        for folder, count in folders.items():
            if count > _FEW:
                with suppress(UnsupportedError, SourceUnavailableError):  # a question about the file reports the reason
                    self._remote.update((file.uri, file) for file in self._roots.remote.files(folder))

    def file(self, uri: str, *, anew: bool = False) -> tuple[FileBlock, StoredFile]:
        """Return the state of a file when this trace first read it (with `anew`: now), and an object that reads it.

        Raises:
            UnsupportedError: the file may not be read, or the URI is not a file.
            SourceUnavailableError: the storage does not answer.
            OSError: the local file system does not answer.
        """
        uri = uri_of(uri) if is_remote(uri) else uri
        if is_keyed(uri):
            if uri not in self._tables:
                self._tables[uri] = self._roots.remote.table(uri)
            return FileBlock(uri, 0, 0), self._tables[uri]
        if is_remote(uri):
            cached_file = None if anew else self._remote.get(uri)
            cached_file = cached_file or self._roots.remote.file(uri)
            if cached_file is None:
                raise FileNotFoundError(errno.ENOENT, "No such file", uri)
            return block_at(uri, cached_file.stat.length, cached_file.stat.modified), cached_file
        if anew:
            return self._local_file(uri)
        if uri not in self._local:
            self._local[uri] = self._local_file(uri)
        return self._local[uri]

    def _local_file(self, uri: str) -> tuple[FileBlock, LocalFile]:
        try:
            spelt_path, real = self._find(uri)
            status = real.stat(follow_symlinks=False)
        except (FileNotFoundError, UnsupportedError):
            spelt_path, real = self._find_replaced(uri)
            status = real.stat(follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise UnsupportedError(f"{uri} is not readable here: it is no file.")
        block = FileBlock(uri_of(spelt_path), status.st_size, status.st_mtime_ns // 1_000_000)
        return block, LocalFile(real, Identity.of(status), self.opened)

    def _find_replaced(self, uri: str) -> tuple[str, Path]:
        """Return the path of a replaced file, and its present path. Only the home's own list names present paths. Raises as `_find`."""
        text = "/" + uri.removeprefix("file:").lstrip("/")
        if self._replaced is not None and uri.startswith(("file:", "/")) and _is_path(text):
            for path in dict.fromkeys([text, self._real(text)]):
                if (kept := self._replaced.find(path)) is not None:
                    return text, Path(kept)
        return self._find(uri)

    def is_replaced(self, uri: str) -> bool:
        """Return whether a local file was replaced, and is readable at the place of the old data only."""
        path = "/" + uri.removeprefix("file:").lstrip("/")
        if self._replaced is None or not uri.startswith(("file:", "/")) or not _is_path(path):
            return False
        return self._replaced.find(path) is not None and not os.path.lexists(path)

    def reads(self, stored: StoredFile) -> None:
        """Note that a file is about to be read. `check` then compares it, if its storage could return bytes of a newer version."""
        if isinstance(stored, RemoteFile) and not stored.is_pinned:
            self._unpinned[stored.uri] = stored

    def excuse(self, stored: StoredFile) -> None:
        """Exclude a file from `check`, because the answer already reports that it changed."""
        if isinstance(stored, LocalFile):
            self.opened.excuse(stored.path)
        elif isinstance(stored, RemoteFile):
            self._unpinned.pop(stored.uri, None)

    def check(self) -> None:
        """Check that no file changed while it was read.

        Raises:
            SourceChangedError: a file has changed.
            SourceUnavailableError: the storage does not answer.
        """
        self.opened.check()
        for uri, file in self._unpinned.items():
            current_file = self._roots.remote.file(uri)
            if current_file is None or current_file.stat != file.stat:
                raise SourceChangedError(f"{uri} changed while it was read.", hint="Ask again when nothing writes to it.")

    def block(self, uri: str) -> FileBlock:
        return (
            self.file(uri)[0] if is_remote(uri) or is_keyed(uri) else self._local_file(uri)[0]
        )  # a listed local file is not opened, because few of them are read

    def listed(self, uri: str) -> list[FileBlock] | None:
        """Return the data files at a path now: one file, or all files below a folder, by path. None if nothing is there.

        As in Spark, names that begin with `_` or `.` are not data. Local files have the names that Spark gives them, with links.

        Raises:
            UnsupportedError: the path may not be read.
            SourceUnavailableError: the storage does not answer.
        """
        if is_keyed(uri):
            return [FileBlock(place, 0, 0) for place in self._roots.remote.tables(uri)]
        if is_remote(uri):
            return self._listed_remote(uri)
        path = self.path(uri)
        if not path.exists():
            return None
        if path.is_file():
            return [self.block(uri)]
        blocks = []
        for folder, folders, files in os.walk(self.spelt(uri)):
            folders[:] = [name for name in folders if not _hidden(name) and not self.forbids(f"{folder}/{name}")]
            blocks += [self._block(uri_of(f"{folder}/{name}")) for name in files if not _hidden(name)]
        return sorted(blocks)

    def _listed_remote(self, uri: str) -> list[FileBlock] | None:
        uri = uri_of(uri)
        depth = uri.rstrip("/").count("/")
        files = self._roots.remote.files(uri)
        if not files:
            file = self._roots.remote.file(uri)
            return None if file is None else [block_at(uri, file.stat.length, file.stat.modified)]
        self._remote.update((file.uri, file) for file in files)
        data = [file for file in files if not any(map(_hidden, file.uri.split("/")[depth + 1 :]))]
        return sorted(block_at(file.uri, file.stat.length, file.stat.modified) for file in data)

    def _block(self, uri: str) -> FileBlock:
        """Return the block of a listed file. A file that may not be read is refused later, when it is read."""
        try:
            return self.block(uri)
        except UnsupportedError:
            return FileBlock(uri, 0, 0)

    def _find(self, uri: str) -> tuple[str, Path]:
        if not uri.startswith("file:") and not uri.startswith("/"):
            raise UnsupportedError(
                f"{uri} is not on a local file system, nor on storage that can be read here.",
                hint="This release reads local files, s3: and s3a:, hdfs:, webhdfs:, gs: and abfss:.",
            )
        text = "/" + uri.removeprefix("file:").lstrip("/")
        if not _is_path(text):
            raise UnsupportedError(f"{uri!r} is no path of a file.")
        real = self._real(text)
        refusal = self._refusal(text, real)
        if refusal is not None:
            raise UnsupportedError(f"{uri} is not readable here: {refusal}.", hint=_HINT)
        return text, Path(real)

    def _real(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            return os.path.realpath(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder or "/")
        real = f"{self._folders[folder].rstrip('/')}/{name}"
        try:
            return os.path.realpath(real) if stat.S_ISLNK(os.lstat(real).st_mode) else real
        except OSError:
            return real  # the path does not exist

    def forbids(self, path: str) -> bool:
        """Return whether a folder must never be read, whatever the roots are."""
        return self._roots.forbidden(self._real(path)) is not None

    def _refusal(self, path: str, real: str) -> str | None:
        folder = real.rpartition("/")[0] or "/"
        if folder not in self._covered:
            self._covered[folder] = self._roots.cover(folder)
        if forbidden := self._roots.forbidden(real):
            return forbidden
        if self._covered[folder] or self._roots.cover(real):  # the path may be a root itself
            return None
        return _LED_OUT if real != path and self._roots.cover(os.path.normpath(path)) else _OUTSIDE


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _is_path(text: str) -> bool:
    """Return whether a text can be the path of a file. A NUL or an incomplete character is invalid."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
