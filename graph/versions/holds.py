"""Legal holds on blocks of a dataset: declared on the block, the dataset or its containers, or on data from which the dataset derives.

A hold on a dataset or on a column of it protects every dataset that was ever derived from the dataset, because a job may use a column
without stating it. A hold on a block protects what was derived later. If the sources are too many to look at, everything counts as held.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from headwater.graph.model import EdgeKind, Node, NodeKind, bare_name, kind_of, parse_id
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.stores.write_times import WRITTEN_AT, with_ends

_FAR = 10_000  # hops, more than any path has
_MOST_SOURCES = 5_000  # datasets and jobs
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Hold:
    """A legal hold on a node. The hold covers what was written from the time `since` on (empty: all)."""

    node: str
    reason: str
    since: str = ""

    @property
    def sentence(self) -> str:
        """Return a reason to keep a dataset that derives from the node."""
        kind = kind_of(self.node)
        what = f"column {parse_id(self.node)[1][2]} of {parse_id(self.node)[1][1]}" if kind is NodeKind.COLUMN else bare_name(self.node)
        if kind is NodeKind.VERSION:
            what = f"a block of {parse_id(self.node)[1][1]}"
        return f"{self.reason} (on {what}, from which it derives)"


async def find_holds(graph: GraphStore, tenant: str, dataset: str, versions: Sequence[str]) -> Mapping[str, str]:
    """Return the reasons of legal holds by version."""
    above = (await graph.ancestors(tenant, [dataset])).get(dataset, [])
    nodes = [*above, *await graph.get(tenant, [dataset, *versions])]
    own = {dataset, *(node.id for node in above)}
    holds = {node.id: hold for node in nodes if (hold := descriptions_of(node).legal_hold)}
    everywhere = next((reason for identifier, reason in holds.items() if identifier in own), None)
    found = {version: everywhere or holds[version] for version in versions if everywhere or version in holds}
    if len(found) == len(versions):
        return found
    written = {node.id: node.properties.get(WRITTEN_AT) for node in await with_ends(graph, tenant, nodes)}
    for inherited in await list_inherited_holds(graph, tenant, dataset):
        for version in versions:
            if version not in found and str(written.get(version) or "~") >= inherited.since:
                found[version] = inherited.sentence
    return found


async def list_inherited_holds(graph: GraphStore, tenant: str, dataset: str) -> list[Hold]:
    """Return the legal holds on data from which a dataset was ever derived, and on columns of the dataset itself."""
    reached = await graph.reach(
        tenant, [dataset], direction=Direction.UPSTREAM, kinds=[EdgeKind.READS, EdgeKind.WRITES], depth=_FAR, limit=_MOST_SOURCES
    )
    if reached.truncated:
        return [Hold(dataset, f"more than {_MOST_SOURCES:,} datasets and jobs are upstream, too many to look for legal holds")]
    sources = [node for node in reached.nodes if node.kind is NodeKind.DATASET]
    found: dict[str, Hold] = {}
    for above in (await graph.ancestors(tenant, [source.id for source in sources])).values():
        found |= {hold.node: hold for hold in map(_hold, above) if hold}
    for source in sources:
        kinds = [NodeKind.COLUMN] if source.id == dataset else [NodeKind.COLUMN, NodeKind.VERSION]
        found |= {hold.node: hold for hold in [_hold(source)] if hold}
        found |= {hold.node: hold async for hold in _holds_inside(graph, tenant, source.id, kinds)}
    return list(found.values())


async def _holds_inside(graph: GraphStore, tenant: str, dataset: str, kinds: Sequence[NodeKind]) -> AsyncIterator[Hold]:
    cursor: str | None = None
    while True:
        page = await graph.children(tenant, dataset, kinds=kinds, first=_PAGE, after=cursor)
        for node in await with_ends(graph, tenant, [node for node in page.nodes if descriptions_of(node).legal_hold]):
            if (hold := _hold(node)) is not None:
                yield hold
        cursor = page.cursor
        if cursor is None:
            return


def _hold(node: Node) -> Hold | None:
    reason = descriptions_of(node).legal_hold
    since = node.properties.get(WRITTEN_AT) if node.kind is NodeKind.VERSION else None
    return Hold(node.id, reason, str(since or "")) if reason else None
