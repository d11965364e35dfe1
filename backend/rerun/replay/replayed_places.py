"""Finds the partitions of a dataset that a replay wrote. Partitions that the program did not write are not compared."""

from __future__ import annotations

import os
from pathlib import Path

from headwater.errors import UnsupportedError
from headwater.graph.files.table_folders import table_kind
from headwater.graph.model import parse_id
from headwater.graph.names import wholes
from headwater.paths import name_of_path

_DONE = "_SUCCESS"  # Spark's committers write this file into a finished folder


def place_named(dataset: str, text: str | None) -> str:
    """Return the partition of a dataset that a text names, for example `day=2`. The result is empty for the whole dataset.

    The name of a file means its partition.
    """
    name = parse_id(dataset)[1][1]
    for whole, within in wholes(text or ""):
        called = parse_id(whole)[1][-1] if whole.startswith("dataset:") else whole
        if called == name or name_of_path(called)[1] == name or name.endswith(f"/{called}"):
            return "/".join(part for part in within.split("/") if "=" in part)
    return ""


def places_written(dataset: str, folder: Path, within: str) -> list[str]:
    """Return the paths of partitions that a replay wrote, limited to the partition `within`. An empty path means everything.

    Raises:
        UnsupportedError: the written partitions are unknown, or none of them is in `within`.
    """
    written = _marked(folder)
    if not written:
        if _has_partitions_only(folder):
            raise UnsupportedError(
                f"The program wrote partitions of {dataset} without {_DONE}, so which of them it wrote as a whole is not known.",
                hint="Let Spark mark what it writes: mapreduce.fileoutputcommitter.marksuccessfuljobs is true by default.",
            )
        written = [""]
    found = {place for each in written if (place := _in_both(each, within)) is not None}
    if not found:
        raise UnsupportedError(f"The program wrote {', '.join(written[:5])} of {dataset}, and not {within}.", hint="Name what it wrote.")
    return sorted(found)


def _marked(folder: Path) -> list[str]:
    found = []
    for here, folders, files in os.walk(folder):
        if _DONE in files:
            found.append("" if Path(here) == folder else str(Path(here).relative_to(folder)))
            folders.clear()
    return sorted(found)


def _has_partitions_only(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    there = list(folder.iterdir())
    data = any(path.is_file() and not path.name.startswith(("_", ".")) for path in there)
    return not data and any("=" in path.name for path in there if path.is_dir()) and table_kind(folder) is None


def _in_both(one: str, other: str) -> str | None:
    outer, inner = sorted((one, other), key=len)
    return inner if not outer or inner == outer or inner.startswith(f"{outer}/") else None
