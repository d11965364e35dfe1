"""Prints lineage as a tree, a table, CSV, JSON, DOT (Graphviz) or Mermaid."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headwater.backend.cli.display_names import dataset_of, job_of, shown_name
from headwater.backend.cli.output import Format, count, emit, emit_json, note, whole_lines
from headwater.graph.model import Node, NodeKind
from headwater.graph.views import UNWRITTEN
from headwater.graph.views.request import DATA

Item = Mapping[str, Any]

_COLUMNS = ("direction", "distance", "kind", "name")
_DATA = {kind.name for kind in DATA}


class LineageFormat(StrEnum):
    TREE = "tree"
    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    DOT = "dot"
    MERMAID = "mermaid"


@dataclass(frozen=True, slots=True)
class Shown:
    """A complete lineage view from GraphQL. The fields of a node's `node` are merged into the node."""

    nodes: Sequence[Item]
    edges: Sequence[Item]
    totals: Mapping[str, int]
    notes: Sequence[str]


def emit_lineage(focus: Node | None, shown: Shown, format: LineageFormat) -> None:
    """Print a view. `focus` is None for a view between two nodes."""
    if format is LineageFormat.JSON:
        emit_json(_as_json(focus, shown))
    elif format is LineageFormat.DOT:
        sys.stdout.write("".join(f"{line}\n" for line in _dot(shown)))
    elif format is LineageFormat.MERMAID:
        sys.stdout.write("".join(f"{line}\n" for line in _mermaid(shown)))
    elif format is LineageFormat.TREE:
        _print_trees(focus, shown) if focus is not None else _print_between(shown)
    elif format is LineageFormat.CSV:
        emit(list(_rows(shown)), columns=(*_COLUMNS, "id", "unwritten"), format=Format.CSV)
    else:
        rows = [{**row, "name": shown_name(row["kind"], row["name"], row["id"]) + _mark(row)} for row in _rows(shown)]
        emit(rows, columns=_COLUMNS, format=Format.TABLE, empty=f"Nothing around it {_nothing(shown)}.")


def emit_changes(found: Mapping[str, Any], format: LineageFormat) -> None:
    """Print the difference of two views as JSON or as a table."""
    if format is LineageFormat.JSON:
        emit_json(found)
        return
    rows: list[dict[str, Any]] = []
    for change in ("Added", "Removed"):
        rows += [
            {"change": change.lower(), "kind": node["kind"].lower(), "name": node["name"], "id": node["id"]}
            for node in found[f"nodes{change}"]
        ]
        rows += [{"change": change.lower(), "kind": "link", "name": f"{edge['src']} → {edge['dst']}"} for edge in found[f"edges{change}"]]
    plain = Format.CSV if format is LineageFormat.CSV else Format.TABLE
    if plain is Format.TABLE:
        rows = [{**row, "name": shown_name(row["kind"], row["name"], row.get("id", ""))} for row in rows]
    emit(rows, columns=("change", "kind", "name"), format=plain, empty=f"Nothing changed between {found['before']} and {found['after']}.")


def _as_json(focus: Node | None, shown: Shown) -> dict[str, Any]:
    """Return the lineage as a graph. `edges` have the direction of the data flow. `distance` is negative upstream."""
    return {
        "focus": focus.id if focus else None,
        "nodes": [
            {
                "id": item["id"],
                "kind": item["kind"].lower(),
                "name": item["name"],
                "distance": _distance(item),
                "members": item["members"],
                "unwritten": item["unwritten"],
            }
            for item in shown.nodes
        ],
        "edges": [{**edge, "kind": _kind(edge["src"], edge["dst"])} for edge in shown.edges],
        "truncated": shown.totals["beyond"],
        "totals": shown.totals,
        "notes": shown.notes,
    }


def _distance(item: Item) -> int:
    distance: int = item["distance"]
    return -distance if item["upstream"] else distance


def _kind(src: str, dst: str) -> str:
    ends = [end.partition(":")[0].upper() in _DATA for end in (src, dst)]
    return {(True, False): "reads", (False, True): "writes"}.get((ends[0], ends[1]), "leads")


def _rows(shown: Shown) -> Iterator[dict[str, Any]]:
    for direction in ("upstream", "downstream"):
        reached = [item for item in shown.nodes if item[direction] and not item["focus"]]
        for item in sorted(reached, key=lambda item: (item["distance"], item["name"])):
            yield {
                "direction": direction, "distance": item["distance"], "kind": item["kind"].lower(), "name": item["name"], "id": item["id"],
                "unwritten": item["unwritten"],
            }  # fmt: skip


def _dot(shown: Shown) -> Iterator[str]:
    yield "digraph lineage {"
    yield "  rankdir=LR;"
    for item in shown.nodes:
        shape = "box" if item["kind"] in _DATA else "ellipse"
        bold = ", penwidth=2" if item["focus"] else ""
        yield f"  {_quoted(item['id'])} [label={_quoted(_title(item))}, shape={shape}{bold}];"
    for edge in shown.edges:
        label = _edge_text(edge)
        yield f"  {_quoted(edge['src'])} -> {_quoted(edge['dst'])}{f' [label={_quoted(label)}]' if label else ''};"
    yield "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'


def _mermaid(shown: Shown) -> Iterator[str]:
    yield "flowchart LR"
    numbers = {item["id"]: f"n{number}" for number, item in enumerate(shown.nodes)}
    for item in shown.nodes:
        label = _title(item).replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace("\n", " ").replace("\r", " ")
        left, right = ("[", "]") if item["kind"] in _DATA else ("([", "])")
        yield f'  {numbers[item["id"]]}{left}"{label}"{right}'
    for edge in shown.edges:
        label = _edge_text(edge)
        yield f"  {numbers[edge['src']]} -->{f'|{label}|' if label else ''} {numbers[edge['dst']]}"


def _edge_text(edge: Item) -> str:
    """Return the label of a link: the number of masked nodes on it, else the number of flows that it combines."""
    if edge["via"]:
        return f"via {edge['via']}"
    return str(edge["weight"]) if edge["weight"] > 1 else ""


def _print_trees(focus: Node, shown: Shown) -> None:
    from rich.tree import Tree

    out = whole_lines()
    nodes = {item["id"]: item for item in shown.nodes}
    roots = [item["id"] for item in shown.nodes if item["focus"]]
    for root in roots:
        if nodes[root]["unwritten"]:
            note(f"{dataset_of(nodes[root]['name'])}: {UNWRITTEN}.", label="note")
    for direction in ("upstream", "downstream"):
        upstream = direction == "upstream"
        if not any(nodes[root][direction] for root in roots):
            continue  # this direction was not requested
        kept = {identifier: item for identifier, item in nodes.items() if item[direction]}
        following = _following(shown.edges, kept, upstream=upstream)
        tree = Tree(_label(focus.kind.name, focus.name, focus.id, "came from" if upstream else "went to"), guide_style="dim")
        if roots != [focus.id]:
            following[focus.id] = [root for root in roots if following.get(root)]
        _grow(tree, focus.id, kept, following, {focus.id})
        if not tree.children:
            tree.add(f"[dim]nothing that {_nothing(shown)}[/]")
        out.print(tree)


def _print_between(shown: Shown) -> None:
    """Print the nodes between two nodes, from the first one. A cycle without an entry begins at any of its nodes."""
    from rich.tree import Tree

    out = whole_lines()
    nodes = {item["id"]: item for item in shown.nodes}
    following = _following(shown.edges, nodes, upstream=False)
    entered = {far for steps in following.values() for far in steps}
    roots = [each for each in nodes if each in following and each not in entered] or [each for each in nodes if each in following][:1]
    drawn: set[str] = set()
    for root in sorted(roots, key=lambda each: nodes[each]["name"]):
        drawn.add(root)
        tree = Tree(_label(nodes[root]["kind"], nodes[root]["name"], root, ""), guide_style="dim")
        _grow(tree, root, nodes, following, drawn)
        out.print(tree)
    if not roots:
        note(f"Nothing between them {_nothing(shown)}.")


def _nothing(shown: Shown) -> str:
    masked = shown.totals["masked"]
    return f"is not hidden: the masks hide {count(masked, 'node')}" if masked else "is known"


def _following(edges: Sequence[Item], kept: Mapping[str, Item], *, upstream: bool) -> dict[str, list[str]]:
    following: dict[str, list[str]] = {}
    for edge in edges:
        near, far = (edge["dst"], edge["src"]) if upstream else (edge["src"], edge["dst"])
        if near in kept and far in kept:
            following.setdefault(near, []).append(far)
    return following


def _grow(tree: Any, parent: str, nodes: Mapping[str, Item], following: Mapping[str, Sequence[str]], shown: set[str]) -> None:
    """Add the nodes that follow `parent` to the tree, depth first. A node that is in the tree already is not expanded again."""
    stack = [(tree, parent)]
    while stack:
        branch, current = stack.pop()
        opened = []
        for identifier in sorted(following.get(current, ()), key=lambda found: nodes[found]["name"]):
            repeated = identifier in shown
            item = nodes[identifier]
            remarks = [UNWRITTEN if item["unwritten"] else "", "see above" if repeated and following.get(identifier) else ""]
            twig = branch.add(_label(item["kind"], item["name"], identifier, "; ".join(filter(None, remarks))))
            if not repeated:
                shown.add(identifier)
                opened.append((twig, identifier))
        stack += reversed(opened)


def _title(item: Item) -> str:
    name: str = item["name"]
    return (shown_name(item["kind"], name, item["id"]) if item["kind"] == NodeKind.COLUMN.name else name) + _mark(item)


def _mark(item: Item) -> str:
    """Return the mark of a dataset that only failed runs tried to write."""
    return f"  ({UNWRITTEN})" if item["unwritten"] else ""


def _label(kind: str, name: str, identifier: str, remark: str) -> Any:
    from rich.text import Text

    title = shown_name(kind, name, identifier) if kind == NodeKind.COLUMN.name else dataset_of(name) if kind in _DATA else job_of(name)
    label = Text(title, "bold" if kind in _DATA else "bold magenta")
    if kind not in {NodeKind.DATASET.name, NodeKind.JOB.name, NodeKind.PIPELINE.name} and not name.startswith(f"{kind.lower()} "):
        label.append(f"  {kind.lower()}", "dim")
    return label.append(f"  {remark}", "dim") if remark else label
