"""Imports a SQLite lake into Neo4j by Neo4j's own offline import, because the store's batches would take most of an hour.

The import writes the same properties as the store. The store adds its constraints and indexes when it is first
opened.
"""

from __future__ import annotations

import csv
import os
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from headwater.graph.model import EdgeKind, kind_of
from headwater.graph.stores import GraphStore
from headwater.graph.stores.neo4j.vocabulary import LABEL, RELATIONSHIP
from headwater.graph.stores.paging import fold
from headwater.graph.stores.protocol import Portion
from tests.neo4j_server import fetch

_NODE = ["id:ID", ":LABEL", "tenant", "kind", "name", "folded", "properties", "stamps"]
_EDGE = [":START_ID", ":END_ID", ":TYPE", "first", "last", "properties", "stamps"]
_KINDS = {kind.value: kind for kind in EdgeKind}


async def import_lake(source: GraphStore, tenant: str, home: Path) -> None:
    """Make the database `neo4j` in a home folder whose server was never started."""
    began = time.perf_counter()
    nodes, edges = home / "nodes.csv", home / "edges.csv"
    await _write(source.dump(tenant), tenant, nodes, edges)
    written = time.perf_counter()
    (home / "conf").mkdir(exist_ok=True)
    (home / "conf" / "neo4j.conf").touch()
    arguments = [
        f"--nodes={nodes}",
        f"--relationships={edges}",
        "--multiline-fields=false",
        f"--report-file={home / 'import.report'}",
        "neo4j",
    ]
    subprocess.run(  # noqa: ASYNC221 - nothing else runs in this loop
        ["java", "-Xmx1g", "-cp", f"{fetch()}/*", "org.neo4j.cli.AdminTool", "database", "import", "full", *arguments],
        env={**os.environ, "NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf")},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    nodes.unlink()
    edges.unlink()
    print(f"  written in {written - began:.0f} s, imported in {time.perf_counter() - written:.0f} s", flush=True)


async def _write(portions: AsyncIterator[Portion], tenant: str, nodes: Path, edges: Path) -> None:
    with nodes.open("w", encoding="utf-8", newline="") as node_file, edges.open("w", encoding="utf-8", newline="") as edge_file:
        node_rows, edge_rows = csv.writer(node_file, quoting=csv.QUOTE_ALL), csv.writer(edge_file)
        node_rows.writerow(_NODE)
        edge_rows.writerow(_EDGE)
        async for portion in portions:
            node_rows.writerows([_node(tenant, *row) for row in portion.nodes])
            edge_rows.writerows([_edge(*row) for row in portion.edges])


def _node(tenant: str, identifier: str, name: str, properties: str, stamps: str) -> list[str]:
    kind = kind_of(identifier)
    return [identifier, f"Container;{LABEL[kind]}", tenant, kind.value, name, fold(name), properties, stamps]


def _edge(src: str, dst: str, kind: str, properties: str, stamps: str, first: str, last: str) -> list[Any]:
    """Return the fields of an edge. A field without quotes is an absent property."""
    stated = [properties, stamps] if stamps != "[]" else [None, None]
    return [src, dst, RELATIONSHIP[_KINDS[kind]], first or None, last or None, *stated]
