"""Facts about the records of an RDD, and the RDDs to pass to PySpark instead.

Loaded with the hooks at the start of every program, so it imports nothing else of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.spark_listener.rdd_records.starts import Start


KNOWN = "_headwater_known"  # attributes of PySpark's RDDs: the known facts,
PERSISTED = "_headwater_persisted"  # the facts about a persisted RDD,
SIDES = "_headwater_sides"  # the RDDs below a shuffle or union, and
RAW = "_headwater_raw"  # a class attribute of an RDD with lineage: its `rdd` has the raw records
LISTED = "_headwater_listed"  # whether the files of all sources below it are known


class NotListedError(Exception):
    """Spark cannot list the files of a source: its folder is missing or unreadable. The program's own job reports that."""


def raw_records(argument: Any) -> Any:
    """Return an argument of an operation. For a LineageRDD, return its raw records, which PySpark can use."""
    return argument.rdd if hasattr(type(argument), RAW) else argument


@dataclass(frozen=True, slots=True)
class Refused:
    """The reason why the records of an RDD cannot be followed."""

    operator: str
    reason: str


@dataclass(frozen=True, slots=True)
class TrackedRdd:
    """The facts about an RDD with one reference for each record of each of `operators`. `top` made it.

    `start` provides the references; it comes before the functions of the stage (`reads`) or among them.
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
    """The RDDs to pass to PySpark in place of the program's, and the conversion of its result.

    `more` has all other arguments by name, in place of the program's. If it is empty, the program's arguments stay.
    """

    sides: Sequence[Any]
    finish: Callable[[Any], Any]
    more: Mapping[str, Any] = field(default_factory=dict)
