"""The datasets downstream of records, for a trace that lists the records of all of them (`TraceRequest.everywhere`).

An auditor asks where a person's records went, and must not get a list that looks complete and is not. The list has each dataset downstream
that captures or the graph know, also without a derived record. A dataset is `complete` only if all of this holds:

- The walk reports no missing record for the dataset, nor for a dataset upstream of it.
- No hop by dataset only leads to it.
- Its present files can be listed, and known runs wrote all of them.
- Its present files come from states of the first dataset that a predicate has searched. No predicate can search an overwritten file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from headwater.graph.files.formats import get_format
from headwater.graph.model import parse_id
from headwater.graph.records import FileBlock
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import ReachedDataset, TracedRecord
from headwater.graph.trace.coarse_hops import CoarseLineage
from headwater.graph.trace.datasets import Dataset, find_shape
from headwater.graph.trace.file_checks import DatasetContent, keep_held_records, list_unknown_files, read_content, select_files
from headwater.graph.trace.links import find_readers, list_datasets
from headwater.graph.trace.moved_files import find_later_files
from headwater.graph.trace.paths_between import find_successors
from headwater.graph.trace.replay_alternates import is_alternate
from headwater.graph.trace.session import KnownFile, Session

_MOST_DATASETS = 2_000  # downstream; above this, no dataset is complete
_MOST_BLOCKS = 20_000  # of earlier states; above this, no dataset is complete
_EFFECTS = ("missing", "superset")


@dataclass(slots=True)
class _Doubts:
    """Reasons why the records of datasets may not be what the answer says, by dataset. The key None stands for all datasets."""

    missing: dict[str | None, dict[str, None]] = field(default_factory=dict)
    superset: dict[str | None, dict[str, None]] = field(default_factory=dict)

    def add(self, dataset: str | None, reason: str, effect: str) -> None:
        reasons = self.missing if effect == "missing" else self.superset
        reasons.setdefault(dataset, {})[reason] = None


@dataclass(frozen=True, slots=True)
class Reach:
    """The datasets downstream, and a table `origin, file, row` of those found records that no dataset has any more."""

    datasets: Sequence[ReachedDataset]
    former: str


async def describe_reach(
    session: Session,
    graph: GraphStore | None,
    start: Dataset,
    searched: Collection[FileBlock] | None,
    tables: Sequence[str],
    coarse: CoarseLineage,
) -> Reach:
    """Return what is known of each dataset downstream of `start`.

    `searched` are the files of `start` in which a predicate selected the records. None if they were selected by their places. `tables` are
    the found records, and `coarse` the hops by dataset from them.
    """
    records = await asyncio.to_thread(session.unite_columns, tables, ["origin", "file", "row"]) if tables else None
    files = await asyncio.to_thread(session.list_files_of, tables) if tables else set()
    with_records = {session.files[number].dataset for number in files}
    starts = {start.id, *with_records, *coarse.datasets, *coarse.passed_datasets}
    successors = await find_successors(session, graph, starts, most=_MOST_DATASETS)
    doubts = _Doubts()
    if successors is None:
        successors = {dataset: set() for dataset in starts}
        doubts.add(None, f"more than {_MOST_DATASETS:,} datasets are downstream, and not all of them are listed", "missing")
    return await asyncio.to_thread(_describe, session, start, searched, records, files, successors, coarse, doubts)


def _describe(
    session: Session, start: Dataset, searched: Collection[FileBlock] | None, records: str | None, files: Collection[int],
    successors: Mapping[str, set[str]], coarse: CoarseLineage, doubts: _Doubts,
) -> Reach:  # fmt: skip
    known = [*successors, *sorted({session.files[number].dataset for number in files} - successors.keys())]
    unsearched = _find_unsearched_files(session, start, searched, doubts) if searched is not None else {}
    for entry in session.incomplete:
        for output in session.affected_outputs.get(entry, {None}) if entry.effect in _EFFECTS else ():
            doubts.add(output, f"{entry.what}: {entry.reason}", entry.effect)
    for hop in coarse.hops:
        doubts.add(hop.output, f"{hop.job}: its lineage is known by datasets only", "missing")
    numbers: dict[str, set[int]] = {}
    for number in files:
        numbers.setdefault(session.files[number].dataset, set()).add(number)
    counts: dict[str, tuple[int, int]] = {}
    former: list[str] = []
    for dataset in known:
        content = read_content(session, dataset) if dataset != start.id or dataset in numbers else None
        if dataset != start.id:
            _check_content(session, dataset, content, unsearched, doubts)
        found = select_files(session, records, numbers[dataset]) if records is not None and dataset in numbers else None
        held = keep_held_records(session, content, found) if found is not None and content is not None and not content.problem else found
        if found is None or held is None:
            counts[dataset] = (0, 0)
            continue
        gone = session.make_table(f"SELECT origin, file, row FROM {found} ANTI JOIN {held} USING (file, row)") if held != found else None
        count = session.count_rows(gone) if gone is not None else 0
        former += [gone] if gone is not None and count else []
        counts[dataset] = (session.count_rows(found) - count, count)
    missing, superset = _spread(doubts.missing, successors, known), _spread(doubts.superset, successors, known)
    coarse_datasets = {hop.output for hop in coarse.hops}
    reached = [
        ReachedDataset(
            dataset, *counts[dataset], complete=not missing[dataset], exact=not missing[dataset] and not superset[dataset],
            coarse=dataset in coarse_datasets, reasons=tuple(dict.fromkeys([*missing[dataset], *superset[dataset]])),
        )
        for dataset in known
        if (dataset != start.id or counts[dataset] != (0, 0)) and not is_alternate(session, dataset)
    ]  # fmt: skip
    former_table = session.unite_columns(former, ["origin", "file", "row"]) if former else ""
    return Reach(sorted(reached, key=lambda one: one.dataset), former_table)


def _spread(
    reasons: Mapping[str | None, Mapping[str, None]], successors: Mapping[str, set[str]], known: Iterable[str]
) -> dict[str, dict[str, None]]:
    """Return the reasons of each dataset: its own, and those of all datasets upstream. A dataset without known sources has all reasons."""
    everywhere = dict(reasons.get(None, {}))
    spread: dict[str, dict[str, None]] = {dataset: dict(everywhere) for dataset in known}
    for dataset, own in reasons.items():
        if dataset is None:
            continue
        queue, visited = [dataset], {dataset, *(other for other in spread if other not in successors)}
        queue += [other for other in visited if other != dataset]
        while queue:
            for successor in successors.get(queue.pop(), set()) - visited:
                visited.add(successor)
                queue.append(successor)
        for affected in visited & spread.keys():
            spread[affected].update(own)
    return spread


def _check_content(session: Session, dataset: str, content: DatasetContent | None, unsearched: Mapping[int, str], doubts: _Doubts) -> None:
    if content is None:
        doubts.add(dataset, "its present records cannot be listed here", "missing")
        return
    if content.problem is not None:
        doubts.add(dataset, f"its present records are not known: {content.problem}", "missing")
        return
    if unknown := list_unknown_files(session, content):
        doubts.add(dataset, f"no known run wrote {len(unknown):,} of its files, such as {unknown[0].path}", "missing")
    if content.label is not None:
        doubts.add(dataset, f"its records are those of snapshot {content.label}, and its catalog may name another one", "missing")
    if any(number in content.files for number in unsearched):
        example = next(reason for number, reason in unsearched.items() if number in content.files)
        doubts.add(dataset, f"some of its files come from {example}", "missing")


def find_searched_files(session: Session, dataset: Dataset) -> set[FileBlock]:
    """Return the files of a dataset that a predicate has just searched, and in which it searched every row."""
    return {
        file.block for file in session.files if file.dataset == dataset.id and not file.problem and file.number not in session.deleted_rows
    }


def mark_former_records(
    session: Session, reach: Reach, places: Sequence[tuple[int, int]], entries: Sequence[TracedRecord]
) -> list[TracedRecord]:
    """Return the entries, with those marked that no dataset has any more. `places` are the places of the first entries."""
    if not reach.former or not places:
        return list(entries)
    file, row = np.array(places, np.int64).T
    listed = session.keep_in_memory({"file": file, "row": row})
    rows = session.database.execute(f"SELECT file, row FROM {listed} SEMI JOIN {reach.former} USING (file, row)").fetchall()
    former = set(rows)
    marked = [replace(entry, is_former=True) if place in former else entry for place, entry in zip(places, entries, strict=False)]
    return [*marked, *entries[len(marked) :]]


def _find_unsearched_files(session: Session, start: Dataset, searched: Collection[FileBlock], doubts: _Doubts) -> dict[int, str]:
    """Return the files that runs made, in any number of steps, from states of `start` in which the records were not searched.

    Each has a text that names such a state.
    """
    blocks = session.store.catalog.datasets.read_blocks(session.tenant, start.id, _MOST_BLOCKS + 1)
    name = parse_id(start.id)[1][-1]
    if len(blocks) > _MOST_BLOCKS:
        doubts.add(None, f"runs read more than {_MOST_BLOCKS:,} files of {name}, and not all of them were searched", "missing")
        return {}
    former_blocks = [block for block in blocks if block not in searched]
    if not former_blocks:
        return {}
    shape, _ = find_shape(session, start)
    texts = {session.add_file(block, start.id, shape).number: _describe_state(block, name) for block in former_blocks}
    reached: dict[int, str] = {}
    queue, steps = [session.files[number] for number in texts], 0
    while queue:
        steps += len(queue)
        if steps > _MOST_BLOCKS:
            doubts.add(None, f"earlier states of {name} went into more than {_MOST_BLOCKS:,} files, and not all were followed", "missing")
            return reached
        fresh: dict[int, str] = {}
        for number, made in _find_made_files(session, queue).items():
            fresh |= {file.number: texts[number] for file in made if file.number not in texts}
        texts |= fresh
        reached |= fresh
        queue = [session.files[number] for number in fresh]
    _doubt_tables(session, reached, doubts)
    return reached


def _describe_state(block: FileBlock, name: str) -> str:
    return f"a state of {name} that was not searched, such as {block.path} with {block.length:,} bytes"


def _doubt_tables(session: Session, reached: Mapping[int, str], doubts: _Doubts) -> None:
    """Doubt tables that such files were written to. Other programs may rewrite the files of a table, so its present files say nothing."""
    for number, text in reached.items():
        file = session.files[number]
        if get_format(file.shape.format).is_table:
            doubts.add(file.dataset, f"some of its files come from {text}", "missing")


def _find_made_files(session: Session, files: Sequence[KnownFile]) -> dict[int, list[KnownFile]]:
    """Return the files that captured runs wrote from each file, and the places to which it was moved."""
    made: dict[int, list[KnownFile]] = {number: list(places) for number, places in find_later_files(session, files).items()}
    written: dict[str, list[KnownFile]] = {}
    for number, readers in find_readers(session, files).items():
        for reader in readers:
            if reader not in written:
                capture = session.get_capture(reader)
                output = list_datasets(capture)[0]
                written[reader] = [session.get_written_file(capture, place) for place in range(len(capture.files))] if output else []
            made.setdefault(number, []).extend(written[reader])
    return made
