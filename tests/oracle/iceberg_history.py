"""Random histories of an Iceberg table, of version 2 or 3, copied on write or merged on read, whose partitioning changes, which is
compacted, whose snapshots expire, and of which other engines delete rows by their values; of version 3 also changed by others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests import connectors
from tests.oracle.laboratory import INTERPRETED, Laboratory, Place, laboratory_in
from tests.oracle.table_history import RECORDS, History, Row, raw

CATALOG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
}
PARTITIONS = ("", "PARTITIONED BY (k)", "PARTITIONED BY (bucket(3, id))", "PARTITIONED BY (truncate(1, s), k)")
_FIELDS = ("bucket(2, id)", "truncate(2, s)")
_NEVER = "TIMESTAMP '2100-01-01 00:00:00'"


@contextmanager
def lake_in(folder: Path, *, compiled: bool = True) -> Iterator[Laboratory]:
    """A laboratory with a catalog `lake` of Iceberg and a view `raw` of records in files of no capture. `compiled`: as Spark does it."""
    folders = {"spark.sql.catalog.lake.warehouse": f"{folder}/lake", "spark.sql.warehouse.dir": f"{folder}/warehouse"}
    options = {**CATALOG, **connectors.CONF, **folders, **({} if compiled else INTERPRETED)}
    with laboratory_in(folder, budget=0.0, submitted=connectors.submitted(), conf=options) as laboratory:
        raw(laboratory)
        yield laboratory


def delete_equal(lake: Laboratory, table: str, column: str, values: Sequence[int]) -> None:
    """Commit an equality delete, as Flink writes them: the rows of an unpartitioned table whose column has one of the values are gone."""
    jvm: Any = lake.spark.sparkContext._jvm
    gateway: Any = lake.spark.sparkContext._gateway
    known = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(lake.spark._jsparkSession, table)
    schema = known.schema().select([column])
    ids = gateway.new_array(jvm.int, 1)
    ids[0] = known.schema().findField(column).fieldId()
    builder = getattr(jvm.org.apache.iceberg.data, "GenericFileWriterFactory$Builder")(known)
    builder = builder.deleteFileFormat(jvm.org.apache.iceberg.FileFormat.PARQUET).equalityFieldIds(ids)
    factory = builder.equalityDeleteRowSchema(schema).build()
    file = known.io().newOutputFile(f"{known.location()}/data/{uuid4()}-deletes.parquet")
    plain = jvm.org.apache.iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(file)
    writer = factory.newEqualityDeleteWriter(plain, known.spec(), None)
    for value in values:
        record = jvm.org.apache.iceberg.data.GenericRecord.create(schema)
        record.setField(column, value)
        writer.write(record)
    writer.close()
    known.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    lake.spark.sql(f"REFRESH TABLE {table}")


class IcebergHistory(History):
    """The history of a table `lake.db.<name>`."""

    clauses_for_all = False
    partitioned = False  # it is, or was
    field = ""  # an additional field of its partitioning

    @property
    def table(self) -> str:
        return f"lake.db.{self.name}"

    @property
    def path(self) -> Path:
        return self.laboratory.folder / "lake" / "db" / self.name

    def create(self) -> None:
        flag = self.choose.choice
        mode = flag(["copy-on-write", "merge-on-read"])
        version = flag([2, 3, 3])
        self.numbered = version == 3
        properties = [f"'format-version' = '{version}'", f"'write.spark.fanout.enabled' = '{flag(['true', 'false'])}'"]
        properties += [f"'write.{command}.mode' = '{mode}'" for command in ("delete", "update", "merge")]
        partitions = flag(PARTITIONS)
        self.partitioned = bool(partitions)
        made = f"CREATE TABLE {self.table} USING iceberg {partitions} TBLPROPERTIES ({', '.join(properties)})"
        self.run(f"{made} AS SELECT * FROM raw WHERE id < 20")
        if self.choose.random() < 0.3:
            self.run(f"ALTER TABLE {self.table} WRITE ORDERED BY s DESC")

    def found(self) -> dict[Row, Place]:
        read = self.laboratory.spark.table(self.table).select("id", "k", "s", "_file", "_pos")
        return {Row(row.id, row.k, row.s): (_uri(row._file), row._pos) for row in read.collect()}

    def steps(self) -> Sequence[Callable[[], None]]:
        own = [self.compact, self.compact, self.expire, self.evolve]
        others = [*self.elsewhere(), *([self.compact_elsewhere] * 2 if self.numbered else [])]
        return [*super().steps(), *own, *others, *([] if self.partitioned else [self.delete_by_values] * 2)]

    def compact(self) -> None:
        """Rewrite all data files."""
        self.run(self._compaction())

    def compact_elsewhere(self) -> None:
        self.run_elsewhere(self._compaction())

    def _compaction(self) -> str:
        return f"CALL lake.system.rewrite_data_files(table => 'db.{self.name}', options => map('rewrite-all', 'true'))"

    def expire(self) -> None:
        """Remove the files that only earlier snapshots hold."""
        self.run(f"CALL lake.system.expire_snapshots(table => 'db.{self.name}', older_than => {_NEVER}, retain_last => 1)")
        self.forgets = self.has_others

    def evolve(self) -> None:
        """Change what later files are partitioned by."""
        if self.field:
            self.run(f"ALTER TABLE {self.table} DROP PARTITION FIELD {self.field}")
            self.field = ""
        else:
            self.field, self.partitioned = self.choose.choice(_FIELDS), True
            self.run(f"ALTER TABLE {self.table} ADD PARTITION FIELD {self.field}")

    def delete_by_values(self) -> None:
        """Delete rows by their values, as other engines do."""
        modulus, rest, shift = self._batch()
        gone = [i + shift for i in range(RECORDS) if i % modulus == rest and i % 2]
        self.told.append(f"equality delete of {gone}")
        delete_equal(self.laboratory, self.table, "id", gone)
        self.rows = {row: behind for row, behind in self.rows.items() if row.id not in gone}


def _uri(path: str) -> str:
    return path if path.startswith("file:") else f"file:{path}"
