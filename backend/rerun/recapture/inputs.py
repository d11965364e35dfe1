"""Checks that the second run read the same inputs as the first: no input file or input folder has changed since.

Equal outputs do not prove equal inputs. For example, the maximum of a group stays the same if another record of the group was removed.
A source is refused if its changes cannot be detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headwater.backend.rerun.recapture.file_pairs import DiffersError
from headwater.errors import UnsupportedError
from headwater.spark_listener.second_run import OF_FILES, has_table


def check_inputs(sources: Iterable[Mapping[str, Any]], began_ms: int) -> None:
    """Check that the inputs of a capture are unchanged since the first run began (milliseconds since the epoch).

    Raises:
        DiffersError: a file or a folder is newer.
        UnsupportedError: changes of a source cannot be detected.
    """
    for source in sources:
        if source["format"] == "local":
            continue  # rows that the program made itself
        if source["format"] not in OF_FILES:
            raise UnsupportedError(
                f"The program reads {source['path']} ({source['format']}). Whether that is as it was then cannot be told.",
                hint="Run it again with `headwater run --mode active`.",
            )
        for file in source.get("files") or ():
            _check_file(file, began_ms)
        for folder in _folders(source):
            _check_folder(folder, began_ms)


def _check_file(file: Mapping[str, Any], began_ms: int) -> None:
    if not str(file["path"]).startswith("file:/"):
        raise UnsupportedError(
            f"The program reads {file['path']}. Of files on remote storage it cannot be told whether others were taken away since.",
            hint="Run it again with `headwater run --mode active`.",
        )
    try:
        now = Path(local(file["path"])).stat()
    except OSError as error:
        raise UnsupportedError(f"{file['path']}, an input, cannot be looked at: {error}.") from error
    if (now.st_size, now.st_mtime_ns // 1_000_000) != (int(file["length"]), int(file["modified"])):
        raise DiffersError(file["path"], "is an input, and has changed while the second run read it")
    # The status time (ctime) also shows files that were moved here or whose modification time was set.
    if max(int(file["modified"]), now.st_ctime_ns // 1_000_000) > began_ms:
        raise DiffersError(file["path"], "is an input, and has changed since the first run began")


def _folders(source: Mapping[str, Any]) -> set[str]:
    """Return the folders that Spark listed: the files' folders and their parents up to the named path. A path of a file lists none."""
    named = {local(str(source["path"]))}
    found: set[str] = set()
    for file in source.get("files") or ():
        path = local(file["path"])
        if path in named:
            continue
        folder = str(Path(path).parent)
        while folder not in found:
            found.add(folder)
            if folder in named or not any(folder.startswith(f"{root.rstrip('/')}/") for root in named):
                break
            folder = str(Path(folder).parent)
    return found


def _check_folder(folder: str, began_ms: int) -> None:
    try:
        if has_table(folder):
            raise UnsupportedError(
                f"The program reads the table {folder}. Whether that is as it was then cannot be told.",
                hint="Run it again with `headwater run --mode active`.",
            )
        modified = Path(folder).stat().st_mtime_ns // 1_000_000
    except OSError as error:
        raise UnsupportedError(f"{folder} cannot be looked at: {error}.") from error
    if modified > began_ms:
        raise DiffersError(folder, "is an input, and files came into it or went since the first run began")


def local(path: str) -> str:
    """Remove the scheme from the URI of a local path."""
    return "/" + path.removeprefix("file:").lstrip("/")
