"""A dataset of remote storage as a folder of this machine, while a replay compares it with what it wrote again.

The folder is the replay's own. What is brought here is what an answer would be read from: data files below the roots of the service,
each as it was when it was listed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from headwater.errors import SourceUnavailableError, UnsupportedError
from headwater.graph.records import DataRoots, uri_of
from headwater.graph.storage import RemoteFile

_STEP = 16 << 20  # bytes that are read at once
_MOST = 64 << 30  # bytes of a dataset: what was written again lies on this machine, too


@contextmanager
def fetched(sources: DataRoots, uri: str, folder: Path) -> Iterator[Path]:
    """A copy of the data files of a dataset, below a new folder in `folder`; it is removed afterwards.

    Raises:
        UnsupportedError: there is nothing there, or more than is brought here.
        SourceUnavailableError: its store does not say.
    """
    look = sources.look()
    blocks = look.listed(uri)
    if not blocks:
        raise UnsupportedError(f"{uri} holds no file that could be compared.")
    if (size := sum(block.length for block in blocks)) > _MOST:
        raise UnsupportedError(f"{uri} has {size} bytes; a replay compares up to {_MOST}.")
    base = uri_of(uri).rstrip("/")
    copy = folder / f"before-{uuid4().hex}"
    try:
        for block in blocks:
            inner = block.path.removeprefix(base).strip("/") or block.path.rpartition("/")[2]  # the dataset may be a file
            _bring(look.file(block.path)[1], copy / inner)
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _bring(file: object, target: Path) -> None:
    if not isinstance(file, RemoteFile):
        raise SourceUnavailableError(f"{target.name} is on no remote storage.", transient=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as copy:
        for offset in range(0, file.stat.length, _STEP):
            copy.write(file.read(offset, _STEP))
