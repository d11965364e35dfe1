"""Data roots: which files of this machine may be read as data.

Paths come from events, manifests, declarations and provenance, so from whoever may write to the service. A file is read only if it lies
below a root once every link of its path is followed; never what lies in a folder of `never`, nor in `/proc`, `/sys` and `/dev`. Every
reader of a source asks here first. What is refused tells nothing of the file, not even whether it exists.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

from headwater.errors import UnsupportedError
from headwater.graph.records.names import FileBlock, uri_of

_NEVER = ("/proc", "/sys", "/dev")
_OUTSIDE = "it lies outside of the data roots"
_LED_OUT = "a link in its path leads out of the data roots"
_HINT = "Add its folder to HEADWATER_DATA_ROOTS, or run the program that reads or writes it with `headwater run` on this home."


class DataRoots:
    """The folders and files below which data may be read.

    `is_root` is given a path and the folders above it, and says whether one of them is a root; without it, every path lies below one.
    """

    def __init__(self, is_root: Callable[[Sequence[str]], bool] | None, *, never: Iterable[str | Path] = ()) -> None:
        self._is_root = is_root
        self._never = tuple(os.path.realpath(folder) for folder in never) + _NEVER

    @classmethod
    def of(cls, folders: Iterable[str | Path], *, never: Iterable[str | Path] = ()) -> DataRoots:
        """Roots that are known from the start."""
        known = frozenset(os.path.realpath(folder) for folder in folders)
        return cls(lambda paths: not known.isdisjoint(paths), never=never)

    def look(self) -> Look:
        """A look at files that remembers the folders which it met: for one trace."""
        return Look(self)

    def forbidden(self, real: str) -> str | None:
        """Why what lies at a path without links is never read; None where nothing forbids it."""
        folder = next((folder for folder in self._never if real == folder or real.startswith(f"{folder}/")), None)
        if folder is None:
            return None
        return f"it lies in {folder if folder in _NEVER else 'the home of Headwater'}, which is never read as data"

    def cover(self, real: str) -> bool:
        """Whether a path without links is a root, or lies below one."""
        return self._is_root is None or self._is_root([real, *map(str, Path(real).parents)])


ANYWHERE = DataRoots(None)  # for a user's own process, which may read what the user may


class Look:
    """What one trace knows of paths: for each folder where it lies, and whether what lies in it may be read."""

    def __init__(self, roots: DataRoots) -> None:
        self._roots = roots
        self._folders: dict[str, str] = {}
        self._covered: dict[str, bool] = {}  # folder -> whether it lies below a root

    def path(self, uri: str) -> Path:
        """Where the file or folder of a URI lies, without links.

        Raises:
            UnsupportedError: it is on another file system, or may not be read.
        """
        return self._find(uri)[1]

    def spelt(self, uri: str) -> str:
        """The path of a URI as programs call it, links and all. Raises as `path` does."""
        return self._find(uri)[0]

    def block(self, uri: str) -> FileBlock:
        """The file of a URI as it is now.

        Raises:
            UnsupportedError: it may not be read, or is no file.
            OSError: it cannot be looked at.
        """
        spelt, real = self._find(uri)
        status = real.stat(follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise UnsupportedError(f"{uri} is not readable here: it is no file.")
        return FileBlock(uri_of(spelt), status.st_size, status.st_mtime_ns // 1_000_000)

    def _find(self, uri: str) -> tuple[str, Path]:
        """The path as programs call it, of both spellings of a name with special characters that which is there; and without links."""
        if not uri.startswith("file:") and not uri.startswith("/"):
            raise UnsupportedError(
                f"{uri} is not on a local file system.", hint="This release reads the values of records from local files only."
            )
        text = "/" + uri.removeprefix("file:").lstrip("/")
        if not _is_path(text):
            raise UnsupportedError(f"{uri!r} is no path of a file.")
        real = self._real(text)
        refusal = self._refusal(text, real)
        if "%" in text and (refusal is not None or not os.path.lexists(real)) and _is_path(other := unquote(text)):
            meant = self._real(other)
            if self._refusal(other, meant) is None and os.path.lexists(meant):
                return other, Path(meant)
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
            return real  # there is none

    def forbids(self, path: str) -> bool:
        """Whether a folder is never read, whatever the roots are."""
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


def _is_path(text: str) -> bool:
    """Whether a text can be the path of a file: not with a NUL, nor with half of a character."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def open_resolved(path: Path) -> int:
    """Open a file at a path without links, as `Look.path` gave it; the descriptor is of the very file, or there is none.

    Raises:
        OSError: it cannot be opened, is no file, or a link has taken the place of a part of its path since.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe would wait for a writer
    status = os.fstat(descriptor)
    same = os.path.realpath(path) == str(path) and os.path.samestat(status, path.stat(follow_symlinks=False))
    if same and stat.S_ISREG(status.st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(f"{path} is no file, or was replaced while it was opened")
