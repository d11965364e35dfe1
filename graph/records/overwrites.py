"""What a write leaves of what its dataset held before: for the catalog, which knows a version of a dataset by the captures that made it.

Where a manifest does not say it for certain, the answer is the careful one: `SOME`, which ends no version and lets nothing be pruned.
"""

from __future__ import annotations

from enum import IntEnum

from headwater.errors import InvalidInputError
from headwater.graph.associations import Sink
from headwater.graph.model import Stamp

TABLE_FORMATS = ("delta", "iceberg")  # whose own logs say which files, and which rows of them, a version has


class Replaces(IntEnum):
    """What a write replaces of its dataset."""

    NOTHING = 0  # it appends
    ALL = 1
    PARTITIONS = 2  # the folders that it wrote files to
    SOME = 3  # a part, of which the manifest does not say which


def replaced_by(sink: Sink) -> Replaces:
    """What a sink replaces. An `INSERT OVERWRITE` with PARTITION (…) replaces those partitions alone, of a table only.

    A write to the path of a partition replaces what is below that path.
    """
    if sink.mode == "append":
        return Replaces.NOTHING
    if sink.mode != "overwrite" or sink.format in TABLE_FORMATS:
        return Replaces.SOME
    if sink.extra.get("dynamic") or sink.within:
        return Replaces.PARTITIONS
    if not sink.partition_columns or "table" not in sink.extra or sink.extra.get("static") is False:
        return Replaces.ALL
    return Replaces.SOME


def instant(text: str) -> str:
    """A manifest's time in the one form that compares as text; a text that is no time as it is."""
    try:
        return Stamp.at(text, "").time
    except InvalidInputError:
        return text
