"""TPC-H and TPC-DS: tables and query texts of DuckDB 1.1.3, whose wheel contains both generators.

The project itself uses another DuckDB, so this one is installed into a separate folder, and runs in a separate process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.data.cache import kept
from bench.results import ROOT

_DUCKDB = "duckdb==1.1.3"
_QUERIES = "queries.json"

# Runs with that DuckDB. Each table is a folder, large tables have several files, and rows have the order of the generator.
_PROGRAM = """
import json, os, sys
import duckdb
suite, call, scale, folder, many = sys.argv[1:]
database = duckdb.connect(os.path.join(folder, "made.duckdb"))
database.execute("SET enable_progress_bar = false")
database.execute(f"LOAD {suite}")
database.execute(f"CALL {call}(sf = {scale})")
for (table,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall():
    os.mkdir(os.path.join(folder, table))
    (rows,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    files = int(many) if rows > 10_000 else 1
    for number in range(files):
        first, last = rows * number // files, rows * (number + 1) // files
        target = os.path.join(folder, table, f"part-{number}.parquet")
        database.execute(
            f"COPY (SELECT * FROM {table} WHERE rowid >= {first} AND rowid < {last}) TO '{target}' (FORMAT parquet, COMPRESSION snappy)")
texts = dict(database.execute(f"SELECT query_nr, query FROM {suite}_queries() ORDER BY query_nr").fetchall())
with open(os.path.join(folder, "queries.json"), "w", encoding="utf-8") as file:
    json.dump(texts, file)
database.close()
os.remove(os.path.join(folder, "made.duckdb"))
"""
_CALLS = {"tpch": "dbgen", "tpcds": "dsdgen"}


@dataclass(frozen=True)
class Benchmark:
    """Tables, by name, as folders of Parquet files, and the text of each query, by number, as in DuckDB."""

    tables: dict[str, Path]
    queries: dict[int, str]


def benchmark(suite: str, scale: float, *, files: int = 4) -> Benchmark:
    """Return `tpch` or `tpcds` at a scale factor, from the cache if possible.

    Raises:
        subprocess.CalledProcessError: DuckDB cannot be installed, or the tables cannot be made. Standard error has the reason.
    """
    program = kept(_DUCKDB.replace("==", "-"), _install)

    def make(folder: Path) -> None:
        command = [sys.executable, "-c", _PROGRAM, suite, _CALLS[suite], f"{scale:g}", str(folder), str(files)]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(program)}, stdout=subprocess.DEVNULL)

    folder = kept(f"{suite}-{scale:g}-{files}-files", make)
    texts = json.loads((folder / _QUERIES).read_text(encoding="utf-8"))
    return Benchmark(
        tables={path.name: path for path in sorted(folder.iterdir()) if path.is_dir()},
        queries={int(number): text for number, text in texts.items()},
    )


def _install(folder: Path) -> None:
    uv = shutil.which("uv") or str(ROOT / ".tools" / "uv" / "bin" / "uv")
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", str(folder), _DUCKDB]
    subprocess.run(command, check=True)
