"""Labels and relationship types of Neo4j.

Cypher takes no parameters for these parts of a pattern, so the names come from this module, never from user text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from headwater.graph.model import EdgeKind, NodeKind

RELATIONSHIP: dict[EdgeKind, LiteralString] = {
    EdgeKind.CONTAINS: "CONTAINS",
    EdgeKind.READS: "READS",
    EdgeKind.WRITES: "WRITES",
    EdgeKind.DERIVES: "DERIVES",
    EdgeKind.REPLAYS: "REPLAYS",
    EdgeKind.ACCESSES: "ACCESSES",
    EdgeKind.LINKS: "LINKS",
    EdgeKind.DESCRIBES: "DESCRIBES",
    EdgeKind.CHECKS: "CHECKS",
}
KIND = {relationship: kind for kind, relationship in RELATIONSHIP.items()}


# The second label of a node, in addition to `Container`, for people who browse the database.
LABEL: dict[NodeKind, LiteralString] = {
    NodeKind.PLATFORM: "Platform",
    NodeKind.DATASET: "Dataset",
    NodeKind.VERSION: "Version",
    NodeKind.PARTITION: "Partition",
    NodeKind.COLUMN: "Column",
    NodeKind.SYSTEM: "System",
    NodeKind.PIPELINE: "Pipeline",
    NodeKind.JOB: "Job",
    NodeKind.RUN: "Run",
    NodeKind.STAGE: "Stage",
    NodeKind.TASK: "Task",
    NodeKind.OPERATOR: "Operator",
    NodeKind.TYPE: "Type",
    NodeKind.ACTOR: "Actor",
    NodeKind.DATA: "Data",
    NodeKind.OWNER: "Owner",
    NodeKind.TAG: "Tag",
    NodeKind.TERM: "Term",
    NodeKind.CHECK: "Check",
}


def any_of(kinds: Sequence[EdgeKind]) -> LiteralString:
    """Return the kinds in the form of a Cypher pattern: `READS|WRITES`."""
    return "|".join([RELATIONSHIP[EdgeKind(kind)] for kind in kinds])
