"""What a graph consists of: nodes, edges, and the batches in which they are applied.

Edges point the way data flows (source upstream, destination downstream); containment points from the container to the child.
Every fact carries a stamp, so that a batch may come late, twice or out of order and the graph ends the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class NodeKind(StrEnum):
    """Both containment hierarchies, outermost level first (Ibis, Newt)."""

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


class EdgeKind(StrEnum):
    """`contains` joins a container and its child; the others are flows of data."""

    CONTAINS = "contains"
    READS = "reads"  # dataset → job, version → run
    WRITES = "writes"  # job → dataset, run → version
    DERIVES = "derives"  # column → column
    REPLAYS = "replays"  # run → run that replays it


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    """When a fact was stated (`time`: ISO 8601, UTC, microseconds) and by which event (`key`: its hash). The greater stamp wins, property by property."""

    time: str
    key: str


@dataclass(frozen=True, slots=True)
class Node:
    """A container. `name` is what people read; `properties` holds JSON values."""

    id: str
    kind: NodeKind
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """A link. One edge exists for each (`src`, `dst`, `kind`)."""

    src: str
    dst: str
    kind: EdgeKind
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """What one log entry states. All of it is applied, or nothing."""

    stamp: Stamp
    nodes: Sequence[Node] = ()
    edges: Sequence[Edge] = ()
