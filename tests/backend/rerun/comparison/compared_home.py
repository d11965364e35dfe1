"""A home with two captured runs of a program that multiplies numbers: for tests of comparisons. The runs themselves need no Spark."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwater.backend.home.folder import Home
from headwater.backend.projection import fold
from headwater.backend.projection.event import event_stamp, project_event
from headwater.backend.rerun.comparison.attribution import compare_runs
from headwater.backend.rerun.comparison.report import Comparison
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.questions import DirectQuestions
from headwater.spark_listener.registry import Program, Registry
from tests.backend.events import facet, run_event
from tests.captured import project_captures
from tests.graph.jobs import TENANT, Job, write_csv

FIRST, SECOND = "0190a6f2-0000-7000-8000-00000000000a", "0190a6f2-0000-7000-8000-00000000000b"
JOB = "pipeline"
COLUMNS = {"k": "string", "v": "int"}
SCRIPT = """\
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").getOrCreate()
numbers = spark.read.csv("raw", schema="k string, v int", header=True)
numbers.selectExpr("k", "CAST({expression} AS INT) AS v").coalesce(1).write.mode("overwrite").parquet("out")
"""


class ComparedHome:
    """The home. `ran` adds a run, which reads all files of `raw` and writes `out`."""

    def __init__(self, folder: Path, graph: SqliteStore) -> None:
        self.folder, self.graph = folder, graph
        self.home = Home(folder / "home").create()
        self.records = AssociationStore(folder / "home" / "associations", sources=DataRoots.of([folder], never=[folder / "home"]))
        self.registry = Registry(folder / "home")
        self.script = folder / "job.py"
        self._runs: list[tuple[str, Job, Mapping[str, Any]]] = []

    def add_file(self, name: str, rows: list[list[Any]]) -> Path:
        file = write_csv(self.folder / "raw" / name, list(COLUMNS), rows)
        os.utime(file, (1e9 + len(rows), 1e9 + len(rows)))  # before the events of the runs
        return file

    def ran(
        self, application: str, expression: str, factor: int, *, appends: bool = False, arguments: tuple[str, ...] = (), **properties: Any
    ) -> None:
        """Add a run of the program with an expression, which multiplies by a factor. `properties` are the settings of Spark."""
        self.script.write_text(SCRIPT.format(expression=expression))
        clock = len(self._runs) + 1
        out = self.folder / "out"
        if out.exists() and not appends:
            shutil.rmtree(out)
        job = Job(self.records, "numbers", clock, part=f"run{clock}", said={"mode": "append" if appends else "overwrite"})
        scan = job.scan(self.folder / "raw", "csv", COLUMNS, {"header": "true"})
        call = job.function("multiply", job.attr(scan, "v"), job.literal(factor, "int"), kind="int")
        made = job.project(scan, {"v": (lambda values: values["v"] * factor, call, "int")})
        job.write(made, out, "parquet", list(COLUMNS), files=1)
        self.add(application, job, arguments=arguments, **properties)

    def add(self, application: str, job: Job, *, arguments: tuple[str, ...] = (), **properties: Any) -> None:
        """Add a run whose query was captured."""
        self._runs.append((application, job, properties))
        self.registry.register(self._program(arguments), application)

    def _program(self, arguments: tuple[str, ...]) -> Program:
        return Program(
            namespace="tests", job=JOB, argv=["job.py", *arguments], script=str(self.script),
            script_sha256=hashlib.sha256(self.script.read_bytes()).hexdigest(), working_directory=str(self.folder),
            environment={"PYSPARK_PYTHON": sys.executable, "SPARK_SUBMIT_OPTS": os.environ.get("SPARK_SUBMIT_OPTS", "")},
        )  # fmt: skip

    async def project(self, *, kind: str = "COMPLETE", job_of_second: str = JOB) -> None:
        """Put the runs into the graph. The second application ends with an event of a kind, and may be of another job."""
        await project_captures(self.graph, self.records)
        for number, (application, job, properties) in enumerate(self._runs):
            name = JOB if number == 0 else job_of_second
            parent = {"run": {"runId": application}, "job": {"namespace": "tests", "name": name}}
            inputs, outputs = [source["dataset"] for source in job.sources], [{"namespace": "file", "name": str(self.folder / "out")}]
            query = run_event(
                number, job={"namespace": "tests", "name": "numbers"}, run={"runId": job.run, "facets": {"parent": facet(**parent)}},
                inputs=inputs, outputs=outputs,
            )  # fmt: skip
            facets = {"spark_properties": facet(properties=dict(properties))} if properties else {}
            end = run_event(
                number + 10, kind if number else "COMPLETE", job={"namespace": "tests", "name": name},
                run={"runId": application, "facets": facets}, inputs=[], outputs=[],
            )  # fmt: skip
            for event in (query, end):
                await fold(self.graph, TENANT, [project_event(event, event_stamp(event, f"{number}-{event['run']['runId']}"))])

    async def compare(self, first: str = FIRST, second: str = SECOND, **options: Any) -> Comparison:
        questions = DirectQuestions(self.graph, self.records)
        return await compare_runs(self, TENANT, f"run:{first}", f"run:{second}", questions, **{"seconds": 600.0, **options})
