"""`headwater suspects --bad` names the task behind wrong rows, by the lineage of these and of the other rows."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.backend.cli.suspects import app
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.spark_listener.registry import Registry
from tests.captured import project_captures
from tests.graph.jobs import Job, write_csv

_TASKS = 10
_COLUMNS = {"id": "int", "price": "int"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a job of ten tasks. Each row of the fourth one has a price below zero. A second job sorts the rows by price."""
    folder = tmp_path_factory.mktemp("instances")
    data, home = folder / "data", folder / "home"

    async def fill() -> None:
        records = AssociationStore(home / "associations", sources=ANYWHERE)
        Registry(home).add_roots([str(data)])
        raw = write_csv(data / "raw" / "prices.csv", list(_COLUMNS), [[number, number * 37 % 101] for number in range(200)])
        job = Job(records, "clean", 1)
        read = job.scan(raw.parent, "csv", _COLUMNS, {"header": "true"})
        for row in read.rows[60:80]:
            row.values["price"] = -1 - row.values["price"]
        job.write(read, data / "clean", "csv", list(_COLUMNS), files=_TASKS)
        report = Job(records, "report", 2)
        again = report.scan(data / "clean", "csv", _COLUMNS, {"header": "true"})
        again.rows.sort(key=lambda row: row.values["id"] * 37 % 101)
        report.write(again, data / "report", "csv", list(_COLUMNS), files=3)
        graph = SqliteStore(str(home / "graph.db"))
        await graph.open()
        await project_captures(graph, records)
        await graph.close()
        records.close()

    asyncio.run(fill())
    return home


def _run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--home", str(home), "--format", "json"])


@pytest.mark.parametrize("name", ["report", "data/report"])
def test_the_task_behind_wrong_rows_is_named(home: Path, name: str) -> None:
    result = _run(home, str(home.parent / name) if "/" in name else name, "--bad", "price < 0")
    assert result.exit_code == 0, (result.output, result.exception)
    [found] = json.loads(result.stdout)
    assert found["instance"].endswith(":44")  # tasks are numbered from 41
    assert (found["dataset"], found["bad"], found["rows"]) == (str(home.parent / "data" / "clean"), 20, 20)
    assert found["chance"] < 1e-20
    assert "20 wrong rows and 180 other rows passed through 14 tasks and files" in result.stderr


def test_a_run_means_its_output(home: Path) -> None:
    [found] = json.loads(_run(home, "report", "--bad", "price < 0").stdout)
    [again] = json.loads(_run(home, found["run"], "--bad", "price < 0", "--good", "price > 5").stdout)
    assert (again["instance"], again["bad"]) == (found["instance"], 20)


def test_rows_of_every_task_make_none_suspect(home: Path) -> None:
    assert json.loads(_run(home, "report", "--bad", "id % 7 = 0").stdout) == []


def test_a_good_row_without_a_bad_one_and_an_unknown_name_are_refused(home: Path) -> None:
    assert isinstance(_run(home, "report", "--good", "price > 5").exception, InvalidQueryError)
    assert isinstance(_run(home, "nobody", "--bad", "true").exception, NotFoundError)
    assert "is right" in str(_run(home, "report", "--bad", "true").exception)
