"""The places in a dataset that a replay wrote: a program may write some of its partitions, and the others are not to be compared."""

from __future__ import annotations

import os
from pathlib import Path

from headwater.errors import UnsupportedError
from headwater.graph.model import parse_id
from headwater.graph.names import wholes
from headwater.paths import name_of_path

_DONE = "_SUCCESS"  # mark of Spark's committers in a finished folder
_TABLES = ("_delta_log", ".hoodie", "metadata")  # folders that a table has next to its data


def place_named(dataset: str, text: str | None) -> str:
    """Return the partition that a text names in a dataset, by its id (`day=2`); empty for all of it. A file stands for its partition."""
    name = parse_id(dataset)[1][1]
    for whole, within in wholes(text or ""):
        called = parse_id(whole)[1][-1] if whole.startswith("dataset:") else whole
        if called == name or name_of_path(called)[1] == name or name.endswith(f"/{called}"):
            return "/".join(part for part in within.split("/") if "=" in part)
    return ""


def places_written(dataset: str, folder: Path, within: str) -> list[str]:
    """Return the places below the shadow of a dataset that a replay wrote, as far as they are in `within`; empty for all of it.

    Raises:
        UnsupportedError: the places are not known, or none of them is in `within`.
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
    """Return the outermost folders with a committer's mark."""
    found = []
    for here, folders, files in os.walk(folder):
        if _DONE in files:
            found.append("" if Path(here) == folder else str(Path(here).relative_to(folder)))
            folders.clear()
    return sorted(found)


def _has_partitions_only(folder: Path) -> bool:
    """Whether a folder holds folders of partitions, and neither data nor the metadata of a table."""
    if not folder.is_dir():
        return False
    there = list(folder.iterdir())
    data = any(path.is_file() and not path.name.startswith(("_", ".")) for path in there)
    return not data and any("=" in path.name for path in there if path.is_dir()) and not any(path.name in _TABLES for path in there)


def _in_both(one: str, other: str) -> str | None:
    """Return the inner of two places where it lies in the outer."""
    outer, inner = sorted((one, other), key=len)
    return inner if not outer or inner == outer or inner.startswith(f"{outer}/") else None
