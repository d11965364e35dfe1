"""Views, lists and columns through the schema."""

from __future__ import annotations

from tests.stated import CLEAN

RAW, CLEANED, REPORTED = "dataset:file:/data/raw/weather.csv", "dataset:file:/data/out/clean", "dataset:file:/data/out/report"
VIEW = """query ($view: ViewInput!, $first: Int! = 100, $after: String) { view(view: $view, first: $first, after: $after) {
  nodes { node { id kind } distance members focus upstream downstream wholly cut }
  edges { src dst weight direct via former members { pairs { src dst } total masked { id } maskedTotal withheld } }
  totals { nodes edges reached masked beyond } levels { data actors } cursor notes } }"""


async def test_a_view_is_masked_and_its_links_can_be_expanded(ask):
    shown = (await ask(VIEW, view={"focus": [REPORTED], "masks": [{"by": "KIND", "values": ["job"]}]}))["view"]
    assert [(item["node"]["id"], item["distance"], item["focus"]) for item in shown["nodes"]] == [
        (REPORTED, 0, True),
        (CLEANED, 2, False),
        (RAW, 4, False),
    ]
    assert {(edge["src"], edge["dst"], edge["via"], edge["direct"]) for edge in shown["edges"]} == {
        (RAW, CLEANED, 1, False),
        (CLEANED, REPORTED, 1, False),
    }
    (link,) = [edge for edge in shown["edges"] if edge["src"] == RAW]
    assert link["members"]["pairs"] == [{"src": RAW, "dst": CLEANED}]
    assert [node["id"] for node in link["members"]["masked"]] == ["job:local:clean"]
    assert shown["totals"] == {"nodes": 3, "edges": 2, "reached": 5, "masked": 2, "beyond": 0}
    assert shown["levels"] == {"data": ["PLATFORM", "DATASET"], "actors": ["SYSTEM", "PIPELINE", "JOB"]}


async def test_a_view_zooms_out_to_platforms_and_in_to_runs(ask):
    out = (await ask(VIEW, view={"focus": [REPORTED], "data": "PLATFORM", "actors": "PIPELINE"}))["view"]
    assert {item["node"]["id"]: item["members"] for item in out["nodes"]} == {"platform:file": 3, "pipeline:local:flights": 2}
    fine = (await ask(VIEW, view={"focus": [REPORTED], "data": "VERSION", "actors": "RUN", "direction": "UPSTREAM"}))["view"]
    assert f"version:file:/data/out/clean:{CLEAN}" in {item["node"]["id"] for item in fine["nodes"]}


async def test_a_view_comes_in_pages(ask):
    first = (await ask(VIEW, view={"focus": [REPORTED]}, first=3))["view"]
    second = (await ask(VIEW, view={"focus": [REPORTED]}, first=3, after=first["cursor"]))["view"]
    assert (len(first["nodes"]), len(second["nodes"]), second["cursor"]) == (3, 2, None)
    assert len(first["edges"]) + len(second["edges"]) == first["totals"]["edges"] == 4


async def test_a_view_that_cannot_be_is_refused_with_what_is_there(refused):
    error = await refused(VIEW, view={"focus": [REPORTED], "data": "COLUMN"})
    assert error.extensions["code"] == "InvalidQueryError"
    assert error.extensions["hint"] == "Its levels of data are: platform, dataset."
    assert (await refused(VIEW, view={"focus": ["dataset:file:/nowhere"]})).extensions["code"] == "NotFoundError"
    assert "first is 0" in (await refused(VIEW, view={"focus": [REPORTED]}, first=0)).message


async def test_a_difference_between_two_instants(ask):
    document = """query ($view: ViewInput!) { viewDifference(view: $view, before: "2026-01-31T10:02:30Z", after: "2026-02-01") {
      nodesAdded { id } nodesRemoved { id } edgesAdded { src dst } edgesRemoved { src dst } kept notes } }"""
    found = (await ask(document, view={"focus": [CLEANED]}))["viewDifference"]
    assert {node["id"] for node in found["nodesAdded"]} == {"job:local:report", REPORTED}
    assert (found["nodesRemoved"], found["edgesRemoved"], found["kept"]) == ([], [], 2)


async def test_impact_comes_in_pages_with_paths(ask):
    document = """query ($focus: [ID!], $after: String) { impact(focus: $focus, first: 3, after: $after) {
      rows { node { id } distance path owners lastRun updated records } total beyond exact cursor } }"""
    first = (await ask(document, focus=[RAW]))["impact"]
    second = (await ask(document, focus=[RAW], after=first["cursor"]))["impact"]
    rows = first["rows"] + second["rows"]
    assert [row["node"]["id"] for row in rows] == ["job:local:clean", CLEANED, "job:local:report", REPORTED]
    assert rows[-1]["path"] == [RAW, "job:local:clean", CLEANED, "job:local:report", REPORTED]
    assert rows[1]["lastRun"] == f"run:{CLEAN}"
    assert (first["total"], first["exact"], second["cursor"]) == (4, True, None)


async def test_what_is_no_column_is_refused(refused):
    for question in ("fieldAccess(column: $id) { job }", "fieldLineage(column: $id) { truncated }"):
        assert "no column" in (await refused(f"query ($id: ID!) {{ {question} }}", id=RAW)).message


async def test_one_link_can_be_expanded_alone(ask, refused):
    document = """query ($view: ViewInput!, $src: ID!, $dst: ID!) { viewLink(view: $view, src: $src, dst: $dst) {
      pairs { src dst } total masked { name } withheld } }"""
    hidden = {"focus": [REPORTED], "masks": [{"by": "KIND", "values": ["job"]}]}
    found = (await ask(document, view=hidden, src=RAW, dst=CLEANED))["viewLink"]
    assert found == {"pairs": [{"src": RAW, "dst": CLEANED}], "total": 1, "masked": [{"name": "clean"}], "withheld": 0}
    assert "no link" in (await refused(document, view=hidden, src=CLEANED, dst=RAW)).message


async def test_what_cannot_be_answered_is_refused_by_field(refused):
    fields = {
        "impact { total }": "focus",
        f'impact(focus: ["{RAW}"], after: "zz") {{ total }}': "after",
        f'view(view: {{focus: ["{RAW}"], open: [{{id: "dataset:file:/elsewhere", level: COLUMN}}]}}) {{ cursor }}': None,
        f'view(view: {{focus: ["{RAW}"], open: [{{id: "nothing", level: COLUMN}}]}}) {{ cursor }}': "open",
        f'view(view: {{focus: ["{RAW}"], since: "soon"}}) {{ cursor }}': "since",
        'quality(node: "dataset:file:/elsewhere") { id }': None,
    }
    for asked, field in fields.items():
        assert (await refused(f"{{ {asked} }}")).extensions["field"] == field, asked
