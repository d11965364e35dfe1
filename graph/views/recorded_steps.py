"""The steps of a derivation that a program recorded: reads of fields, operations on fields, and writes of fields.

The detailed lineage of a column shows them. The recorded operations are a property of their run, which any event may state. Operations in
an invalid form give no steps, and the derivation stays one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.graph.model import Edge, NodeKind, parse_id
from headwater.graph.stores.protocol import GraphStore

RECORDED = "headwater_recordedOperations"
_MOST_RUNS = 20  # latest runs of a job that are searched
_Made = tuple[str, str]  # an operation, and a field that it makes


@dataclass(frozen=True, slots=True)
class FieldStep:
    """A field that an operation made from another field. `src` and `dst` are ids of columns, or `OPERATION.FIELD` within the program."""

    operation: str
    description: str | None
    src: str
    dst: str


class RecordedSteps:
    """Finds the steps of derivations. The recordings of each job are read once."""

    def __init__(self, graph: GraphStore, tenant: str) -> None:
        self._graph, self._tenant = graph, tenant
        self._recordings: dict[str, list[list[Mapping[str, Any]]]] = {}

    async def of(self, edge: Edge, job: str) -> list[FieldStep]:
        """Return the steps with which a job made one column from another, from its latest run with recorded steps."""
        for operations in await self._of_job(job):
            try:
                steps = _steps(operations, edge)
            except (AttributeError, KeyError, TypeError, ValueError):  # another producer's form
                continue
            if steps:
                return steps
        return []

    async def _of_job(self, job: str) -> list[list[Mapping[str, Any]]]:
        if job not in self._recordings:
            runs = await self._graph.latest(self._tenant, job, NodeKind.RUN, until=None, first=_MOST_RUNS)
            stated = [run.properties.get(RECORDED) for run in runs.nodes]
            self._recordings[job] = [list(one["operations"]) for one in stated if isinstance(one, Mapping) and one.get("operations")]
        return self._recordings[job]


def _steps(operations: Sequence[Mapping[str, Any]], edge: Edge) -> list[FieldStep]:
    source, target = parse_id(edge.src)[1], parse_id(edge.dst)[1]
    reached: dict[_Made, None] = {}
    found: list[tuple[_Made, FieldStep, _Made | None]] = []  # the result of a step, the step, and its input
    end: _Made = ("", "")
    for operation in operations:
        name, about = str(operation["name"]), operation.get("description") or None
        inputs, outputs = operation["inputs"], operation["outputs"]
        if "endPoint" in inputs:
            if _is(inputs["endPoint"], source) and source[2] in outputs["fields"]:
                reached[name, source[2]] = None
                found.append(((name, source[2]), FieldStep(name, about, edge.src, f"{name}.{source[2]}"), None))
            continue
        taken = [one for field in inputs["fields"] if (one := (str(field["origin"]), str(field["name"]))) in reached]
        if "endPoint" in outputs:
            if _is(outputs["endPoint"], target):
                found += [(end, FieldStep(name, about, ".".join(one), edge.dst), one) for one in taken if one[1] == target[2]]
            continue
        for field in outputs["fields"] if taken else ():
            reached[name, str(field)] = None
            found += [((name, str(field)), FieldStep(name, about, ".".join(one), f"{name}.{field}"), one) for one in taken]
    needed, steps = {end}, list[FieldStep]()
    for given, step, taken_one in reversed(found):
        if given in needed:
            steps.append(step)
            needed |= {taken_one} if taken_one else set()
    return steps[::-1]


def _is(endpoint: Mapping[str, Any], column: Sequence[str]) -> bool:
    return (endpoint["namespace"], endpoint["name"]) == tuple(column[:2])
