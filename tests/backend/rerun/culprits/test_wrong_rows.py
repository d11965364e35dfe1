"""Which wrong rows `headwater blame` accepts: those that the latest runs, which trials repeat, can have made."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from headwater.backend.rerun.culprits.search import find_wrong_result
from headwater.backend.rerun.culprits.wrong_rows import BlameRequest, WrongRows, equal_values
from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.predicate import check_predicate
from headwater.graph.trace.questions import DirectQuestions
from tests.backend.rerun.comparison.compared_home import COLUMNS, FIRST, SECOND, ComparedHome
from tests.graph.jobs import TENANT, Job


async def test_a_row_from_a_file_that_the_latest_run_did_not_read_is_refused(tmp_path: Path) -> None:
    """The first run read `1.csv`, and the second, which appended, read `2.csv` only. Trials repeat the second."""
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    home = ComparedHome(tmp_path, graph)
    home.script.write_text("")
    for number, (application, value) in enumerate(((FIRST, 1), (SECOND, 2)), start=1):
        file = home.add_file(f"{number}.csv", [["a", value]])
        job = Job(home.records, "numbers", number, part=f"run{number}", said={"mode": "append"})
        job.write(job.scan(file, "csv", COLUMNS, {"header": "true"}), tmp_path / "out", "parquet", list(COLUMNS), files=1)
        home.add(application, job)
    await home.project()

    async def find(where: str) -> WrongRows:
        request = BlameRequest(dataset=str(tmp_path / "out"), where=where)
        return await find_wrong_result(home, TENANT, request, DirectQuestions(graph, home.records))

    accepted = await find("v = 2")
    assert list(accepted.lineages[-1]) == [(f"file:{tmp_path}/raw/2.csv", 0)]
    with pytest.raises(UnsupportedError, match=r"repeats only the latest, which did not read file:\S+/raw/1\.csv"):
        await find("v = 1")
    home.registry.close()
    home.records.close()
    await graph.close()


_ALL = 100  # records of a group


@pytest.mark.parametrize(("where", "likely"), [("total > 5000", 41), ("k = 'a'", None)])
async def test_the_record_on_which_the_wrong_value_of_a_large_group_depends_most_comes_first(
    tmp_path: Path, where: str, likely: int | None
) -> None:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    home = ComparedHome(tmp_path, graph)
    home.script.write_text("")
    file = home.add_file("1.csv", [["a", 9000 if row == 41 else row % 7] for row in range(_ALL)])
    job = Job(home.records, "numbers", 1, part="run1")
    scan = job.scan(file, "csv", COLUMNS, {"header": "true"})
    total = (job.aggregation("sum", job.attr(scan, "v"), kind="bigint"), lambda rows: sum(row.values["v"] for row in rows), "bigint")
    job.write(job.aggregate(scan, ["k"], {"total": total}), tmp_path / "out", "parquet", ["k", "total"], files=1)
    home.add(FIRST, job)
    await home.project()
    request = BlameRequest(dataset=str(tmp_path / "out"), where=where)
    found = await find_wrong_result(home, TENANT, request, DirectQuestions(graph, home.records))
    assert list(found.lineages[0]) == ([] if likely is None else [(f"file:{tmp_path}/raw/1.csv", likely)])
    assert [len(records) for records in found.lineages[1:]] == [_ALL, _ALL]
    home.registry.close()
    home.records.close()
    await graph.close()


_TYPED = '''SELECT * FROM (VALUES
  (1, 'it''s "x"', 1.25::DECIMAL(9, 2), DATE '2026-03-04', TIMESTAMP '2026-03-04 05:06:07.000891', 1/3, 0.1::FLOAT, true, [1], NULL),
  (1, 'it''s "x"', 1.25::DECIMAL(9, 2), DATE '2026-03-04', TIMESTAMP '2026-03-04 05:06:07.000891', 1/3, 0.1::FLOAT, true, [2], 5),
  (2, '', -7.00::DECIMAL(9, 2), DATE '1900-01-01', TIMESTAMP '1969-12-31 23:59:59', 'nan'::DOUBLE, 3e38::FLOAT, false, [1], NULL),
  (2, '', -7.01::DECIMAL(9, 2), DATE '1900-01-01', TIMESTAMP '1969-12-31 23:59:59', '-inf'::DOUBLE, NULL, NULL, NULL, NULL)
) rows(number, "a text", price, day, moment, share, "float", "is ""so""", list, maybe)'''


def test_a_row_is_known_by_its_values_whatever_their_types() -> None:
    with duckdb.connect() as database:
        table = database.execute(_TYPED)
        columns = [(name, str(kind)) for name, kind, *_ in table.description]
        rows = table.fetchall()
        plain = [name for name, _ in columns if name != "list"]
        found = []
        for row in rows:
            predicate = equal_values(columns, row, [name.upper() for name in plain])
            checked = check_predicate(Database(database), predicate)
            found.append(database.execute(f"SELECT list, maybe FROM ({_TYPED}) WHERE {checked}").fetchall())
        assert found == [[([1], None)], [([2], 5)], [([1], None)], [(None, None)]]
        with pytest.raises(UnsupportedError, match=r"list are of the type INTEGER\[\]"):
            equal_values(columns, rows[0], [])
        with pytest.raises(InvalidQueryError, match="no column total"):
            equal_values(columns, rows[0], ["total"])
