"""Write Spark's classes to a file in the JVM's memory format (class data sharing).

Spark then starts in about half the time.

python scripts/spark_archive.py FILE

The tests use the file, because they start Spark a hundred times. A small program needs 18 s of processor time, and 7 s less with the
file. Making the file takes 50 s. `.tools/env` passes the file to Spark in SPARK_SUBMIT_OPTS. If it cannot be made, an empty file records
this, and Spark starts as usual. The file fits one Java and one pyspark; make rebuilds it if either changes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# The work of small jobs. The file will contain the classes that it loads.
_PROGRAM = """
import sys
from operator import add
from pyspark.sql import SparkSession, Window, functions as f
from pyspark.sql.types import StringType
folder = sys.argv[1]
spark = SparkSession.builder.getOrCreate()
rows = spark.range(100).select("id", (f.col("id") % 7).alias("k"), f.col("id").cast("string").alias("s"))
rows.write.csv(folder + "/csv", header=True)
read = spark.read.csv(folder + "/csv", schema="id bigint, k int, s string", header=True)
read.write.parquet(folder + "/parquet")
table = spark.read.parquet(folder + "/parquet")
over = table.withColumn("most", f.max("id").over(Window.partitionBy("k"))).withColumn("t", f.udf(str.upper, StringType())("s"))
joined = over.join(table.groupBy("k").agg(f.count("*").alias("n")), "k", "left").filter("n > 1 and s like '1%'").orderBy("id")
joined.write.partitionBy("k").parquet(folder + "/joined")
joined.limit(3).collect()
lines = spark.sparkContext.textFile(folder + "/csv").map(lambda line: (line[:1], 1)).reduceByKey(add)
lines.saveAsTextFile(folder + "/counts")
spark.stop()
"""


def main(target: Path) -> None:
    """Write the archive of Spark's classes, or an empty file if that fails."""
    print("  spark     keeping its classes as they are in memory, for quick starts", flush=True)
    draft = target.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(_PROGRAM)
        ran = subprocess.run(
            _command(program, draft), cwd=folder, env=_environment(Path(folder)), capture_output=True, text=True, check=False
        )
    if ran.returncode or not draft.exists():
        print("  spark     they could not be kept; it starts as ever", *ran.stderr.splitlines()[-3:], sep="\n            ", file=sys.stderr)
        draft.write_bytes(b"")
    draft.replace(target)


def _command(program: Path, draft: Path) -> list[str]:
    """Return the spark-submit command, because spark-submit is the JVM itself and ends after the file is complete."""
    java = f"-XX:+UseSerialGC -XX:ArchiveClassesAtExit={draft}"
    launcher = Path(__file__).resolve().parent.parent / "spark_listener" / "launch.py"
    submit = [str(Path(sys.executable).parent / "spark-submit"), "--driver-java-options", java, "--conf", "spark.ui.enabled=false"]
    return [*submit, str(launcher), str(program), str(program.parent)]


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS"}}
    return kept | {"PYSPARK_PYTHON": sys.executable, "HEADWATER_HOME": str(folder / "home")}


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
