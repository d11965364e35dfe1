"""The steps of a recapture: find the program, run it with a separate output folder, compare the files, rewrite and store its captures.

If a step fails, the home stays unchanged. The separate output folder (the shadow) is always removed.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headwater.backend.ingest.spool_delivery import LogDelivery
from headwater.backend.rerun.recapture.candidates import recapturable
from headwater.backend.rerun.recapture.file_pairs import DiffersError, Pair, paired
from headwater.backend.rerun.recapture.inputs import check_inputs
from headwater.backend.rerun.recapture.manifest_rewriter import Rewriting
from headwater.backend.rerun.recapture.original_run import OriginalRun, job_of, last_writer
from headwater.backend.rerun.recapture.shadow_folder import place_in, sweep
from headwater.backend.rerun.recapture.spool_captures import Captured, captured_in
from headwater.backend.rerun.replay.invocations import Upstream, check
from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.rerun.replay.process_wait import in_thread_left_behind
from headwater.backend.rerun.replay.replayed_places import place_named
from headwater.backend.rerun.replay.runner import ReplayFailedError, run_program, story
from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.model import NodeKind, bare_name, node_id, parse_id
from headwater.graph.records import AssociationStore, FileBlock
from headwater.graph.stores import GraphStore
from headwater.paths import dataset_root, within_dataset
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.replay import ReplayOrder

_SLACK_MS = 2_000  # some file systems store times in steps of one or two seconds
_ACTIVE = "Run it again with `headwater run --mode active`."


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a recapture: the dataset or its partition `within`, the program to run, and the run that gets the lineage."""

    output: str
    run: OriginalRun
    invocation: Invocation
    within: str = ""


@dataclass(frozen=True, slots=True)
class Recaptured:
    """The result of a recapture: the datasets whose record lineage is now stored, and the number of compared files.

    `left` maps other datasets or partitions that the program wrote to the reason why their lineage is not stored. `blocks` are the files
    whose record lineage was sent.
    """

    outputs: Sequence[str]
    files: int
    left: Mapping[str, str]
    blocks: Sequence[FileBlock] = ()


class Recaptures:
    """The recaptures of one home. `folder` contains the output folders, and `delivery` accepts the captures."""

    def __init__(self, folder: Path, graph: GraphStore, registry: Registry, records: AssociationStore, delivery: LogDelivery) -> None:
        self._folder = folder
        self._graph = graph
        self._registry = registry
        self._records = records
        self._delivery = delivery

    async def plan(self, tenant: str, output: str) -> Plan:
        """Plan a recapture of a dataset. `output` is the id of a dataset; for a partition, the id is made from the partition's path.

        Raises:
            NotFoundError: no known run wrote the dataset.
            InvalidQueryError: record lineage is already stored.
            UnsupportedError: the program is not registered or changed since, or the files cannot be compared.
        """
        namespace, name = parse_id(output)[1]
        if namespace != "file":
            raise UnsupportedError(
                f"{name} ({namespace}) lies on no local disk, where its files could be compared byte by byte.", hint=_ACTIVE
            )
        await asyncio.to_thread(sweep, self._folder)
        output, within = await self.target(tenant, output)
        run = await last_writer(self._graph, tenant, output, within)
        name = parse_id(_place(parse_id(output)[1], within))[1][1]
        if await self._is_whole_kept(tenant, name):
            raise InvalidQueryError(f"The record lineage of {name} is kept already.", hint="`headwater trace` answers from it.")
        job = await job_of(self._graph, tenant, run.application)
        if job is None:
            raise UnsupportedError(f"Which job run {bare_name(run.application)} was of is not known.")
        return Plan(output, run, Upstream([], {run.application: job}, {}).invocation(run.application, self._registry), within)

    async def target(self, tenant: str, output: str) -> tuple[str, str]:
        """Return the dataset that an id means, and the partition in it. The partition is empty for the whole dataset.

        A dataset with exactly this id comes first, because a Delta table may have the name of a partition.
        """
        if await self._graph.get(tenant, [output]):
            return output, ""
        root = node_id(NodeKind.DATASET, *dataset_root(*parse_id(output)[1]))
        return root, place_named(root, output)

    async def possible(self, tenant: str, datasets: Iterable[str]) -> list[str]:
        """Return up to three datasets for which a second run of their registered program may find record lineage."""
        return await recapturable(self._graph, tenant, datasets, self._registry)

    async def are_kept(self, tenant: str, blocks: Sequence[FileBlock]) -> bool:
        written = await asyncio.to_thread(self._records.catalog.writers, tenant, blocks)
        return all(block in written for block in blocks)

    async def _is_whole_kept(self, tenant: str, path: str) -> bool:
        listed = await asyncio.to_thread(self._records.sources.look().listed, path)
        if not listed:
            raise NotFoundError(f"{path} holds no file of data any more, so nothing can be compared.")
        return await self.are_kept(tenant, listed)

    async def run(self, tenant: str, plan: Plan) -> Recaptured:
        """Run the program, compare its files, and store its associations.

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
                done = [place / "home", shadow]  # the log stays, because the error message names it
                raise
            except asyncio.CancelledError:
                done = []  # the program still runs and may write to the folder; the next sweep removes it
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
            blocks = [block for capture, _ in chosen for block in await self._blocks(capture, rewriting)]
        return Recaptured(list(dict.fromkeys(run.dataset for _, run in chosen)), len(pairs), left, blocks)

    async def _chosen(
        self, tenant: str, plan: Plan, captures: Sequence[Captured], rewriting: Rewriting
    ) -> tuple[list[tuple[Captured, OriginalRun]], dict[str, str]]:
        """Return the captures to store, each with its run, and the reasons for leaving out the others.

        Raises:
            UnsupportedError: no capture belongs to the requested dataset.
        """
        left: dict[str, str] = {}
        found: dict[tuple[str, str], list[tuple[Captured, OriginalRun]]] = {}
        for capture in captures:
            sink = capture.manifest.get("sink")
            if not sink or (named := rewriting.dataset(sink["dataset"])) is None:
                continue
            within = within_dataset(str(sink["path"]), str(sink["dataset"]["namespace"]), str(sink["dataset"]["name"]))
            dataset, place = node_id(NodeKind.DATASET, *named), _place(named, within)
            if capture.manifest["status"] != "complete":
                left[place] = _problems(capture.manifest)
                continue
            try:
                run = await last_writer(self._graph, tenant, dataset, within)
            except NotFoundError as error:
                left[place] = error.message
                continue
            if run.application != plan.run.application:
                left[place] = "another run wrote it last"
            else:
                found.setdefault((dataset, place), []).append((capture, run))
        for dataset, place in [of for of, several in found.items() if len(several) > 1]:
            left[place] = "the program writes it more than once"
            del found[dataset, place]
        kept = {of: several[0] for of, several in found.items() if not await self._is_kept(tenant, several[0][0], rewriting)}
        asked = _place(parse_id(plan.output)[1], plan.within)
        if not any(dataset == plan.output and _meet(place, asked) for dataset, place in kept):
            reason = next((why for place, why in left.items() if _meet(place, asked)), "the second run recorded nothing of it")
            raise UnsupportedError(f"The records of {parse_id(asked)[1][1]} could not be captured: {reason}.")
        return list(kept.values()), left

    async def _is_kept(self, tenant: str, capture: Captured, rewriting: Rewriting) -> bool:
        blocks = await self._blocks(capture, rewriting)
        return bool(blocks) and await self.are_kept(tenant, blocks)

    async def _blocks(self, capture: Captured, rewriting: Rewriting) -> list[FileBlock]:
        look = self._records.sources.look()
        return [await asyncio.to_thread(look.block, rewriting.pair(file).named) for file in capture.files]


def _place(named: Sequence[str], within: str) -> str:
    """Return the id that a dataset at the path of a dataset's partition would have."""
    return node_id(NodeKind.DATASET, named[0], f"{named[1].rstrip('/')}/{within}" if within else named[1])


def _meet(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


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
