"""`python -m bench.events [PART OF A NAME]`: two agents listen to the same programs; a table shows by category whose events are correct.

`--again` compares the events of the last run again. Maven fetches the reference once into `.tools`. The table and every fault go to
standard output, the verdicts to `build/bench/events.json`.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from bench.events.cases import CASES
from bench.events.compare import CATEGORIES, of_case, verdicts
from bench.spark.reference import VERSION, reference_jar
from headwater.backend.workspace import deliver_spool

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    folder = ROOT / "build" / "bench" / "events"
    if only != "--again":  # `--again` compares the events of the last run
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _run(folder, only)
    # Headwater treats the transport of the reference as a further backend.
    reference = [event for event in _lines(folder / "reference.json") if not event["producer"].startswith("headwater:")]
    events_of = {"ours": _ours(folder / "home"), "reference": reference}
    times = json.loads((folder / "times.json").read_text())
    results: dict[str, Any] = {}
    for case in CASES:
        if case.name not in times:
            continue
        at = times[case.name]
        if at["fault"]:
            print(f"{case.name}: did not run as it should: {at['fault']}")
        found = {agent: of_case(events, at["began"], at["ended"]) for agent, events in events_of.items()}
        results[case.name] = {agent: verdicts(case, events, _faults(events), _datahub(events)) for agent, events in found.items()}
    print(table(results))
    (folder.parent / "events.json").write_text(json.dumps(results, indent=1))


def table(results: dict[str, Any]) -> str:
    """Return the number of correct cases by category, for both agents, then each fault."""
    lines = [f"| category | cases | Headwater | openlineage-spark {VERSION} |", "|---|---|---|---|"]
    for category in CATEGORIES:
        cases = [found for found in results.values() if category in found["ours"]]
        right = {agent: sum(found[agent][category] is None for found in cases) for agent in ("ours", "reference")}
        lines.append(f"| {category} | {len(cases)} | {right['ours']} | {right['reference']} |")
    whole = {agent: sum(not any(found[agent].values()) for found in results.values()) for agent in ("ours", "reference")}
    lines.append(f"| all of these | {len(results)} | {whole['ours']} | {whole['reference']} |")
    for agent in ("ours", "reference"):
        lines += ["", f"{agent}:"]
        lines += [f"  {name}: {category}: {fault}" for name, found in results.items() for category, fault in found[agent].items() if fault]
    return "\n".join(lines)


def _run(folder: Path, only: str) -> None:
    options = {
        "spark.jars": reference_jar(), "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "file", "spark.openlineage.transport.location": folder / "reference.json",
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "2",
    }  # fmt: skip
    arguments = " ".join(f"--conf {name}={value}" for name, value in options.items())
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--master local[2] {arguments} pyspark-shell",
        "HEADWATER_HOME": str(folder / "home"), "HEADWATER_MODE": "coarse",
    }  # fmt: skip
    program = [str(Path(__file__).with_name("program.py")), str(folder), only]
    with (folder / "log").open("w") as log:
        command = [sys.executable, "-m", "headwater", "run", *program]
        subprocess.run(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT, check=True, timeout=3600)


def _ours(home: Path) -> list[dict[str, Any]]:
    import sqlite3

    deliver_spool(home)
    with sqlite3.connect(home / "ingest.db") as connection:
        return [json.loads(body) for (body,) in connection.execute("SELECT body FROM entry WHERE kind = 'event' ORDER BY offset")]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def _faults(events: list[Any]) -> list[str]:
    faults: list[str] = []
    faults_of = runpy.run_path(str(ROOT / "tests" / "openlineage_schemas.py"))["faults_of"]
    for event in events:
        try:
            faults += faults_of(event)
        except KeyError as unknown:  # the schema has another version than in openlineage-python
            faults.append(f"no such schema: {unknown}")
    return faults


def _datahub(events: list[Any]) -> list[str]:
    """Return the facts that DataHub would refuse, leave out or lose."""
    rules = _rules()
    runs: dict[str, list[Any]] = {}
    for event in events:
        runs.setdefault(event["run"]["runId"], []).append(event)
    found = [fault for event in events for fault in (*rules["refusals"](event), *rules["unfit_names"](event))]
    return found + [f"forgotten: {urn}" for run in runs.values() for urn in rules["forgotten"](run)]


@cache
def _rules() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tests" / "datahub_rules.py"), run_name="datahub_rules")


if __name__ == "__main__":
    main()
