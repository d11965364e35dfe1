"""Names and formats of the files in the folder of a kept capture."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import InvalidInputError, UnavailableError
from headwater.graph.associations import Manifest
from headwater.graph.damage import damaged
from headwater.graph.records.digests import read_checked
from headwater.graph.records.safe_names import FileBlock, uri_of

_WHAT = "The association file"
_LEVEL = 6  # a manifest then takes about one seventh of the bytes of its text, and half a millisecond
_GZIP = b"\x1f\x8b"  # no JSON starts with these bytes
_MOST_TEXT = 1 << 29  # bytes of a manifest's text; a damaged or hostile file may claim any size
MANIFEST = "manifest.json"  # compressed with gzip; in captures of earlier releases plain text
FILES = "files.json"
BRIEF = "brief.json"  # the manifest of a capture with many files, without its lists
LISTS = "lists.db"  # the lists of a capture with many files (see `lists`)
CATALOG = "catalog.db"  # next to the tenants' folders


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that a capture wrote, with its number of records and the task attempt that wrote it (None in older captures)."""

    block: FileBlock
    rows: int
    attempt: int | None = None


def boundary_name(boundary: int) -> str:
    return f"b{boundary}.parquet"


def manifest_text(manifest: Manifest) -> bytes:
    """Return a manifest as JSON. Hashes of a manifest are hashes of this text."""
    return json.dumps(manifest.to_json(), ensure_ascii=False).encode()


def pack_manifest(manifest: Manifest) -> bytes:
    """Return the content of `manifest.json` or `brief.json`: the compressed text."""
    return gzip.compress(manifest_text(manifest), _LEVEL, mtime=0)


def files_text(files: Sequence[KeptFile]) -> bytes:
    """Return the content of `files.json`: the files that a capture wrote."""
    return json.dumps([[*file.block, file.rows, file.attempt] for file in files], ensure_ascii=False).encode()


def read_files(folder: Path) -> list[KeptFile]:
    with reading(folder / FILES):
        entries = json.loads(read_checked(folder / FILES))
        return [KeptFile(FileBlock(uri_of(entry[0]), *entry[1:3]), *entry[3:]) for entry in entries]


def read_manifest(folder: Path, name: str = MANIFEST) -> Manifest:
    """Read the manifest of a kept capture, or its brief manifest.

    Raises:
        FileNotFoundError: the capture is not kept.
        DamagedError: the file is damaged.
    """
    return read_sized_manifest(folder, name)[0]


def read_sized_manifest(folder: Path, name: str) -> tuple[Manifest, int]:
    """Read a manifest as `read_manifest` does. Return it with the size of its text in bytes."""
    path = folder / name
    with reading(path, absent=folder.is_dir()):
        text = unpack_manifest(read_checked(path))
        return Manifest.from_json(json.loads(text), f"{folder.name}/{name}"), len(text)


def unpack_manifest(content: bytes) -> bytes:
    """Return the text in `manifest.json`. Files of earlier releases hold the text itself.

    Raises:
        ValueError: the content is damaged.
    """
    if not content.startswith(_GZIP):
        return content
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)  # with a header of gzip
    try:
        text = stream.decompress(content, _MOST_TEXT)
    except zlib.error as error:
        raise ValueError(f"it cannot be decompressed: {error}") from error
    if not stream.eof or stream.unused_data:
        raise ValueError(f"it is not one whole compressed text of at most {_MOST_TEXT:,} bytes")
    return text


@contextmanager
def reading(path: Path, *, absent: bool = True) -> Iterator[None]:
    """Turn errors of a damaged file into `DamagedError`. With `absent`, a missing file counts as damaged.

    Raises:
        DamagedError: the file is damaged.
    """
    try:
        yield
    except FileNotFoundError as error:
        if not absent:
            raise
        raise damaged(path, _WHAT, "it is missing") from error
    except (
        ValueError,
        TypeError,
        IndexError,
        KeyError,
        RecursionError,
        InvalidInputError,
    ) as error:  # pyarrow's and json's are ValueErrors
        raise damaged(path, _WHAT, str(error).splitlines()[0] if str(error) else type(error).__name__) from error
    except OSError as error:
        if error.errno is None:  # pyarrow's own
            raise damaged(path, _WHAT, str(error).splitlines()[0]) from error
        raise UnavailableError(f"{_WHAT} {path} cannot be read: {error.strerror}.", hint="Check the disk.") from error
