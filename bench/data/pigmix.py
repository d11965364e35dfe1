"""PigMix's tables, drawn as by its published generator (Apache Pig, test/perf/pigmix: generate_data.sh and DataGenerator).

Equal to the original are every field's type, size, cardinality, distribution and share of nulls. Users are the distinct users of the page
views, with further fields. Power users are 500 of them, their samples half of those. The sorted tables, the wide row, and the page views
three times side by side exist too. Different are the text format (Parquet here), and the size: `scale` 1 is a million page views.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.data.cache import kept
from bench.data.draw import bags, maps, named, numbered, strings, uniform, with_nulls, zipf

_ROWS = 1_000_000
_FILES = 4
_LINES = 100_000  # lines of a text file
_WIDE_COLUMNS = 500
_POWER_USERS = 500


def pigmix(scale: float) -> dict[str, Path]:
    """Return the tables by name, as folders of Parquet files, from the cache if possible."""

    def make(folder: Path) -> None:
        random = np.random.default_rng(2008)
        views = _page_views(random, round(scale * _ROWS))
        _write(folder / "page_views", views)
        _write(folder / "page_views_sorted", views.sort_by("user"))
        _write(folder / "widegroupbydata", _thrice(views))
        names = views["user"].unique().drop_null().sort()
        users = _users(random, names)
        _write(folder / "users", users)
        _write(folder / "users_sorted", users.sort_by("name"))
        power = _users(random, names.slice(0, _POWER_USERS))
        _write(folder / "power_users", power)
        _write(folder / "power_users_samples", power.filter(pa.array(random.random(len(power)) < 0.5)))
        _write(folder / "widerow", _wide_rows(random, round(scale * _ROWS / 10)))

    folder = kept(f"pigmix-{scale:g}", make)
    return {path.name: path for path in sorted(folder.iterdir()) if path.is_dir()}


def pigmix_lines(scale: float) -> dict[str, Path]:
    """Return page views and power users as text with one line each, like PigMix, from the cache if possible."""

    def make(folder: Path) -> None:
        random = np.random.default_rng(2008)
        rows = round(scale * _ROWS)
        users = _viewers(random, rows)
        for number, begin in enumerate(range(0, rows, _LINES)):
            views = _page_views(random, min(rows - begin, _LINES))
            _write_lines(folder / "page_views", number, views.set_column(0, "user", users.slice(begin, len(views))))
        _write_lines(folder / "power_users", 0, _users(random, users.unique().drop_null().sort().slice(0, _POWER_USERS)))

    folder = kept(f"pigmix-lines-{scale:g}", make)
    return {path.name: path for path in sorted(folder.iterdir())}


def _viewers(random: np.random.Generator, rows: int) -> pa.Array:
    return with_nulls(random, named(random, zipf, size=20, cardinality=1_600_000, rows=rows), 7)


def _page_views(random: np.random.Generator, rows: int) -> pa.Table:
    return pa.table({
        "user": _viewers(random, rows),
        "action": pa.array(uniform(random, 2, rows), pa.int32()),
        "timespent": pa.array(zipf(random, 20, rows), pa.int32()),
        "query_term": with_nulls(random, named(random, zipf, size=10, cardinality=1_800_000, rows=rows), 20),
        "ip_addr": pa.array(zipf(random, 1_000_000, rows)),
        "timestamp": pa.array(zipf(random, 86_400, rows)),
        "estimated_revenue": with_nulls(random, numbered(random, zipf, cardinality=100_000, rows=rows), 5),
        "page_info": maps(random, 10, rows),
        "page_links": bags(random, lambda count: maps(random, 10, count), rows),
    })  # fmt: skip


def _thrice(views: pa.Table) -> pa.Table:
    flat = views.drop_columns(["page_info", "page_links"])
    return pa.table({name + again: flat[name] for again in ("", "_1", "_2") for name in flat.column_names})


def _users(random: np.random.Generator, names: pa.Array) -> pa.Table:
    def text(size: int, cardinality: int) -> pa.Array:
        return with_nulls(random, named(random, zipf, size=size, cardinality=cardinality, rows=len(names)), 20)

    return pa.table({
        "name": names, "phone": text(10, 1_600_000), "address": text(20, 1_600_000), "city": text(10, 1_600_000),
        "state": text(2, 1_600), "zip": with_nulls(random, pa.array(zipf(random, 1_600, len(names)), pa.int32()), 20),
    })  # fmt: skip


def _wide_rows(random: np.random.Generator, rows: int) -> pa.Table:
    users = strings(random, 20, 10_000).take(pa.array(zipf(random, 10_000, rows)))
    numbers = {f"c{place}": pa.array(uniform(random, 10_000, rows), pa.int32()) for place in range(1, _WIDE_COLUMNS + 1)}
    return pa.table({"user": users} | numbers)


def _write_lines(folder: Path, number: int, table: pa.Table) -> None:
    folder.mkdir(exist_ok=True)
    columns = [pc.fill_null(_text(column.combine_chunks()), "") for column in table.columns]
    lines = pc.binary_join_element_wise(*columns, "\1").to_pylist()
    (folder / f"part-{number:03}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _text(column: pa.Array) -> pa.Array:
    """Convert a column to text: elements of a bag are joined by 2, entries of a map by 3, key and value by 4."""
    if isinstance(column, pa.MapArray):
        entries = pc.binary_join_element_wise(column.keys, column.items, "\4")
        return pc.binary_join(pa.ListArray.from_arrays(column.offsets, entries), "\3")
    if isinstance(column, pa.ListArray):
        return pc.binary_join(pa.ListArray.from_arrays(column.offsets, _text(column.values)), "\2")
    return column.cast(pa.string())


def _write(folder: Path, table: pa.Table) -> None:
    folder.mkdir()
    files = _FILES if len(table) > 10_000 else 1
    size = -(-len(table) // files)
    for number in range(files):
        pq.write_table(table.slice(number * size, size), folder / f"part-{number}.parquet", compression="snappy")
