"""Random pipelines of Spark programs, and their rows according to DuckDB.

A pipeline reads the sources `a` and `b`. Its jobs write the datasets `out/s0`, `out/s1`, … A job overwrites a dataset of its own, or
appends to an earlier one. One program contains one or more consecutive jobs. Every dataset has the columns `k` and `v`. Both are whole
numbers, and `v` may be NULL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import duckdb
from hypothesis import strategies as st

Row = tuple[int, int | None]
Place = tuple[str, int, int]  # source, file and record

FORMATS = ("csv", "parquet", "json", "orc")
STEPS = (
    "SELECT k, v FROM {t} WHERE v > {c}",
    "SELECT k, CAST(sum(v) AS INT) AS v FROM {t} GROUP BY k",
    "SELECT k, CAST(max(v) AS INT) AS v FROM {t} WHERE v <> {c} GROUP BY k",
    "SELECT k, CAST(count(DISTINCT v) AS INT) AS v FROM {t} GROUP BY k HAVING count(*) > 1",
    "SELECT x.k, x.v + y.v AS v FROM {t} x JOIN {u} y ON x.k = y.k",
    "SELECT x.k, x.v + coalesce(y.v, -1) AS v FROM {t} x LEFT JOIN {u} y ON x.k = y.k AND y.v > {c}",
    "SELECT coalesce(x.k, y.k) AS k, coalesce(x.v, y.v) AS v FROM {t} x FULL JOIN {u} y ON x.k = y.k AND x.v = y.v",
    "SELECT DISTINCT k, v FROM {t}",
    "SELECT k, v FROM {t} UNION ALL SELECT k, v FROM {u}",
    "SELECT k, v FROM {t} UNION SELECT k, v FROM {u}",
    "SELECT k, v FROM {t} INTERSECT SELECT k, v FROM {u}",
    "SELECT k, v FROM {t} EXCEPT SELECT k, v FROM {u}",
    "SELECT k, v FROM {t} x WHERE EXISTS (SELECT 1 FROM {u} y WHERE y.k = x.k AND y.v > {c})",
    "SELECT k, v FROM {t} x WHERE NOT EXISTS (SELECT 1 FROM {u} y WHERE y.k = x.k AND y.v > {c})",
    "SELECT k, v FROM {t} WHERE v IN (SELECT v FROM {u} WHERE k <> 1)",
    "SELECT k, v FROM {t} WHERE v >= (SELECT coalesce(max(v), 9) - {c} FROM {u})",
    "SELECT k, CAST(rank() OVER (PARTITION BY k ORDER BY v NULLS FIRST) AS INT) AS v FROM {t}",
    "SELECT k, CAST(sum(v) OVER (PARTITION BY k ORDER BY v NULLS FIRST) AS INT) AS v FROM {t}",
    "SELECT k, v FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC NULLS LAST) AS n FROM {t}) WHERE n <= 2",
)
# steps of RDDs: what is done with the RDD of the rows of {t}, and the same as SQL
RDD_STEPS = (
    (
        "rows.filter(lambda row: row.v is not None and row.v > {c}).map(lambda row: (row.k, row.v + 1))",
        "SELECT k, v + 1 AS v FROM {t} WHERE v > {c}",
    ),
    (
        "rows.filter(lambda row: row.v is not None).map(lambda row: (row.k, row.v)).reduceByKey(lambda x, y: x + y)",
        "SELECT k, CAST(sum(v) AS INT) AS v FROM {t} WHERE v IS NOT NULL GROUP BY k",
    ),
    (
        "rows.map(lambda row: (row.k, 1)).groupByKey().mapValues(len)",
        "SELECT k, CAST(count(*) AS INT) AS v FROM {t} GROUP BY k",
    ),
    (
        "rows.map(lambda row: (row.k, row.v)).union(spark.sql('SELECT k, v FROM {u}').rdd.map(lambda row: (row.k, row.v)))",
        "SELECT k, v FROM {t} UNION ALL SELECT k, v FROM {u}",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A query, and the number of the dataset to which its rows go. `rdd` does the same with an RDD of the rows of `reads[0]`."""

    query: str
    into: int
    form: str
    reads: tuple[str, ...]
    rdd: str | None = None
    appends: bool = False

    def lines(self) -> list[str]:
        frame = f"spark.sql({self.query!r})"
        if self.rdd is not None:
            frame = f"spark.createDataFrame((lambda rows: {self.rdd})(spark.sql('SELECT k, v FROM {self.reads[0]}').rdd), 'k int, v int')"
        mode = "append" if self.appends else "overwrite"
        return [f'{frame}.write.mode("{mode}").format("{self.form}").save("out/s{self.into}")']


@dataclass(frozen=True)
class Pipeline:
    """`sources` has the rows of each file. `programs` are the jobs of each program. `target` is the dataset to replay."""

    sources: Mapping[str, list[list[Row]]]
    forms: Mapping[str, str]
    programs: list[list[Job]]
    target: str

    @property
    def jobs(self) -> list[Job]:
        return [job for program in self.programs for job in program]

    def script(self, number: int) -> str:
        """Return the program with a number."""
        lines = ["from pyspark.sql import SparkSession", "", f'spark = SparkSession.builder.appName("Random{number}").getOrCreate()']
        for job in self.programs[number]:
            for name in job.reads:
                place = name if name in self.sources else f"out/{name}"
                lines.append(
                    f'spark.read.schema("k int, v int").format("{self.forms[name]}").load("{place}").createOrReplaceTempView("{name}")'
                )
            lines += job.lines()
        return "\n".join([*lines, "spark.stop()", ""])

    def rows(
        self, *, without: Collection[Place] = (), edited: Collection[Place] = (), only: Mapping[str, Collection[Place]] | None = None
    ) -> dict[str, Counter[Row]]:
        """Return the rows of all datasets.

        `without` are records to leave out, `edited` records get the value 5. Of a source in `only`, it reads these records.
        """
        with duckdb.connect() as database:
            for name, files in self.sources.items():
                database.execute(f"CREATE TABLE {name} (k INT, v INT)")
                for place, (k, v) in numbered(name, files):
                    if place not in without and (only is None or name not in only or place in only[name]):
                        database.execute(f"INSERT INTO {name} VALUES (?, ?)", (k, 5 if place in edited else v))
            for job in self.jobs:
                database.execute(
                    f"INSERT INTO s{job.into} {job.query}" if job.appends else f"CREATE OR REPLACE TABLE s{job.into} (k INT, v INT)"
                )
                if not job.appends:
                    database.execute(f"INSERT INTO s{job.into} {job.query}")
            found = {f"s{job.into}": database.execute(f"SELECT k, v FROM s{job.into}").fetchall() for job in self.jobs}
        return {name: Counter(rows) for name, rows in found.items()}


def numbered(name: str, files: Iterable[list[Row]]) -> list[tuple[Place, Row]]:
    return [((name, file, record), row) for file, rows in enumerate(files) for record, row in enumerate(rows)]


def file_name(form: str, number: int) -> str:
    return f"rows-{number}.{form}"


def write_source(folder: Path, form: str, files: Iterable[list[Row]], edited: Collection[Place] = ()) -> None:
    """Write the files of a source. Records in `edited` get the value 5. A file that stays the same is not written again."""
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(files):
        places = [(folder.name, number, record) for record in range(len(rows))]
        if edited and not set(edited) & set(places):
            continue
        values = [(k, 5 if place in edited else v) for place, (k, v) in zip(places, rows, strict=True)]
        _write_file(folder / file_name(form, number), form, values)


def _write_file(path: Path, form: str, rows: list[Row]) -> None:
    if form == "csv":
        path.write_text("".join(f"{k},{'' if v is None else v}\n" for k, v in rows))
        return
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t (k INT, v INT)")
        for row in rows:
            database.execute("INSERT INTO t VALUES (?, ?)", row)
        database.execute(f"COPY t TO '{path}' (FORMAT {form})")


def read_rows(folder: Path, form: str) -> Counter[Row]:
    """Return the rows of a dataset that Spark wrote."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.json
    import pyarrow.orc
    import pyarrow.parquet

    schema = pa.schema({"k": pa.int32(), "v": pa.int32()})
    found: Counter[Row] = Counter()
    for path in sorted(folder.glob("part-*")):
        if path.stat().st_size == 0:
            continue
        if form == "parquet":
            table = pyarrow.parquet.read_table(path)
        elif form == "orc":
            table = pyarrow.orc.read_table(path)
        elif form == "csv":
            options = pyarrow.csv.ConvertOptions(column_types=schema, null_values=["", '""'], strings_can_be_null=True)
            table = pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(column_names=["k", "v"]), convert_options=options)
        else:
            table = pyarrow.json.read_json(path, parse_options=pyarrow.json.ParseOptions(explicit_schema=schema))
        found.update((row["k"], row["v"]) for row in table.to_pylist())
    return found


@dataclass
class _Drawing:
    draw: st.DrawFn
    forms: dict[str, str] = field(default_factory=dict)

    def job(self, number: int) -> Job:
        earlier = sorted(name for name in self.forms if name.startswith("s"))
        last = earlier[-1] if earlier else "a"
        other = self.draw(st.sampled_from([*self.forms, "b"]))
        words = {"t": last, "u": other, "c": self.draw(st.integers(0, 6))}
        rdd = None
        if self.draw(st.integers(0, 5)) == 0:
            rdd, query = self.draw(st.sampled_from(RDD_STEPS))
            rdd = rdd.format(**words)
        else:
            query = self.draw(st.sampled_from(STEPS))
        reads = tuple(dict.fromkeys(name for letter, name in (("t", last), ("u", other)) if f"{{{letter}}}" in query))
        appendable = [name for name in earlier if name not in reads]
        if appendable and self.draw(st.integers(0, 3)) == 0:
            into = self.draw(st.sampled_from(appendable))
            return Job(query.format(**words), int(into[1:]), self.forms[into], reads, rdd, appends=True)
        form = self.draw(st.sampled_from(FORMATS))
        self.forms[f"s{number}"] = form
        return Job(query.format(**words), number, form, reads, rdd)


def _is_circle(programs: list[list[Job]]) -> bool:
    order: TopologicalSorter[int] = TopologicalSorter()
    for reader, jobs in enumerate(programs):
        read = {name for job in jobs for name in job.reads}
        order.add(reader, *(i for i, other in enumerate(programs) if i != reader and read & {f"s{job.into}" for job in other}))
    try:
        order.prepare()
    except CycleError:
        return True
    return False


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    row = st.tuples(st.integers(0, 3), st.one_of(st.integers(0, 9), st.integers(0, 9), st.none()))
    files = st.lists(st.lists(row, min_size=4, max_size=8), min_size=1, max_size=2)
    sources = {name: draw(files) for name in ("a", "b")}
    drawing = _Drawing(draw, {name: draw(st.sampled_from(("csv", "parquet", "json"))) for name in sources})
    jobs = [drawing.job(number) for number in range(draw(st.integers(2, 5)))]
    programs = [[jobs[0]]]
    for job in jobs[1:]:
        if draw(st.booleans()):
            programs.append([])
        programs[-1].append(job)
    if _is_circle(programs):  # replay refuses programs that feed each other
        programs = [jobs]
    outputs = [f"s{job.into}" for job in jobs]
    target = outputs[-1] if draw(st.integers(0, 3)) else draw(st.sampled_from(outputs))
    return Pipeline(sources, drawing.forms, programs, target)
