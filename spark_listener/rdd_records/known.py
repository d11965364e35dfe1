"""What is known of an RDD, and what to give PySpark in its place.

Loaded with the hooks at the start of every program, so it imports nothing of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.spark_listener.rdd_records.starts import Start


KNOWN = "_headwater_known"  # attributes of PySpark's RDDs: what is known of one,
PERSISTED = "_headwater_persisted"  # of one that is kept,
SIDES = "_headwater_sides"  # the RDDs that a shuffle or union made it of, and
RAW = "_headwater_raw"  # an attribute of the class of what stands for an RDD with its lineage: its `rdd` are the raw records
LISTED = "_headwater_listed"  # whether it is known what all sources below it read


class NotListedError(Exception):
    """Spark cannot list what a source reads: its folder is not there, or may not be read. The program's own job says so."""


def raw_records(argument: Any) -> Any:
    """An argument of an operation; of a LineageRDD its raw records, which PySpark can work with."""
    return argument.rdd if hasattr(type(argument), RAW) else argument


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing is known of the records of an RDD, and why."""

    operator: str
    reason: str


@dataclass(frozen=True, slots=True)
class Known:
    """An RDD whose records have references to records of `operators`, one each. `top` made it.

    `start` gives them; it stands before the functions of the stage (`reads`) or among them.
    """

    operators: tuple[int, ...]
    start: Start
    reads: bool
    top: int

    @property
    def width(self) -> int:
        return len(self.operators)


@dataclass(frozen=True, slots=True)
class Step:
    """What to give PySpark in the place of the program's RDDs, and what to make of its result.

    `more`: all other arguments by name, in the place of the program's; empty: those are left.
    """

    sides: Sequence[Any]
    finish: Callable[[Any], Any]
    more: Mapping[str, Any] = field(default_factory=dict)
