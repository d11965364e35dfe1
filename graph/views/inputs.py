"""Adds inputs of runs that are known by dataset only, because no capture lists the files.

The version of such an input follows from the start time of the run (`graph/dataflow/versions.py`), and the lineage of that version is
followed in turn. An input without a known version is shown as the dataset. The answer states the numbers of both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.graph.dataflow.versions import versions_read
from headwater.graph.model import EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.stores.write_times import with_ends
from headwater.graph.views.atoms import Atoms, Reach
from headwater.graph.views.levels import kind_of
from headwater.graph.views.request import DATA, ViewRequest

Grow = Callable[[Sequence[str]], Awaitable[Atoms]]  # loads the nodes upstream of versions

_INPUT = "input:"


@dataclass(frozen=True, slots=True)
class _Input:
    """An input of a run: its dataset, and the version that the event states."""

    run: Node
    dataset: str
    version: Mapping[str, Any] | None


async def add_inputs(graph: GraphStore, tenant: str, request: ViewRequest, atoms: Atoms, grow: Grow | None) -> None:
    """Add inputs of runs without a version or file, within the requested depth. `grow` is None if nothing upstream is requested."""
    numbers = {identifier: number for number, identifier in enumerate(atoms.ids)}
    seen: set[str] = set()
    inferred = unknown = 0
    while fresh := [each for each in _runs_within(request, atoms) if each not in seen]:
        seen.update(fresh)
        inputs = _inputs_without_files(atoms, await graph.get(tenant, fresh))
        versions = await _versions(graph, tenant, {read.dataset for read in inputs})
        new: set[str] = set()
        for read in inputs:
            found = _read(read, versions.get(read.dataset, ()))
            inferred, unknown = inferred + bool(found), unknown + (not found)
            for source in found or [read.dataset]:
                if source not in numbers:
                    new |= {source} & set(found)
                    numbers[source] = len(atoms.ids)
                    atoms.ids.append(source)
                atoms.edges.append((numbers[source], numbers[read.run.id]))
        if new and grow:
            _merge(atoms, numbers, await grow(sorted(new)))
    if inferred:
        atoms.notes.append(f"Which version {inferred:,} inputs of runs were is inferred from when the runs began.")
    if unknown:
        atoms.notes.append(f"Of {unknown:,} inputs of runs no version is known: they are shown as datasets, without what they came from.")


def _runs_within(request: ViewRequest, atoms: Atoms) -> list[str]:
    reached = Reach.of(atoms, request.direction, request.depth).distance()
    return [atoms.ids[atom] for atom in sorted(reached) if kind_of(atoms.ids[atom]) is NodeKind.RUN]


def _inputs_without_files(atoms: Atoms, runs: Iterable[Node]) -> list[_Input]:
    by_run: dict[str, set[str]] = {}  # by run: the datasets of which it read files or versions
    for src, dst in atoms.edges:
        if kind_of(atoms.ids[src]) in DATA:
            by_run.setdefault(atoms.ids[dst], set()).update(_datasets(atoms, atoms.ids[src]))
    found: list[_Input] = []
    for run in runs:
        for name, about in run.properties.items():
            dataset = name.removeprefix(_INPUT)
            if name.startswith(f"{_INPUT}{NodeKind.DATASET}:") and dataset not in by_run.get(run.id, ()):
                version = about.get("version") if isinstance(about, Mapping) else None
                found.append(_Input(run, dataset, version if isinstance(version, Mapping) else None))
    return found


def _read(read: _Input, versions: Iterable[Node]) -> list[str]:
    """Return the versions that a run read, without versions that the run itself wrote."""
    own = read.run.id.partition(":")[2]
    began = read.run.properties.get("startedAt") or read.run.properties.get("endedAt")
    return versions_read([version for version in versions if parse_id(version.id)[1][-1] != own], began=began, stated=read.version)


async def _versions(graph: GraphStore, tenant: str, datasets: set[str]) -> dict[str, list[Node]]:
    inside = await graph.neighbours(tenant, sorted(datasets), direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS]) if datasets else []
    found: dict[str, list[Node]] = {}
    versions = await graph.get(tenant, [edge.dst for edge in inside if kind_of(edge.dst) is NodeKind.VERSION])
    for version in await with_ends(graph, tenant, versions):
        found.setdefault(_dataset_of(version.id), []).append(version)
    return found


def _merge(atoms: Atoms, numbers: dict[str, int], more: Atoms) -> None:
    for identifier in more.ids:
        if identifier not in numbers:
            numbers[identifier] = len(atoms.ids)
            atoms.ids.append(identifier)
    known = set(atoms.edges)
    steps = [(numbers[more.ids[src]], numbers[more.ids[dst]]) for src, dst in more.edges]
    atoms.edges += [step for step in steps if step not in known]
    atoms.parents = {**atoms.parents, **more.parents}
    atoms.beyond = max(atoms.beyond, more.beyond)


def _dataset_of(version: str) -> str:
    return node_id(NodeKind.DATASET, *parse_id(version)[1][:2])


def _datasets(atoms: Atoms, identifier: str) -> set[str]:
    if kind_of(identifier) is NodeKind.VERSION:
        return {_dataset_of(identifier)}
    found: set[str] = set()
    for parent in atoms.parents.get(identifier, ()):
        found |= {parent} if kind_of(parent) is NodeKind.DATASET else _datasets(atoms, parent)
    return found
