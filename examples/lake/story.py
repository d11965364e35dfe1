"""Find the origin of a wrong number, on Iceberg tables in an S3 bucket: `python examples/lake/story.py`, in a checkout of Headwater.

The program starts an S3 server (versitygw, which `python -m tests.lake` builds with Go), puts the raw weather of New
York's airports into a bucket, runs the jobs of this folder under `headwater run`, and traces a number of their
report. All data is real.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))  # finds the module that starts the S3 server

import obstore  # noqa: E402 - the path above is for those below
from obstore.store import S3Store  # noqa: E402

from headwater.backend.cli.demo.data import prepare  # noqa: E402
from tests.lake import KEY, SECRET, S3Server, s3, table_jars  # noqa: E402

ROW = "origin = 'EWR' AND month = 2"
CATALOG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": "s3a://lake/warehouse",
    "spark.ui.enabled": "false",
}


class Lake:
    """A bucket, and a home of Headwater that may read it."""

    def __init__(self, folder: Path, server: S3Server) -> None:
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        (self.home / "storage.toml").write_text(server.root("s3://lake"), encoding="utf-8")
        (server.folder / "lake").mkdir()
        jars = ",".join([server.spark["spark.jars"], *map(str, table_jars().glob("iceberg-*.jar"))])
        settings = {**server.spark, **CATALOG, "spark.jars": jars}
        options = " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
        self.env = os.environ | {"HEADWATER_HOME": str(self.home), "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell"}
        self.env["HEADWATER_READABLE"] = "s3://lake"
        bucket = S3Store(
            "lake", endpoint=server.endpoint, access_key_id=KEY, secret_access_key=SECRET, region="us-east-1",
            client_options={"allow_http": True},
        )  # fmt: skip
        prepare(folder / "raw")
        obstore.put(bucket, "raw/weather.csv", folder / "raw" / "weather.csv")

    def run(self, job: str, *arguments: str) -> None:
        print(f"$ headwater run {job}.py {' '.join(arguments)}", flush=True)
        self._headwater("run", str(Path(__file__).with_name(f"{job}.py")), *arguments)

    def trace(self, *arguments: str) -> dict[str, Any]:
        """Trace the report's row with `headwater trace`, and return the answer."""
        asked = ["trace", "s3://lake/report", "--where", ROW, *arguments]
        print(f"$ headwater {shlex.join(asked)}", flush=True)
        found: dict[str, Any] = json.loads(self._headwater(*asked, "--format", "json"))
        return found

    def _headwater(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "headwater", *arguments]
        done = subprocess.run(command, env=self.env, cwd=self.home.parent, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
        return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="headwater-lake-") as scratch, s3(Path(scratch) / "s3") as server:
        lake = Lake(Path(scratch), server)
        lake.run("clean", "s3a://lake/raw")
        lake.run("compact")
        lake.run("report", "s3a://lake")
        _show("What the report says of that month came from", lake.trace("--column", "max_wind_mph", "--semantics", "witness"))
        _show("The record of the Iceberg table that held it", lake.trace(
            "--column", "max_wind_mph", "--semantics", "witness", "--to", "s3://lake/warehouse/nyc/weather"))  # fmt: skip
        influence = lake.trace()
        print(f"  In all, {len(influence['records'])} lines had a part in that row ({_exactness(influence)}).\n")
        lake.run("repair")
        lake.run("report", "s3a://lake")
        _show("Repaired, it comes from", lake.trace("--column", "max_wind_mph", "--semantics", "witness"))


def _show(title: str, answer: dict[str, Any]) -> None:
    for record in answer["records"]:
        values = {name: record["values"].get(name) for name in ("origin", "month", "day", "hour", "wind_speed")}
        place = f"line {record['line']}" if record.get("line") else f"row {record['row']}"
        print(f"  {title} {record['file']}, {place}: {json.dumps(values)} ({_exactness(answer)})\n", flush=True)


def _exactness(answer: dict[str, Any]) -> str:
    return "exact" if answer["exact"] else f"not exact: {'; '.join(entry['reason'] for entry in answer['incomplete'])}"


if __name__ == "__main__":
    main()
