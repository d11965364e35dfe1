"""Replaces runs by their stages and tasks. Data enters a stage, goes through its tasks, and leaves with the files that each task wrote.

Rows are shuffled between stages, and only traces of records know which task of the later stage received which row. So a stage is shown
between the tasks of the stage before and its own. If stages recorded anything, data goes through these stages. In a run that recorded
nothing, data goes the way that Spark shuffled it, from the run itself, because the stage that read a dataset is unknown. A run without
known stages stays as it is. It also stays for an input that no stage is known to have recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headwater.graph.model import EdgeKind, Node, NodeKind
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.views.atoms import Atoms
from headwater.graph.views.levels import Zoom, kind_of
from headwater.graph.views.operators import level_of
from headwater.graph.views.request import ViewRequest

OPENED = frozenset({NodeKind.STAGE, NodeKind.TASK})
_SHOWN = "Of {tasks:,} tasks {shown:,} are known one by one; what the others wrote is shown with their stages."


async def open_stages(graph: GraphStore, tenant: str, request: ViewRequest, atoms: Atoms) -> None:
    """Replace each run that is shown by its stages and tasks."""
    zoom = Zoom(request, atoms.parents)
    runs = [each for each in atoms.ids if kind_of(each) is NodeKind.RUN and level_of(request, zoom, each) in OPENED]
    stages = await _inside(graph, tenant, runs, NodeKind.STAGE)
    tasks = await _inside(graph, tenant, [stage.id for found in stages.values() for stage in found], NodeKind.TASK)
    numbers = {identifier: number for number, identifier in enumerate(atoms.ids)}
    opened = {numbers[run]: _Run(atoms, zoom, numbers[run], found, tasks) for run, found in stages.items()}
    atoms.edges = [step for src, dst in atoms.edges for step in _through(opened, src, dst)]
    for run in opened.values():
        atoms.edges += run.steps()
    atoms.focus += [number for run in atoms.focus if run in opened for number in opened[run].all()]
    parents = {stage.id: [run] for run, found in stages.items() for stage in found}
    parents |= {task.id: [stage] for stage, found in tasks.items() for task in found}
    atoms.parents = {**atoms.parents, **parents}
    counts = {
        "tasks": sum(stage.properties.get("tasks", 0) for found in stages.values() for stage in found),
        "shown": sum(not _failed(task) for found in tasks.values() for task in found),
    }
    if counts["shown"] < counts["tasks"]:
        atoms.notes.append(_SHOWN.format(**counts))


async def _inside(graph: GraphStore, tenant: str, containers: Sequence[str], kind: NodeKind) -> dict[str, list[Node]]:
    edges = await graph.neighbours(tenant, containers, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS]) if containers else []
    parents = {edge.dst: edge.src for edge in edges if kind_of(edge.dst) is kind}
    found: dict[str, list[Node]] = {}
    for node in await graph.get(tenant, sorted(parents)):
        found.setdefault(parents[node.id], []).append(node)
    return found


def _failed(task: Node) -> bool:
    return bool(task.properties.get("state", "COMPLETE") != "COMPLETE")


def _by_parents(stages: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the stages of a run without records in the order of their shuffles: each after the stages whose output it read.

    Output of other stages that went to the driver (for example a broadcast) goes from there to the last stage, which writes.
    """
    read = {parent for about in stages.values() for parent in about.get("parents") or ()}
    last = max((each for each in stages if each not in read), key=lambda each: (stages[each].get("ordinal", 0), each), default=None)
    found = {each: {**about, "after": list(about.get("parents") or ()), "last": each == last} for each, about in stages.items()}
    if last is not None:
        found[last]["after"] += [each for each in stages if each not in read and each != last]
    return found


def _through(opened: Mapping[int, _Run], src: int, dst: int) -> Iterator[tuple[int, int]]:
    """Return a flow into a run as flows into its stages, and a flow out of a run as flows out of its tasks."""
    if dst in opened:
        yield from opened[dst].entering(src)
    elif src in opened:
        yield from opened[src].leaving(dst)
    else:
        yield src, dst


class _Run:
    """The stages and tasks of one run, as atoms."""

    def __init__(self, atoms: Atoms, zoom: Zoom, run: int, stages: Iterable[Node], tasks: Mapping[str, Sequence[Node]]) -> None:
        self._atoms = atoms
        self._zoom = zoom
        self._run = run
        self._tasks: dict[int, list[int]] = {}
        self._makers: dict[str, int] = {}
        properties: dict[str, Mapping[str, Any]] = {}
        for stage in stages:
            number = self._number(stage)
            properties[stage.id] = stage.properties
            self._tasks[number] = [self._number(task) for task in tasks.get(stage.id, ()) if not _failed(task)]
        self._stages = {atoms.ids[number]: number for number in self._tasks}
        recorded = {stage: about for stage, about in properties.items() if "last" in about}
        # The stages through which data goes.
        self._facts = {self._stages[stage]: about for stage, about in (recorded or _by_parents(properties)).items()}
        self._recorded = bool(recorded)

    def entering(self, data: int) -> list[tuple[int, int]]:
        """Return flows from data that the run read to the stages that recorded it."""
        containers = set(self._zoom.chain(self._atoms.ids[data]))
        found = [stage for stage, about in self._facts.items() if not containers.isdisjoint(about.get("datasets") or ())]
        first = self._last() if self._recorded else [stage for stage, about in self._facts.items() if not about.get("parents")]
        return [(data, stage) for stage in found] or [(data, self._run), *((self._run, stage) for stage in first)]

    def leaving(self, data: int) -> list[tuple[int, int]]:
        """Return flows to data that the run wrote, from the task that wrote it or from the last stage."""
        maker = self._makers.get(self._atoms.ids[data])
        if maker is not None:
            return [(maker, data)]
        makers = self._last() if self._recorded else [each for stage in self._last() for each in self._beyond(stage)]
        return [(each, data) for each in makers]

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield flows from each stage to its tasks, and from these tasks to the following stages."""
        for stage, about in self._facts.items():
            yield from ((stage, task) for task in self._tasks[stage])
            for before in about.get("after") or ():
                earlier = self._stages.get(before)
                if earlier not in self._facts:
                    continue
                yield from ((each, stage) for each in self._beyond(earlier))

    def all(self) -> Iterator[int]:
        for stage, tasks in self._tasks.items():
            yield stage
            yield from tasks

    def _beyond(self, stage: int) -> list[int]:
        """Return the nodes through which data leaves a stage: its tasks, and the stage itself for unknown tasks."""
        tasks = self._tasks[stage]
        return tasks if len(tasks) >= self._facts[stage].get("tasks", 0) and tasks else [*tasks, stage]

    def _last(self) -> list[int]:
        return [stage for stage, about in self._facts.items() if about.get("last")] or list(self._facts)

    def _number(self, node: Node) -> int:
        number = len(self._atoms.ids)
        self._atoms.ids.append(node.id)
        self._makers |= dict.fromkeys(node.properties.get("files") or (), number)
        return number
