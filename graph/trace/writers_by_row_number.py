"""Which captures wrote the records of files that several may have written, where all of them number records alike: many files at once.

For the walk backward, at keys of tables, of which each is as a file, at streams, and at files of which actors state what they wrote. What
is numbered in another way, or by bytes, is left to `writers_by_place`, file by file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.associations import Source
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.trace.session import Capture, KnownFile, Session

_NAMED = 20  # files that an answer names; of more it says how many they are


@dataclass(frozen=True, slots=True)
class Found:
    """Tables `origin, file, row`: by writer, and of no writer (`rest`); and the files that were not looked at."""

    by_writer: Sequence[tuple[str, str]]
    rest: str | None
    left: Sequence[KnownFile]


def is_shared(session: Session, file: KnownFile, writer: str, source: Source | None) -> bool:
    """Whether several captures may have written records of a file: its formats share files, or its writer states places."""
    if format_of(file.shape.format).shares_files or (source is not None and format_of(source.format).shares_files):
        return True
    sink = session.capture(writer).plan.sink
    return sink is not None and sink.is_placed


def by_numbers(session: Session, table: str, files: Sequence[KnownFile], source: Source | None) -> Found:
    """The records of files in a table `origin, file, row`, by those who wrote records of these numbers."""
    writers = session.store.catalog.all_writers(session.tenant, [file.block for file in files])
    pruned = session.pruned({name for names in writers.values() for name in names})
    asked = Shape.of_source(source) if source else None
    alike: dict[tuple[str, Shape], bool] = {}
    taken: list[KnownFile] = []
    places: dict[str, list[tuple[int, int]]] = {}  # by writer: number of a file here, and at the writer
    for file in files:
        shape = asked or file.shape
        at: dict[str, int | None] = {}
        for name in writers.get(file.block, ()):
            if (name, shape) not in alike:
                alike[name, shape] = name not in pruned and _numbers_alike(session.capture(name), shape)
            at[name] = session.capture(name).files.place_of(file.block) if alike[name, shape] else None
        if None in at.values():
            continue
        taken.append(file)
        for name, place in at.items():
            places.setdefault(name, []).append((file.number, place or 0))
    if not taken:
        return Found((), None, files)
    numbers = {file.number for file in taken}
    own = session.table(
        f"SELECT DISTINCT origin, file, row FROM {table} SEMI JOIN {_table_of(session, numbers)} USING (file) WHERE row IS NOT NULL"
    )
    found = [(name, _written(session, own, session.capture(name), at)) for name, at in places.items()]
    found = [(name, records) for name, records in found if session.count(records)]
    _say_rewritten(session, found)
    covered = " UNION ".join(f"FROM {records}" for _, records in found)
    rest = session.table(f"SELECT origin, file, row FROM {own} {f'ANTI JOIN ({covered}) USING (origin, file, row)' if covered else ''}")
    _say(session, f"SELECT file, count(DISTINCT row) FROM {rest} GROUP BY file", "records were written by no run that is known", "missing")
    return Found(found, rest if session.count(rest) else None, [file for file in files if file.number not in numbers])


def _numbers_alike(writer: Capture, shape: Shape) -> bool:
    """Whether a writer's n-th record of a file is the n-th in a shape, and its sink tells which it wrote."""
    stated, sink = writer.manifest.sink, writer.plan.sink
    if stated is None or sink is None:
        return False
    theirs = format_of(stated.format)
    if theirs.counts_bytes or format_of(shape.format).counts_bytes:
        return False
    try:
        return format_of(shape.format).numbering(dict(shape.options)) == theirs.numbering(dict(stated.options))
    except UnsupportedError:
        return False


def _table_of(session: Session, numbers: set[int]) -> str:
    return session.hold({"file": np.fromiter(sorted(numbers), np.int64, len(numbers))})


def _written(session: Session, own: str, writer: Capture, places: Sequence[tuple[int, int]]) -> str:
    """Those of the records that a capture says it wrote."""
    if (sink := writer.plan.sink) is None:
        return session.table(f"SELECT * FROM {own} LIMIT 0")
    numbers, at = np.array(places, np.int64).reshape(-1, 2).T
    known = session.hold({"file": numbers.copy(), "place": at.copy()})
    return session.table(
        f"SELECT o.origin, o.file, o.row FROM {own} o JOIN {known} k ON k.file = o.file "
        f"SEMI JOIN (SELECT file AS place, row FROM {session.rows(writer, sink)}) s ON s.place = k.place AND s.row = o.row"
    )


def _say_rewritten(session: Session, found: Sequence[tuple[str, str]]) -> None:
    """Say where several captures wrote one record: which of them was read is not known."""
    if len(found) > 1:
        union = " UNION ALL ".join(f"SELECT DISTINCT file, row FROM {records}" for _, records in found)
        twice = f"SELECT file, count(*) FROM (SELECT file, row FROM ({union}) GROUP BY ALL HAVING count(*) > 1) GROUP BY file"
        _say(session, twice, "records were written more than once; all who wrote them are given", "superset")


def _say(session: Session, counts: str, what: str, effect: str) -> None:
    """Say something of so many records of each file; of many files, how many they are of each dataset."""
    rows = session.database.execute(f"{counts} ORDER BY file").fetchall()
    if len(rows) <= _NAMED:
        for number, count in rows:
            session.say(session.files[number].block.path, f"{count} of its {what}", effect)
        return
    datasets: dict[str, int] = {}
    for number, count in rows:
        datasets[session.files[number].dataset] = datasets.get(session.files[number].dataset, 0) + count
    for dataset, count in datasets.items():
        session.say(dataset, f"{count} of its {what}", effect)
