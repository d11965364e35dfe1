"""Determines which part of a dataset a write replaces. The catalog finds the captures of a dataset's version by this.

If a manifest does not state the part, the result is `SOME`: the write then ends no version, and allows no pruning.
"""

from __future__ import annotations

from enum import IntEnum

from headwater.errors import InvalidInputError
from headwater.graph.associations import Sink
from headwater.graph.model import Stamp

TABLE_FORMATS = ("delta", "iceberg")  # formats whose own logs list the files and rows of a version


class Replaces(IntEnum):
    """The part of its dataset that a write replaces."""

    NOTHING = 0  # an append
    ALL = 1
    PARTITIONS = 2  # the folders to which it wrote files
    SOME = 3  # an unknown part


def replaced_by(sink: Sink) -> Replaces:
    """Return the part that a sink replaces. `INSERT OVERWRITE` with PARTITION (…) replaces only these partitions of a table.

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
    """Return a manifest's time in a form that sorts as text. Other text is returned unchanged."""
    try:
        return Stamp.at(text, "").time
    except InvalidInputError:
        return text
