"""A trace that begins with all records that a task, a stage, a run or an actor wrote in a period.

The graph lists the files that the actor wrote. The trace begins with the records of each dataset among these files, and the answers are
merged into one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from headwater.backend.cli.answers import Answers
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import EdgeKind, Node, NodeKind
from headwater.graph.stores import Direction
from headwater.graph.stores.containment import children
from headwater.graph.trace import TraceAnswer, TraceRequest

_INSIDE = {
    NodeKind.ACTOR: [NodeKind.ACTOR, NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.JOB],
    NodeKind.SYSTEM: [NodeKind.ACTOR, NodeKind.PIPELINE, NodeKind.JOB],
    NodeKind.PIPELINE: [NodeKind.PIPELINE, NodeKind.JOB],
    NodeKind.JOB: [NodeKind.RUN],
    NodeKind.STAGE: [NodeKind.TASK],
}
_Item = TypeVar("_Item")
_ENDS = frozenset({NodeKind.RUN, NodeKind.TASK})
_KINDS = frozenset({*_INSIDE, *_ENDS})
_MOST_RUNS = 1_000
_MOST_ROWS = 100_000
_MOST_FILES = 10_000


def begins_at_actor(target: str) -> bool:
    """Whether a trace begins with everything that a task, a stage, a run or an actor wrote."""
    return target.partition(":")[0] in _KINDS


async def trace_handled(answers: Answers, request: TraceRequest, since: str | None, until: str | None) -> TraceAnswer:
    """Trace all records that the actor wrote in runs between `since` and `until`.

    Raises:
        NotFoundError: the actor is unknown, or no file is known that it wrote in that time.
        InvalidQueryError: the actor wrote too much.
    """
    found = await answers.graph.get(answers.tenant, [request.dataset])
    if not found:
        raise NotFoundError(f"Nothing is known of {request.dataset}.", hint="`headwater lineage` lists jobs and runs with -f json.")
    records: dict[tuple[str, str | None], list[tuple[str, int]]] = {}
    for end in await _ends(answers, found[0], since, until):
        for dataset, path, rows in await _written(answers, end):
            listed = records.setdefault((dataset, await _run_of(answers, end)), [])
            listed += [(path, row) for row in range(rows)]
            if sum(map(len, records.values())) > _MOST_ROWS:
                raise InvalidQueryError(
                    f"{request.dataset} wrote more than {_MOST_ROWS:,} records in that time.", field="target",
                    hint="Name a task or a run of it, or a shorter time.",
                )  # fmt: skip
    if not records:
        when = " in that time" if since or until else ""
        raise NotFoundError(f"No file is known that {request.dataset} wrote{when}.", hint="Only files have records that are listed.")
    parts = [
        await answers.trace(replace(request, dataset=dataset, rows=rows, as_of=run)) for (dataset, run), rows in sorted(records.items())
    ]
    return _merged(parts, request.limit)


async def _ends(answers: Answers, actor: Node, since: str | None, until: str | None) -> list[Node]:
    found: list[Node] = []
    waiting = [actor]
    while waiting:
        node = waiting.pop(0)
        if node.kind in _ENDS:
            if is_within(node, since, until):
                found.append(node)
            if len(found) > _MOST_RUNS:
                raise InvalidQueryError(f"{actor.id} has more than {_MOST_RUNS:,} runs in that time.", hint="Name a shorter time.")
            continue
        found += [node] if node.kind is NodeKind.STAGE and is_within(node, since, until) else []
        waiting += await children(answers.graph, answers.tenant, node.id, _INSIDE[node.kind])
    return found


def is_within(node: Node, since: str | None, until: str | None) -> bool:
    """Whether a node was active between two instants. A node without times always counts."""
    began = node.properties.get("startedAt") or node.properties.get("endedAt") or node.properties.get("updatedAt")
    ended = node.properties.get("endedAt") or node.properties.get("updatedAt") or began
    return (until is None or began is None or str(began) <= until) and (since is None or ended is None or str(ended) >= since)


async def _written(answers: Answers, end: Node) -> list[tuple[str, str, int]]:
    reached = await answers.graph.reach(
        answers.tenant, [end.id], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES], depth=1, limit=_MOST_FILES
    )
    if reached.truncated:
        raise InvalidQueryError(f"{end.id} wrote more than {_MOST_FILES:,} files.", hint="Name a task of it.")
    stated = end.properties.get("files")  # only tasks, and stages whose tasks are not recorded one by one, have this property
    ids = {edge.dst for edge in reached.edges if edge.src == end.id} | {str(file) for file in stated or () if isinstance(stated, list)}
    for version in sorted(each for each in ids if each.startswith(f"{NodeKind.VERSION}:")):
        ids |= {file.id for file in await children(answers.graph, answers.tenant, version, [NodeKind.PARTITION])}
    files = sorted(each for each in ids if each.startswith(f"{NodeKind.PARTITION}:"))
    above = await answers.graph.ancestors(answers.tenant, files) if files else {}
    found: list[tuple[str, str, int]] = []
    for file in await answers.graph.get(answers.tenant, files):
        dataset = next((node.id for node in above.get(file.id, ()) if node.kind is NodeKind.DATASET), None)
        path, rows = file.properties.get("path"), file.properties.get("rows")
        if dataset is not None and isinstance(path, str) and isinstance(rows, int):
            found.append((dataset, path, rows))
    return found


async def _run_of(answers: Answers, end: Node) -> str | None:
    if end.kind is NodeKind.RUN:
        return end.id
    above = (await answers.graph.ancestors(answers.tenant, [end.id])).get(end.id, ())
    return next((node.id for node in above if node.kind is NodeKind.RUN), None)


def _merged(parts: Sequence[TraceAnswer], limit: int) -> TraceAnswer:
    records = {(one.dataset, one.file, one.row, one.grain): one for part in parts for one in part.records}
    ordered = [records[place] for place in sorted(records, key=lambda place: (place[0], place[1] or "", place[2] or -1, place[3]))]
    cut = sum(part.total - len(part.records) for part in parts)
    return replace(
        parts[0],
        exact=all(part.exact for part in parts),
        records=ordered[:limit],
        total=len(ordered) + cut,
        path=_unique(hop for part in parts for hop in part.path),
        incomplete=_unique(item for part in parts for item in part.incomplete),
        selected=[one for part in parts for one in part.selected],
        elapsed_ms=sum(part.elapsed_ms for part in parts),
        found_again=[item for part in parts for item in part.found_again],
        storage_requests=sum(part.storage_requests for part in parts),
        storage_bytes=sum(part.storage_bytes for part in parts),
        notes=_unique(text for part in parts for text in part.notes),
        as_of=parts[0].as_of if len(parts) == 1 else None,
    )


def _unique(items: Iterable[_Item]) -> list[_Item]:
    found: list[_Item] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found
