"""The Python examples of the guide that need Spark, run one after the other in one program, in a folder with their data."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.spark_listener.spark import environment, run, script

pytestmark = pytest.mark.spark

PAGES = ("docs/guide/asking.md", "docs/guide/semantics.md", "docs/reference/spark-side.md")
PROGRAM = """
    import json, sys
    from operator import add
    from pathlib import Path

    import headwater
    from pyspark.sql import SparkSession, functions as F

    class Parser:
        def parse(self, line):
            return line.upper()

    Path("log.txt").write_text("INFO\\t-\\nERROR\\tE1 NETWORK Guest\\nERROR\\tE2 DISK Ann\\nERROR\\tE2 DISK Ann\\n")
    spark = SparkSession.builder.getOrCreate()
    sc = spark.sparkContext
    rows = [("EWR", 2, 10), ("EWR", 2, 2000), ("JFK", 1, 5)]
    spark.createDataFrame(rows, "origin string, month int, wind_speed int").coalesce(1).write.parquet("weather")
    weather = spark.read.parquet("weather")
    known = {
        "add": add, "headwater": headwater, "sc": sc, "spark": spark, "Parser": Parser,
        "meaning": {"E1 NETWORK Guest": "network", "E2 DISK Ann": "disk"},
        "report": weather.groupBy("origin", "month").agg(F.max("wind_speed").alias("wind")),
        "lines": sc.parallelize(["a", "b"], 1), "readings": sc.parallelize([1, 4, 9], 1),
    }
    for page, text in json.loads(Path("examples.json").read_text()):
        scope = dict(known)
        try:
            exec(text, scope)
            for name in ("parsed_lines", "steps"):
                if name in scope:
                    print(name, scope[name].collect())
        except Exception as error:
            print("FAILED", page, text.splitlines()[0], repr(error))
    spark.stop()
"""


def test_each_example_runs(root: Path, tmp_path: Path) -> None:
    fence = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
    examples = [(page, text) for page in PAGES for text in fence.findall((root / page).read_text()) if "client" not in text]
    assert len(examples) >= 5
    (tmp_path / "examples.json").write_text(json.dumps(examples))
    path = script(tmp_path, "program.py", PROGRAM)
    done = run(["-m", "headwater", "run", str(path)], tmp_path, environment(root, HEADWATER_HOME=str(tmp_path / "home")))
    assert done.returncode == 0, done.stderr
    assert "FAILED" not in done.stdout, done.stdout
    assert "parsed_lines ['A', 'B']" in done.stdout
    assert "steps [3, 5]" in done.stdout
