"""The demo is right: its answers equal a recomputation by hand, from the raw files."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from headwater.graph.trace import Grain, Semantics, TraceAnswer, TraceRequest
from tests.demo import Demo
from tests.story.oracle import DELAY_SIDE, KEYS, WEATHER_SIDE, Cell, Oracle, Record

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
TENANT = "default"


@pytest.fixture(scope="module")
def oracle(demo: Demo) -> Oracle:
    return Oracle(demo.folder / "raw", demo.folder / "out")


async def ask(demo: Demo, requests: Sequence[TraceRequest]) -> list[TraceAnswer]:
    async with await Workspace.open(load_settings(home=demo.home)) as workspace:
        return [await workspace.trace(TENANT, request) for request in requests]


def records(answer: TraceAnswer) -> set[Record]:
    return {(Path(str(record.file)).name, int(str(record.row))) for record in answer.records}


def where(cell: Cell) -> str:
    return f"origin = '{cell[0]}' AND month = {cell[1]}"


def headwater(demo: Demo, *words: str) -> Any:
    command = [sys.executable, "-m", "headwater", *words, "--home", str(demo.home), "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_wrong_number_comes_from_one_record_of_the_raw_weather(demo: Demo) -> None:
    report = ["trace", str(demo.report), "--where", "origin = 'EWR' AND month = 2"]
    answer = headwater(demo, *report, "--column", "max_wind_mph", "--semantics", "witness", "--to", str(demo.raw("weather.csv")))
    assert answer["exact"] is True
    assert answer["incomplete"] == []
    (record,) = answer["records"]
    assert (record["row"], record["line"], record["grain"]) == (1009, 1011, "record")
    assert record["file"].endswith("/raw/weather.csv")
    shown = {name: record["values"][name] for name in ("origin", "month", "day", "hour")}
    assert shown == {"origin": "EWR", "month": 2, "day": 12, "hour": 3}
    assert record["values"]["wind_speed"] == pytest.approx(1048.36058)


def test_all_that_influenced_the_row_are_the_hours_of_that_month(demo: Demo, oracle: Oracle) -> None:
    answer = headwater(
        demo, "trace", str(demo.report), "--where", where(("EWR", 2)), "--to", str(demo.raw("weather.csv")), "--limit", "1000"
    )
    assert (answer["exact"], len(answer["records"])) == (True, 669)
    expected = {row for file, row in oracle.influence(("EWR", 2)) if file == "weather.csv"}
    assert {record["row"] for record in answer["records"]} == expected


@pytest.mark.parametrize("semantics", list(Semantics))
async def test_cells_backward_are_what_a_recomputation_finds(demo: Demo, oracle: Oracle, semantics: Semantics) -> None:
    chance = random.Random(1048)
    columns = sorted(WEATHER_SIDE | DELAY_SIDE | KEYS)
    each = 1 if semantics is Semantics.INFLUENCE else 4  # that of a row is the same whichever of its columns is asked for
    cells = [(cell, column) for cell in oracle.cells for column in chance.sample(columns, each)]
    requests = [
        TraceRequest(dataset=str(demo.report), where=where(cell), column=column, semantics=semantics, values=False, limit=1_000_000)
        for cell, column in cells
    ]
    for (cell, column), answer in zip(cells, await ask(demo, requests), strict=True):
        expected = oracle.influence(cell) if semantics is Semantics.INFLUENCE else oracle.witness(cell, column)
        assert records(answer) == expected, (cell, column)
        assert answer.exact, (cell, column, answer.incomplete)


async def test_random_records_forward_reach_what_a_recomputation_finds(demo: Demo, oracle: Oracle) -> None:
    chance = random.Random(2013)
    sizes = {"weather.csv": 26_115, "flights.csv": 336_776, "airlines.csv": 16, "planes.csv": 3_322, "airports.csv": 1_458}
    # One of the small tables has a part in much of the report, and each takes long to follow.
    chosen = [(file, row) for file, size in sizes.items() for row in chance.sample(range(size), 20 if size > 10_000 else 4)]
    requests = [
        TraceRequest(
            dataset=str(demo.raw(file)), rows=[(f"file:{demo.raw(file)}", row)], forward=True, to=str(demo.report), limit=1_000_000
        )
        for file, row in chosen
    ]
    for record, answer in zip(chosen, await ask(demo, requests), strict=True):
        found = {(str(entry.values["origin"]), int(entry.values["month"])) for entry in answer.records}
        assert found == oracle.forward(record), record
        assert answer.exact, (record, answer.incomplete)


async def test_forward_witness_is_the_inverse_of_backward_witness(demo: Demo, oracle: Oracle) -> None:
    raw = demo.raw("weather.csv")
    request = TraceRequest(dataset=str(raw), rows=[(f"file:{raw}", 1009)], forward=True, semantics=Semantics.WITNESS, to=str(demo.report))
    (answer,) = await ask(demo, [request])
    reached = [entry for entry in answer.records if entry.grain is Grain.RECORD]  # the counts of the RDD program are known by dataset
    assert {(entry.values["origin"], entry.values["month"]) for entry in reached} == {("EWR", 2)}
    assert oracle.forward(("weather.csv", 1009)) == {("EWR", 2)}


def test_the_corrected_report_differs_in_that_one_row(demo: Demo) -> None:
    replays = [json.loads((replay / "replay.json").read_text()) for replay in (demo.home / "replays").iterdir()]
    state = min(replays, key=lambda replay: str(replay["started_at"]))  # the demo's; tests of the page start others
    assert state["state"] == "complete"
    (difference,) = state["differences"]
    assert difference["before"]["max_wind_mph"] == pytest.approx(1048.36058)
    without = [float(row["wind_speed"]) for n, row in enumerate(_weather(demo)) if _is_newark_in_february(row) and n != 1009]
    assert difference["after"]["max_wind_mph"] == pytest.approx(max(without))
    assert difference["after"]["hours"] == 668
    assert (difference["before"]["origin"], difference["before"]["month"]) == ("EWR", 2)


def test_the_demo_says_what_it_found(demo: Demo) -> None:
    told = " ".join(demo.told.split())
    for fact in ("1,048 mph", "weather.csv line 1011", "669", "records of", "exact", "PROV-JSON", f"HEADWATER_HOME={demo.home}"):
        assert fact in told, fact


def test_the_export_is_readable_provenance(demo: Demo) -> None:
    document = json.loads((demo.folder / "report.prov.json").read_text())
    (bundle,) = document["bundle"].values()
    assert bundle["entity"]
    assert bundle["activity"]
    assert bundle["wasGeneratedBy"]


def _weather(demo: Demo) -> list[dict[str, str]]:
    with demo.raw("weather.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _is_newark_in_february(row: dict[str, str]) -> bool:
    return (row["origin"], row["month"]) == ("EWR", "2") and row["wind_speed"] != "NA"


def test_a_demo_whose_files_have_changed_says_so_and_what_to_do(demo: Demo) -> None:
    weather = demo.raw("weather.csv")
    times = (weather.stat().st_atime_ns, weather.stat().st_mtime_ns)
    command = [sys.executable, "-m", "headwater", "demo", "--no-serve", "--folder", str(demo.folder), "--port", "0"]
    os.utime(weather, (1, 1))
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    finally:
        os.utime(weather, ns=times)
    assert (ran.returncode, "Traceback" in ran.stderr) == (1, False)
    assert "weather.csv" in ran.stderr
    assert "--fresh" in ran.stderr
