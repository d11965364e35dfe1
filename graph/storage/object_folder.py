"""A folder of an object store that the service owns: whole objects are put, fetched, listed and deleted there.

The association store that several services share uses it. The folder is below a root of `storage.toml`, and has its endpoint and
credentials. A fetched object is compared with its length and SHA-256, so half an object never counts. All faults are `UnavailableError`,
which is tried again later, because the service cannot work without its objects.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from headwater.errors import ConfigurationError, SourceUnavailableError, UnavailableError
from headwater.graph.storage.objects import Objects
from headwater.graph.storage.protocol import Stat
from headwater.graph.storage.settings import RootSettings

_PART = 16 << 20  # bytes per request
_DELETED = 500  # objects per request
_SCHEMES = ("s3", "gs", "abfss")


class AlteredObjectError(UnavailableError):
    """An object differs from the object that was put."""


class Place:
    """A folder of an object store. `path` is the folder's path in its bucket. Safe to use from several threads."""

    def __init__(self, settings: RootSettings, path: str) -> None:
        if settings.address.scheme not in _SCHEMES:
            raise ConfigurationError(
                f"{settings.address.scheme}: is no object store of which the service owns a folder.",
                hint=f"Use one of {', '.join(_SCHEMES)}.",
            )
        self.url = f"{settings.address.scheme}://{settings.address.authority}/{path}".rstrip("/")
        self._path = path.rstrip("/")
        self._bucket = Objects(settings)

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Return a small object and its tag. None if there is no object."""
        try:
            return self._bucket.get(self._at(name))
        except SourceUnavailableError as error:
            raise self._fault(name, error) from None

    def bring(self, name: str, target: Path, length: int, sha256: str) -> None:
        """Fetch an object into a local file, completely or not at all."""
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
        try:
            stat = self._bucket.stat(self._at(name))
            if stat is None or stat.length != length:
                state = "is not there" if stat is None else f"has {stat.length} bytes, and {length} were put"
                raise UnavailableError(f"{self.url}/{name} {state}.", hint="Ask again: it may have been replaced or pruned a moment ago.")
            digest = hashlib.sha256()
            with draft.open("wb") as file:
                for offset in range(0, length, _PART):
                    content = self._bucket.read(self._at(name), stat, offset, min(_PART, length - offset))
                    digest.update(content)
                    file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if digest.hexdigest() != sha256:
                raise AlteredObjectError(f"{self.url}/{name} is not what was put there: its SHA-256 is {digest.hexdigest()}.")
            draft.replace(target)
        except SourceUnavailableError as error:
            raise self._fault(name, error) from None
        finally:
            draft.unlink(missing_ok=True)

    def put(self, name: str, data: bytes | Path) -> None:
        self._put(name, data, None)

    def put_where(self, name: str, data: bytes, tag: str | None) -> bool:
        """Put a small object if the present object has the tag `tag` (None: if there is none). Return false if another was put."""
        return self._put(name, data, {"e_tag": tag} if tag is not None else "create")

    def copy(self, name: str, target: str) -> None:
        """Copy an object within the folder, in the store."""
        try:
            self._bucket.copy(self._at(name), self._at(target))
        except SourceUnavailableError as error:
            raise self._fault(name, error) from None

    def delete(self, name: str) -> None:
        """Delete an object. A missing object is no error."""
        try:
            self._bucket.delete(self._at(name))
        except SourceUnavailableError as error:
            raise self._fault(name, error) from None

    def delete_all(self, names: Sequence[str]) -> None:
        """Delete objects, many in one request."""
        try:
            for first in range(0, len(names), _DELETED):
                self._bucket.delete_all([self._at(name) for name in names[first : first + _DELETED]])
        except SourceUnavailableError as error:
            raise self._fault(names[0], error) from None

    def length(self, name: str) -> int | None:
        stat = self.stat(name)
        return stat.length if stat is not None else None

    def stat(self, name: str) -> Stat | None:
        try:
            return self._bucket.stat(self._at(name))
        except SourceUnavailableError as error:
            raise self._fault(name, error) from None

    def parts(self, name: str, stat: Stat, size: int) -> Iterator[bytes]:
        """Yield the bytes of an object in the state `stat`, in parts of `size` bytes."""
        try:
            for offset in range(0, stat.length, size):
                yield self._bucket.read(self._at(name), stat, offset, min(size, stat.length - offset))
        except SourceUnavailableError as error:
            raise self._fault(name, error) from None

    def files(self, folder: str) -> Iterator[tuple[str, Stat]]:
        """Yield every object below a folder, at any depth, with its name."""
        prefix_length = len(self._at(""))
        try:
            for page in self._bucket.files(self._at(folder)):
                yield from ((path[prefix_length:], stat) for path, stat in page)
        except SourceUnavailableError as error:
            raise self._fault(folder, error) from None

    def files_of_any_name(self) -> tuple[list[tuple[str, Stat]], list[str]]:
        """Return every object here, at any depth, with its name, and separately the names that no request can contain.

        If there are such names, no object has a tag.
        """
        prefix_length = len(self._at(""))
        try:
            files, odd_names = self._bucket.files_of_any_name(self._path)
        except SourceUnavailableError as error:
            raise self._fault("", error) from None
        return [(path[prefix_length:], stat) for path, stat in files], [path[prefix_length:] for path in odd_names]

    def names(self, folder: str, after: str) -> list[str]:
        """Return the sorted names of the objects of a folder that sort after `after`."""
        try:
            names = self._bucket.names(self._at(folder), self._at(f"{folder}/{after}") if after else None)
        except SourceUnavailableError as error:
            raise self._fault(folder, error) from None
        return sorted(path.rpartition("/")[2] for path in names)

    def _put(self, name: str, data: bytes | Path, mode: Any) -> bool:
        try:
            return self._bucket.put(self._at(name), data, mode)
        except SourceUnavailableError as error:
            raise self._fault(name, error) from None

    def _at(self, name: str) -> str:
        return f"{self._path}/{name}" if self._path else name

    def _fault(self, name: str, error: SourceUnavailableError) -> UnavailableError:
        reason = error.message.partition(": ")[2].rstrip(".") or error.message.rstrip(".")
        return UnavailableError(f"{self.url}/{name} cannot be reached: {reason}.", hint=error.hint)
