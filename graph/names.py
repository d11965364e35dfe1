"""Finds the node that a user's text names. All commands, the schema and traces use the same rules.

A text is an id, a name, a path or URI, the name of a table, the short name of a job (`report › out`), or the end of a name or address from
a `/` on. Paths are as Hadoop writes
them, with nothing escaped (headwater/paths.py), and relative ones begin in the working folder. A partition or a file stands for its
dataset, because the graph has no smaller nodes with flows.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol
from urllib.parse import unquote

from headwater.errors import InvalidQueryError
from headwater.graph.model import Node, NodeKind, node_id, parse_id
from headwater.graph.model.ids import JOB_MARK, short_job_name
from headwater.graph.stores.paging import encode_cursor, fold
from headwater.graph.stores.protocol import Page
from headwater.paths import Place, dataset_root, is_folder_store, looks_like_file, name_of_path, path_of_dataset, split_root

MOST_NAMED = 5  # nodes with one name in a message; one more shows that there are others
_PAGE = 1_000
_MOST_PAGES = 5  # pages of names that contain a text
_OF_DATASET, _OF_COLUMN = 2, 3  # parts of an id


class Searched(Protocol):
    """The methods of a graph store that the search needs. The client of a service has them too."""

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]: ...

    async def search(
        self, tenant: str, text: str, *, kinds: Sequence[NodeKind] = (), first: int = 20, after: str | None = None
    ) -> Page: ...


async def nodes_named(graph: Searched, tenant: str, text: str, kinds: Sequence[NodeKind]) -> list[Node]:
    """Return the nodes with a name: one, several with equal names (at most `MOST_NAMED` and one more), or none.

    If nodes of several kinds have the name, the first kind in `kinds` counts. A whole name takes precedence over the end of a name.
    """
    if found := await _known_as(graph, tenant, text, kinds):
        return found
    if NodeKind.DATASET in kinds:
        for whole in wholes(text):
            if found := await _known_as(graph, tenant, whole.root, (NodeKind.DATASET,)):
                return found
    return []


def wholes(text: str) -> Iterator[Place]:
    """Yield the datasets in which a text may name a partition or a file: name or id of the dataset, and the place in it."""
    identifier = _parts(text, NodeKind.DATASET, _OF_DATASET)
    name = (identifier[1] if identifier else text).rstrip("/")
    folder, _, last = name.rpartition("/")
    for root, within in (split_root(name), *([Place(folder or "/", last)] if looks_like_file(last) else [])):
        for whole in (root, f"{root}/") if within else ():  # a bucket has the name `/`
            yield Place(node_id(NodeKind.DATASET, identifier[0], whole) if identifier else whole, within)


def has_symlink(node: Node, table: str) -> bool:
    """Return whether a dataset has a table's name among its symlinks (OpenLineage). Any producer may have stated them."""
    stated = node.properties.get("symlinks")
    links = stated.get("identifiers") if isinstance(stated, Mapping) else None
    names = [str(link.get("name")).lower() for link in links if isinstance(link, Mapping)] if isinstance(links, list) else []
    return any(name.removeprefix("spark_catalog.") == table.lower().removeprefix("spark_catalog.") for name in names)


async def _known_as(graph: Searched, tenant: str, text: str, kinds: Sequence[NodeKind]) -> list[Node]:
    if text.partition(":")[0] in set(kinds) and parse_id(text)[1]:
        return (await graph.get(tenant, _ids(text)))[:1]  # ids are frequent, so they are not searched as names
    if NodeKind.DATASET in kinds and (found := await graph.get(tenant, [node_id(NodeKind.DATASET, *name) for name in _places(text)])):
        return found[:1]
    for name in _spellings(text):
        for look in (partial(_called, graph, tenant, name), partial(_ending, graph, tenant, name)):
            if named := await _first(kinds, look):
                return named
    if NodeKind.JOB in kinds and JOB_MARK in text:
        return await _shown_as(graph, tenant, text)
    return await _by_address(graph, tenant, text) if NodeKind.DATASET in kinds else []


def _ids(identifier: str) -> list[str]:
    """Return an id. For a column of a partition, also return the id of the same column in the whole dataset."""
    column = _parts(identifier, NodeKind.COLUMN, _OF_COLUMN)
    root = node_id(NodeKind.COLUMN, *dataset_root(column[0], column[1]), column[2]) if column else identifier
    return list(dict.fromkeys([identifier, root]))


def _parts(identifier: str, kind: NodeKind, count: int) -> tuple[str, ...]:
    parts = parse_id(identifier)[1] if identifier.startswith(f"{kind}:") else ()
    return parts if len(parts) == count else ()


def _places(text: str) -> list[tuple[str, str]]:
    """Return the names that a dataset at a path or an address may have."""
    namespace, separator, rest = text.partition("://")
    authority, slash, name = rest.partition("/")
    if not separator or namespace == "file":
        return [name_of_path(text)]
    if is_folder_store(namespace):
        return [name_of_path(text), (f"{namespace}://{authority}", f"/{name}")]  # some producers write a `/` before a key
    return [(f"{namespace}://{authority}", each) for each in (name, unquote(name)) if slash and each]


def _spellings(text: str) -> list[str]:
    """Return the names that a dataset at a path may have. The whole path comes before the end of a name."""
    path = text.removeprefix("file:").rstrip("/") or text
    return list(dict.fromkeys([os.path.abspath(path), text, path]))


async def _first(kinds: Sequence[NodeKind], named: Callable[[NodeKind], Awaitable[list[Node]]]) -> list[Node]:
    """Return the nodes of the first kind for which `named` finds any."""
    for kind in kinds:
        if found := await named(kind):
            return found
    return []


async def _called(graph: Searched, tenant: str, name: str, kind: NodeKind) -> list[Node]:
    """Return the nodes of a kind with exactly this name, from the page that begins at the name."""
    before: str | None = encode_cursor(fold(name), "")
    page = await graph.search(tenant, name, kinds=[kind], first=_PAGE, after=before)
    return [node for node in page.nodes if node.name == name][: MOST_NAMED + 1]


async def _ending(graph: Searched, tenant: str, name: str, kind: NodeKind) -> list[Node]:
    """Return the nodes of a kind whose name ends with a `/` and this name.

    Raises:
        InvalidQueryError: too many names contain the text, and none of the first pages ends with it.
    """
    found: list[Node] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await graph.search(tenant, f"/{name}", kinds=[kind], first=_PAGE, after=cursor)
        found += [node for node in page.nodes if node.name.endswith(f"/{name}")]
        cursor = page.cursor
        if cursor is None or len(found) > MOST_NAMED:
            return found
    if found:
        return found
    raise InvalidQueryError(f"More than {_MOST_PAGES * _PAGE:,} names contain /{name}.", hint="Give the whole name, or the id.")


async def _shown_as(graph: Searched, tenant: str, text: str) -> list[Node]:
    """Return the jobs with a short name, as commands print it: the application and the output, without the operation."""
    application, _, _ = text.rpartition(JOB_MARK)
    found: list[Node] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await graph.search(tenant, application, kinds=[NodeKind.JOB], first=_PAGE, after=cursor)
        found += [node for node in page.nodes if short_job_name(node.name) == text]
        cursor = page.cursor
        if cursor is None or len(found) > MOST_NAMED:
            return found[: MOST_NAMED + 1]
    return found


async def _by_address(graph: Searched, tenant: str, text: str) -> list[Node]:
    """Return datasets with a table name such as `db.table`, or with an address that ends with the text, such as `bucket/key`."""
    is_table = "/" not in text
    last = text.rpartition("." if is_table else "/")[2]
    nodes = (await graph.search(tenant, last, kinds=[NodeKind.DATASET], first=_PAGE)).nodes if last else []
    if is_table:  # a table's folder usually has the name of the table
        return [node for node in nodes if has_symlink(node, text)][: MOST_NAMED + 1]
    return [node for node in nodes if path_of_dataset(*parse_id(node.id)[1]).endswith(f"/{text}")][: MOST_NAMED + 1]
