"""Reads a Neo4j database for an index: the whole graph once, then the changes that its log names.

`ref` is the number at the end of the server's own id of a node. The part before it must be the same for all nodes of a database. Each node
is checked for this, and if one differs, there is no index.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any, LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import EdgeKind
from headwater.graph.stores.change_log import Touched, pack
from headwater.graph.stores.indexable import CODES, INDEXED, LOGGED, LOGGED_BYTES, Census, News, Properties, Rows, UnindexableError
from headwater.graph.stores.neo4j.connections import Connections, rows
from headwater.graph.stores.neo4j.vocabulary import RELATIONSHIP

_PORTION = 10_000
_TRANSACTIONS = 64  # transactions of the log read at a time: one that touched many nodes takes megabytes
_INDEXED = [kind.value for kind in INDEXED]
_CODES = {relationship: CODES[kind] for kind, relationship in RELATIONSHIP.items()}

_REVISION: LiteralString = "OPTIONAL MATCH (r:HeadwaterRevision {name: 'graph'}) WITH coalesce(r.number, 0) AS revision "
_NEWS: LiteralString = (
    _REVISION + "CALL () { UNWIND range(0, size($ids) - 1) AS place MATCH (n:Container {tenant: $tenant, id: $ids[place]}) "
    "WITH n, place ORDER BY place RETURN collect(elementId(n)) AS focus } RETURN revision, focus"
)
# The node of the revision is locked last, and until the commit. So revisions become visible in their order, and no deadlock is possible.
_LOG: LiteralString = """
    MERGE (r:HeadwaterRevision {name: 'graph'}) SET r.name = 'graph'
    WITH r, coalesce(r.total, 0) AS before SET r.number = coalesce(r.number, 0) + 1, r.total = before + $size
    CREATE (:HeadwaterChange {revision: r.number, tenant: $tenant, nodes: $nodes, before: before})
    WITH r CALL (r) { MATCH (c:HeadwaterChange) WHERE c.revision <= r.number - $logged DELETE c }
    WITH r CALL (r) { MATCH (c:HeadwaterChange) WHERE c.before < r.total - $bytes AND c.revision < r.number DELETE c }
    """
_LOGGED: LiteralString = (
    "MATCH (c:HeadwaterChange) WHERE $after < c.revision <= $upto RETURN c.revision, c.nodes, c.tenant ORDER BY c.revision"
)
# Most edges were first and last stated at the same time, so this value travels only once.
_ROW: LiteralString = """
    elementId(n), n.id, n.name, CASE WHEN n.kind IN $indexed THEN coalesce(n.properties, '{}') ELSE '' END,
    [(n)<-[e]-(m:Container) | [elementId(m), type(e), coalesce(e.first, ''),
    CASE WHEN e.last = e.first THEN null ELSE coalesce(e.last, '') END, coalesce(e.properties, '{}') <> '{}']]
    """
_TOUCHED: LiteralString = "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id}) RETURN " + _ROW


class Elements:
    """Converts between the element ids of Neo4j and refs."""

    def __init__(self) -> None:
        self._head = ""

    def ref(self, element: str) -> int:
        """Return the ref of an element id.

        Raises:
            UnindexableError: the id has another beginning than the ids before, or does not end with a number.
        """
        head, _, number = element.rpartition(":")
        if not number.isascii() or not number.isdigit() or (self._head and head != self._head):
            raise UnindexableError(f"the server's ids of nodes ({element}) are not numbers of one database")
        self._head = head
        return int(number)

    def element(self, ref: int) -> str:
        return f"{self._head}:{ref}"


async def log_change(transaction: AsyncManagedTransaction, tenant: str, touched: Collection[str] | None) -> None:
    """Log the nodes that this transaction changed, as its last step. None stands for too many nodes to name."""
    packed = None if touched is None else pack(touched)
    await rows(transaction, _LOG, tenant=tenant, nodes=packed, size=len(packed or b""), logged=LOGGED, bytes=LOGGED_BYTES)


async def census(transaction: AsyncManagedTransaction) -> Census:
    """Return the size of the graphs (`IndexableStore.census`). The server keeps these counts."""
    (revision,) = (await rows(transaction, _REVISION + "RETURN revision"))[0]
    (nodes,) = (await rows(transaction, "MATCH (n:Container) RETURN count(n)"))[0]
    (edges,) = (await rows(transaction, "MATCH ()-[e]->() RETURN count(e)"))[0]
    return Census(revision, nodes, edges)


async def scan(connections: Connections, elements: Elements) -> AsyncIterator[Rows]:
    """Yield each node with the edges into it, for `IndexableStore.scan`."""
    statement: LiteralString = "MATCH (n:Container) RETURN " + _ROW
    async for portion in connections.stream(statement, portion=_PORTION, indexed=_INDEXED):
        yield _rows(portion, elements)


async def no_news(connections: Connections, elements: Elements, tenant: str, focus: Sequence[str], after: int) -> News | None:
    """Return the `news` if nothing has changed, which is the usual case. Return None if something has changed."""
    revision, found = (await connections.read_at_once(_NEWS, ids=list(focus), tenant=tenant))[0]
    return News(revision, [elements.ref(element) for element in found], Rows()) if revision == after else None


async def news(transaction: AsyncManagedTransaction, elements: Elements, tenant: str, focus: Sequence[str], after: int) -> News:
    revision, found = (await rows(transaction, _NEWS, ids=list(focus), tenant=tenant))[0]
    start = [elements.ref(element) for element in found]
    if revision == after:
        return News(revision, start, Rows())
    log = Touched(after)
    while log.revision != revision:
        upto = min(log.revision + _TRANSACTIONS, revision)
        logged = await rows(transaction, _LOGGED, after=log.revision, upto=upto)
        if not all(log.take(*row) for row in logged) or log.revision != upto:
            return News(revision, start, None)
    read: list[list[Any]] = []
    for owner, ids in log.nodes.items():
        read += await rows(transaction, _TOUCHED, ids=sorted(ids), tenant=owner, indexed=_INDEXED)
    return News(revision, start, _rows(read, elements))


async def properties(
    transaction: AsyncManagedTransaction, elements: Elements, nodes: Sequence[int], edges: Sequence[tuple[int, int, EdgeKind]]
) -> Properties:
    """Return properties (`IndexableStore.properties`). One record of columns is unpacked faster than one record per node."""
    of_nodes: list[str | None] = [None] * len(nodes)
    if nodes:
        places, texts = (await rows(transaction, _ABOUT_NODES, elements=[elements.element(ref) for ref in nodes]))[0]
        for place, text in zip(places, texts, strict=True):
            of_nodes[place] = text
    of_edges: list[str | None] = [None] * len(edges)
    if edges:
        asked = [[elements.element(src), elements.element(dst), RELATIONSHIP[kind]] for src, dst, kind in edges]
        places, texts = (await rows(transaction, _ABOUT_EDGES, edges=asked))[0]
        for place, text in zip(places, texts, strict=True):
            of_edges[place] = text
    # The revision is read last. If it is still that of the walk, nothing was written in between.
    (revision,) = (await rows(transaction, _REVISION + "RETURN revision"))[0]
    return Properties(revision, of_nodes, of_edges)


_ABOUT_NODES: LiteralString = (
    "UNWIND range(0, size($elements) - 1) AS place MATCH (n) WHERE elementId(n) = $elements[place] "
    "RETURN collect(place), collect(coalesce(n.properties, '{}'))"
)
_ABOUT_EDGES: LiteralString = (
    "UNWIND range(0, size($edges) - 1) AS place WITH place, $edges[place] AS edge MATCH (s) WHERE elementId(s) = edge[0] "
    "MATCH (s)-[e]->(d) WHERE elementId(d) = edge[1] AND type(e) = edge[2] RETURN collect(place), collect(coalesce(e.properties, '{}'))"
)


def _rows(found: Sequence[Sequence[Any]], elements: Elements) -> Rows:
    made = Rows()
    src: list[int] = []
    dst: list[int] = []
    kind: list[int] = []
    first: list[str] = []
    last: list[str] = []
    with_properties: list[bool] = []
    ref = elements.ref
    for element, identifier, name, text, edges in found:
        node = ref(element)
        made.refs.append(node)
        made.ids.append(identifier)
        made.names.append(name)
        made.properties.append(text)
        for source, relationship, began, ended, has in edges:
            src.append(ref(source))
            dst.append(node)
            kind.append(_CODES[relationship])
            first.append(began)
            last.append(began if ended is None else ended)
            with_properties.append(has)
    made.src, made.dst, made.kind, made.first, made.last, made.with_properties = src, dst, kind, first, last, with_properties
    return made
