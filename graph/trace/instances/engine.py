"""Finds the instance of a dataflow behind wrong rows: a task, or a file of a source, with more wrong rows than chance explains.

The lineage of wrong rows alone does not name it, because rows pass through an instance of every step. The lineage of other rows does: each
row passes through each step, and through the instance at fault only if it is wrong, or unlucky. A trace knows the instance that wrote a
record only where the record was written to a file. So the tasks of stages between two writes are not told apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from headwater.errors import InvalidQueryError
from headwater.graph.culprits.instances import Numbers, find_instances
from headwater.graph.model import NodeKind, node_id, run_key
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import TraceRequest
from headwater.graph.trace.datasets import Dataset
from headwater.graph.trace.engine import WalkResult, follow_records, lift_to_datasets
from headwater.graph.trace.hops import Visit
from headwater.graph.trace.instances.answer import FaultyInstance, Instance, InstanceAnswer, InstanceRequest
from headwater.graph.trace.links import list_datasets
from headwater.graph.trace.session import Session
from headwater.graph.trace.start_records import select_start
from headwater.graph.trace.tracer import get_tracer
from headwater.graph.trace.versions import find_requested_dataset

_SAMPLED = "Shares and chances hold for this sample."
_MOST_ALIKE = 20


async def find_faulty_instances(graph: GraphStore | None, store: AssociationStore, tenant: str, request: InstanceRequest) -> InstanceAnswer:
    """Answer the question by one trace of all rows.

    Raises:
        InvalidQueryError: no row is wrong, or none is right, or a predicate cannot be used.
        NotFoundError, UnsupportedError: as a trace.
    """
    of_bad, of_good = (TraceRequest(dataset=request.dataset, where=where, values=False) for where in (request.bad, request.good or "true"))
    with get_tracer(store).session(tenant) as session:
        dataset = await find_requested_dataset(session, graph, of_good)
        begin, bad, good = await asyncio.to_thread(_select_rows, session, dataset, of_bad, of_good, request.limit)
        result = await asyncio.to_thread(follow_records, session, begin, (), (), None, of_good, by_origin=True)
        coarse_lineage = await lift_to_datasets(graph, session, result, (), None, forward=False)
        coarse_lineage.report(session)
        return await asyncio.to_thread(_compare, session, dataset, result, bad, good)


def _select_rows(session: Session, dataset: Dataset, of_bad: TraceRequest, of_good: TraceRequest, limit: int) -> tuple[str, int, int]:
    """Return a table `origin, file, row` with the wrong rows before the others, and the number of both."""
    wrong, _ = select_start(session, dataset, of_bad, by_origin=False)
    right, _ = select_start(session, dataset, of_good, by_origin=False)
    bad = session.count_rows(wrong)
    rest = session.make_table(f"SELECT file, row FROM {right} ANTI JOIN {wrong} USING (file, row)")
    good = session.count_rows(rest)
    for count, field, text in ((bad, "bad", "wrong"), (good, "good", "right")):
        if not count:
            raise InvalidQueryError(
                f"No row of {dataset.name} is {text}, so there is nothing to compare.",
                field=field,
                hint="Both predicates must select rows. Without `good`, all rows that are not wrong are right.",
            )
    most_bad = min(bad, max(limit // 2, limit - good))
    most_good = min(good, limit - most_bad)
    for count, most, text in ((bad, most_bad, "wrong"), (good, most_good, "other")):
        if most < count:
            session.report(f"{text} rows", f"a sample of {most:,} of {count:,} rows was compared. {_SAMPLED}", "missing")
    parts = [
        f"(SELECT {kind} AS kind, file, row FROM {table} ORDER BY hash(file, row), file, row LIMIT {most})"
        for kind, table, most in ((0, wrong, most_bad), (1, rest, most_good))
    ]
    numbered = f"SELECT row_number() OVER (ORDER BY kind, file, row) - 1 AS origin, file, row FROM ({' UNION ALL '.join(parts)})"
    return session.make_table(numbered), most_bad, most_good


def _compare(session: Session, dataset: Dataset, result: WalkResult, bad: int, good: int) -> InstanceAnswer:
    passed: dict[Instance, list[Numbers]] = {}
    for visit in result.hops.visits():
        _add_rows(session, visit.records, passed, _writers_of(session, visit))
    sources = {
        number: Instance(None, session.files[number].block.path, session.files[number].dataset)
        for number in session.list_files_of(result.end_tables)
    }
    _add_rows(session, result.end_tables, passed, sources)
    instances = sorted(passed, key=lambda one: (one.dataset, one.run or "", one.file or "", one.node or ""))
    is_bad = np.arange(bad + good) < bad
    found = find_instances([np.concatenate(passed[instance]) for instance in instances], is_bad)
    suspects = [
        FaultyInstance(
            instances[one.place], one.bad, one.outputs, one.expected, one.chance, [instances[other] for other in one.alike][:_MOST_ALIKE]
        )
        for one in found
    ]
    return InstanceAnswer(dataset.id, suspects, len(instances), bad, good, list(session.incomplete))


def _writers_of(session: Session, visit: Visit) -> dict[int, Instance]:
    """Return the instance that wrote each file of a visit: a task may write several files."""
    manifest, files = visit.capture.manifest, visit.capture.files
    output = list_datasets(visit.capture)[0] or ""
    job = node_id(NodeKind.JOB, manifest.run.namespace, manifest.run.job)
    run = node_id(NodeKind.RUN, run_key(manifest.run.run_id))
    found: dict[int, Instance] = {}
    for number in session.list_files_of(visit.records):
        block = session.files[number].block
        place = files.place_of(block)
        attempt = files[place].attempt if place is not None else None
        task = node_id(NodeKind.TASK, visit.capture.id, str(attempt)) if attempt is not None else None
        found[number] = Instance(task, None if task else block.path, output, job, run)
    return found


def _add_rows(session: Session, tables: Sequence[str], passed: dict[Instance, list[Numbers]], instances: dict[int, Instance]) -> None:
    """Add to each instance the numbers of the rows that passed through one of its files."""
    if not tables:
        return
    table = session.unite_columns(tables, ["origin", "file"])
    columns = session.get_columns(table) or session.database.execute(f"SELECT DISTINCT origin, file FROM {table}").fetchnumpy()
    origins, files = (np.ma.getdata(columns[name]).astype(np.int64) for name in ("origin", "file"))
    order = np.argsort(files, kind="stable")
    numbers, starts = np.unique(files[order], return_index=True)
    for number, rows in zip(numbers.tolist(), np.split(origins[order], starts[1:]), strict=True):
        if number in instances:
            passed.setdefault(instances[number], []).append(np.unique(rows))
