"""Finds the versions that a commit replaced, and what an earlier commit means for a later replay."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.backend.rerun.replay.model import Commit
from headwater.errors import HeadwaterError
from headwater.graph.model import Stamp
from headwater.graph.stores import GraphStore
from headwater.graph.versions.blocks import list_blocks


async def find_replaced_versions(graph: GraphStore, tenant: str, made: Commit) -> dict[str, str]:
    """Return, by dataset, the last version before a commit. Datasets without a known version are left out."""
    at = Stamp.at(made.at, "").time
    found: dict[str, str] = {}
    for one in made.folders:
        try:
            blocks = await list_blocks(graph, tenant, one.dataset)
        except HeadwaterError:  # an unknown dataset, or one with too many versions
            continue
        if earlier := [block.version for block in blocks if block.written_at < at]:
            found[one.dataset] = earlier[-1]
    return found


async def notes_on_commits(graph: GraphStore, tenant: str, datasets: Iterable[str]) -> list[str]:
    """Return a sentence for each dataset that has the data of a committed replay. A later replay reads all records again."""
    notes = []
    for dataset in datasets:
        try:
            blocks = await list_blocks(graph, tenant, dataset)
        except HeadwaterError:
            continue
        node = await graph.get(tenant, [blocks[-1].version]) if blocks else []
        if node and "replaces" in node[0].properties:
            notes.append(
                f"{dataset} has the data of a committed replay. This replay starts from the data that the pipeline reads, "
                "without the changes of that replay."
            )
    return notes
