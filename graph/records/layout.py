"""Names and formats of the files in the folder of a kept capture."""

from __future__ import annotations

import json
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
MANIFEST = "manifest.json"
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
    """Return the content of `manifest.json`."""
    return json.dumps(manifest.to_json(), ensure_ascii=False).encode()


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
    path = folder / name
    with reading(path, absent=folder.is_dir()):
        return Manifest.from_json(json.loads(read_checked(path)), f"{folder.name}/{name}")


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
