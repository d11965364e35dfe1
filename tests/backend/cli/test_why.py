"""`headwater why` explains failed runs of registered programs, and refuses everything else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.backend.cli.why import app
from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError, UnsupportedError

pytestmark = pytest.mark.spark

PROGRAM = """\
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").getOrCreate()
people = spark.read.csv("people.csv", header=True)
people.selectExpr("id", "CAST(age AS INT) AS age").write.mode("overwrite").parquet("out")
"""


def _run(home: Path, script: Path) -> int:
    command = [sys.executable, "-m", "headwater", "run", "--quiet", "--home", str(home), script.name]
    return subprocess.run(command, cwd=script.parent, check=False, capture_output=True).returncode


def _why(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--home", str(home), "--format", "json"])


def _refusal(result: Result, kind: type[HeadwaterError]) -> str:
    assert isinstance(result.exception, kind), result.output
    return str(result.exception)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one failed run. The script is in the folder next to it."""
    folder = tmp_path_factory.mktemp("why")
    rows = [f"{number},{'x17' if number == 31 else number}" for number in range(60)]
    (folder / "people.csv").write_text("\n".join(["id,age", *rows]) + "\n")
    (folder / "ages.py").write_text(PROGRAM)
    assert _run(folder / "home", folder / "ages.py") == 1
    return folder


def test_the_last_failed_run_is_explained(failed: Path) -> None:
    result = _why(failed / "home", "--seconds", "3000")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["problem"] is None
    assert answer["error"]["kind"] == "CAST_INVALID_INPUT"
    assert answer["records"] == [{"file": f"file:{failed}/people.csv", "row": 31, "values": {"id": "31", "age": "x17"}}]
    assert answer["minimal"]
    assert answer["step"] == f"{failed}/ages.py:6"
    assert not (failed / "out" / "_SUCCESS").exists()
    assert not list((failed / "home" / "replays").iterdir())


def test_the_error_is_shown_without_a_search(failed: Path) -> None:
    answer = json.loads(_why(failed / "home", "--no-search").stdout)
    assert answer["error"]["message"].startswith("The value 'x17' of the type")
    assert "records" not in answer


def test_a_changed_script_is_not_run(failed: Path) -> None:
    script = failed / "ages.py"
    script.write_text(PROGRAM + "# changed\n")
    try:
        assert "has changed since it was registered" in _refusal(_why(failed / "home"), UnsupportedError)
    finally:
        script.write_text(PROGRAM)


def test_an_unknown_run_is_not_found(failed: Path) -> None:
    assert "is named nothing" in _refusal(_why(failed / "home", "nothing"), NotFoundError)


def test_a_run_that_did_not_fail_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,age\n1,2\n")
    (tmp_path / "ages.py").write_text(PROGRAM)
    assert _run(tmp_path / "home", tmp_path / "ages.py") == 0
    assert "No run of a program of this home has failed" in _refusal(_why(tmp_path / "home"), NotFoundError)
    assert "has failed" in _refusal(_why(tmp_path / "home", "job:default:pyspark_shell"), InvalidQueryError)


def test_a_service_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_URL", "http://127.0.0.1:1")
    assert "starts programs on this machine" in _refusal(CliRunner().invoke(app, []), UnsupportedError)
