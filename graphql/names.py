"""Resolves names of nodes in arguments of the schema. An argument may be an id, or a name as on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Node, NodeKind
from headwater.graph.names import MOST_NAMED, nodes_named
from headwater.graph.views import ViewRequest
from headwater.graphql.types import Info

# If nodes of several kinds have the same name, the first of these kinds wins.
_KINDS = (NodeKind.DATASET, NodeKind.PIPELINE, NodeKind.JOB, NodeKind.PLATFORM, NodeKind.SYSTEM, NodeKind.COLUMN, NodeKind.RUN)


async def ids_of(info: Info, texts: Iterable[str]) -> list[str]:
    """Return the ids of nodes by names or ids. The id of a node is returned unchanged, whether the node is known or not.

    Raises:
        NotFoundError: no node has the name.
        InvalidQueryError: several nodes have the name.
    """
    asked = list(texts)
    await info.context.loaders.node.load_many(asked)  # loads all nodes in one batch for the lookups below
    return [await id_of(info, text) for text in asked]


async def node_of(info: Info, text: str, kinds: Sequence[NodeKind]) -> Node:
    """Return the node of some kinds that a text names. If nodes of several kinds have the name, the first kind counts.

    Raises as `ids_of`. A node of another kind is refused.
    """
    node = await info.context.loaders.node.load(await id_of(info, text, kinds))
    if node is None:
        raise NotFoundError(f"Nothing is known of {text}.", hint="Search for its name, or see what a container holds.")
    if node.kind not in kinds:
        raise InvalidQueryError(f"{text} is a {node.kind}.", hint=f"Name one of: {', '.join(kinds)}.")
    return node


async def id_of(info: Info, text: str, kinds: Sequence[NodeKind] = _KINDS) -> str:
    """Return the id of the node that a text names. Raises as `ids_of`."""
    is_id = text.partition(":")[0] in set(NodeKind) and ":" in text
    if is_id and await info.context.loaders.node.load(text) is not None:
        return text
    named = await nodes_named(info.context.graph, info.context.tenant, text, kinds)
    if len(named) == 1:
        return named[0].id
    if named:
        there = ", ".join(node.id for node in named[:MOST_NAMED])
        raise InvalidQueryError(
            f"{text} names several things: {there}{' and more' if len(named) > MOST_NAMED else ''}.", hint="Give the id."
        )
    if is_id:
        return text
    raise NotFoundError(f"Nothing is known of {text}.", hint="Search for its name, or see what a container holds.")


async def with_ids(info: Info, request: ViewRequest) -> ViewRequest:
    """Return a view's request with ids instead of names. Raises as `ids_of`."""
    between = None if request.between is None else [tuple(await ids_of(info, end)) for end in request.between]
    return replace(
        request,
        focus=tuple(await ids_of(info, request.focus)),
        open={await id_of(info, opened): level for opened, level in request.open.items()},
        between=None if between is None else (between[0], between[1]),
    )
