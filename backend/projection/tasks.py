"""Projects the stages and tasks of a run: those that Spark reported to the listener, and those that wrote associations.

An event names all stages of its query, a limited number of tasks, and the stages that each stage read from. The manifest of a capture has
the recorded rows: a stage contains a task attempt for each one that the driver counted. The input of a stage comes from the scans and the
stages that recorded rows before it. A task made the files in its segment of the sink. Both documents name the same nodes.

The number of tasks is limited, because a run of ten thousand tasks must not outweigh all other facts about it. A stage has the number of
its tasks, and the number of its tasks in the graph. The files of other tasks belong to the stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headwater.backend.projection.dataset_names import stated_dataset
from headwater.backend.projection.facets import given, mapping, objects, text
from headwater.backend.projection.statement import Statement
from headwater.errors import InvalidEventError
from headwater.graph.model import NodeKind, bare_name, node_id

MAX_TASKS = 200  # limit of tasks of one capture, or one event
_MAX_STAGES = 100  # limit of stages of one event
STAGES = "headwater_stages"

Place = tuple[int, int]  # a stage, and its attempt


def state_stages(statement: Statement, facets: Mapping[str, Any], run: str) -> None:
    """State the stages of an event, from its facet `headwater_stages`.

    If the run's ledger names a capture, the ids are those of the capture, because its manifest has the same stages.
    """
    capture = text(mapping(facets.get("headwater_capture")).get("capture")) or bare_name(run)
    stages = objects(mapping(facets.get(STAGES)).get("stages"))[:_MAX_STAGES]
    ids = {_place_of(stage): node_id(NodeKind.STAGE, capture, _name(_place_of(stage))) for stage in stages}
    left = MAX_TASKS
    for stage in stages:
        place = _place_of(stage)
        read = {_whole(parent) for parent in stage.get("parents") or ()}
        parents = [ids[other] for other in sorted(ids) if other[0] in read and other != place]
        about = {"stage": place[0], "attempt": place[1], "ordinal": place[0], "parents": parents}
        about |= given(**{name: stage.get(name) for name in ("tasks", "failed", "call", "error", "startedAt", "endedAt")})
        identifier = statement.contain(run, ids[place])
        statement.describe(identifier, about, name=f"stage {_name(place)}", ranks={"tasks": 1})
        shown = objects(stage.get("shown"))[:left]
        left -= len(shown)
        for task in shown:
            _state_task(statement, identifier, capture, task)


def _state_task(statement: Statement, stage: str, capture: str, task: Mapping[str, Any]) -> None:
    attempt, partition = _whole(task.get("task")), _whole(task.get("partition"))
    about = {"partition": partition, "attempt": attempt, "ordinal": partition, "try": _whole(task.get("attempt"))}
    about |= given(**{name: text(task.get(name)) for name in ("state", "startedAt", "endedAt")})
    statement.describe(statement.contain(stage, node_id(NodeKind.TASK, capture, str(attempt))), about, name=f"task {partition}")


def state_tasks(statement: Statement, manifest: Mapping[str, Any], run: str, capture: str, made: Mapping[int, Sequence[str]]) -> None:
    """State the stages and tasks. `made` maps task attempts to the files (ids of partitions) that they wrote."""
    segments = objects(manifest.get("segments"))
    tasks = _tasks(segments)
    sink = (manifest.get("sink") or {}).get("boundary")
    last = {_place(segment) for segment in segments if segment.get("boundary") == sink}
    # The tasks that made the files come first, because they are the most useful ones.
    kept = sorted(tasks, key=lambda task: (tasks[task][0] not in last, tasks[task][0], tasks[task][1]["partition"], task))[:MAX_TASKS]
    sources, before = _entries(manifest, segments)
    ids: dict[Place, str] = {}
    for place in sorted({place for place, _ in tasks.values()}):
        ids[place] = statement.contain(run, node_id(NodeKind.STAGE, capture, _name(place)))
    for place, stage in ids.items():
        inside = [task for task, (where, _) in tasks.items() if where == place]
        known = [task for task in kept if tasks[task][0] == place]
        left = sorted(file for task in inside if task not in known for file in made.get(task, ()))
        about = {
            "stage": place[0], "attempt": place[1], "ordinal": place[0], "tasks": len(inside), "shown": len(known),
            "rows": sum(tasks[task][1]["rows"] for task in inside), "bytes": sum(tasks[task][1]["bytes"] for task in inside),
            "datasets": sources.get(place, []), "after": [ids[earlier] for earlier in sorted(before.get(place, ()))], "last": place in last,
        }  # fmt: skip
        statement.describe(stage, about | ({"files": left} if left else {}), name=f"stage {_name(place)}")
    for task in kept:
        place, about = tasks[task]
        identifier = statement.contain(ids[place], node_id(NodeKind.TASK, capture, str(task)))
        files = sorted(made.get(task, ()))
        statement.describe(
            identifier, {**about, "attempt": task, "ordinal": about["partition"], "files": files}, name=f"task {about['partition']}"
        )


def _name(place: Place) -> str:
    """Return the name of a stage as in Spark's UI, with the attempt if it was not the first."""
    return str(place[0]) if not place[1] else f"{place[0]}.{place[1]}"


def _place_of(stage: Mapping[str, Any]) -> Place:
    return _whole(stage.get("stage")), _whole(stage.get("attempt"))


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise InvalidEventError(
            f"$.run.facets.{STAGES} holds {value!r}.", field=f"$.run.facets.{STAGES}", hint="Stages, tasks and attempts are whole numbers."
        )
    return value


def _place(segment: Mapping[str, Any]) -> Place:
    return int(segment["stage"]), int(segment["stage_attempt"])


def _tasks(segments: Iterable[Mapping[str, Any]]) -> dict[int, tuple[Place, dict[str, Any]]]:
    """Return the task attempts by number, each with its stage and its recorded rows at all boundaries."""
    tasks: dict[int, tuple[Place, dict[str, Any]]] = {}
    for segment in segments:
        about = tasks.setdefault(int(segment["attempt"]), (_place(segment), {"partition": segment["partition"], "rows": 0, "bytes": 0}))[1]
        about["rows"] += segment["rows"]
        about["bytes"] += segment["bytes"]
    return tasks


def _entries(manifest: Mapping[str, Any], segments: Iterable[Mapping[str, Any]]) -> tuple[dict[Place, list[str]], dict[Place, set[Place]]]:
    """Return for each stage the datasets whose records it recorded first, and the stages whose rows it recorded next."""
    plan = _Recording(manifest, segments)
    sources = [source for source in objects(manifest.get("sources")) if source.get("format") != "local"]
    names = {source.get("source"): stated_dataset(source, "$.sources") for source in sources}
    scans = [operator for operator in plan.operators if operator.get("source") in names]
    datasets: dict[Place, set[str]] = {}
    for scan in scans:
        name = names[scan["source"]]
        for place in plan.after(scan["id"]):
            datasets.setdefault(place, set()).add(node_id(NodeKind.DATASET, *name))
    before: dict[Place, set[Place]] = {}
    for operator, places in plan.recorded():
        for place in plan.after(operator):
            before.setdefault(place, set()).update(places - {place})
    return {place: sorted(found) for place, found in datasets.items()}, before


class _Recording:
    """The operators of a plan that recorded rows, and their stages."""

    def __init__(self, manifest: Mapping[str, Any], segments: Iterable[Mapping[str, Any]]) -> None:
        self.operators = objects(manifest.get("operators"))
        where: dict[int, set[Place]] = {}
        for segment in segments:
            where.setdefault(segment["boundary"], set()).add(_place(segment))
        self._at: dict[
            int, list[tuple[set[Place], bool]]
        ] = {}  # by operator: the stages, and whether only the operator's last input goes there
        for boundary in objects(manifest.get("boundaries")):
            if boundary["boundary"] in where:
                self._at.setdefault(boundary["operator"], []).append((where[boundary["boundary"]], boundary["kind"] == "match"))
        self._above: dict[int, list[tuple[int, bool]]] = {}
        for operator in self.operators:
            inputs = [*(operator.get("children") or ()), *(operator.get("subqueries") or ())]
            for child in inputs:
                self._above.setdefault(child, []).append((operator["id"], child == inputs[-1]))

    def recorded(self) -> Iterator[tuple[int, set[Place]]]:
        yield from ((operator, places) for operator, boundaries in self._at.items() for places, _ in boundaries)

    def after(self, operator: int) -> set[Place]:
        """Return the stages that recorded the rows of an operator next, downstream of it."""
        found: set[Place] = set()
        seen: set[int] = set()
        waiting = [operator]
        while waiting:
            for upper, is_last in self._above.get(waiting.pop(), ()):
                if upper not in seen:
                    seen.add(upper)
                    here = [places for places, matched in self._at.get(upper, ()) if is_last or not matched]
                    found.update(*here)
                    waiting += [] if here else [upper]
        return found
