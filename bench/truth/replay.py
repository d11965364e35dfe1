"""Runs a query again on chosen records of its scans only."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.truth.layouts import Tables, named
from bench.truth.values import Values, comparable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Record = tuple[str, int]  # file (as `file:/a/b`) and row
_RULE = Path(__file__).with_name("Restrict.java")


class Replay:
    """A replay in a separate session, in which capture is installed and the tables are registered. `folder` is scratch space.

    The records are read from the generator's Parquet files in `tables`, for every format of the tables.

    Records belong to a scan, not to a table. If a query reads a table twice, for example to compare with an average of all, a record
    of the average must not appear as a row.
    """

    def __init__(self, session: SparkSession, tables: Tables, folder: Path) -> None:
        self._session = session
        self._names = {_same(uri): name for name, uri in tables.uris.items()}
        self._originals = {_same(uri): path for uri, path in tables.originals.items()}
        self._folder = folder
        self._schemas = {name: session.table(name).schema for name in tables.uris}
        self._rule = _compiled(session)

    def answer(self, text: str, scans: Sequence[tuple[str, Collection[Record]]]) -> list[Values]:
        """Return the rows of the query if there were only these records. `scans` has the URI and records of each scan, by its number.

        Raises:
            ValueError: the query has other scans, or a record is in none of the tables.
        """
        shutil.rmtree(self._folder, ignore_errors=True)
        jvm: Any = self._session.sparkContext._jvm  # noqa: SLF001  # PySpark has no public way to the JVM
        relations = jvm.java.util.ArrayList()
        for number, (folder, records) in enumerate(scans):
            relations.add(self._relation(number, folder, records))
        arguments = jvm.java.util.ArrayList()
        arguments.add(relations)
        rule = self._rule.getConstructors()[0].newInstance(arguments.toArray())
        optimizer = self._session._jsparkSession.experimental()  # noqa: SLF001  # nor to the rules of a session
        none = optimizer.extraOptimizations().take(0)
        put = getattr(optimizer, "extraOptimizations_$eq")
        frame = named(self._session.sql(text))
        put(none.appended(rule))
        try:
            rows = [comparable(row) for row in frame.collect()]
        finally:
            put(none)
        if rule.met() != len(scans):
            raise ValueError(f"The query was run with {rule.met()} scans; its capture has {len(scans)}.")
        return rows

    def _relation(self, number: int, table: str, records: Iterable[Record]) -> Any:
        """Return some records of a table, as Spark's relation of files."""
        rows: dict[Path, list[int]] = defaultdict(list)
        for file, row in records:
            if (original := self._originals.get(_same(file))) is None:
                raise ValueError(f"{file} is no file of {table}.")
            rows[original].append(row)
        folder = self._folder / str(number)
        folder.mkdir(parents=True)
        for path, chosen in rows.items():
            pq.write_table(_content(path).take(pa.array(sorted(chosen), pa.int64())), folder / path.name)
        schema = self._schemas[self._names[_same(table)]]
        plan = self._session.read.schema(schema).parquet(str(folder))._jdf.queryExecution().analyzed()  # noqa: SLF001  # as above
        return plan.relation()


def _same(uri: str) -> str:
    """Normalize a URI for lookups."""
    return str(Path(uri.removeprefix("file:")).resolve()) if uri.startswith("file:") else uri


def _compiled(session: SparkSession) -> Any:
    """Return the class of the rule. It uses capture's classes, which the driver has if capture is installed."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001  # PySpark has no public way to the JVM
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(_RULE.read_text(encoding="utf-8"))
    return compiler.getClassLoader().loadClass("Restrict")


@lru_cache(maxsize=64)
def _content(path: Path) -> pa.Table:
    return pq.ParquetFile(path).read()
