"""Nodes, search and lineage through the schema."""

from collections import Counter

from tests.stated import CLEAN, TENANT

CLEANED = "dataset:file:/data/out/clean"


async def test_a_node_has_its_containers_innermost_first(ask):
    data = await ask("query ($id: ID!) { node(id: $id) { kind name containers { id kind } } }", id=f"run:{CLEAN}")
    assert data["node"]["kind"] == "RUN"
    assert [container["id"] for container in data["node"]["containers"]] == ["job:local:clean", "pipeline:local:flights", "system:local"]


async def test_a_node_that_is_not_there_is_null(ask):
    assert await ask('{ node(id: "dataset:file:/nowhere") { id } }') == {"node": None}


async def test_children_come_page_by_page(ask):
    page = "children(kinds: [DATASET], first: 2, after: $after) { nodes { id } cursor total }"
    document = f'query ($after: String) {{ node(id: "platform:file") {{ {page} }} }}'
    first = (await ask(document))["node"]["children"]
    second = (await ask(document, after=first["cursor"]))["node"]["children"]
    assert first["total"] == second["total"] == 3
    assert second["cursor"] is None
    assert len({node["id"] for page in (first, second) for node in page["nodes"]}) == 3


async def test_search_finds_by_a_part_of_the_name_and_by_kind(ask):
    data = await ask('{ search(text: "CLEAN", kinds: [DATASET]) { nodes { id } total } }')
    assert [node["id"] for node in data["search"]["nodes"]] == [CLEANED]


async def test_lineage_follows_flows_in_the_direction_asked_for(ask):
    graph = "{ nodes { id } edges { src dst kind } truncated }"
    document = f'query ($d: Direction!) {{ lineage(focus: ["{CLEANED}"], direction: $d) {graph} }}'
    upstream = (await ask(document, d="UPSTREAM"))["lineage"]
    assert {node["id"] for node in upstream["nodes"]} == {CLEANED, "job:local:clean", "dataset:file:/data/raw/weather.csv"}
    assert {"src": "job:local:clean", "dst": CLEANED, "kind": "WRITES"} in upstream["edges"]
    downstream = (await ask(document, d="DOWNSTREAM"))["lineage"]
    assert {node["id"] for node in downstream["nodes"]} == {CLEANED, "job:local:report", "dataset:file:/data/out/report"}


async def test_lineage_that_a_limit_cut_says_so(ask):
    data = await ask(f'{{ lineage(focus: ["{CLEANED}"], limit: 1) {{ nodes {{ id }} truncated }} }}')
    assert len(data["lineage"]["nodes"]) == 1
    assert data["lineage"]["truncated"] > 0


async def test_a_list_of_nodes_costs_one_query_a_level(ask, context, monkeypatch):
    of = context()
    calls: Counter[str] = Counter()
    for verb in ("get", "ancestors", "search"):
        original = getattr(of.graph, verb)

        async def counted(*args, _verb=verb, _original=original, **options):
            calls[_verb] += 1
            return await _original(*args, **options)

        monkeypatch.setattr(of.graph, verb, counted)
    data = await ask("{ search(kinds: [DATASET, JOB]) { nodes { id containers { id } } } }", of=of)
    assert len(data["search"]["nodes"]) == 5
    assert calls == {"search": 1, "ancestors": 1}


async def test_service_says_what_there_is(ask, context):
    data = await ask("{ service { version store nodes runs captures pending } }")
    assert data["service"]["runs"] == (await context().graph.counts(TENANT))["run"]
    assert data["service"]["store"] == "sqlite"
    assert data["service"]["captures"] == 0
    assert data["service"]["pending"] == 3


async def test_a_tenant_sees_its_own_graph_alone(ask, context):
    data = await ask("{ search { total } service { nodes } }", of=context(tenant="other"))
    assert data == {"search": {"total": 0}, "service": {"nodes": 0}}
