"""The flows that retention terms follow: downstream of the datasets with a term, and not those of the whole graph."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from headwater.graph.model import Node, NodeKind
from headwater.graph.model.declaration import Aspect
from headwater.graph.model.descriptions import CURATED
from headwater.graph.model.properties import StoredProperties
from headwater.graph.policies.flow_graph import FlowGraph, read_flow_graph, read_flows_around
from headwater.graph.policies.policy import Policy
from headwater.graph.policies.rules.must_expire import RetentionTerm
from headwater.graph.policies.selector import dataset_of
from headwater.graph.retention.terms import find_terms
from headwater.graph.stores.protocol import Direction, GraphStore

_RETENTION = f"{CURATED}{Aspect.RETENTION}"
_PORTION = 2_000  # nodes


async def read_flows_of_terms(graph: GraphStore, tenant: str, policies: Sequence[Policy]) -> FlowGraph:
    """Read the flows, of the past too, that can bring a term of a policy or of a description to a dataset.

    All datasets and columns are looked through for terms, but only those downstream of a term are read with their flows.
    """
    rules = [rule for policy in policies for _, rule in policy.rules if isinstance(rule, RetentionTerm)]
    if any("within" in selector.parts for rule in rules for selector in rule.of):
        return await read_flow_graph(graph, tenant, with_past=True)  # a selector by containers needs them all
    stating: dict[str, Node] = {}
    for kind in (NodeKind.DATASET, NodeKind.COLUMN):
        after: str | None = None
        while portion := await graph.listed_after(tenant, f"{kind}:", after, first=_PORTION):
            after = portion[-1].id
            portion = portion if rules else [node for node in portion if _may_state(node)]
            terms, unread = await asyncio.to_thread(find_terms, FlowGraph(nodes={node.id: node for node in portion}), policies)
            named = {*unread, *(term.node for term in terms)}
            stating |= {node.id: node for node in portion if node.id in named}
    if not stating:
        return FlowGraph()
    sources = sorted({dataset_of(identifier) for identifier in stating})
    builder, is_whole = await read_flows_around(graph, tenant, sources, direction=Direction.DOWNSTREAM, with_past=True)
    if not is_whole:
        return await read_flow_graph(graph, tenant, with_past=True)
    for node in stating.values():  # a column that only its description names is in no dataset
        builder.add_node(node)
    return await asyncio.to_thread(builder.build)


def _may_state(node: Node) -> bool:
    """Whether the description of a node may have a retention period. Most nodes have none, and their facts are not parsed."""
    facts = node.properties
    return not isinstance(facts, StoredProperties) or _RETENTION in facts.text
