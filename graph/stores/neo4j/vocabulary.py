"""Labels and relationship types.

Cypher takes no parameters in their places within a pattern, so they come from here, never from a text of a user.
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


# The label that a node bears beside `Container`, for people who look at the database.
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
    """The kinds as a pattern takes them: `READS|WRITES`."""
    return "|".join([RELATIONSHIP[EdgeKind(kind)] for kind in kinds])
