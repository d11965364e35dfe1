"""Finds the differences between the rows of a dataset and the rows that a replay wrote for it.

Rows are compared as bags, with columns matched by name. Equal rows are left out. The others are paired, most similar first, so that a
corrected row is next to the old one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb

from headwater.backend.rerun.replay.model import Difference, ShownRow
from headwater.errors import UnsupportedError
from headwater.graph.duck.sql import literal, quoted
from headwater.graph.records import DataRoots, Look, uri_of
from headwater.graph.storage.duck import faults

_NUMBER = "_headwater_row"
_NULL = "__HIVE_DEFAULT_PARTITION__"
_KINDS = {"DATE": re.compile(r"\d{4}-\d{2}-\d{2}"), "BIGINT": re.compile(r"-?\d{1,18}")}
_READERS = {
    ".parquet": "read_parquet({files}, union_by_name = true, hive_partitioning = false)",
    ".csv": "read_csv({files}, header = true, union_by_name = true, hive_partitioning = false)",
    ".json": "read_json({files}, hive_partitioning = false)",
}


def compare(
    dataset: str,
    before: Path,
    after: Path,
    *,
    sources: DataRoots,
    places: Sequence[str] = ("",),
    chosen: Mapping[str, Sequence[int]] | None = None,
    limit: int = 100,
) -> tuple[list[Difference], int]:
    """Return at most `limit` differences between two folders, and the number of all. Files of `before` must be below the data roots.

    The comparison is limited to the `places` in both folders. `chosen` are 0-based rows by the path of a file below `before`. Each chosen
    row must be in `after`, and other rows of `after` are ignored.

    Raises:
        UnsupportedError: the format of the dataset cannot be compared, or one of its files may not be read.
    """
    looks = [sources.look(), DataRoots.of([after]).look()]  # these objects keep the files of the views open
    with duckdb.connect() as database, faults():
        database.execute("SET enable_progress_bar = false")  # else DuckDB would print a progress bar into the output of a command
        database.execute(f"CREATE VIEW was_read AS SELECT * FROM {_relation(before, looks[0], places, chosen)}")
        database.execute(f"CREATE VIEW now_read AS SELECT * FROM {_relation(after, looks[1], places)}")
        _align(database)
        gone, gone_count = _rows(database, "was", "now", limit)
        come, come_count = _rows(database, "now", "was", limit) if chosen is None or gone else ([], 0)
    for look in looks:
        look.check()
    pairs = _pair(dataset, gone, come)
    if chosen is not None:
        return [pair for pair in pairs if pair.before is not None], gone_count
    return pairs, max(gone_count, come_count)


def first_rows(folder: Path, sources: DataRoots, limit: int) -> list[ShownRow]:
    """Return the first rows of a dataset, file by file. Files must be below the data roots.

    Raises:
        UnsupportedError: the format cannot be read, or a file may not be read.
    """
    look = sources.look()
    shown: list[ShownRow] = []
    with duckdb.connect() as database, faults():
        database.execute("SET enable_progress_bar = false")
        real, reader, files = _files(folder, look, ("",))
        for file in files:
            if len(shown) >= limit:
                break
            cursor = database.execute(f"SELECT * FROM {_read([file], real, reader, look)} LIMIT {limit - len(shown):d}")
            names = [column[0] for column in cursor.description or ()]
            rows = enumerate(cursor.fetchall())
            shown += [ShownRow(file=uri_of(str(file)), row=row, values=dict(zip(names, values, strict=True))) for row, values in rows]
    look.check()
    return shown


def _relation(folder: Path, look: Look, places: Sequence[str], chosen: Mapping[str, Sequence[int]] | None = None) -> str:
    real, reader, files = _files(folder, look, places)
    return _read(files, real, reader, look) if chosen is None else _read_rows(files, real, reader, look, chosen)


def _files(folder: Path, look: Look, places: Sequence[str]) -> tuple[Path, str, list[Path]]:
    """Return the real folder, DuckDB's reader of the format, and the data files."""
    real = look.path(str(folder))
    for suffix, reader in _READERS.items():
        if real.is_file():
            files = [real] if real.suffix == suffix else []
        else:
            below = [file for place in places for file in sorted((real / place).rglob(f"*{suffix}"))]
            files = [file for file in below if not _hidden(file.relative_to(real))]
        if files:
            return real, reader, files
    named = ", ".join(str(folder / place) for place in places[:5])
    raise UnsupportedError(f"{named} holds no Parquet, CSV or JSON file that could be compared.")


def _read_rows(files: Sequence[Path], folder: Path, reader: str, look: Look, chosen: Mapping[str, Sequence[int]]) -> str:
    """Return SQL for the chosen rows of files. DuckDB reads a file in order, so its rows can be numbered."""
    queries, found = [], set()
    for file in files:
        inner = "" if file == folder else str(file.relative_to(folder))
        if inner in chosen:
            found.add(inner)
            rows = ", ".join(f"{row:d}" for row in chosen[inner])
            numbered = f"SELECT *, row_number() OVER () - 1 AS {quoted(_NUMBER)} FROM {_read([file], folder, reader, look)}"
            queries.append(f"SELECT * EXCLUDE ({quoted(_NUMBER)}) FROM ({numbered}) WHERE {quoted(_NUMBER)} IN ({rows})")
    if missing := sorted(set(chosen) - found):
        raise UnsupportedError(f"{folder / missing[0]} holds chosen rows and was not written again, so they cannot be compared.")
    return f"({' UNION ALL BY NAME '.join(queries)})"


def _read(files: Sequence[Path], folder: Path, reader: str, look: Look) -> str:
    """Return SQL for the rows of files with their partition columns. DuckDB reads open files, whose names contain no folders."""
    partitions: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    for file in files:
        named = [part.partition("=") for part in file.relative_to(folder).parts[:-1] if "=" in part]
        partitions.setdefault(tuple((unquote(name), unquote(value)) for name, _, value in named), []).append(file)
    kinds = {name: _kind([value for values in partitions for other, value in values if other == name]) for name, _ in chain(*partitions)}
    queries = []
    for values, some in partitions.items():
        columns = "".join(f", {_constant(value, kinds[name])} AS {quoted(name)}" for name, value in values)
        listed = ", ".join(literal(look.file(str(file))[1].scan) for file in some)
        queries.append(f"SELECT *{columns} FROM {reader.format(files=f'[{listed}]')}")
    return f"({' UNION ALL BY NAME '.join(queries)})"


def _kind(values: Sequence[str]) -> str:
    known = [value for value in values if value != _NULL]
    return next((kind for kind, form in _KINDS.items() if known and all(map(form.fullmatch, known))), "VARCHAR")


def _constant(value: str, kind: str) -> str:
    return f"NULL::{kind}" if value == _NULL else f"CAST({literal(value)} AS {kind})"


def _hidden(file: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in file.parts)


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


def _rows(database: duckdb.DuckDBPyConnection, left: str, right: str, limit: int) -> tuple[list[dict[str, Any]], int]:
    remainder = f"SELECT * FROM {left} EXCEPT ALL SELECT * FROM {right}"
    counted = database.execute(f"SELECT count(*) FROM ({remainder})").fetchone()
    cursor = database.execute(f"SELECT * FROM ({remainder}) ORDER BY ALL LIMIT {limit:d}")
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()], int(counted[0]) if counted else 0


def _pair(dataset: str, gone: Sequence[Mapping[str, Any]], come: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Pair rows that share the most values. A row that shares no value with any other has no partner."""
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
