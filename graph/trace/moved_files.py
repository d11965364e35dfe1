"""Follows records of files that a program renamed, moved or copied after a known run wrote them, to places where no known run wrote.

For the walks. The answer reports two files that are only likely to be the same. If several files may be the written one, the trace ends
there and the answer names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.duck import memory_tables
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import FileBlock
from headwater.graph.records.moved_files import Evidence, Move
from headwater.graph.trace.session import KnownFile, Session, mapped

_SHOWN = 3


def former_places(session: Session, files: Iterable[KnownFile]) -> dict[int, int]:
    """Return the numbers of the written files, by the numbers of the files that they are now.

    No capture wrote `files` at their current place.
    """
    return {number: written.number for number, written in find_origins(session, files).items()}


def find_origins(session: Session, files: Iterable[KnownFile]) -> dict[int, KnownFile]:
    """Return the written files, by the numbers of the files that they are now. No capture wrote `files` at their current place."""
    by_block = {file.block: file for file in files if format_of(file.shape.format).in_files}
    moves = session.store.catalog.moves.origins(session.tenant, by_block) if by_block else {}
    return {
        by_block[block].number: written
        for block, written in _written(session, moves).items()
        if _counts_alike(session, by_block[block], written)
    }


def later_places(session: Session, files: Iterable[KnownFile]) -> dict[int, list[KnownFile]]:
    """Return the moved or copied files elsewhere that captures read, by the numbers of the original `files`."""
    blocks = [file.block for file in files if format_of(file.shape.format).in_files]
    moves = session.store.catalog.moves.destinations(session.tenant, blocks) if blocks else {}
    found: dict[int, list[KnownFile]] = {}
    for block, written in _written(session, moves).items():
        read = _as_read(session, block)
        if read is not None and _counts_alike(session, read, written):
            found.setdefault(written.number, []).append(read)
    return found


def renumber(session: Session, table: str, numbers: Mapping[int, int]) -> str:
    """Return the records of a table `origin, file, row` in some files, with other numbers for these files."""
    known = session.columns(table)
    if known is not None:
        rows = memory_tables.taken(memory_tables.chosen(known, ["origin", "file", "row"]), np.isin(known["file"], list(numbers)))
        return session.hold({**rows, "file": memory_tables.mapped(rows["file"], numbers)})
    listed = ", ".join(map(str, sorted(numbers)))
    return session.table(
        f"SELECT DISTINCT origin, {mapped('file', numbers)} AS file, row FROM {table} WHERE row IS NOT NULL AND file IN ({listed})"
    )


def _written(session: Session, moves: Mapping[FileBlock, Move]) -> dict[FileBlock, KnownFile]:
    """Return the written file of each move that is known. The answer names the other moves, and those that are not certain."""
    found: dict[FileBlock, KnownFile] = {}
    known = [move.written[0] for move in moves.values() if move.evidence is not Evidence.UNKNOWN]
    writers = session.store.catalog.writers(session.tenant, known)
    for block, move in moves.items():
        origin = move.written[0]
        if move.evidence is Evidence.UNKNOWN:
            session.say(block.path, _unknown(move), "missing")
            continue
        if move.evidence is Evidence.LIKELY:
            session.say(block.path, f"it is taken for {_shown([origin])}, which a known run wrote: {move.shared} are equal", "superset")
        sink = session.capture(writers[origin]).manifest.sink
        if sink is not None:
            dataset = node_id(NodeKind.DATASET, sink.dataset.namespace, sink.dataset.name)
            found[block] = session.known(origin, dataset, Shape.of_sink(sink))
    return found


def _unknown(move: Move) -> str:
    if len(move.written) > 1:
        files = f"{len(move.written)} files of this {move.shared} elsewhere ({_shown(move.written)}); which of them it is"
    else:
        files = f"a file of this {move.shared} elsewhere ({_shown(move.written)}); whether it is that file"
    return f"known runs wrote {files} is not known, so its records are not followed"


def _shown(files: Sequence[FileBlock]) -> str:
    names = ", ".join(file.path.removeprefix("file:") for file in sorted(files)[:_SHOWN])
    return names if len(files) <= _SHOWN else f"{names}, …"


def _as_read(session: Session, block: FileBlock) -> KnownFile | None:
    """Return a file in the shape of the first capture that read it."""
    for capture in map(session.capture, session.store.catalog.readers(session.tenant, [block]).get(block, ())):
        for source in capture.manifest.sources:
            entry = capture.files_of(source).of(block)
            if entry is not None:
                dataset = node_id(NodeKind.DATASET, source.dataset.namespace, source.dataset.name)
                return session.known(block, dataset, Shape.of_source(source), entry.partition)
    return None


def _counts_alike(session: Session, file: KnownFile, written: KnownFile) -> bool:
    """Return whether both files number their records alike. If not, the answer says that the trace ends there."""
    try:
        ours, theirs = (format_of(one.shape.format).numbering(dict(one.shape.options)) for one in (file, written))
    except UnsupportedError:
        ours, theirs = None, 0
    if ours != theirs:
        session.say(file.block.path, "its records are numbered otherwise than they were written (a header, a comment)", "missing")
    return ours == theirs
