"""The steps of a recapture: find the program, run it in a shadow, compare the files, rewrite its captures, and keep them.

If a step fails, the home stays unchanged. The shadow is always removed.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headwater.backend.delivery import LogDelivery
from headwater.backend.recapture.inputs import check_inputs
from headwater.backend.recapture.original import OriginalRun, job_of, last_writer
from headwater.backend.recapture.pairs import DiffersError, Pair, paired
from headwater.backend.recapture.places import place_in, sweep
from headwater.backend.recapture.prospects import recapturable
from headwater.backend.recapture.rewriting import Rewriting
from headwater.backend.recapture.spooled import Captured, captured_in
from headwater.backend.replay.invocations import Upstream, check
from headwater.backend.replay.model import Invocation
from headwater.backend.replay.runner import ReplayFailedError, run_program, story
from headwater.backend.replay.waiting import in_thread_left_behind
from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.model import NodeKind, bare_name, node_id, parse_id
from headwater.graph.records import AssociationStore
from headwater.graph.stores import GraphStore
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.replay import ReplayOrder

_SLACK_MS = 2_000  # some file systems keep times in steps of one or two seconds
_ACTIVE = "Run it again with `headwater run --mode active`."


@dataclass(frozen=True, slots=True)
class Plan:
    """The program to run for the lineage of a dataset, and the run that gets the lineage."""

    output: str
    run: OriginalRun
    invocation: Invocation


@dataclass(frozen=True, slots=True)
class Recaptured:
    """The result of a recapture: ids of datasets whose record lineage is now kept, and the number of compared files.

    `left` maps other datasets of the program to the reason why their lineage is not kept.
    """

    outputs: Sequence[str]
    files: int
    left: Mapping[str, str]


class Recaptures:
    """The recaptures of one home. `folder` contains the shadows, and `delivery` accepts the captures."""

    def __init__(self, folder: Path, graph: GraphStore, registry: Registry, records: AssociationStore, delivery: LogDelivery) -> None:
        self._folder = folder
        self._graph = graph
        self._registry = registry
        self._records = records
        self._delivery = delivery

    async def plan(self, tenant: str, output: str) -> Plan:
        """Return the plan for a dataset, by its node id.

        Raises:
            NotFoundError: no known run wrote the dataset.
            InvalidQueryError: its record lineage is kept already.
            UnsupportedError: its program is not registered or changed since, or its files cannot be compared.
        """
        namespace, name = parse_id(output)[1]
        if namespace != "file":
            raise UnsupportedError(
                f"{name} ({namespace}) lies on no local disk, where its files could be compared byte by byte.", hint=_ACTIVE
            )
        await asyncio.to_thread(sweep, self._folder)
        run = await last_writer(self._graph, tenant, output)
        if await self.is_kept(tenant, output):
            raise InvalidQueryError(f"The record lineage of {name} is kept already.", hint="`headwater trace` answers from it.")
        job = await job_of(self._graph, tenant, run.application)
        if job is None:
            raise UnsupportedError(f"Which job run {bare_name(run.application)} was of is not known.")
        return Plan(output, run, Upstream([], {run.application: job}, {}).invocation(run.application, self._registry))

    async def possible(self, tenant: str, datasets: Iterable[str]) -> list[str]:
        """Those of some datasets, up to three, of which a second run of their registered program may find the records."""
        return await recapturable(self._graph, tenant, datasets, self._registry)

    async def is_kept(self, tenant: str, output: str) -> bool:
        """Whether the record lineage of all files of a dataset on a local disk is kept.

        Raises:
            NotFoundError: the dataset has no file.
        """
        name = parse_id(output)[1][1]
        listed = await asyncio.to_thread(self._records.sources.look().listed, name)
        if not listed:
            raise NotFoundError(f"{name} holds no file of data any more, so nothing can be compared.")
        written = await asyncio.to_thread(self._records.catalog.writers, tenant, listed)
        return all(block in written for block in listed)

    async def run(self, tenant: str, plan: Plan) -> Recaptured:
        """Run the program, compare its files, and keep its associations.

        Raises:
            DiffersError: the second run wrote other bytes, or an input changed.
            ReplayFailedError: the program failed.
            UnsupportedError: the output cannot be compared, or its records could not be captured.
        """
        with place_in(self._folder) as (place, holding):
            log, shadow = place / "program.log", place / "data"
            done = [place]
            try:
                await in_thread_left_behind(_run, plan.invocation, place, shadow, log, holding)
                return await self._keep(tenant, plan, place / "home", shadow)
            except ReplayFailedError:
                done = [place / "home", shadow]  # the message names the log
                raise
            except asyncio.CancelledError:
                done = []  # the program still runs and may write there; the next sweep removes the folder
                raise
            finally:
                for folder in done:
                    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _keep(self, tenant: str, plan: Plan, home: Path, shadow: Path) -> Recaptured:
        sources = self._records.sources
        pairs = await asyncio.to_thread(paired, shadow, sources)
        rewriting = Rewriting(shadow, pairs)
        with captured_in(home / "spool") as captures:
            chosen, left = await self._chosen(tenant, plan, captures, rewriting)
            manifests = [(capture, await asyncio.to_thread(_rewritten, capture, rewriting, run)) for capture, run in chosen]
            for capture, run in chosen:
                _check_run(capture, run, rewriting)
            await asyncio.to_thread(_check_all, pairs)
            for capture, manifest in manifests:
                await asyncio.to_thread(self._delivery.send, replace(capture.item, body=manifest), capture.folder)
        return Recaptured([run.dataset for _, run in chosen], len(pairs), left)

    async def _chosen(
        self, tenant: str, plan: Plan, captures: Sequence[Captured], rewriting: Rewriting
    ) -> tuple[list[tuple[Captured, OriginalRun]], dict[str, str]]:
        """Return the captures to keep, each with its run, and the reasons for the others.

        Raises:
            UnsupportedError: no capture belongs to the requested dataset.
        """
        left: dict[str, str] = {}
        found: dict[str, list[tuple[Captured, OriginalRun]]] = {}
        for capture in captures:
            named = rewriting.dataset(capture.manifest["sink"]["dataset"]) if capture.manifest.get("sink") else None
            if named is None:
                continue
            dataset = node_id(NodeKind.DATASET, *named)
            if capture.manifest["status"] != "complete":
                left[dataset] = _problems(capture.manifest)
                continue
            try:
                run = await last_writer(self._graph, tenant, dataset)
            except NotFoundError as error:
                left[dataset] = error.message
                continue
            if run.application != plan.run.application:
                left[dataset] = "another run wrote it last"
            else:
                found.setdefault(dataset, []).append((capture, run))
        for dataset in [dataset for dataset, several in found.items() if len(several) > 1]:
            left[dataset] = "the program writes it more than once"
            del found[dataset]
        chosen = [one for several in found.values() for one in several if not await self._is_kept(tenant, one[0], rewriting)]
        if plan.output not in {run.dataset for _, run in chosen}:
            reason = left.get(plan.output, "the second run recorded nothing of it")
            raise UnsupportedError(f"The records of {parse_id(plan.output)[1][1]} could not be captured: {reason}.")
        return chosen, left

    async def _is_kept(self, tenant: str, capture: Captured, rewriting: Rewriting) -> bool:
        """Whether the first run's own capture of these files is kept."""
        pairs = [rewriting.pair(file) for file in capture.files]
        blocks = [await asyncio.to_thread(self._records.sources.look().block, pair.named) for pair in pairs]
        written = await asyncio.to_thread(self._records.catalog.writers, tenant, blocks)
        return bool(blocks) and all(block in written for block in blocks)


def _run(invocation: Invocation, place: Path, shadow: Path, log: Path, holding: int) -> None:
    check(invocation)
    order = place / "order.json"
    ReplayOrder(replay=place.name, shadow=str(shadow), exclude={}, script_sha256=invocation.script_sha256, captures=True).save(order)
    ours = {"HEADWATER_HOME": str(place / "home"), "HEADWATER_MODE": "active", "HEADWATER_RDD_RECORDS": "true"}
    if code := run_program(invocation, order, log, capturing=ours, holding=[holding]):
        raise ReplayFailedError(story(invocation, code, log), hint=f"Nothing was kept. The whole log is {log}.")


def _rewritten(capture: Captured, rewriting: Rewriting, run: OriginalRun) -> dict[str, Any]:
    return rewriting.manifest(capture.manifest, capture.footers, run)


def _check_run(capture: Captured, run: OriginalRun, rewriting: Rewriting) -> None:
    """Check that a run wrote the current files, and that its inputs are unchanged.

    Raises:
        DiffersError: a file was written at another time, or an input changed.
        UnsupportedError: changes of an input cannot be detected.
    """
    for file in capture.files:
        pair = rewriting.pair(file)
        if not run.began_ms - _SLACK_MS <= pair.now.modified <= run.ended_ms + _SLACK_MS:
            raise DiffersError(pair.named, f"was not written while run {run.run_id} ran ({run.began} to {run.ended})")
    sources = [
        {**source, "files": [file for file in source.get("files") or () if not rewriting.is_shadow(file["path"])]}
        for source in capture.manifest["sources"]
    ]
    check_inputs(sources, run.began_ms)


def _check_all(pairs: Sequence[Pair]) -> None:
    for pair in pairs:
        pair.check()


def _problems(manifest: Mapping[str, Any]) -> str:
    found = [f"{problem['operator']}: {problem['reason']}" for problem in manifest["problems"]]
    return "; ".join(found[:3]) or str(manifest["status"])
