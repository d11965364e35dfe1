"""The files that a capture read and wrote. Short lists are in memory, long lists are in a SQLite file next to the manifest.

A trace needs the few files of its records, even if a capture read a hundred thousand. An index finds files by ordinal, index or block. A
long list is read completely only to iterate over it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote
from uuid import uuid4

from headwater.errors import DamagedError
from headwater.graph.associations import Manifest, Source
from headwater.graph.associations.parts import SourceFile, Split
from headwater.graph.damage import damaged
from headwater.graph.records.atomic_files import sync, write_durably
from headwater.graph.records.digests import changing, check_file
from headwater.graph.records.layout import BRIEF, LISTS, KeptFile, pack_manifest, read_manifest
from headwater.graph.records.safe_names import FileBlock, block_at, uri_of
from headwater.graph.storage.addresses import other_spellings

_ROWS = "rows"  # key of a boundary's number of rows in a brief manifest
MANY = 500  # files, splits and segments together; beyond this, they are stored outside of the manifest
_SCHEMA = (
    """CREATE TABLE source (source INTEGER NOT NULL, ordinal INTEGER NOT NULL, ordinals INTEGER NOT NULL, uri TEXT NOT NULL,
      length INTEGER NOT NULL, modified INTEGER NOT NULL, path TEXT NOT NULL, partition TEXT NOT NULL, extra TEXT NOT NULL,
      PRIMARY KEY (source, ordinal)) WITHOUT ROWID""",
    "CREATE INDEX source_block ON source (source, uri, length, modified)",
    """CREATE TABLE split (source INTEGER NOT NULL, ordinal INTEGER NOT NULL, path TEXT NOT NULL, start INTEGER NOT NULL,
      length INTEGER NOT NULL, PRIMARY KEY (source, ordinal)) WITHOUT ROWID""",
    "CREATE TABLE told (source INTEGER PRIMARY KEY, files INTEGER NOT NULL, by_path INTEGER NOT NULL)",
    """CREATE TABLE written (place INTEGER PRIMARY KEY, uri TEXT NOT NULL, length INTEGER NOT NULL, modified INTEGER NOT NULL,
      rows INTEGER NOT NULL, attempt INTEGER)""",
    "CREATE INDEX written_block ON written (uri, length, modified)",
)
_FILE = "ordinal, ordinals, path, length, modified, partition, extra"


class SourceFiles(Protocol):
    """The files that a source read, in the order of their ordinals."""

    def __len__(self) -> int:
        """Return the number of files."""

    def __iter__(self) -> Iterator[SourceFile]:
        """Iterate over the files."""

    @property
    def by_path(self) -> bool:
        """Return whether the order of ordinals is the order of paths."""

    def at(self, ordinal: int) -> SourceFile | None:
        """Return the file to which an ordinal belongs."""

    def of(self, block: FileBlock) -> SourceFile | None:
        """Return the file with this block."""

    def first(self, most: int) -> Sequence[SourceFile]:
        """Return the first files, at most `most`."""

    def split(self, ordinal: int) -> Split | None:
        """Return the split with this ordinal."""

    def splits(self, file: SourceFile) -> list[Split]:
        """Return the recorded splits of a file."""


class WrittenFiles(Protocol):
    """The files that a capture wrote, by index."""

    def __len__(self) -> int:
        """Return the number of files."""

    def __getitem__(self, place: int, /) -> KeptFile:
        """Return the file with this index."""

    def __iter__(self) -> Iterator[KeptFile]:
        """Iterate over the files."""

    def first(self, most: int) -> Sequence[KeptFile]:
        """Return the first files, at most `most`."""

    def place_of(self, block: FileBlock) -> int | None:
        """Return the index of the file with this block."""


class FewSourceFiles:
    """The files of a source, listed in the manifest."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __len__(self) -> int:
        return len(self._source.files)

    def __iter__(self) -> Iterator[SourceFile]:
        return iter(self._source.files)

    @cached_property
    def by_path(self) -> bool:
        return listed_by_path(self._source.files)

    def at(self, ordinal: int) -> SourceFile | None:
        return next((file for file in self._source.files if file.ordinal <= ordinal < file.ordinal + file.ordinals), None)

    def of(self, block: FileBlock) -> SourceFile | None:
        return self._blocks.get(block)

    def first(self, most: int) -> Sequence[SourceFile]:
        return self._source.files[:most]

    def split(self, ordinal: int) -> Split | None:
        return next((split for split in self._source.splits if split.ordinal == ordinal), None)

    def splits(self, file: SourceFile) -> list[Split]:
        return [split for split in self._source.splits if file.ordinal <= split.ordinal < file.ordinal + file.ordinals]

    @cached_property
    def _blocks(self) -> Mapping[FileBlock, SourceFile]:
        return {block_of_source(file): file for file in reversed(self._source.files)}


class FewWrittenFiles:
    """The written files of a capture with few files."""

    def __init__(self, files: Sequence[KeptFile]) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, place: int) -> KeptFile:
        return self._files[place]

    def __iter__(self) -> Iterator[KeptFile]:
        return iter(self._files)

    def first(self, most: int) -> Sequence[KeptFile]:
        return self._files[:most]

    def place_of(self, block: FileBlock) -> int | None:
        return self._places.get(block)

    @cached_property
    def _places(self) -> Mapping[FileBlock, int]:
        return {file.block: place for place, file in enumerate(self._files)}


class _Stored:
    """A SQLite file with long lists. It is opened for each query, because there may be many captures and few queries for each."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self) -> None:
        if (problems := self._rows("PRAGMA quick_check(1)")) != [("ok",)]:
            raise damaged(self._path, "The association file", str(problems[0][0]).splitlines()[0])
        self._rows("SELECT count(*) FROM told")  # an empty file is a database without tables

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            check_file(self._path)
            with closing(sqlite3.connect(f"file:{quote(str(self._path))}?mode=ro&immutable=1", uri=True)) as database:
                return database.execute(statement, values).fetchall()
        except FileNotFoundError as error:
            raise damaged(self._path, "The association file", "it is missing") from error
        except sqlite3.Error as error:
            raise damaged(self._path, "The association file", str(error)) from error


class ManySourceFiles(_Stored):
    """The files of a source, listed in a SQLite file."""

    def __init__(self, path: Path, source: int) -> None:
        super().__init__(path)
        self._source = source

    def __len__(self) -> int:
        return self._counts[0]

    def __iter__(self) -> Iterator[SourceFile]:
        return map(_file, self._rows(f"SELECT {_FILE} FROM source WHERE source = ? ORDER BY ordinal", self._source))

    @property
    def by_path(self) -> bool:
        return bool(self._counts[1])

    def at(self, ordinal: int) -> SourceFile | None:
        question = f"SELECT {_FILE} FROM source WHERE source = ? AND ordinal <= ? ORDER BY ordinal DESC LIMIT 1"
        source_files = [_file(row) for row in self._rows(question, self._source, ordinal)]
        return next((file for file in source_files if ordinal < file.ordinal + file.ordinals), None)

    def of(self, block: FileBlock) -> SourceFile | None:
        uris, values = _spelt(block)
        question = f"SELECT {_FILE} FROM source WHERE source = ? AND uri IN {uris} AND length = ? AND modified = ? ORDER BY ordinal LIMIT 1"
        return next(map(_file, self._rows(question, self._source, *values)), None)

    def first(self, most: int) -> Sequence[SourceFile]:
        question = f"SELECT {_FILE} FROM source WHERE source = ? ORDER BY ordinal LIMIT ?"
        return [_file(row) for row in self._rows(question, self._source, most)]

    def split(self, ordinal: int) -> Split | None:
        return next(iter(self._splits(ordinal, ordinal)), None)

    def splits(self, file: SourceFile) -> list[Split]:
        return self._splits(file.ordinal, file.ordinal + file.ordinals - 1)

    def _splits(self, first: int, last: int) -> list[Split]:
        question = "SELECT ordinal, path, start, length FROM split WHERE source = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal"
        return [
            Split(ordinal=ordinal, path=path, start=start, length=length)
            for ordinal, path, start, length in self._rows(question, self._source, first, last)
        ]

    @cached_property
    def _counts(self) -> tuple[int, int]:
        rows = self._rows("SELECT files, by_path FROM told WHERE source = ?", self._source)
        return (rows[0][0], rows[0][1]) if rows else (0, 1)


class ManyWrittenFiles(_Stored):
    """The written files of a capture with many files, listed in a SQLite file."""

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> KeptFile:
        rows = self._rows("SELECT uri, length, modified, rows, attempt FROM written WHERE place = ?", place)
        if not rows:
            raise IndexError(place)
        return _written(rows[0])

    def __iter__(self) -> Iterator[KeptFile]:
        return map(_written, self._rows("SELECT uri, length, modified, rows, attempt FROM written ORDER BY place"))

    def first(self, most: int) -> Sequence[KeptFile]:
        rows = self._rows("SELECT uri, length, modified, rows, attempt FROM written ORDER BY place LIMIT ?", most)
        return [_written(row) for row in rows]

    def place_of(self, block: FileBlock) -> int | None:
        uris, values = _spelt(block)
        rows = self._rows(f"SELECT max(place) FROM written WHERE uri IN {uris} AND length = ? AND modified = ?", *values)
        return rows[0][0]  # type: ignore[no-any-return]

    @cached_property
    def _count(self) -> int:
        return int(self._rows("SELECT count(*) FROM written")[0][0])


def is_long(manifest: Manifest, files: Sequence[KeptFile]) -> bool:
    """Return whether a capture has so many files that its lists are stored outside of the manifest."""
    return len(files) + len(manifest.segments) + sum(len(source.files) + len(source.splits) for source in manifest.sources) > MANY


def shortened(manifest: Manifest) -> Manifest:
    """Return a manifest without the lists of files, splits and segments. It has the number of rows of each boundary instead."""
    rows = rows_of_segments(manifest)
    boundaries = tuple(
        replace(boundary, extra={**boundary.extra, _ROWS: rows.get(boundary.boundary, 0)}) for boundary in manifest.boundaries
    )
    sources = tuple(replace(source, files=(), splits=()) for source in manifest.sources)
    return replace(manifest, segments=(), sources=sources, boundaries=boundaries)


def rows_of_segments(manifest: Manifest) -> dict[int, int]:
    """Return the number of rows of each boundary, from the manifest's list of segments."""
    counts = {boundary.boundary: 0 for boundary in manifest.boundaries}
    for segment in manifest.segments:
        counts[segment.boundary] = counts.get(segment.boundary, 0) + segment.rows
    return counts


def stated_rows(brief: Manifest) -> dict[int, int] | None:
    """Return the number of rows of each boundary from a brief manifest. None if an earlier release wrote it without these numbers."""
    stated_counts = {boundary.boundary: boundary.extra.get(_ROWS) for boundary in brief.boundaries}
    known_counts = {number: count for number, count in stated_counts.items() if isinstance(count, int)}
    return known_counts if len(known_counts) == len(stated_counts) else None


def keep_lists(manifest: Manifest, files: Sequence[KeptFile], folder: Path) -> None:
    """Write the lists and the brief manifest of a capture with many files. Do nothing for other captures."""
    if not is_long(manifest, files):
        return
    draft = folder / f".{LISTS}.{uuid4().hex}"
    try:
        write_lists(draft, manifest, files)
        sync(draft)
        draft.replace(folder / LISTS)
    finally:
        draft.unlink(missing_ok=True)
    write_durably(folder / BRIEF, pack_manifest(shortened(manifest)))  # last, because readers look for this file


def keep_missing_lists(manifest: Manifest, files: Sequence[KeptFile], folder: Path) -> None:
    """Write the lists of a capture if they are damaged, or if an earlier release kept it without lists."""
    if is_long(manifest, files) and not _has_sound_lists(folder):
        with changing(folder, (LISTS, BRIEF)):
            keep_lists(manifest, files, folder)


def _has_sound_lists(folder: Path) -> bool:
    try:
        read_manifest(folder, BRIEF)
        check_lists(folder / LISTS)
    except (DamagedError, FileNotFoundError):
        return False
    return True


def write_lists(path: Path, manifest: Manifest, files: Iterable[KeptFile]) -> None:
    """Write the lists of a capture into a new SQLite file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")  # a crash only leaves a draft
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN")
        for statement in _SCHEMA:
            database.execute(statement)
        for source in manifest.sources:
            database.execute("INSERT INTO told VALUES (?, ?, ?)", [source.source, len(source.files), listed_by_path(source.files)])
            database.executemany("INSERT INTO source VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (_row(source.source, f) for f in source.files))
            splits = ((source.source, split.ordinal, split.path, split.start, split.length) for split in source.splits)
            database.executemany("INSERT INTO split VALUES (?, ?, ?, ?, ?)", splits)
        file_rows = ((place, *file.block, file.rows, file.attempt) for place, file in enumerate(files))
        database.executemany("INSERT INTO written VALUES (?, ?, ?, ?, ?, ?)", file_rows)
        database.execute("COMMIT")


def check_lists(path: Path) -> None:
    _Stored(path).check()


def block_of_source(file: SourceFile) -> FileBlock:
    """Return the block of a file as the run read it."""
    return block_at(file.path, file.length, file.modified)


def listed_by_path(files: Iterable[SourceFile]) -> bool:
    """Return whether the order of ordinals is the order of paths."""
    sorted_files = sorted(files, key=lambda file: file.path)
    return all(earlier.ordinal < after.ordinal for earlier, after in pairwise(sorted_files))


def _row(source: int, file: SourceFile) -> tuple[object, ...]:
    partition, extra = (json.dumps(value, ensure_ascii=False) for value in (file.partition, file.extra))
    return source, file.ordinal, file.ordinals, *block_of_source(file)[:3], file.path, partition, extra


def _file(row: tuple[Any, ...]) -> SourceFile:
    ordinal, ordinals, path, length, modified, partition, extra = row
    return SourceFile(
        ordinal=ordinal, ordinals=ordinals, path=path, length=length, modified=modified,
        partition=json.loads(partition), extra=json.loads(extra),
    )  # fmt: skip


def _written(row: tuple[Any, ...]) -> KeptFile:
    return KeptFile(FileBlock(uri_of(row[0]), *row[1:3]), *row[3:])


def _spelt(block: FileBlock) -> tuple[str, Sequence[object]]:
    """Return an SQL condition for a block by every spelling of its URI. Earlier releases stored the spelling of the program."""
    uris = [block.path, *other_spellings(block.path)]
    return f"({', '.join('?' * len(uris))})", [*uris, *block[1:]]
