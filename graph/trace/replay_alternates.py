"""Alternates: data that a committed replay made for itself in place of a dataset, and did not commit.

In a pipeline raw → clean → out, a replay can commit `out` alone. Its `out` was then made from an alternate of `clean`, which has a name of
its own. A trace from `out` to `clean` ends at the records of the alternate, and says so. A trace from the records of `clean` does not
reach such an `out`, and says that instead of an empty answer that looks exact.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace

from headwater.graph.associations.references import ALTERNATE
from headwater.graph.model import parse_id
from headwater.graph.records.dataset_index import KnownDataset
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.datasets import Dataset
from headwater.graph.trace.file_checks import read_content
from headwater.graph.trace.links import list_datasets
from headwater.graph.trace.replayed_ends import find_discarded
from headwater.graph.trace.session import Capture, Session


async def find_targets(session: Session, target: Dataset | None, *, forward: bool) -> list[Dataset]:
    """Return the datasets at which a trace to `target` ends: `target`, and in a trace upstream its alternates."""
    if target is None:
        return []
    if forward:
        return [target]
    alternates = await asyncio.to_thread(_find_alternates, session, target.id)
    return [target, *(replace(target, id=alternate.id, name=alternate.name, path=alternate.path) for alternate in alternates)]


def report_reached_alternates(session: Session, targets: Sequence[Dataset], tables: Sequence[str]) -> None:
    """Report the alternates of a target whose records are in tables `origin, file, row`."""
    names = {target.id: target.name for target in targets[1:]}
    reached = {session.files[number].dataset for number in session.list_files_of(tables)} if names and tables else set()
    for dataset in sorted(reached & names.keys()):
        replay = names[dataset].rpartition(ALTERNATE)[2]
        reason = f"the replay {replay} read its own version of it, which it did not commit; its records are those of {names[dataset]}"
        session.report(targets[0].name, reason, "version")


async def report_missed_alternates(
    session: Session, graph: GraphStore | None, dataset: Dataset, goal_datasets: Collection[str] | None
) -> None:
    """Report that a forward trace from `dataset` misses data that replays made from alternates of it."""
    for alternate in await asyncio.to_thread(_find_alternates, session, dataset.id):
        outputs = await asyncio.to_thread(_find_outputs, session, alternate.id)
        discarded = {capture.id for capture in await find_discarded(session, graph, outputs)}
        for capture in outputs:
            output = list_datasets(capture)[0]
            if output is None or capture.id in discarded or (goal_datasets is not None and output not in goal_datasets):
                continue
            if not await asyncio.to_thread(_is_current, session, capture, output):
                continue
            name, replay = parse_id(output)[1][1], alternate.name.rpartition(ALTERNATE)[2]
            reason = (
                f"the replay {replay} made {name} from its own version of it, {alternate.name}, so which of its records "
                f"went there is not known; trace {name} with --to {dataset.name}, or trace the sources of the replay"
            )
            session.report(dataset.name, reason, "missing")


def is_alternate(session: Session, dataset: str) -> bool:
    """Return whether only replays wrote a dataset, in place of another one, and none of them committed it."""
    if ALTERNATE not in parse_id(dataset)[1][-1]:
        return False
    writers = _find_captures(session, dataset, "sink")
    return bool(writers) and all(map(_is_uncommitted, writers))


def _find_alternates(session: Session, dataset: str) -> list[KnownDataset]:
    _, (namespace, name) = parse_id(dataset)
    known = session.store.catalog.datasets.starting(session.tenant, namespace, f"{name}{ALTERNATE}")
    return [alternate for alternate in known if any(_is_uncommitted(writer) for writer in _find_captures(session, alternate.id, "sink"))]


def _is_uncommitted(capture: Capture) -> bool:
    return capture.manifest.sink is not None and capture.manifest.sink.extra.get("uncommitted") is True


def _find_outputs(session: Session, alternate: str) -> list[Capture]:
    """Return the captures of a replay that wrote committed outputs from an alternate, directly or through other alternates."""
    outputs: dict[str, Capture] = {}
    queue, visited = [alternate], {alternate}
    while queue:
        for reader in _find_captures(session, queue.pop(), "source"):
            output = list_datasets(reader)[0]
            if output is None:
                continue
            if not _is_uncommitted(reader):
                outputs[reader.id] = reader
            elif output not in visited:
                visited.add(output)
                queue.append(output)
    return list(outputs.values())


def _find_captures(session: Session, dataset: str, role: str) -> list[Capture]:
    return [session.get_capture(capture) for capture in session.store.catalog.datasets.captures(session.tenant, dataset, role)]


def _is_current(session: Session, capture: Capture, output: str) -> bool:
    """Return whether files that a capture wrote are in its dataset, or whether that is not known."""
    content = read_content(session, output)
    if content is None or content.problem is not None:
        return True
    return any(session.get_written_file(capture, place).number in content.files for place in range(len(capture.files)))
