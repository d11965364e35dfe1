"""Real Spark programs for these tests: started as a user would, their lineage read from the home's log."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

from headwater.backend.workspace import deliver_spool
from tests.datahub_rules import refusals
from tests.jvm import submit
from tests.openlineage_schemas import faults_of

_OPTIONS = "--master {master} --conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false --conf spark.sql.shuffle.partitions=2"


def environment(root: Path, *, master: str = "local[2]", **more: str) -> dict[str, str]:
    """The environment of a Spark program, independent of the developer's shell."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    arguments = submit(_OPTIONS.format(master=master))
    return {**kept, "PYTHONPATH": str(root), "PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": arguments, **more}


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(dedent(text).lstrip("\n"))
    return path


def run(arguments: list[str], folder: Path, env: dict[str, str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a Python program. `text` is its standard input."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=env, input=text, capture_output=True, text=True, timeout=500, check=False)


def logged(home: Path, kind: str = "event") -> list[dict[str, Any]]:
    """The entries of the home's ingest log, in the order of acceptance, after its spool has been delivered.

    Events must satisfy OpenLineage's schemas and DataHub's rules in every test.

    """
    if not home.exists():
        return []
    deliver_spool(home)
    log = home / "ingest.db"
    with sqlite3.connect(log) as connection:
        found = [json.loads(body) for (body,) in connection.execute("SELECT body FROM entry WHERE kind = ? ORDER BY offset", (kind,))]
    for entry in found if kind == "event" else ():
        assert faults_of(entry) == [], entry
        assert refusals(entry) == [], entry
    return found


def brief(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["eventType"], event["job"]["name"]) for event in events]
