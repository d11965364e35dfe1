"""Follows records of files that were renamed, moved or copied after a captured run wrote them.

If two files are only likely to be the same, the answer reports that. If several files may be the written one, the trace ends there and the
answer names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.duck import memory_tables
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import FileBlock
from headwater.graph.records.moved_files import Evidence, Move
from headwater.graph.trace.session import KnownFile, Session, format_mapping

_SHOWN = 3


def find_former_files(session: Session, files: Iterable[KnownFile]) -> dict[int, int]:
    """Return the numbers of the originally written files, by the numbers of the moved or copied `files`."""
    return {number: written_file.number for number, written_file in find_origins(session, files).items()}


def find_origins(session: Session, files: Iterable[KnownFile]) -> dict[int, KnownFile]:
    """Return the originally written files, by the numbers of the moved or copied `files`."""
    by_block = {file.block: file for file in files if get_format(file.shape.format).in_files}
    moves = session.store.catalog.moves.origins(session.tenant, by_block) if by_block else {}
    return {
        by_block[block].number: written_file
        for block, written_file in _find_written_files(session, moves).items()
        if _check_numbering(session, by_block[block], written_file)
    }


def find_later_files(session: Session, files: Iterable[KnownFile]) -> dict[int, list[KnownFile]]:
    """Return the moved or copied files that captures read, by the numbers of the original `files`."""
    blocks = [file.block for file in files if get_format(file.shape.format).in_files]
    moves = session.store.catalog.moves.destinations(session.tenant, blocks) if blocks else {}
    files_by_original: dict[int, list[KnownFile]] = {}
    for block, written_file in _find_written_files(session, moves).items():
        reader_file = _find_reader_file(session, block)
        if reader_file is not None and _check_numbering(session, reader_file, written_file):
            files_by_original.setdefault(written_file.number, []).append(reader_file)
    return files_by_original


def renumber_files(session: Session, table: str, numbers: Mapping[int, int]) -> str:
    """Return the records `origin, file, row` of some files, with other file numbers. `numbers` maps old numbers to new."""
    in_memory = session.get_columns(table)
    if in_memory is not None:
        rows = memory_tables.taken(memory_tables.chosen(in_memory, ["origin", "file", "row"]), np.isin(in_memory["file"], list(numbers)))
        return session.keep_in_memory({**rows, "file": memory_tables.mapped(rows["file"], numbers)})
    numbers_text = ", ".join(map(str, sorted(numbers)))
    return session.make_table(
        f"SELECT DISTINCT origin, {format_mapping('file', numbers)} AS file, row FROM {table} "
        f"WHERE row IS NOT NULL AND file IN ({numbers_text})"
    )


def _find_written_files(session: Session, moves: Mapping[FileBlock, Move]) -> dict[FileBlock, KnownFile]:
    """Return the originally written file of each move. Report moves that are unknown or uncertain."""
    written_files: dict[FileBlock, KnownFile] = {}
    known_blocks = [move.written[0] for move in moves.values() if move.evidence is not Evidence.UNKNOWN]
    writers = session.store.catalog.writers(session.tenant, known_blocks)
    for block, move in moves.items():
        origin = move.written[0]
        if move.evidence is Evidence.UNKNOWN:
            session.report(block.path, _report_unknown_move(move), "missing")
            continue
        if move.evidence is Evidence.LIKELY:
            session.report(
                block.path, f"it is taken for {_format_blocks([origin])}, which a known run wrote: {move.shared} are equal", "superset"
            )
        sink = session.get_capture(writers[origin]).manifest.sink
        if sink is not None:
            dataset = node_id(NodeKind.DATASET, sink.dataset.namespace, sink.dataset.name)
            written_files[block] = session.add_file(origin, dataset, Shape.from_sink(sink))
    return written_files


def _report_unknown_move(move: Move) -> str:
    if len(move.written) > 1:
        files = f"{len(move.written)} files of this {move.shared} elsewhere ({_format_blocks(move.written)}); which of them it is"
    else:
        files = f"a file of this {move.shared} elsewhere ({_format_blocks(move.written)}); whether it is that file"
    return f"known runs wrote {files} is not known, so its records are not followed"


def _format_blocks(files: Sequence[FileBlock]) -> str:
    names = ", ".join(file.path.removeprefix("file:") for file in sorted(files)[:_SHOWN])
    return names if len(files) <= _SHOWN else f"{names}, …"


def _find_reader_file(session: Session, block: FileBlock) -> KnownFile | None:
    for capture in map(session.get_capture, session.store.catalog.readers(session.tenant, [block]).get(block, ())):
        for source in capture.manifest.sources:
            entry = capture.files_of(source).of(block)
            if entry is not None:
                dataset = node_id(NodeKind.DATASET, source.dataset.namespace, source.dataset.name)
                return session.add_file(block, dataset, Shape.from_source(source), entry.partition)
    return None


def _check_numbering(session: Session, file: KnownFile, written_file: KnownFile) -> bool:
    try:
        numbering, written_numbering = (
            get_format(side.shape.format).describe_numbering(dict(side.shape.options)) for side in (file, written_file)
        )
    except UnsupportedError:
        numbering, written_numbering = None, 0
    if numbering != written_numbering:
        session.report(file.block.path, "its records are numbered otherwise than they were written (a header, a comment)", "missing")
    return numbering == written_numbering
