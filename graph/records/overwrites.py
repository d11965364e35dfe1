"""How much of a dataset a write replaces. The catalog defines a version of a dataset by the captures that made it.

If a manifest does not state it for certain, the careful answer is `SOME`: it ends no version, and allows no pruning.
"""

from __future__ import annotations

from enum import IntEnum

from headwater.errors import InvalidInputError
from headwater.graph.associations import Sink
from headwater.graph.model import Stamp

TABLE_FORMATS = ("delta", "iceberg")  # their own logs list the files of a version, and their rows


class Replaces(IntEnum):
    """The part of its dataset that a write replaces."""

    NOTHING = 0  # it appends
    ALL = 1
    PARTITIONS = 2  # the folders that it wrote files to
    SOME = 3  # an unknown part


def replaced_by(sink: Sink) -> Replaces:
    """Return the part that a sink replaces. An `INSERT OVERWRITE` with PARTITION (…) replaces these partitions of a table only.

    A write to the path of a partition replaces everything below that path.
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
