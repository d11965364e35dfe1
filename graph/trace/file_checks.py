"""Separates records that a dataset holds now from records of its earlier versions.

Rows are updated, deleted or moved into other files, and folders are overwritten. An answer about a dataset is about its present content. If
the present content is unknown, the answer names the runs that wrote the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np

from headwater.errors import HeadwaterError
from headwater.graph.duck import memory_tables
from headwater.graph.files.allowance import translate_faults
from headwater.graph.files.formats import get_format
from headwater.graph.model import parse_id
from headwater.graph.records import FileBlock
from headwater.graph.records.decode import Longs
from headwater.graph.records.moved_files import Evidence
from headwater.graph.records.overwrites import instant
from headwater.graph.trace.datasets import Dataset, find_shape
from headwater.graph.trace.moved_files import find_origins
from headwater.graph.trace.session import KnownFile, Session

_SHOWN = 3  # runs that a note names
_SMALL = 64 << 10  # bytes of a file without records, at most
_MOST_COUNTED = 1_000  # files whose records are counted
_MOST_DATASETS = 20  # ends of a walk whose tables are checked


@dataclass(frozen=True, slots=True)
class DatasetContent:
    """The content of a dataset now.

    - `files`: numbers of its files.
    - `deleted_rows`: deleted rows, by number of the file.
    - `foreign_files`: files that no captured run wrote.
    - `moved_files`: files that captured runs wrote elsewhere, by number of the written file.
    - `label`: the newest snapshot in the table's folder, if only the table's catalog knows which snapshot is current.
    - `problem`: why the content cannot be determined.
    """

    dataset: str
    folder: str = ""
    files: frozenset[int] = frozenset()
    deleted_rows: Mapping[int, Longs] = field(default_factory=dict)
    foreign_files: Sequence[FileBlock] = ()
    moved_files: Mapping[int, Sequence[KnownFile]] = field(default_factory=dict)
    label: str | None = None
    problem: str | None = None


def read_content(session: Session, dataset: str) -> DatasetContent | None:
    if dataset not in session.contents:
        session.contents[dataset] = _determine_content(session, dataset)
    return session.contents[dataset]


def keep_current_records(session: Session, content: DatasetContent, tables: Sequence[str]) -> list[str]:
    """Return the records of tables `origin, file, row` that the dataset still holds. Report the versions of all others."""
    if content.problem is not None:
        _report_versions(session, content, tables)
        return list(tables)
    kept_tables: list[str] = []
    missing_counts: dict[int, int] = {}
    for table in tables:
        held_table = keep_held_records(session, content, table)
        if session.count_rows(held_table) < session.count_rows(table):
            for number, count in _count_missing(session, table, held_table).items():
                missing_counts[number] = max(count, missing_counts.get(number, 0))
        if session.count_rows(held_table):
            kept_tables.append(held_table)
    if missing_counts:
        _report_earlier_version(session, content, missing_counts)
    return kept_tables


def report_snapshot(session: Session, content: DatasetContent) -> None:
    """Report the snapshot of a table that the trace assumes to be the current one."""
    if content.label is not None:
        session.report(_format_name(content), f"its records are those of snapshot {content.label}, the newest in its folder", "version")


def report_earlier_versions(session: Session, tables: Sequence[str], *, replaced: bool = False) -> None:
    """Report the versions of records that are no longer in their tables, or with `replaced` in files whose old data was kept elsewhere.

    The records stay in the answer, with the content that a run read or wrote.
    """
    files_by_dataset: dict[str, set[int]] = {}
    for number in session.list_files_of(tables) if tables else ():
        file = session.files[number]
        if session.look.is_replaced(file.block.path) if replaced else get_format(file.shape.format).is_table:
            files_by_dataset.setdefault(file.dataset, set()).add(number)
    for dataset, numbers in list(files_by_dataset.items())[:_MOST_DATASETS]:
        holding = read_content(session, dataset)
        if holding is not None and holding.problem is None:
            keep_current_records(session, holding, [select_files(session, table, numbers) for table in tables])


def _determine_content(session: Session, dataset: str) -> DatasetContent | None:
    catalog = session.store.catalog
    entries = [known_dataset for known_dataset in catalog.datasets.called(session.tenant, dataset) if known_dataset.id == dataset]
    if not entries:
        return None
    known_dataset = Dataset(entries[0].id, entries[0].name, entries[0].path)
    try:
        shape, _ = find_shape(session, known_dataset)
        if not get_format(shape.format).in_files:
            return None
        with translate_faults(known_dataset.path.removeprefix("file:")):
            listing = get_format(shape.format).find_content(session.look, known_dataset.path, shape)
    except (HeadwaterError, OSError) as error:
        return DatasetContent(dataset, problem=str(error).removesuffix("."))
    if listing is None:
        return DatasetContent(dataset, problem=f"there is nothing at {known_dataset.path.removeprefix('file:')} any more")
    files = {file.block: session.add_file(file.block, dataset, shape, file.partition) for file in listing.files}
    left_out = {files[file.block].number: file.deleted_rows for file in listing.files if file.deleted_rows is not None}
    writer_of_block = catalog.writers(session.tenant, files)
    foreign = [file for block, file in files.items() if block not in writer_of_block]
    moved_files: dict[int, list[KnownFile]] = {}
    for number, written_file in find_origins(session, foreign).items():
        moved_files.setdefault(written_file.number, []).append(session.files[number])
    arrived_files = {file.number for places in moved_files.values() for file in places}
    return DatasetContent(
        dataset, f"{known_dataset.path.rstrip('/')}/", frozenset(file.number for file in files.values()), left_out,
        [file.block for file in foreign if file.number not in arrived_files], moved_files, listing.label,
    )  # fmt: skip


def list_unknown_files(session: Session, content: DatasetContent) -> list[FileBlock]:
    """Return the foreign files without small ones that have no record: a task without a row writes such a file, and no capture names it.

    The files are opened, so call it only for a report.
    """
    if not content.foreign_files:
        return []
    foreign = set(content.foreign_files)
    files = [file for file in map(session.files.__getitem__, sorted(content.files)) if file.block in foreign]
    small = [file for file in files if file.block.length <= _SMALL][:_MOST_COUNTED]
    empty = {file.block for file in small if _is_empty(session, file)}
    return [block for block in content.foreign_files if block not in empty]


def _is_empty(session: Session, file: KnownFile) -> bool:
    try:
        return not get_format(file.shape.format).count_records(session.reader, session.database, file.shape, file.make_read_file())
    except (HeadwaterError, OSError, duckdb.Error):
        return False


def keep_held_records(session: Session, content: DatasetContent, table: str) -> str:
    file_numbers = session.list_files_of([table])
    files = {number for number in file_numbers if _has_file(session, content, session.files[number])}
    left_out = {number: content.deleted_rows[number] for number in files if number in content.deleted_rows}
    if files == file_numbers and not left_out:
        return table
    held_table = select_files(session, table, files)
    if not left_out:
        return held_table
    file = np.concatenate([np.full(len(rows), number, np.int64) for number, rows in left_out.items()])
    deleted = session.keep_in_memory({"file": file, "row": np.concatenate([rows.astype(np.int64) for rows in left_out.values()])})
    return session.make_table(f"SELECT origin, file, row FROM {held_table} ANTI JOIN {deleted} USING (file, row)")


def _has_file(session: Session, holding: DatasetContent, file: KnownFile) -> bool:
    """Return whether the dataset still has a file.

    Partitions may lie outside of the table's folder, so their files are checked one by one.
    """
    if file.number in holding.files or get_format(file.shape.format).is_table or file.block.path.startswith(holding.folder):
        return file.number in holding.files
    try:
        return session.look.block(file.block.path) == file.block
    except (HeadwaterError, OSError):
        return False


def select_files(session: Session, table: str, files: set[int] | frozenset[int]) -> str:
    in_memory = session.get_columns(table)
    if in_memory is not None:
        rows = memory_tables.chosen(in_memory, ["origin", "file", "row"])
        return session.keep_in_memory(memory_tables.taken(rows, np.isin(rows["file"], list(files))))
    numbers = ", ".join(map(str, sorted(files))) or "NULL"
    return session.make_table(f"SELECT origin, file, row FROM {table} WHERE file IN ({numbers})")


def _count_missing(session: Session, table: str, held_table: str) -> dict[int, int]:
    rows = f"SELECT DISTINCT file, row FROM {table} ANTI JOIN {held_table} USING (file, row)"
    return {
        int(file): int(count) for file, count in session.database.execute(f"SELECT file, count(*) FROM ({rows}) GROUP BY file").fetchall()
    }


def _format_name(holding: DatasetContent) -> str:
    _, (_, name) = parse_id(holding.dataset)
    return name


def _report_earlier_version(session: Session, holding: DatasetContent, missing_counts: Mapping[int, int]) -> None:
    total = sum(missing_counts.values())
    records = "one record that was reached is" if total == 1 else f"{total} records that were reached are"
    verb = "it was" if total == 1 else "they were"
    by_capture: dict[str | None, int] = {}
    writers = _find_writers(session, missing_counts)
    for number, count in missing_counts.items():
        by_capture[writers.get(number)] = by_capture.get(writers.get(number), 0) + count
    session.report(
        _format_name(holding), f"{records} not in it any more; {verb} there {_describe_versions(session, by_capture)}", "version"
    )
    if get_format(session.files[next(iter(missing_counts))].shape.format).is_table:
        return
    if unknown := list_unknown_files(session, holding):
        files = f"{len(unknown)} of its files" if len(unknown) > 1 else "one of its files"
        session.report(
            _format_name(holding), f"no known run wrote {files}; whether records that were reached are in there is not known", "missing"
        )


def _report_versions(session: Session, holding: DatasetContent, tables: Sequence[str]) -> None:
    numbers = session.list_files_of(tables) if tables else set()
    if not numbers:
        return
    writers = set(_find_writers(session, numbers).values())
    reason = f"which records it holds now is not known ({holding.problem}); those of the answer are as it had them"
    versions = _describe_versions(session, dict.fromkeys(writers, 0))
    session.report(_format_name(holding), f"{reason} {versions}", "superset" if len(writers) > 1 else "version")


def _find_writers(session: Session, numbers: Iterable[int]) -> dict[int, str]:
    files = [session.files[number] for number in numbers]
    catalog = session.store.catalog
    writer_of_block = catalog.writers(session.tenant, [file.block for file in files])
    moves = catalog.moves.origins(session.tenant, [file.block for file in files if file.block not in writer_of_block])
    origins = {block: move.written[0] for block, move in moves.items() if move.evidence is not Evidence.UNKNOWN}
    writer_of_block |= catalog.writers(session.tenant, origins.values())
    writer_of_file = {file.number: writer_of_block.get(origins.get(file.block, file.block)) for file in files}
    return {number: capture for number, capture in writer_of_file.items() if capture is not None}


def _describe_versions(session: Session, counts: Mapping[str | None, int]) -> str:
    """Return a text with the captures that wrote records of earlier versions.

    `counts` are the records of each capture, 0 if they are not counted. The key None stands for runs without a capture.
    """
    captures = [(session.get_capture(writer), count) for writer, count in counts.items() if writer is not None]
    if not captures:
        return "earlier"
    texts = []
    for capture, count in sorted(captures, key=lambda entry: entry[0].manifest.ended):
        sink, run = capture.manifest.sink, capture.manifest.run
        version = sink.extra.get("version") if sink is not None else None
        version_text = f"version {version}, " if version is not None else ""
        records = _format_count(count) if len(counts) > 1 else ""
        texts.append((f"{version_text}run {run.run_id} of {run.job}, {instant(capture.manifest.ended).partition('.')[0]}Z{records}", count))
    shown_texts, earlier_texts = texts[-_SHOWN:], texts[:-_SHOWN]
    version_names = f"as of {'; '.join(text for text, _ in shown_texts)}"
    if earlier_texts:
        version_names += f"; and in {len(earlier_texts)} versions before{_format_count(sum(count for _, count in earlier_texts))}"
    return version_names + (f"; and earlier{_format_count(counts[None])}" if None in counts else "")


def _format_count(count: int) -> str:
    return f" ({count} record{'' if count == 1 else 's'})" if count else ""
