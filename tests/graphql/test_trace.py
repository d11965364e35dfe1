"""Record traces and rows through the schema, against an oracle that works by nested loops."""

import json
from pathlib import Path

import pytest

from headwater.graph.access.scopes import unrestricted
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.questions import DirectQuestions
from headwater.graphql.context import Context
from headwater.graphql.schema import schema
from tests.captured import capture_pipeline

TRACE = """query ($dataset: String!, $where: String, $rows: [RowRef!], $column: String, $semantics: Semantics = INFLUENCE, $to: String,
               $forward: Boolean = false, $limit: Int = 1000) {
  trace(dataset: $dataset, where: $where, rows: $rows, column: $column, semantics: $semantics, to: $to, forward: $forward, limit: $limit) {
    semantics exact total elapsedMs
    records { dataset datasetName file row line grain values }
    selected { datasetName row }
    path { job run output inputs operations records grain recaptured expressions { operator made { column expression } by } }
    graph { nodes { id kind } edges { src dst kind } truncated }
    incomplete { what reason effect } } }"""
ROWS = """query ($dataset: ID!, $where: String, $first: Int = 50, $offset: Int = 0) {
  rows(dataset: $dataset, where: $where, first: $first, offset: $offset) {
    dataset columns { name type } rows { file row line values } total hasRecordLineage note } }"""


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    import asyncio

    home, root = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("data")
    return home, asyncio.run(capture_pipeline(home, root))


@pytest.fixture
async def answered(captured):
    """An answer of the schema over the captured home."""
    home, _ = captured
    graph = SqliteStore(str(home / "graph.db"))
    await graph.open()
    records = AssociationStore(home / "associations", sources=ANYWHERE)

    async def pending() -> int:
        return 0

    async def ask(document: str, **variables):
        context = Context(tenant="default", graph=graph, records=records, require=unrestricted, store="sqlite", pending=pending)
        return await schema.execute(document, variable_values=variables, context_value=context)

    yield ask
    records.close()
    await graph.close()


def places(records: list[dict]) -> set[tuple[str, int]]:
    return {(Path(record["file"]).name, record["row"]) for record in records}


async def test_a_trace_is_the_oracles_with_names_path_and_graph(captured, answered):
    oracle = captured[1]
    report, weather = oracle.root / "report", oracle.root / "raw" / "weather.csv"
    result = await answered(TRACE, dataset=str(report), where="origin = 'A'", column="max_wind", semantics="WITNESS", to=str(weather))
    assert not result.errors
    trace = result.data["trace"]
    assert trace["exact"]
    assert places(trace["records"]) == {place for place in oracle.report_witness("A", "max_wind") if place[0] == "weather.csv"}
    assert {record["datasetName"] for record in trace["records"]} == {str(weather)}
    assert trace["records"][0]["line"] == trace["records"][0]["row"] + 2
    assert [hop["job"] for hop in trace["path"]] == ["job:tests:report", "job:tests:hourly", "job:tests:clean_weather"]
    nodes = {node["id"] for node in trace["graph"]["nodes"] if node["kind"] != "COLUMN"}
    assert nodes == {hop["job"] for hop in trace["path"]} | {
        f"dataset:file:{oracle.root / name}" for name in ("report", "hourly", "clean/weather", "raw/weather.csv")
    }


async def test_an_answer_can_be_sent_as_strict_json(captured, answered):
    result = await answered(TRACE, dataset=str(captured[1].root / "report"), where="true")
    json.dumps(result.data, allow_nan=False)


_SPREAD = "fragment Read on TracedRecord { values }"


@pytest.mark.parametrize(
    ("asked", "fragments", "expected"),
    [
        ("records { row } selected { row }", "", (False, False)),
        ("records { row values }", "", (True, False)),
        ("records { row line } selected { file }", "", (True, False)),
        ("...Whole", f"fragment Whole on Trace {{ exact selected {{ ...Read }} }} {_SPREAD}", (False, True)),
        ("records { ... on TracedRecord { values @skip(if: true) } }", "", (True, False)),
        ("records { row } again: records { values } chosen: selected { ...Read }", _SPREAD, (True, True)),
    ],
)
async def test_values_are_read_where_they_are_asked_for_alone(captured, answered, monkeypatch, asked, fragments, expected):
    requests = []
    answer_trace = DirectQuestions.trace

    async def noted(self, tenant, request):
        requests.append(request)
        return await answer_trace(self, tenant, request)

    monkeypatch.setattr(DirectQuestions, "trace", noted)
    document = f"query ($dataset: String!) {{ trace(dataset: $dataset, where: \"origin = 'A'\") {{ total {asked} }} }} {fragments}"
    answer = await answered(document, dataset=str(captured[1].root / "report"))
    assert answer.errors is None
    assert [(request.values, request.selected_values) for request in requests] == [expected]


async def test_what_the_limit_cut_is_counted(captured, answered):
    result = await answered(TRACE, dataset=str(captured[1].root / "report"), where="true", limit=2)
    assert len(result.data["trace"]["records"]) == 2
    assert result.data["trace"]["total"] > 2


async def test_rows_lead_to_a_trace_of_one_of_them(captured, answered):
    oracle = captured[1]
    page = (await answered(ROWS, dataset=f"dataset:file:{oracle.root / 'report'}", where="origin = 'B'")).data["rows"]
    (row,) = page["rows"]
    assert dict(zip([column["name"] for column in page["columns"]], row["values"], strict=True))["origin"] == "B"
    assert page["hasRecordLineage"]
    reference = {"file": row["file"], "row": row["row"]}
    trace = (await answered(TRACE, dataset=page["dataset"], rows=[reference])).data["trace"]
    assert places(trace["records"]) == oracle.report_influence("B")


async def test_rows_come_page_by_page_without_gap_or_repetition(captured, answered):
    oracle = captured[1]
    dataset = f"dataset:file:{oracle.root / 'hourly'}"
    whole = (await answered(ROWS, dataset=dataset)).data["rows"]
    pages = [(await answered(ROWS, dataset=dataset, first=3, offset=start)).data["rows"] for start in range(0, whole["total"], 3)]
    assert [row for page in pages for row in page["rows"]] == whole["rows"]
    assert {page["total"] for page in pages} == {len(oracle.hourly())}
    assert (await answered(ROWS, dataset=dataset, first=0)).data["rows"]["columns"] == whole["columns"]


@pytest.mark.parametrize(
    ("document", "asked", "code", "field"),
    [
        (TRACE, {"dataset": "report", "where": "orign = 'A'"}, "InvalidQueryError", "where"),
        (TRACE, {"dataset": "nowhere", "where": "true"}, "NotFoundError", None),
        (TRACE, {"dataset": "report", "where": "true", "limit": -1}, "InvalidQueryError", "limit"),
        (ROWS, {"dataset": "nowhere"}, "NotFoundError", None),
        (ROWS, {"dataset": "report", "where": "EXISTS (SELECT 1)"}, "InvalidQueryError", "where"),
    ],
)
async def test_what_cannot_be_answered_says_why(answered, document, asked, code, field):
    result = await answered(document, **asked)
    (error,) = result.errors
    assert (error.extensions["code"], error.extensions["field"]) == (code, field)
    assert error.extensions["hint"]
