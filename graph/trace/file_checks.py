"""Sorts records that a trace reached into those that their dataset holds now and those of its earlier versions.

For walks to a dataset, and for records at which walks end. Rows are updated, deleted or moved into other files, and folders are
overwritten. An answer about a dataset is about its content now. If that is not known, the answer names the runs that wrote the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headwater.errors import HeadwaterError
from headwater.graph.duck import memory_tables
from headwater.graph.files.allowance import faults_of_metadata
from headwater.graph.files.formats import format_of
from headwater.graph.model import parse_id
from headwater.graph.records import FileBlock
from headwater.graph.records.decode import Longs
from headwater.graph.records.moved_files import Evidence
from headwater.graph.records.overwrites import instant
from headwater.graph.trace.datasets import Dataset, shape_of
from headwater.graph.trace.moved_files import find_origins
from headwater.graph.trace.session import KnownFile, Session

_SHOWN = 3  # runs that a note names
_MOST_DATASETS = 20  # ends of a walk whose tables are checked


@dataclass(frozen=True, slots=True)
class Holding:
    """The content of a dataset now.

    - `files`: numbers of its files
    - `left_out`: deleted rows, by number of the file
    - `foreign`: files that no known run wrote
    - `moved`: files that known runs wrote elsewhere, by number of the written file
    - `label`: the snapshot that is taken for the current one, if only the table's catalog knows the current one
    - `unknown`: why the content cannot be determined
    """

    dataset: str
    folder: str = ""
    files: frozenset[int] = frozenset()
    left_out: Mapping[int, Longs] = field(default_factory=dict)
    foreign: Sequence[FileBlock] = ()
    moved: Mapping[int, Sequence[KnownFile]] = field(default_factory=dict)
    label: str | None = None
    unknown: str | None = None


def holding_of(session: Session, dataset: str) -> Holding | None:
    """Return the content of a dataset now. None if its records are not in files, or no capture knows it."""
    if dataset not in session.holdings:
        session.holdings[dataset] = _look(session, dataset)
    return session.holdings[dataset]


def held_now(session: Session, holding: Holding, tables: Sequence[str]) -> list[str]:
    """Return the records of tables `origin, file, row` that the dataset holds now. The answer names the versions of the others."""
    if holding.unknown is not None:
        _say_versions(session, holding, tables)
        return list(tables)
    kept: list[str] = []
    gone: dict[int, int] = {}
    for table in tables:
        held = _only_held(session, holding, table)
        if session.count(held) < session.count(table):
            for number, count in _counts(session, table, held).items():
                gone[number] = max(count, gone.get(number, 0))
        if session.count(held):
            kept.append(held)
    if gone:
        _say_gone(session, holding, gone)
    return kept


def say_snapshot(session: Session, holding: Holding) -> None:
    """Name the snapshot of a table that is assumed to be the current one."""
    if holding.label is not None:
        session.say(_name(holding), f"its records are those of snapshot {holding.label}, the newest in its folder", "version")


def say_gone(session: Session, tables: Sequence[str]) -> None:
    """Name the versions of records that their tables do not hold any more.

    The records stay in the answer, with the content that a run read or wrote.
    """
    met: dict[str, set[int]] = {}
    for number in session.files_of(tables) if tables else ():
        file = session.files[number]
        if format_of(file.shape.format).is_table:
            met.setdefault(file.dataset, set()).add(number)
    for dataset, numbers in list(met.items())[:_MOST_DATASETS]:
        holding = holding_of(session, dataset)
        if holding is not None and holding.unknown is None:
            held_now(session, holding, [_in_files(session, table, numbers) for table in tables])


def _look(session: Session, dataset: str) -> Holding | None:
    catalog = session.store.catalog
    named = [known for known in catalog.datasets.called(session.tenant, dataset) if known.id == dataset]
    if not named:
        return None
    known = Dataset(named[0].id, named[0].name, named[0].path)
    try:
        shape, _ = shape_of(session, known)
        if not format_of(shape.format).in_files:
            return None
        with faults_of_metadata(known.path.removeprefix("file:")):
            now = format_of(shape.format).held(session.look, known.path, shape)
    except (HeadwaterError, OSError) as error:
        return Holding(dataset, unknown=str(error).removesuffix("."))
    if now is None:
        return Holding(dataset, unknown=f"there is nothing at {known.path.removeprefix('file:')} any more")
    files = {file.block: session.known(file.block, dataset, shape, file.partition) for file in now.files}
    left_out = {files[file.block].number: file.left_out for file in now.files if file.left_out is not None}
    wrote = catalog.writers(session.tenant, files)
    foreign = [file for block, file in files.items() if block not in wrote]
    moved: dict[int, list[KnownFile]] = {}
    for number, written in find_origins(session, foreign).items():
        moved.setdefault(written.number, []).append(session.files[number])
    arrived = {file.number for places in moved.values() for file in places}
    return Holding(
        dataset, f"{known.path.rstrip('/')}/", frozenset(file.number for file in files.values()), left_out,
        [file.block for file in foreign if file.number not in arrived], moved, now.label,
    )  # fmt: skip


def _only_held(session: Session, holding: Holding, table: str) -> str:
    met = session.files_of([table])
    files = {number for number in met if _is_held(session, holding, session.files[number])}
    left_out = {number: holding.left_out[number] for number in files if number in holding.left_out}
    if files == met and not left_out:
        return table
    held = _in_files(session, table, files)
    if not left_out:
        return held
    file = np.concatenate([np.full(len(rows), number, np.int64) for number, rows in left_out.items()])
    deleted = session.hold({"file": file, "row": np.concatenate([rows.astype(np.int64) for rows in left_out.values()])})
    return session.table(f"SELECT origin, file, row FROM {held} ANTI JOIN {deleted} USING (file, row)")


def _is_held(session: Session, holding: Holding, file: KnownFile) -> bool:
    """Return whether the dataset has a file now. Partitions of a table may lie outside of its folder, so each of these files is checked."""
    if file.number in holding.files or format_of(file.shape.format).is_table or file.block.path.startswith(holding.folder):
        return file.number in holding.files
    try:
        return session.look.block(file.block.path) == file.block
    except (HeadwaterError, OSError):
        return False


def _in_files(session: Session, table: str, files: set[int] | frozenset[int]) -> str:
    known = session.columns(table)
    if known is not None:
        rows = memory_tables.chosen(known, ["origin", "file", "row"])
        return session.hold(memory_tables.taken(rows, np.isin(rows["file"], list(files))))
    listed = ", ".join(map(str, sorted(files))) or "NULL"
    return session.table(f"SELECT origin, file, row FROM {table} WHERE file IN ({listed})")


def _counts(session: Session, table: str, held: str) -> dict[int, int]:
    """Count, for each file, the records that are in one table and not in the other."""
    rows = f"SELECT DISTINCT file, row FROM {table} ANTI JOIN {held} USING (file, row)"
    return {
        int(file): int(count) for file, count in session.database.execute(f"SELECT file, count(*) FROM ({rows}) GROUP BY file").fetchall()
    }


def _name(holding: Holding) -> str:
    _, (_, name) = parse_id(holding.dataset)
    return name


def _say_gone(session: Session, holding: Holding, gone: Mapping[int, int]) -> None:
    total = sum(gone.values())
    records = "one record that was reached is" if total == 1 else f"{total} records that were reached are"
    there = "it was" if total == 1 else "they were"
    by_capture: dict[str | None, int] = {}
    writers = _writers(session, gone)
    for number, count in gone.items():
        by_capture[writers.get(number)] = by_capture.get(writers.get(number), 0) + count
    session.say(_name(holding), f"{records} not in it any more; {there} there {_versions(session, by_capture)}", "version")
    if holding.foreign and not format_of(session.files[next(iter(gone))].shape.format).is_table:
        files = f"{len(holding.foreign)} of its files" if len(holding.foreign) > 1 else "one of its files"
        session.say(_name(holding), f"no known run wrote {files}; whether records that were reached are in there is not known", "missing")


def _say_versions(session: Session, holding: Holding, tables: Sequence[str]) -> None:
    numbers = session.files_of(tables) if tables else set()
    if not numbers:
        return
    writers = set(_writers(session, numbers).values())
    reason = f"which records it holds now is not known ({holding.unknown}); those of the answer are as it had them"
    versions = _versions(session, dict.fromkeys(writers, 0))
    session.say(_name(holding), f"{reason} {versions}", "superset" if len(writers) > 1 else "version")


def _writers(session: Session, numbers: Iterable[int]) -> dict[int, str]:
    """Return the captures that wrote files, there or elsewhere, by the numbers of the files."""
    files = [session.files[number] for number in numbers]
    catalog = session.store.catalog
    known = catalog.writers(session.tenant, [file.block for file in files])
    moves = catalog.moves.origins(session.tenant, [file.block for file in files if file.block not in known])
    origins = {block: move.written[0] for block, move in moves.items() if move.evidence is not Evidence.UNKNOWN}
    known |= catalog.writers(session.tenant, origins.values())
    wrote = {file.number: known.get(origins.get(file.block, file.block)) for file in files}
    return {number: capture for number, capture in wrote.items() if capture is not None}


def _versions(session: Session, counts: Mapping[str | None, int]) -> str:
    """Name the versions of a dataset that had the records, by the captures that wrote them.

    `counts` are the records of each capture, 0 if they are not counted. None stands for unknown runs.
    """
    captures = [(session.capture(writer), count) for writer, count in counts.items() if writer is not None]
    if not captures:
        return "earlier"
    texts = []
    for capture, count in sorted(captures, key=lambda entry: entry[0].manifest.ended):
        sink, run = capture.manifest.sink, capture.manifest.run
        version = sink.extra.get("version") if sink is not None else None
        stated = f"version {version}, " if version is not None else ""
        records = _counted(count) if len(counts) > 1 else ""
        texts.append((f"{stated}run {run.run_id} of {run.job}, {instant(capture.manifest.ended).partition('.')[0]}Z{records}", count))
    shown, before = texts[-_SHOWN:], texts[:-_SHOWN]
    named = f"as of {'; '.join(text for text, _ in shown)}"
    if before:
        named += f"; and in {len(before)} versions before{_counted(sum(count for _, count in before))}"
    return named + (f"; and earlier{_counted(counts[None])}" if None in counts else "")


def _counted(count: int) -> str:
    return f" ({count} record{'' if count == 1 else 's'})" if count else ""
