"""`headwater blame` names the records behind wrong rows of registered programs, and refuses everything else."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headwater.backend.cli.blame import app
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.rerun.cleaning.clean import CleanRequest
from headwater.backend.rerun.culprit_searches import CulpritSearches
from headwater.backend.rerun.culprits.wrong_rows import BlameRequest
from headwater.backend.workspace import Workspace
from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.trace.questions import DirectQuestions

pytestmark = pytest.mark.spark

START = "from pyspark.sql import SparkSession, functions as F\nspark = SparkSession.builder.master('local[1]').getOrCreate()\n"
PROGRAMS = {
    "weather.py": """\
weather = spark.read.csv("weather.csv", header=True, inferSchema=True)
weather.groupBy("station").agg(F.max("wind").alias("max_wind")).write.mode("overwrite").parquet("strongest")
""",
    "report.py": """\
strongest, stations = spark.read.parquet("strongest"), spark.read.csv("stations.csv", header=True)
strongest.join(stations, "station").coalesce(1).write.mode("overwrite").csv("report", header=True)
""",
}


def _write(folder: Path) -> None:
    rows = [f"{'ABCD'[number % 4]},{number % 50 if number != 217 else 1048}" for number in range(400)]
    (folder / "weather.csv").write_text("\n".join(["station,wind", *rows]) + "\n")
    (folder / "stations.csv").write_text("station,place\n" + "".join(f"{name},{name.lower()}\n" for name in "ABCD"))
    for name, text in PROGRAMS.items():
        (folder / name).write_text(START + text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("blame")
    _write(folder)
    for name in PROGRAMS:
        command = [sys.executable, "-m", "headwater", "run", "--quiet", "--home", str(folder / "home"), name]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def _blame(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--home", str(folder / "home"), "--format", "json", "--seconds", "3000"])


def _answer(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, (result.output, result.exception)
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def _refusal(result: Result, kind: type[HeadwaterError]) -> str:
    assert isinstance(result.exception, kind), (result.output, result.exception)
    return str(result.exception)


def test_the_record_behind_a_wrong_maximum_is_named(folder: Path) -> None:
    answer = _answer(_blame(folder, str(folder / "strongest"), "--assert", "max_wind < 250"))
    assert (answer["problem"], answer["minimal"], answer["wrong"]["total"]) == (None, True, 1)
    assert answer["wrong"]["values"] == {"station": "B", "max_wind": 1048}
    assert answer["records"] == [{"file": f"file:{folder}/weather.csv", "row": 217, "values": {"station": "B", "wind": "1048"}}]
    assert answer["trials"] <= 3  # the witness is tried first, then no record
    assert not list((folder / "home" / "replays").iterdir())


def test_the_records_behind_a_row_of_csv_are_traced_to_their_origins(folder: Path) -> None:
    """The report reads what another program wrote. A row of the join needs a record of both sides."""
    answer = _answer(_blame(folder, str(folder / "report"), "--assert", "max_wind < 250"))
    assert (answer["problem"], answer["minimal"], answer["count"]) == (None, True, 2)
    assert f"file:{folder}/stations.csv" in [record["file"] for record in answer["records"]]
    assert (f"file:{folder}/weather.csv", 217) in [(record["file"], record["row"]) for record in answer["origins"]]


@pytest.mark.slow
async def test_a_service_searches_in_the_background(folder: Path) -> None:
    async with await Workspace.open(load_settings(home=folder / "home")) as workspace:
        await workspace.take_in()
        searches = CulpritSearches(workspace, DirectQuestions(workspace.graph, workspace.records), workspace.replays(), asyncio.Lock())
        request = BlameRequest(dataset=str(folder / "strongest"), assertion="max_wind < 250")
        identifier = await searches.start_blame(DEFAULT_TENANT, request, 3_000)
        async with asyncio.timeout(500):
            while (job := await searches.get(DEFAULT_TENANT, identifier)) is not None and not job.has_ended:  # noqa: ASYNC110 - a job tells nobody
                await asyncio.sleep(0.2)
        assert job is not None
        assert (job.state, job.error, job.wrong_rows, job.is_minimal) == ("complete", None, 1, True)
        assert [(one.file, one.row, dict(one.values)) for one in job.records] == [
            (f"file:{folder}/weather.csv", 217, {"station": "B", "wind": "1048"})
        ]
        request_ = CleanRequest(dataset=str(folder / "strongest"), quality="-max_wind", count=1)
        identifier = await searches.start_clean(DEFAULT_TENANT, request_, 600, by="eve", dry_run=False)
        async with asyncio.timeout(500):
            while (job := await searches.get(DEFAULT_TENANT, identifier)) is not None and not job.has_ended:  # noqa: ASYNC110 - a job tells nobody
                await asyncio.sleep(0.2)
        assert job is not None
        assert job.cleaning is not None
        assert job.cleaning.cleaned is not None, job.error
        assert (job.state, job.count, job.cleaning.cleaned.replay.started_by) == ("complete", 100, "eve")
        assert (job.cleaning.plan.before.rows, job.cleaning.cleaned.after.rows) == (4, 3)  # the station is gone with its records
        await searches.close()


def test_an_assertion_that_holds_is_refused(folder: Path) -> None:
    assert "holds" in _refusal(_blame(folder, str(folder / "strongest"), "--assert", "max_wind < 2000"), InvalidQueryError)
    assert "No row of" in _refusal(_blame(folder, str(folder / "strongest"), "--where", "max_wind > 2000"), InvalidQueryError)


@pytest.mark.parametrize(
    ("predicate", "message"),
    [("min_wind < 250", "is no column"), ("max_wind < (SELECT 1)", "a subquery"), ("true) OR (false", "does not parse")],
)
def test_other_predicates_are_refused(folder: Path, predicate: str, message: str) -> None:
    assert message in _refusal(_blame(folder, str(folder / "strongest"), "--assert", predicate), InvalidQueryError)


def test_a_predicate_is_needed(folder: Path) -> None:
    assert "not given" in _refusal(_blame(folder, str(folder / "strongest")), InvalidQueryError)


def test_an_unknown_dataset_is_not_found(folder: Path) -> None:
    _refusal(_blame(folder, "nothing", "--assert", "x < 1"), NotFoundError)


def test_a_changed_script_is_not_run(folder: Path) -> None:
    script = folder / "weather.py"
    text = script.read_text()
    script.write_text(f"{text}# changed\n")
    try:
        refusal = _refusal(_blame(folder, str(folder / "strongest"), "--assert", "max_wind < 250"), UnsupportedError)
    finally:
        script.write_text(text)
    assert "has changed since it was registered" in refusal


def test_a_service_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_URL", "http://127.0.0.1:1")
    assert "starts programs on this machine" in _refusal(CliRunner().invoke(app, ["out", "--assert", "x < 1"]), UnsupportedError)
