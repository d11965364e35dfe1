"""The places and formats of the tables of the truth suites, and of the answers: `bench --truth --tables orc`.

The n-th record of a file is the n-th row of the generator's Parquet file of the same stem, in every format. The harness therefore knows the
records of a trace without reading the format itself. If a trace counts differently, the query run again gives other rows.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from bench.truth.values import Written, comparable, written, written_in
from headwater.graph.records import ANYWHERE, DataRoots

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Files are small. With these settings, splittable files are read in several splits.
_SMALL_SPLITS = {"spark.sql.files.maxPartitionBytes": "1048576", "spark.sql.files.openCostInBytes": "65536"}
# Without these, Spark's CSV writer would trim values, which would then differ from the generator's.
_WRITER = {"csv": {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}}
_WHOLE_FILES = {"spark.sql.files.maxPartitionBytes": str(1 << 30)}


@dataclass
class Tables:
    """The tables of a layout: the URI of each table by name, and for the URI of each file the generator's Parquet file."""

    uris: dict[str, str] = field(default_factory=dict)
    originals: dict[str, Path] = field(default_factory=dict)


class Files:
    """A layout with folders of local files, in one of Spark's formats. Other layouts derive from it.

    `conf` are the settings for the start of Spark. `readable` are the URIs of remote storage that traces can read.
    """

    readable: tuple[str, ...] = ()

    @property
    def filters_records(self) -> bool:
        """Whether Spark's reader drops records by pushed filters. A captured scan counts these records too."""
        return self._kind in ("json", "csv", "avro")

    def __init__(self, folder: Path, kind: str, conf: Mapping[str, str]) -> None:
        self._folder, self._kind = folder, kind
        self._schemas: dict[str, Any] = {}
        self.tables = Tables()
        self.conf = {**conf, **({} if kind == "parquet" else _SMALL_SPLITS)}

    def prepared(self, spark: SparkSession, parquet: Mapping[str, Path]) -> Tables:
        """Make the tables, once, from the generator's Parquet files."""
        whole = _session(spark, _WHOLE_FILES)
        for name, path in parquet.items():
            self._schemas[name] = whole.read.parquet(str(path)).schema
            target = path if self._kind == "parquet" else self._folder / "tables" / name
            target.mkdir(parents=True, exist_ok=True)
            for part in sorted(path.glob("*.parquet")):
                file = part if self._kind == "parquet" else self._made(whole, part, target)
                self.tables.originals[f"file:{file}"] = part
            self.tables.uris[name] = f"file:{target}"
        return self.tables

    def register(self, spark: SparkSession) -> None:
        """Register the tables in a session by their names."""
        for name, uri in self.tables.uris.items():
            spark.read.schema(self._schemas[name]).format(self._kind).load(uri).createOrReplaceTempView(name)

    def make_room(self, frame: DataFrame, name: str) -> None:
        """Prepare the writing of an answer. The preparation is not part of the measured time."""

    def write(self, frame: DataFrame, name: str) -> str:
        """Write an answer, and return the URI of its folder. An earlier answer of the same name is replaced."""
        out = self._folder / name
        shutil.rmtree(out, ignore_errors=True)
        frame.write.format(self._kind).options(**_WRITER.get(self._kind, {})).save(str(out))
        return f"file:{out}"

    def answer(self, spark: SparkSession, uri: str, frame: DataFrame) -> Iterator[Written]:
        """Yield the rows of an answer with their files and positions."""
        folder = Path(uri.removeprefix("file:"))
        if self._kind == "parquet":
            yield from written(folder)
            return
        whole = _session(spark, _WHOLE_FILES)
        for path in sorted(folder.glob("part-*")):
            rows = whole.read.schema(frame.schema).format(self._kind).load(str(path)).collect()
            for row, values in enumerate(rows):
                yield Written(f"file:{path}", row, comparable(values))

    def execution(self, spark: SparkSession, write: int) -> int:
        """Return the id of Spark's execution that ran the query of a write."""
        del spark
        return write

    def sources(self) -> DataRoots:
        """Return the data roots for traces."""
        return ANYWHERE

    def _made(self, whole: SparkSession, part: Path, target: Path) -> Path:
        draft = self._folder / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        whole.read.parquet(str(part)).coalesce(1).write.format(self._kind).options(**_WRITER.get(self._kind, {})).save(str(draft))
        (made,) = draft.glob("part-*")
        return made.rename(target / f"{part.stem}.{self._kind}")


class HiveTables(Files):
    """A layout with tables of a metastore, stored as ORC by Hive, and answers in such tables."""

    def __init__(self, folder: Path, kind: str, conf: Mapping[str, str]) -> None:
        super().__init__(folder, kind, conf)
        store = f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
        self.conf = {
            **self.conf, "spark.sql.catalogImplementation": "hive", "spark.hadoop.javax.jdo.option.ConnectionURL": store,
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }  # fmt: skip
        self._there = False

    def register(self, spark: SparkSession) -> None:
        for name, uri in {} if self._there else self.tables.uris.items():
            columns = ", ".join(f"`{one.name}` {one.dataType.simpleString()}" for one in self._schemas[name])
            spark.sql(f"CREATE EXTERNAL TABLE {name} ({columns}) STORED AS ORC LOCATION '{uri}'")
        self._there = True  # sessions share the metastore

    def make_room(self, frame: DataFrame, name: str) -> None:
        frame.sparkSession.sql(f"DROP TABLE IF EXISTS {name}")

    def write(self, frame: DataFrame, name: str) -> str:
        frame.createOrReplaceTempView("to_be_written")
        frame.sparkSession.sql(f"CREATE TABLE {name} STORED AS ORC AS SELECT * FROM to_be_written")
        return f"file:{self._folder / 'warehouse' / name}"


class DeltaTables(Files):
    """A layout with Delta tables, one append for each file, and answers in Delta tables."""

    def __init__(self, folder: Path, kind: str, conf: Mapping[str, str]) -> None:
        super().__init__(folder, kind, conf)
        self._writes = 0

    def prepared(self, spark: SparkSession, parquet: Mapping[str, Path]) -> Tables:
        whole = _session(spark, _WHOLE_FILES)
        for name, path in parquet.items():
            self._schemas[name] = whole.read.parquet(str(path)).schema
            target = self._folder / "tables" / name
            known: set[str] = set()
            for part in sorted(path.glob("*.parquet")):
                whole.read.parquet(str(part)).coalesce(1).write.format("delta").mode("append").save(str(target))
                (file,) = self._files(whole, target) - known
                known.add(file)
                self.tables.originals[file] = part
            self.tables.uris[name] = f"file:{target}"
        return self.tables

    def register(self, spark: SparkSession) -> None:
        for name, uri in self.tables.uris.items():
            spark.read.format("delta").load(uri).createOrReplaceTempView(name)

    def write(self, frame: DataFrame, name: str) -> str:
        shutil.rmtree(self._folder / f"{name}-{self._writes}", ignore_errors=True)
        self._writes += 1  # Delta remembers a table that was replaced under the same name
        out = self._folder / f"{name}-{self._writes}"
        frame.write.format("delta").save(str(out))
        return f"file:{out}"

    def execution(self, spark: SparkSession, write: int) -> int:
        listed = spark._jsparkSession.sharedState().statusStore().executionsList()  # noqa: SLF001  # PySpark has no public way to it
        found = {int(one.executionId()): one for one in (listed.apply(place) for place in range(listed.size()))}
        asked = str(found[write].details())  # Delta's queries of its own log have other call sites
        return max(number for number, one in found.items() if int(one.rootExecutionId()) == write != number and str(one.details()) == asked)

    def answer(self, spark: SparkSession, uri: str, frame: DataFrame) -> Iterator[Written]:
        del frame
        for file in sorted(self._files(spark, Path(uri.removeprefix("file:")))):
            yield from written_in(Path(file.removeprefix("file:")))

    @staticmethod
    def _files(spark: SparkSession, table: Path) -> set[str]:
        listed = spark.read.format("delta").load(str(table)).inputFiles()
        return {f"file:{unquote(urlparse(file).path)}" for file in listed}


class S3Files(Files):
    """A layout with Parquet files in a bucket of an S3 server."""

    readable = ("s3a://lake",)

    def __init__(self, folder: Path, kind: str, conf: Mapping[str, str], server: Any) -> None:
        super().__init__(folder, kind, {**conf, **server.spark})
        self._server = server
        (server.folder / "lake").mkdir()
        (folder / "storage.toml").write_text(server.root("s3://lake"), encoding="utf-8")

    def prepared(self, spark: SparkSession, parquet: Mapping[str, Path]) -> Tables:
        for name, path in parquet.items():
            self._schemas[name] = spark.read.parquet(str(path)).schema
            self.tables.uris[name] = f"s3a://lake/tables/{name}"
            for part in sorted(path.glob("*.parquet")):
                self._put(part, f"tables/{name}/{part.name}")
                self.tables.originals[f"s3://lake/tables/{name}/{part.name}"] = part  # the form of URIs in answers
        return self.tables

    def write(self, frame: DataFrame, name: str) -> str:
        uri = f"s3a://lake/{name}"
        frame.write.mode("overwrite").format(self._kind).save(uri)
        return uri

    def answer(self, spark: SparkSession, uri: str, frame: DataFrame) -> Iterator[Written]:
        del frame
        listed = self.sources().look().listed(uri) or []
        for path in sorted(block.path for block in listed if block.path.endswith(".parquet")):
            for row, values in enumerate(spark.read.parquet(path.replace("s3:", "s3a:", 1)).collect()):
                yield Written(path, row, comparable(values))

    def sources(self) -> DataRoots:
        from headwater.graph.storage import Remote, read_roots

        return DataRoots.of([], remote=Remote(read_roots(self._folder / "storage.toml")))

    def _put(self, file: Path, key: str) -> None:
        import obstore
        from obstore.store import S3Store

        from tests.lake import KEY, SECRET

        bucket = S3Store(
            "lake", endpoint=self._server.endpoint, access_key_id=KEY, secret_access_key=SECRET, region="us-east-1",
            client_options={"allow_http": True},
        )  # fmt: skip
        obstore.put(bucket, key, file)


class IcebergTables(Files):
    """A layout with Iceberg tables in a separate catalog, over Parquet, and answers in such tables."""

    def __init__(self, folder: Path, kind: str, conf: Mapping[str, str], *, version: int) -> None:
        super().__init__(folder, kind, conf)
        self._version = version
        self.conf = {
            **self.conf, "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": f"file:{folder}/lake",
        }  # fmt: skip

    def prepared(self, spark: SparkSession, parquet: Mapping[str, Path]) -> Tables:
        whole = _session(spark, _WHOLE_FILES)
        for name, path in parquet.items():
            self._create(whole, f"lake.db.{name}", whole.read.parquet(str(path)))
            self.tables.uris[name] = f"file:{self._folder}/lake/db/{name}"
            for part in sorted(path.glob("*.parquet")):
                whole.read.parquet(str(part)).coalesce(1).writeTo(f"lake.db.{name}").append()
                for (file,) in whole.sql(f"SELECT file_path FROM lake.db.{name}.files").collect():
                    self.tables.originals.setdefault(file, part)  # files of earlier parts are already known
        return self.tables

    def register(self, spark: SparkSession) -> None:
        for name in self.tables.uris:
            spark.table(f"lake.db.{name}").createOrReplaceTempView(name)

    def make_room(self, frame: DataFrame, name: str) -> None:
        frame.sparkSession.sql(f"DROP TABLE IF EXISTS lake.out.{name} PURGE")
        self._create(frame.sparkSession, f"lake.out.{name}", frame)

    def write(self, frame: DataFrame, name: str) -> str:
        frame.writeTo(f"lake.out.{name}").append()
        return f"file:{self._folder}/lake/out/{name}"

    def answer(self, spark: SparkSession, uri: str, frame: DataFrame) -> Iterator[Written]:
        name = f"lake.out.{uri.rsplit('/', 1)[1]}"
        spark.sql(f"REFRESH TABLE {name}")
        for *values, file, row in spark.table(name).select(*(f"`{column}`" for column in frame.columns), "_file", "_pos").collect():
            yield Written(file, row, comparable(values))

    def _create(self, spark: SparkSession, name: str, like: DataFrame) -> None:
        columns = ", ".join(f"`{one.name}` {one.dataType.simpleString()}" for one in like.schema)
        spark.sql(f"CREATE TABLE {name} ({columns}) USING iceberg TBLPROPERTIES ('format-version' = '{self._version}')")


def named(frame: DataFrame) -> DataFrame:
    """Rename the columns to c0, c1, … unless every format accepts their names."""
    names = [name.lower() for name in frame.columns]
    plain = len(set(names)) == len(names) and all(_NAME.fullmatch(name) for name in names)
    return frame if plain else frame.toDF(*(f"c{number}" for number in range(len(names))))


def _session(spark: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    session = spark.newSession()
    for key, value in conf.items():
        session.conf.set(key, value)
    return session


def _avro(folder: Path) -> Files:
    from tests.lake import avro_jars

    return Files(folder, "avro", {"spark.jars": ",".join(map(str, avro_jars().glob("*.jar")))})


def _iceberg(folder: Path, version: int) -> Files:
    from tests.lake import table_jars

    (jar,) = table_jars().glob("iceberg-*.jar")
    return IcebergTables(folder, "iceberg", {"spark.jars": str(jar)}, version=version)


def _delta(folder: Path) -> Files:
    from tests.lake import table_jars
    from tests.spark_listener.delta import SETTINGS

    return DeltaTables(folder, "delta", {**SETTINGS, "spark.jars": ",".join(map(str, sorted(table_jars().glob("*.jar"))))})


def _s3_server(folder: Path) -> AbstractContextManager[Any]:
    from tests.lake import s3

    return s3(folder / "s3")


LAYOUTS: Mapping[str, Callable[[Path, Any], Files]] = {
    "parquet": lambda folder, _: Files(folder, "parquet", {}),
    "orc": lambda folder, _: Files(folder, "orc", {}),
    "json": lambda folder, _: Files(folder, "json", {}),
    "csv": lambda folder, _: Files(folder, "csv", {}),
    "avro": lambda folder, _: _avro(folder),
    "delta": lambda folder, _: _delta(folder),
    "hive-orc": lambda folder, _: HiveTables(folder, "orc", {}),
    "iceberg-v2": lambda folder, _: _iceberg(folder, 2),
    "iceberg-v3": lambda folder, _: _iceberg(folder, 3),
    "s3": lambda folder, server: S3Files(folder, "parquet", {}, server),
}


def server_of(layout: str, folder: Path) -> AbstractContextManager[Any]:
    """Start the server that a layout needs, while the layout is used."""
    return _s3_server(folder) if layout == "s3" else nullcontext()
