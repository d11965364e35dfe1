"""`headwater lineage`: the jobs and datasets around one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.options import Home
from headwater.backend.cli.output import Format, emit, emit_json, note
from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.stores import Direction, Subgraph

app = typer.Typer(add_completion=False)
_FLOWS = (EdgeKind.READS, EdgeKind.WRITES)
_LIMIT = 5_000
_JOBS = 1_000
_COLUMNS = ("direction", "distance", "kind", "name")


class LineageFormat(StrEnum):
    """How a lineage is printed."""

    TREE = "tree"
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Around:
    """A node with what lies upstream and downstream of it; None: that direction was not asked for.

    `roots` are the jobs of a pipeline; else the node alone.
    """

    focus: Node
    roots: Sequence[str]
    upstream: Subgraph | None
    downstream: Subgraph | None

    def directions(self) -> Iterator[tuple[Direction, Subgraph]]:
        """The directions asked for."""
        for direction, graph in ((Direction.UPSTREAM, self.upstream), (Direction.DOWNSTREAM, self.downstream)):
            if graph is not None:
                yield direction, graph


@app.command()
def lineage(
    target: Annotated[str, typer.Argument(metavar="DATASET|JOB", help="A path, a name or an id; of a job, a pipeline or a dataset.")],
    direction: Annotated[Direction, typer.Option(help="upstream: where it came from; downstream: where it went.")] = Direction.BOTH,
    depth: Annotated[
        int, typer.Option(min=1, max=100, help="How many hops: from dataset to dataset it takes two, by way of the job.")
    ] = 20,
    format: Annotated[LineageFormat, typer.Option("--format", "-f", help="How to print the answer.")] = LineageFormat.TREE,
    home: Home = None,
) -> None:
    """Show the jobs and datasets around one of them. Of a pipeline, around its jobs together.

    For example:

      headwater lineage out/report --direction upstream

      headwater lineage clean --format json
    """
    around = asyncio.run(_ask(target, direction, depth, home))
    if format is LineageFormat.JSON:
        emit_json(as_json(around))
    elif format is LineageFormat.TREE:
        _print_tree(around)
    else:
        emit(list(_rows(around)), columns=_COLUMNS if format is LineageFormat.TABLE else (*_COLUMNS, "id"), format=Format(format.value))
    for _, graph in around.directions():
        if graph.truncated:
            note(f"[yellow]warning:[/] {graph.truncated:,} more nodes were reached; --depth asks for fewer hops.")


async def _ask(target: str, direction: Direction, depth: int, home: Path | None) -> Around:
    async with open_answers(home) as answers:
        focus = await answers.find(target, NodeKind.DATASET, NodeKind.PIPELINE, NodeKind.JOB)
        roots = [focus.id]
        if focus.kind is NodeKind.PIPELINE:
            jobs = await answers.graph.children(answers.tenant, focus.id, kinds=[NodeKind.JOB], first=_JOBS)
            roots = [job.id for job in jobs.nodes]

        async def reach(way: Direction) -> Subgraph | None:
            if direction not in (way, Direction.BOTH):
                return None
            return await answers.graph.reach(answers.tenant, roots, direction=way, kinds=_FLOWS, depth=depth, limit=_LIMIT)

        return Around(focus, roots, await reach(Direction.UPSTREAM), await reach(Direction.DOWNSTREAM))


def as_json(around: Around) -> dict[str, Any]:
    """The lineage as a graph: `edges` run the way data flows; `distance` is negative upstream."""
    nodes: dict[str, dict[str, Any]] = {}
    edges: dict[tuple[str, str, str], None] = {}
    for direction, graph in around.directions():
        sign = -1 if direction is Direction.UPSTREAM else 1
        for node in graph.nodes:
            nodes.setdefault(node.id, {**_described(node), "distance": sign * graph.distance.get(node.id, 0)})
        edges |= {(edge.src, edge.dst, edge.kind.value): None for edge in graph.edges}
    return {
        "focus": around.focus.id,
        "nodes": list(nodes.values()),
        "edges": [{"src": src, "dst": dst, "kind": kind} for src, dst, kind in edges],
        "truncated": sum(graph.truncated for _, graph in around.directions()),
    }


def _rows(around: Around) -> Iterator[Mapping[str, Any]]:
    for direction, graph in around.directions():
        reached = (node for node in graph.nodes if node.id not in around.roots)
        for node in sorted(reached, key=lambda node: (graph.distance.get(node.id, 0), node.name)):
            yield {"direction": direction.value, "distance": graph.distance.get(node.id, 0), **_described(node)}


def _described(node: Node) -> dict[str, str]:
    return {"id": node.id, "kind": node.kind.value, "name": node.name}


def _print_tree(around: Around) -> None:
    from rich.console import Console
    from rich.tree import Tree

    out = Console()
    for direction, graph in around.directions():
        upstream = direction is Direction.UPSTREAM
        tree = Tree(_label(around.focus, "came from" if upstream else "went to"), guide_style="dim")
        nodes = {node.id: node for node in graph.nodes}
        following = _following(graph.edges, upstream)
        if around.focus.id not in around.roots:
            following[around.focus.id] = [root for root in around.roots if following.get(root)]
        _grow(tree, around.focus.id, nodes, following, {around.focus.id})
        if not tree.children:
            tree.add("[dim]nothing that is known[/]")
        out.print(tree, soft_wrap=True)


def _following(edges: Sequence[Edge], upstream: bool) -> dict[str, list[str]]:
    """What follows each node, away from the focus."""
    following: dict[str, list[str]] = {}
    for edge in edges:
        near, far = (edge.dst, edge.src) if upstream else (edge.src, edge.dst)
        following.setdefault(near, []).append(far)
    return following


def _grow(tree: Any, parent: str, nodes: Mapping[str, Node], following: Mapping[str, Sequence[str]], shown: set[str]) -> None:
    """Add what follows `parent`, depth first; what is in the tree already is named and not opened again."""
    stack = [(tree, parent)]
    while stack:
        branch, current = stack.pop()
        opened = []
        for identifier in sorted(following.get(current, ()), key=lambda found: nodes[found].name if found in nodes else found):
            if identifier not in nodes:
                continue  # beyond the depth or the limit
            again = identifier in shown
            twig = branch.add(_label(nodes[identifier], "see above" if again and following.get(identifier) else ""))
            if not again:
                shown.add(identifier)
                opened.append((twig, identifier))
        stack += reversed(opened)


def _label(node: Node, remark: str) -> Any:
    from rich.text import Text

    from headwater.backend.cli.trace_story import dataset_of

    is_job = node.kind is NodeKind.JOB
    label = Text.assemble((node.name, "bold magenta") if is_job else (dataset_of(node.name), "bold"))
    return label.append(f"  {remark}", "dim") if remark else label
