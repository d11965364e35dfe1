"""Writes and reads a tenant's graph as lines of JSON, for backups and for moving it between stores: docs/reference/graph-file.md.

A file must contain everything in a store, including stamps, so that another store merges later statements in the same way. Files of any
size must be written and read as a stream. A truncated file must not pass as complete. Reading merges into the existing graph: reading
twice, or into a store that has changed since, does no harm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from headwater.errors import InvalidInputError
from headwater.graph.model import EdgeKind, kind_of
from headwater.graph.model.changes import Changes
from headwater.graph.model.merge import Facts
from headwater.graph.stores.fingerprint import Fingerprint
from headwater.graph.stores.protocol import GraphStore

FORMAT, VERSION = "headwater-graph", 1
_PORTION = 20_000  # lines in each `absorb`
_EDGE_KINDS = {kind.value: kind for kind in EdgeKind}


@dataclass(frozen=True, slots=True)
class Head:
    """The first line: the log and the offset up to which the graph was projected.

    `entry` is the key of the log entry at the offset, or "".
    """

    offset: int
    entry: str


@dataclass(frozen=True, slots=True)
class Tail:
    """The last line: counts of the lines before it. The fingerprint is of a store that has exactly these lines."""

    nodes: int
    edges: int
    fingerprint: str


async def write_graph(store: GraphStore, tenant: str, head: Head, write: Callable[[str], object]) -> Tail:
    """Write a tenant's graph line by line, and return the content of the last line.

    Concurrent writes may be included or not, so the offset in the head must have been read before.
    """
    write(_line({"format": FORMAT, "version": VERSION, "offset": head.offset, "entry": head.entry}))
    hashed, nodes, edges = Fingerprint(), 0, 0
    async for portion in store.dump(tenant):
        hashed.nodes((identifier, name, properties) for identifier, name, properties, _ in portion.nodes)
        hashed.edges((*row[:4], *row[5:]) for row in portion.edges)
        # Properties and stamps are JSON already. Parsing and serialising them would cost more than everything else.
        for identifier, name, properties, stamps in portion.nodes:
            write(f'{{"node":[{json.dumps(identifier)},{json.dumps(name)},{properties},{stamps}]}}\n')
        for src, dst, kind, properties, stamps, first, last in portion.edges:
            write(
                f'{{"edge":[{json.dumps(src)},{json.dumps(dst)},"{kind}",{properties},{stamps},{json.dumps(first)},{json.dumps(last)}]}}\n'
            )
        nodes, edges = nodes + len(portion.nodes), edges + len(portion.edges)
    tail = Tail(nodes, edges, hashed.hexdigest())
    write(_line({"end": {"nodes": tail.nodes, "edges": tail.edges, "fingerprint": tail.fingerprint}}))
    return tail


def read_head(lines: Iterator[str]) -> Head:
    """Parse the first line.

    Raises:
        InvalidInputError: the file is not a graph file, or has a newer version.
    """
    head = _parsed(next(lines, ""), 1)
    if head.get("format") != FORMAT:
        raise InvalidInputError("Line 1 is not the head of a graph file.", field="line 1", hint="Make one with `headwater store export`.")
    if head.get("version") != VERSION:
        raise InvalidInputError(
            f"The graph file is of version {head.get('version')!r}; this Headwater reads version {VERSION}.",
            field="line 1",
            hint="Upgrade Headwater.",
        )
    return Head(int(head["offset"]), str(head["entry"]))


async def read_graph(store: GraphStore, tenant: str, lines: Iterable[str], *, offset: int | None = None) -> Tail:
    """Merge the lines after the head into a tenant's graph, and return the content of the last line.

    `offset` is stored with the last portion.

    Raises:
        InvalidInputError: a line is damaged, or the file is truncated. The error names the line. Earlier lines are in the store.
    """
    changes, nodes, edges = Changes(), 0, 0
    for number, text in enumerate(lines, 2):
        line = _parsed(text, number)
        if "end" in line:
            tail = Tail(**line["end"])
            if (tail.nodes, tail.edges) != (nodes, edges):
                raise InvalidInputError(
                    f"The file says that it has {tail.nodes} nodes and {tail.edges} edges; {nodes} and {edges} were in it.",
                    field=f"line {number}",
                    hint="Lines were lost: export again.",
                )
            await store.absorb(tenant, changes, offset=offset)
            return tail
        nodes, edges = nodes + ("node" in line), edges + ("edge" in line)
        _take(changes, line, number)
        if len(changes.nodes) + len(changes.edges) >= _PORTION:
            await store.absorb(tenant, changes)
            changes = Changes()
    raise InvalidInputError(
        "The graph file has no last line: it was cut.", field="line", hint="Export again; what was read is in the store."
    )


def _take(changes: Changes, line: dict[str, Any], number: int) -> None:
    try:
        if "node" in line:
            identifier, name, properties, stamps = line["node"]
            kind_of(identifier)
            changes.nodes.setdefault(identifier, Facts()).absorb(Facts.read(name, properties, stamps))
            return
        src, dst, kind, properties, stamps, first, last = line["edge"]
        edge = (src, dst, _EDGE_KINDS[kind])
        for end in (src, dst):
            kind_of(end)
            changes.nodes.setdefault(end, Facts())
        changes.edges.setdefault(edge, Facts()).absorb(Facts.read("", properties, stamps))
        if first and last:
            changes.see(edge, str(first), str(last))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(
            f"Line {number} is neither a node nor an edge: {type(error).__name__}: {error}.", field=f"line {number}", hint="Export again."
        ) from error


def _parsed(text: str, number: int) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(
            f"Line {number} is not JSON: {error}.", field=f"line {number}", hint="The file is damaged: export again."
        ) from error
    if not isinstance(line, dict):
        raise InvalidInputError(f"Line {number} is not an object.", field=f"line {number}", hint="The file is damaged: export again.")
    return line


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":")) + "\n"
