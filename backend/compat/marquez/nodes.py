"""Node ids in Marquez's form: `dataset:NAMESPACE:NAME`, `job:NAMESPACE:NAME`, `datasetField:NAMESPACE:NAME:FIELD`.

These ids are not encoded, and namespaces and names may contain colons (`s3://lake:9000`), so an id is ambiguous. The interpretation whose
node exists in the graph is used. An id is refused if two such nodes exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from headwater.backend.compat.marquez.request import MarquezRequest, not_found
from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.model import Node, NodeKind, node_id, parse_id

_KINDS = {"dataset": (NodeKind.DATASET, 2), "job": (NodeKind.JOB, 2), "datasetField": (NodeKind.COLUMN, 3)}
_NAMES = {kind: name for name, (kind, _) in _KINDS.items()}
_VERSION = re.compile(r".+#[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.DOTALL)
_MOST_COLONS = 40  # an id of a field with 40 colons has 780 interpretations


def node_name(identifier: str) -> str:
    """Convert the id of a node to Marquez's form."""
    kind, parts = parse_id(identifier)
    return ":".join([_NAMES[NodeKind(kind)], *parts])


async def node_of(ask: MarquezRequest, name: str, kinds: Sequence[NodeKind]) -> Node:
    """Return the node with an id in Marquez's form, if it is of one of the kinds.

    Raises:
        InvalidQueryError: the text is not such an id, or is ambiguous.
        NotFoundError: no such node exists.
        UnsupportedError: the text names a version of a node.
    """
    prefix, colon, rest = name.partition(":")
    kind, parts = _KINDS.get(prefix, (None, 0))
    if not colon or kind is None or kind not in kinds:
        known = ", ".join(f"{_NAMES[each]}:…" for each in kinds)
        raise InvalidQueryError(
            f"node ID ({name[:200]}) must start with one of: {known}.", field="nodeId", hint="As dataset:NAMESPACE:NAME."
        )
    found = await ask.graph.get(ask.tenant, list(_readings(kind, rest, parts)))
    if len(found) > 1:
        raise InvalidQueryError(
            f"node ID ({name[:200]}) is that of {len(found)} nodes: {found[0].id}, {found[1].id}.", field="nodeId",
            hint="Ask by GraphQL, where each part of an id is encoded.",
        )  # fmt: skip
    if found:
        return found[0]
    if _VERSION.fullmatch(rest):
        raise UnsupportedError("The graph keeps the lineage of datasets and jobs, not that of each version.", hint="Ask without #VERSION.")
    raise not_found("Node", name)


def _readings(kind: NodeKind, rest: str, parts: int) -> Iterator[str]:
    colons = [place for place, letter in enumerate(rest) if letter == ":"]
    if len(colons) > _MOST_COLONS:
        raise InvalidQueryError(f"node ID has {len(colons)} colons, {_MOST_COLONS} are the most.", field="nodeId", hint="Ask by GraphQL.")
    for chosen in combinations(colons, parts - 1):
        ends = [-1, *chosen, len(rest)]
        names = [rest[start + 1 : end] for start, end in pairwise(ends)]
        if all(names):
            yield node_id(kind, *names)
