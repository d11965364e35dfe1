"""Plans an erasure: the chosen records, and the treatment of each dataset that derives from them. Planning changes nothing.

Every dataset downstream of the source is made again, also one without a derived record. Its lineage names files of the source that change.
Only a dataset that provably has no derived record may stay as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from headwater.backend.erasure.history import History, find_history
from headwater.backend.erasure.model import Action, DatasetPlan, ErasurePlan
from headwater.backend.erasure.source_files import plan_file
from headwater.backend.rerun.replay import Replays
from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.files.table_folders import table_kind
from headwater.graph.model import EdgeKind, Node, NodeKind, bare_name, parse_id
from headwater.graph.names import nodes_named
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.storage.addresses import is_remote
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.trace import TraceRequest
from headwater.graph.trace.answer import ReachedDataset, TraceAnswer
from headwater.graph.trace.chosen_files import ChosenRecords, choose_records
from headwater.graph.versions.blocks import list_blocks
from headwater.graph.versions.consumers import list_running
from headwater.graph.versions.holds import find_holds, list_inherited_holds
from headwater.spark_listener.registry import Registry

MOST_RECORDS = 1_000_000
NO_RECORD = "false"  # a predicate that selects no record
_SHOWN = 3
REMAINS = (
    "Backups of the data and of this home, and copies that no recorded program made.",
    "Values that programs kept in memory, logs of programs, and data that they sent elsewhere.",
    "Events and manifests in the ingest log: they have no records, but a query or a statistic in them may state a value.",
)


class Site(Protocol):
    """The workspace of a home."""

    graph: GraphStore
    records: AssociationStore
    registry: Registry

    def replays(self) -> Replays: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseRequest:
    """A request to erase the records of `dataset` that a predicate or the numbers of rows (file, 0-based row) select.

    `delete` are datasets downstream to delete as a whole, and `leave` those with which the operator deals elsewhere.
    """

    dataset: str
    where: str | None = None
    rows: Sequence[tuple[str, int]] = ()
    delete: Sequence[str] = ()
    leave: Sequence[str] = ()


async def plan_erasure(site: Site, tenant: str, request: EraseRequest) -> ErasurePlan:
    """Return the plan of an erasure. `ErasurePlan.blocks` and impossible datasets say why it could not run.

    Raises:
        InvalidQueryError: the predicate selects no record, or all records, or names something that is not there.
        NotFoundError: there is no such dataset.
        UnsupportedError: the source cannot be written again, or is not a source.
    """
    if request.where is None and not request.rows:
        raise InvalidQueryError("No record is chosen.", field="where", hint="""Say which: --where "customer_id = 42", or --row FILE:N.""")
    chosen = await choose_records(site.graph, site.records, tenant, request.dataset, request.where, request.rows)
    _check_choice(chosen, request)
    notes = await _check_source(site, tenant, chosen.dataset)
    files = await asyncio.to_thread(lambda: [plan_file(file.path, file.rows, file.records) for file in chosen.files])
    reached, lacking = await find_reached(site, tenant, chosen.dataset, chosen.aliases, request)
    blocks = [f"{name} is made from itself." for name in (chosen.dataset, *chosen.aliases) if reached.pop(name, None) is not None]
    deleted = [await _named(site, tenant, text, reached, "delete") for text in request.delete]
    left = [await _named(site, tenant, text, reached, "leave") for text in request.leave]
    if both := set(deleted) & set(left):
        raise InvalidQueryError(f"{min(both)} cannot be deleted and left.", field="leave", hint="Name it once.")
    history, kept = await _find_history(site, tenant, chosen, reached, deleted, left)
    others = [chosen.dataset, *chosen.aliases, *reached, *history.blocks]
    against = {dataset: find_reasons_against_deletion(dataset, others, site.records.sources) for dataset in deleted}
    datasets = [_plan_dataset(dataset, reached.get(dataset), history, against, left, kept) for dataset in _in_order(reached, history)]
    notes += [f"The trace of the records is not complete. {text}" for text in lacking[:_SHOWN]]
    changing = [chosen.dataset, *(one.dataset for one in datasets if one.action in (Action.RECOMPUTE, Action.DELETE))]
    blocks += await _find_holds(site, tenant, changing)
    blocks += await _find_running(site, tenant, changing)
    again = {dataset for dataset in changing if dataset in history.blocks}
    runs = [run for run in history.ordered() if run.writes & again]
    return ErasurePlan(
        source=chosen.dataset, aliases=list(chosen.aliases), columns=list(chosen.columns), records=chosen.count, files=files,
        datasets=datasets,
        applications=[run.application for run in runs], inputs=sorted({name for run in runs for name in run.reads} - again),
        blocks=blocks, notes=notes, remains=list(REMAINS),
    )  # fmt: skip


async def find_reached(
    site: Site, tenant: str, dataset: str, aliases: Sequence[str], request: EraseRequest
) -> tuple[dict[str, ReachedDataset], list[str]]:
    """Return the datasets downstream of the records and of all names of their files, and why the trace of the records is not complete.

    What is reached under another name only, but by no record, may still have a derived record. So it is not complete.
    """
    answer = await _trace_everywhere(site, tenant, dataset, request)
    reached = {one.dataset: one for one in answer.reached}
    for alias in aliases:
        others = await _trace_everywhere(site, tenant, alias, EraseRequest(dataset=alias, where=NO_RECORD))
        for one in others.reached:
            known = reached.get(one.dataset)
            if known is not None:
                reasons = (*known.reasons, *one.reasons)
                reached[one.dataset] = replace(known, complete=known.complete and one.complete, reasons=tuple(dict.fromkeys(reasons)))
            else:
                reached[one.dataset] = one if request.where == NO_RECORD else replace(one, complete=False)
    return reached, [f"{entry.what}: {entry.reason}" for entry in answer.incomplete if entry.effect == "missing"]


async def _trace_everywhere(site: Site, tenant: str, dataset: str, request: EraseRequest) -> TraceAnswer:
    asked = TraceRequest(
        dataset=dataset, where=request.where, rows=request.rows, forward=True, everywhere=True, limit=1, values=False, selected_values=False
    )
    return await site.replays().sources_of(tenant).trace(asked)


def _check_choice(chosen: ChosenRecords, request: EraseRequest) -> None:
    if not chosen.count:
        raise InvalidQueryError(
            f"No record of {request.dataset} is selected, so nothing would be erased.", field="where",
            hint="Look at the records first: `headwater trace … --where …`. If they were removed at the source, run the pipeline again.",
        )  # fmt: skip
    if not chosen.others:
        raise InvalidQueryError(
            f"All {chosen.count:,} records of {request.dataset} are selected. An erasure never empties a dataset.", field="where",
            hint="Narrow the predicate. To remove a whole dataset, delete it yourself.",
        )  # fmt: skip
    if chosen.count > MOST_RECORDS:
        raise InvalidQueryError(f"{chosen.count:,} records are selected, more than {MOST_RECORDS:,}.", field="where", hint="Select fewer.")


async def _check_source(site: Site, tenant: str, dataset: str) -> list[str]:
    """Check that no known program makes the source of other data, because that would bring the records back."""
    place = place_of(dataset)
    if is_remote(place) or table_kind(Path(place)) is not None:
        what = "a table" if not is_remote(place) else "on remote storage"
        raise UnsupportedError(
            f"{place} is {what}, and records are taken out of plain local files only.",
            hint=f"Delete the records there yourself. Then run: headwater replay --changed {place} --commit --keep 0",
        )
    edges = await site.graph.neighbours(tenant, [dataset], direction=Direction.UPSTREAM, kinds=[EdgeKind.WRITES])
    jobs = sorted({edge.src for edge in edges if parse_id(edge.src)[0] == NodeKind.JOB})
    if not jobs:
        return []
    above = await site.graph.neighbours(tenant, jobs, direction=Direction.UPSTREAM, kinds=[EdgeKind.READS])
    sources = sorted({bare_name(edge.src) for edge in above if parse_id(edge.src)[0] == NodeKind.DATASET and edge.src != dataset})
    if sources:
        raise UnsupportedError(
            f"{bare_name(dataset)} is made by {bare_name(jobs[0])} from {', '.join(sources[:_SHOWN])}, which would bring the records back.",
            hint=f"Choose the records in {sources[0]}: headwater subject shows where they go.",
        )
    return [f"{bare_name(jobs[0])} writes {bare_name(dataset)}. It must not write the records again."]


async def _named(site: Site, tenant: str, text: str, reached: Mapping[str, ReachedDataset], option: str) -> str:
    found = [node.id for node in await nodes_named(site.graph, tenant, text, (NodeKind.DATASET,)) if node.id in reached]
    found = found or [dataset for dataset in reached if bare_name(dataset) == text]
    if len(found) != 1:
        raise InvalidQueryError(
            f"{text} names {'several datasets' if found else 'no dataset'} of the plan.", field=option, hint="Name one that the plan lists."
        )
    return found[0]


async def _find_history(
    site: Site, tenant: str, chosen: ChosenRecords, reached: Mapping[str, ReachedDataset], deleted: Sequence[str], left: Sequence[str]
) -> tuple[History, set[str]]:
    """Return the runs to repeat, and the datasets that stay as they are because no record of them derives from the chosen ones."""
    kept: set[str] = set()
    sources = site.replays().sources_of(tenant)
    while True:
        datasets = [dataset for dataset in reached if dataset not in kept and dataset not in left]
        names = [chosen.dataset, *chosen.aliases]
        history = await find_history(names, datasets, deleted, site.records, site.registry, sources)
        more = {dataset for dataset in history.reasons if _is_unaffected(reached.get(dataset))} - kept - set(deleted)
        if not more:
            return history, kept
        kept |= more


def _is_unaffected(reached: ReachedDataset | None) -> bool:
    """Whether a dataset certainly has no record, present or former, that derives from the chosen ones."""
    return reached is not None and reached.complete and not reached.records and not reached.former and not reached.coarse


def _plan_dataset(
    dataset: str, reached: ReachedDataset | None, history: History, against: Mapping[str, Sequence[str]], left: Collection[str],
    kept: Collection[str],
) -> DatasetPlan:  # fmt: skip
    reasons: Sequence[str] = history.reasons.get(dataset, [])
    action = Action.IMPOSSIBLE if reasons else Action.RECOMPUTE
    if dataset in against:
        reasons = against[dataset]
        action = Action.IMPOSSIBLE if reasons else Action.DELETE
    elif dataset in left:
        action, reasons = Action.LEAVE, ["the operator deals with it elsewhere"]
    elif dataset in kept:
        action, reasons = Action.KEEP, ["none of its records derives from the chosen ones"]
    makers = history.makers(dataset) if action is Action.RECOMPUTE else []
    blocks = history.blocks.get(dataset, ())
    return DatasetPlan(
        dataset=dataset, action=action, records=reached.records if reached else 0, former=reached.former if reached else 0,
        complete=reached.complete if reached else True, jobs=[run.name for run in makers], reasons=reasons,
        versions=[block.version for block in blocks],
    )  # fmt: skip


def find_reasons_against_deletion(dataset: str, others: Collection[str], roots: DataRoots) -> list[str]:
    """Return why a dataset must not be deleted. Anybody who may send events can name a path, so only local data below the roots is deleted.

    The data of `others` must not be in the same folder.
    """
    try:
        place = place_of(dataset).rstrip("/")
        if is_remote(place):
            return ["it is on remote storage, and is not deleted here"]
        if str(roots.look().path(place)) != place:
            return ["a link leads to it, and it is not deleted here"]
    except HeadwaterError as error:
        return [error.message]
    except OSError as error:
        return [f"it cannot be found ({error.strerror})"]
    if not Path(place).exists():
        return ["it is gone"]
    places: dict[str, str] = {}
    for other in others:
        with suppress(HeadwaterError):
            places[place_of(other).rstrip("/")] = other
    near = sorted(
        name
        for path, name in places.items()
        if path != place and (f"{path}/".startswith(f"{place}/") or f"{place}/".startswith(f"{path}/"))
    )
    return [f"{bare_name(name)} lies in the same folder" for name in near[:_SHOWN]]


def _in_order(reached: Mapping[str, ReachedDataset], history: History) -> list[str]:
    """Return the datasets in the order of the flow."""
    order = {dataset: number for number, run in enumerate(history.ordered()) for dataset in run.writes}
    return sorted({*reached, *history.blocks}, key=lambda dataset: (order.get(dataset, len(order)), dataset))


async def _find_holds(site: Site, tenant: str, datasets: Sequence[str]) -> list[str]:
    """Return the legal holds on datasets, their columns and blocks, what contains them, and what they derive from."""
    found: list[str] = []
    for dataset in datasets:
        with suppress(NotFoundError):  # a dataset without versions
            blocks = await list_blocks(site.graph, tenant, dataset)
            found += (await find_holds(site.graph, tenant, dataset, [block.version for block in blocks])).values()
        found += [hold.sentence for hold in await list_inherited_holds(site.graph, tenant, dataset)]
    return [f"A legal hold covers data of the plan: {reason}" for reason in dict.fromkeys(found)]


async def _find_running(site: Site, tenant: str, datasets: Sequence[str]) -> list[str]:
    edges = await site.graph.neighbours(tenant, datasets, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.READS])
    jobs = {edge.dst for edge in edges}
    edges = await site.graph.neighbours(tenant, datasets, direction=Direction.UPSTREAM, kinds=[EdgeKind.WRITES])
    jobs |= {edge.src for edge in edges}
    nodes = await site.graph.get(tenant, sorted(job for job in jobs if parse_id(job)[0] == NodeKind.JOB))
    running = await list_running(site.graph, tenant, [job.id for job in nodes])
    complete = sorted({str(job.properties["lastComplete"]) for job in nodes if "lastComplete" in job.properties})
    runs = await site.graph.get(tenant, [*running, *complete])
    began = {run.id: str(run.properties.get("startedAt") or "") for run in runs}
    above = await site.graph.ancestors(tenant, [*running, *complete])
    last = {job: max((began[run] for run in complete if run in began and _is_of(run, job, above)), default="") for job in jobs}
    # A run is lost if a later run of its job has completed.
    running = [run for run in running if all(began.get(run, "~") > last[job] for job in jobs if _is_of(run, job, above))]
    return [f"The run {bare_name(run)} of a job that reads or writes this data has begun, and has not ended." for run in running[:_SHOWN]]


def _is_of(run: str, job: str, above: Mapping[str, Sequence[Node]]) -> bool:
    return any(node.id == job for node in above.get(run, ()))
