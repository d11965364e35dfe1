"""Finds datasets for which a recapture may succeed, to propose it.

A proposal uses the graph and the registered program. The command line also examines the inputs on the disk, because its user owns
them. A service does not touch files that an event names.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headwater.backend.rerun.recapture.original_run import OriginalRun, job_of, last_writer
from headwater.backend.rerun.replay.invocations import Upstream
from headwater.errors import HeadwaterError
from headwater.graph.ledger import ledger_of
from headwater.graph.model import Node, NodeKind, node_id, parse_id
from headwater.spark_listener.second_run import OF_FILES, are_older, is_by_mode

if TYPE_CHECKING:
    from headwater.graph.prov import GraphReader
    from headwater.spark_listener.registry import Registry

_PROPOSED = 3
_LOOKED_AT = 50  # limit of examined datasets
_INPUT = "input:"  # a run has a property with this prefix for each dataset that it read


async def recapturable(
    graph: GraphReader, tenant: str, datasets: Iterable[str], registry: Registry, *, looks_at_files: bool = False
) -> list[str]:
    """Return up to three local datasets for which a second run of their registered program may find record lineage."""
    found: list[str] = []
    for dataset in [dataset for dataset in dict.fromkeys(datasets) if parse_id(dataset)[1][0] == "file"][:_LOOKED_AT]:
        if len(found) == _PROPOSED:
            break
        try:
            run = await last_writer(graph, tenant, dataset)
            job = await job_of(graph, tenant, run.application)
            if job is None:
                continue
            Upstream([], {run.application: job}, {}).invocation(run.application, registry)
            if await _may_succeed(graph, tenant, run, looks_at_files=looks_at_files):
                found.append(dataset)
        except (HeadwaterError, OSError):
            continue  # a failed check only removes a proposal
    return found


async def _may_succeed(graph: GraphReader, tenant: str, run: OriginalRun, *, looks_at_files: bool) -> bool:
    nodes = {node.id: node for node in await graph.get(tenant, [run.run, node_id(NodeKind.JOB, *run.job), run.dataset])}
    job, wrote, output = nodes.get(node_id(NodeKind.JOB, *run.job)), nodes.get(run.run), nodes.get(run.dataset)
    if job is None or wrote is None or output is None or _is_stream(job) or not _is_of_files(output) or not _is_for_a_second_run(wrote):
        return False
    inputs = [name.removeprefix(_INPUT) for name in wrote.properties if name.startswith(_INPUT)]
    known = await graph.get(tenant, inputs)
    if len(known) < len(inputs) or not all(_is_of_files(dataset) for dataset in known):
        return False
    return not looks_at_files or await _are_as_they_were(graph, tenant, run, known)


def _is_stream(job: Node) -> bool:
    return _mapping(job.properties.get("jobType")).get("processingType") == "STREAMING"


def _is_of_files(dataset: Node) -> bool:
    kind = _mapping(dataset.properties.get("storage")).get("fileFormat")
    return parse_id(dataset.id)[1][0] == "file" and (kind is None or kind in OF_FILES)


def _is_for_a_second_run(run: Node) -> bool:
    """Whether the run recorded nothing only because of its capture mode. Unsupported operators would be refused again."""
    return all(is_by_mode(problem.operator, problem.reason) for problem in ledger_of(run.properties).problems if problem.kind == "refused")


async def _are_as_they_were(graph: GraphReader, tenant: str, run: OriginalRun, inputs: Iterable[Node]) -> bool:
    """Whether the output exists, and each input is older than the application or was written by it."""
    if not await asyncio.to_thread(os.path.exists, _path(run.dataset)):
        return False
    for dataset in inputs:
        is_older = await asyncio.to_thread(are_older, [_path(dataset.id)], run.began_ms)
        if not is_older and not await _is_own(graph, tenant, run, dataset.id):
            return False
    return True


async def _is_own(graph: GraphReader, tenant: str, run: OriginalRun, dataset: str) -> bool:
    try:
        return (await last_writer(graph, tenant, dataset)).application == run.application
    except HeadwaterError:
        return False


def _path(dataset: str) -> str:
    return parse_id(dataset)[1][1]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
