"""The elements of a graph: nodes, edges, and the batches in which they are applied.

Edges point the way data flows (source upstream, destination downstream). Containment points from the container to the child. Every fact
has a stamp, so the graph ends the same even if batches come late, twice or out of order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from headwater.errors import InvalidInputError


class NodeKind(StrEnum):
    """Kinds of nodes: both hierarchies, outermost level first (Ibis, Newt); kinds that users declare; and descriptions of nodes."""

    PLATFORM = "platform"
    DATASET = "dataset"
    VERSION = "version"
    PARTITION = "partition"
    COLUMN = "column"
    SYSTEM = "system"
    PIPELINE = "pipeline"
    JOB = "job"
    RUN = "run"
    STAGE = "stage"
    TASK = "task"
    OPERATOR = "operator"
    TYPE = "type"  # a declared type of actors or data
    ACTOR = "actor"  # an instance of a declared type of actors
    DATA = "data"  # an instance of a declared type of data
    OWNER = "owner"
    TAG = "tag"
    TERM = "term"  # a term of a glossary
    CHECK = "check"  # a data-quality assertion or metric of a dataset or column; its results are edges from runs


class EdgeKind(StrEnum):
    """Kinds of edges. `contains` joins a container and its child; the others are flows of data."""

    CONTAINS = "contains"
    READS = "reads"  # dataset → job; version → run, partition → run
    WRITES = "writes"  # job → dataset; run → version, run → partition
    DERIVES = "derives"  # column → column; column → dataset: every column that the job writes there
    REPLAYS = "replays"  # run → run that replays it
    ACCESSES = "accesses"  # column → job that reads it; job → column that it writes
    LINKS = "links"  # actor → actor, or between data: a declared flow
    DESCRIBES = "describes"  # owner, tag, term, check → the described node
    CHECKS = "checks"  # run → check: one result


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    """The time at which a fact was stated (`time`: ISO 8601, UTC, microseconds) and the hash of its event (`key`).

    For each property, the value with the greatest stamp counts.
    """

    time: str
    key: str

    @classmethod
    def at(cls, instant: str | datetime, key: str) -> Stamp:
        """Return a stamp with its time in the form that sorts as text. An instant without a zone is taken as UTC.

        Raises:
            InvalidInputError: the text is not an ISO 8601 instant.
        """
        if isinstance(instant, str):
            try:
                instant = datetime.fromisoformat(instant)
            except ValueError:
                raise InvalidInputError(
                    f"{instant!r} is not an instant.", hint="Write it as 2026-01-31T23:59:59.123Z (ISO 8601)."
                ) from None
        zoned = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        try:
            return cls(zoned.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"), key)
        except OverflowError:
            raise InvalidInputError(
                f"{zoned.isoformat()!r} lies outside of the years 1 to 9999 in UTC.", hint="Write an instant within them."
            ) from None


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the graph. `name` is for people. `properties` has JSON values; None retracts an earlier value.

    A fact with a higher rank (`ranks`, default 0) wins over the same fact with a lower rank, whatever its stamp. So a completed run stays
    completed even if its start is reported later, with a later clock.
    """

    id: str
    kind: NodeKind
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two nodes. There is one edge for each (`src`, `dst`, `kind`). `properties` and `ranks` are as in a node.

    `first` and `last` state when and by which run it was first and last stated: `{time} {run}`, which sorts as text. A store fills them
    from the batches. They are empty if no batch had a time. Equality ignores them.
    """

    src: str
    dst: str
    kind: EdgeKind
    properties: Mapping[str, Any] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    first: str = field(default="", compare=False)
    last: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Statements that many log entries share: one object in all their batches, merged once for all of them."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """The statements of one log entry. They are applied as a whole or not at all. A node that only an edge names is created bare.

    Nodes and edges of `blocks` count as the batch's own. `by` is the run that states the batch, if there is one. The edges existed at the
    stamp's time; a stamp without a time states no time.
    """

    stamp: Stamp
    nodes: Sequence[Node] = ()
    edges: Sequence[Edge] = ()
    by: str = ""
    blocks: Sequence[Block] = ()
