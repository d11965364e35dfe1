"""Finds the differences between the rows of a dataset and the rows that a replay wrote for it.

Rows are compared as bags, with columns matched by name. Equal rows are left out. The others are paired, most similar first, so that a
corrected row is next to the old one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa

from headwater.backend.rerun.replay.model import Difference, ShownRow
from headwater.backend.rerun.replay.output_files import OutputFile, list_output_files
from headwater.backend.rerun.replay.output_rows import LineForm, find_line_form, relation
from headwater.backend.rerun.replay.table_files import list_table_files
from headwater.errors import UnsupportedError
from headwater.graph.duck.sql import literal, quoted
from headwater.graph.records import DataRoots, Look, uri_of


def compare(
    dataset: str,
    before: Path | str,
    after: Path,
    *,
    sources: DataRoots,
    places: Sequence[str] = ("",),
    only: Collection[str] | None = None,
    chosen: Mapping[str, Sequence[int]] | None = None,
    options: Mapping[str, str] | None = None,
    limit: int = 100,
) -> tuple[list[Difference], int]:
    """Return at most `limit` differences between two datasets, and the number of all. Files of `before` must be below the data roots.

    Both are folders, files or tables. `before` may be a table in remote storage, and `after` a shadow table, which has files of `before`.

    The comparison is limited to the `places` in both folders, and with `only` to these files of `before`, by their paths in it.
    `chosen` are 0-based rows by the path of a file below `before`. Each chosen row must be in `after`, and other rows of `after` are
    ignored. `options` are Spark's options for writing CSV, if they are known.

    Raises:
        UnsupportedError: the format of the dataset cannot be compared, or a file is damaged or must not be read.
    """
    local_roots = [after] if isinstance(before, str) else [after, sources.look().path(str(before))]
    looks = [sources.look(), DataRoots.of(local_roots, remote=sources.remote).look()]  # they hold the files open that the views name
    files = [_list_files(folder, look, places) for folder, look in zip((before, after), looks, strict=True)]
    if only is not None:
        files[0] = [file for file in files[0] if file.inner in only]
    if not any(files):
        return [], 0
    with _database(before) as database:
        form = find_line_form(list(zip(files, looks, strict=True)), options)
        views = {"was_read": (files[0], looks[0], chosen), "now_read": (files[1], looks[1], None)}
        for name, (listed, look, rows) in sorted(views.items(), key=lambda view: not view[1][0]):  # an empty table has the other's columns
            rows_read = relation(database, listed, look, form, rows) if listed else f"(FROM {(views.keys() - {name}).pop()} LIMIT 0)"
            database.execute(f"CREATE VIEW {name} AS SELECT * FROM {rows_read}")
        _align(database)
        gone, gone_count = _rows(database, "was", "now", limit, form)
        come, come_count = _rows(database, "now", "was", limit, form) if chosen is None or gone else ([], 0)
    for look in looks:
        look.check()
    pairs = _pair(dataset, gone, come)
    if chosen is not None:
        return [pair for pair in pairs if pair.before is not None], gone_count
    return pairs, max(gone_count, come_count)


def first_rows(folder: Path, sources: DataRoots, limit: int) -> list[ShownRow]:
    """Return the first rows of a dataset, file by file. Files must be below the data roots.

    Raises:
        UnsupportedError: the format cannot be read, or a file is damaged or must not be read.
    """
    look = sources.look()
    shown: list[ShownRow] = []
    files = _list_files(folder, look, ("",))
    with _database(folder) as database:
        form = find_line_form([(files, look)], None)
        for file in files:
            if len(shown) >= limit:
                break
            rows = _fetch(database, relation(database, [file], look, form), limit - len(shown))
            deleted, uri = frozenset(file.deleted), uri_of(file.path)
            numbers = (number for number in count() if number not in deleted)
            shown += [ShownRow(file=uri, row=next(numbers), values=form.show(row)) for row in rows]
    look.check()
    return shown


def _list_files(place: Path | str, look: Look, places: Sequence[str]) -> list[OutputFile]:
    files = list_table_files(str(place), look)
    return list_output_files(Path(place), look, places) if files is None else files


@contextmanager
def _database(folder: Path | str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database that spills to a temporary folder. Errors of readers name the folder."""
    with TemporaryDirectory(prefix="headwater-compare-") as spill, duckdb.connect() as database:
        database.execute("SET enable_progress_bar = false")  # a command would print the progress bar into its answer
        database.execute(f"SET temp_directory = {literal(spill)}")
        try:
            yield database
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise UnsupportedError(
                f"The files of {folder} cannot be compared: a file is damaged, or files have columns of types that do not fit.",
                hint="Look at the files with the program that reads them.",
            ) from error


def _align(database: duckdb.DuckDBPyConnection) -> None:
    """Create the views `was` and `now` with the columns of both sides, matched by name in any case. A missing column is NULL."""
    columns: dict[str, dict[str, tuple[str, str]]] = {}
    for side in ("was", "now"):
        described = database.execute(f"DESCRIBE {side}_read").fetchall()
        columns[side] = {name.lower(): (name, kind) for name, kind, *_ in described}
    every = columns["was"] | {key: column for key, column in columns["now"].items() if key not in columns["was"]}
    for side, present in columns.items():
        parts = [
            f"{quoted(present[key][0])} AS {quoted(name)}" if key in present else f"CAST(NULL AS {kind}) AS {quoted(name)}"
            for key, (name, kind) in every.items()
        ]
        database.execute(f"CREATE VIEW {side} AS SELECT {', '.join(parts)} FROM {side}_read")


def _rows(database: duckdb.DuckDBPyConnection, left: str, right: str, limit: int, form: LineForm) -> tuple[list[dict[str, Any]], int]:
    remainder = f"SELECT * FROM {left} EXCEPT ALL SELECT * FROM {right}"
    counted = database.execute(f"SELECT count(*) FROM ({remainder})").fetchone()
    rows = _fetch(database, f"({remainder}) ORDER BY ALL", limit)
    return [form.show(row) for row in rows], int(counted[0]) if counted else 0


def _fetch(database: duckdb.DuckDBPyConnection, rows: str, limit: int) -> list[dict[str, Any]]:
    cursor = database.execute(f"SELECT * FROM {rows} LIMIT {limit:d}")
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _pair(dataset: str, gone: Sequence[Mapping[str, Any]], come: Sequence[Mapping[str, Any]]) -> list[Difference]:
    candidates = sorted(
        ((_alike(old, new), i, j) for i, old in enumerate(gone) for j, new in enumerate(come)),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for alike, i, j in candidates:
        if alike and i not in partner and j not in taken:
            partner[i] = j
            taken.add(j)
    pairs: list[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]] = [
        (old, come[partner[i]] if i in partner else None) for i, old in enumerate(gone)
    ]
    pairs += [(None, new) for j, new in enumerate(come) if j not in taken]
    return [Difference(dataset=dataset, before=old, after=new, columns=_differing(old, new)) for old, new in pairs]


def _alike(old: Mapping[str, Any], new: Mapping[str, Any]) -> int:
    return sum(1 for name, value in old.items() if name in new and new[name] == value)


def _differing(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> list[str]:
    if old is None or new is None:
        return list(old or new or ())
    return [name for name, value in old.items() if new.get(name) != value]
