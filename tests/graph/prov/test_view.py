"""Any set of nodes and edges as PROV: valid, whatever it shows, and nothing of it left out."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prov.model import (
    ProvActivity,
    ProvAssociation,
    ProvAttribution,
    ProvDerivation,
    ProvEntity,
    ProvGeneration,
    ProvInfluence,
    ProvInvalidation,
    ProvMembership,
    ProvStart,
    ProvUsage,
)

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.prov import export_column, export_dataset, export_run, export_view
from headwater.graph.prov.constraints import check
from headwater.graph.prov.model import Document, Kind, Statement
from tests.graph.prov.validity import ends, pairs, read_back
from tests.stated import REPORT, TENANT, state

DATA, OUT, JOB = "dataset:file:/data", "dataset:file:/out", "job:local:report"
AFTER = {"path": "file:/data/out/report/part-0.parquet", "length": 90, "modified": 4000}
STAMP = Stamp.at("2026-02-01T00:00:00Z", "k")


def node(identifier: str, **properties) -> Node:
    kind = NodeKind(identifier.partition(":")[0])
    return Node(identifier, kind, identifier.rpartition(":")[2], properties)


def test_a_job_acts_through_all_its_runs():
    view = export_view("view", [node(DATA), node(JOB), node(OUT)], [Edge(DATA, JOB, EdgeKind.READS), Edge(JOB, OUT, EdgeKind.WRITES)])
    bundle = read_back(view)
    assert pairs(bundle, ProvUsage) == {("runs:local:report", DATA)}
    assert pairs(bundle, ProvInfluence) == {(OUT, "runs:local:report")}
    assert [ends(record) for record in bundle.get_records(ProvAssociation)] == [["runs:local:report", None, JOB]]
    assert not list(bundle.get_records(ProvDerivation)), "nobody knows that all of it came from all of that"


def test_a_lifted_edge_is_an_influence_with_its_weight():
    edge = Edge("platform:file", "platform:s3", EdgeKind.WRITES, {"weight": 7})
    bundle = read_back(export_view("view", [node("platform:file"), node("platform:s3")], [edge]))
    (influence,) = bundle.get_records(ProvInfluence)
    assert {name.localpart: value for name, value in influence.extra_attributes} == {"edge": "writes", "weight": 7}


def test_a_column_is_exported_with_the_columns_that_it_derives_from():
    source, target = "column:file:/data:wind", "column:file:/out:max_wind"
    kinds = {"transformations": [{"type": "DIRECT", "subtype": "AGGREGATION"}]}
    bundle = read_back(export_view(target, [node(source), node(target)], [Edge(source, target, EdgeKind.DERIVES, kinds)]))
    (derivation,) = bundle.get_records(ProvDerivation)
    assert ends(derivation) == [target, source, None]
    assert [value for _, value in derivation.extra_attributes] == ["DIRECT/AGGREGATION"]
    assert pairs(bundle, ProvMembership) == {(DATA, source), (OUT, target)}


async def test_a_column_of_the_graph_goes_upstream(store):
    columns = ["column:file:/a:x", "column:file:/b:y", "column:file:/c:z"]
    edges = [Edge(columns[0], columns[1], EdgeKind.DERIVES), Edge(columns[1], columns[2], EdgeKind.DERIVES)]
    await store.apply(TENANT, [GraphBatch(STAMP, [], edges)])
    assert pairs(read_back(await export_column(store, TENANT, columns[1])), ProvDerivation) == {(columns[1], columns[0])}


async def test_columns_that_derive_from_each_other_make_no_circle(store):
    a, b = "column:file:/a:x", "column:file:/a:y"
    await store.apply(TENANT, [GraphBatch(STAMP, [], [Edge(a, b, EdgeKind.DERIVES), Edge(b, a, EdgeKind.DERIVES)])])
    bundle = read_back(await export_column(store, TENANT, a))
    assert pairs(bundle, ProvInfluence) == {(a, b), (b, a)}


async def test_a_run_has_its_stages_tasks_and_operators(store):
    run, stage, task, operator = f"run:{REPORT}", "stage:c:1", "task:c:1:0", "operator:c:4"
    contains = [Edge(run, stage, EdgeKind.CONTAINS), Edge(stage, task, EdgeKind.CONTAINS), Edge(run, operator, EdgeKind.CONTAINS)]
    known = [
        Node(operator, NodeKind.OPERATOR, "Aggregate", {"text": "Aggregate by origin"}),
        Node(task, NodeKind.TASK, "0", {"attempt": 2}),
    ]
    await store.apply(TENANT, [GraphBatch(STAMP, known, contains)])
    bundle = read_back(await export_run(store, TENANT, run))
    assert {(ends(record)[0], ends(record)[2]) for record in bundle.get_records(ProvStart)} == {(stage, run), (task, stage)}
    assert [run, None, operator] in [ends(record) for record in bundle.get_records(ProvAssociation)]
    said = {record.identifier.localpart: dict(record.extra_attributes) for record in bundle.get_records((ProvActivity, ProvEntity))}
    assert 2 in said[task].values()
    assert "Aggregate by origin" in said[operator].values()


async def test_a_version_that_is_overwritten_is_invalidated_by_the_next(store):
    again = "0198a1b2-0000-7000-8000-000000000003"
    before = {"path": "file:/data/out/report/part-0.parquet", "length": 80, "modified": 3000}
    await state(store, again, "correct", 5, ("/data/out/report", before), ("/data/out/report", AFTER))
    bundle = read_back(await export_dataset(store, TENANT, "dataset:file:/data/out/report"))
    assert pairs(bundle, ProvInvalidation) == {(f"version:file:/data/out/report:{REPORT}", f"run:{again}")}


async def test_a_version_that_is_added_to_stays(store):
    again = "0198a1b2-0000-7000-8000-000000000003"
    await state(store, again, "more", 5, ("/data/elsewhere", {**AFTER, "path": "file:/e"}), ("/data/out/report", AFTER))
    delta = Node(f"version:file:/data/out/report:{again}", NodeKind.VERSION, "report", {"block": "delta"})
    await store.apply(TENANT, [GraphBatch(Stamp.at("2026-03-01T00:00:00Z", "z"), [delta], [])])
    bundle = read_back(await export_dataset(store, TENANT, "dataset:file:/data/out/report"))
    assert not list(bundle.get_records(ProvInvalidation))


async def test_owners_answer_for_their_datasets(store):
    owned = Node(DATA, NodeKind.DATASET, "/data", {"ownership": {"owners": [{"name": "team:weather", "type": "MAINTAINER"}]}})
    await store.apply(TENANT, [GraphBatch(STAMP, [owned], [])])
    bundle = read_back(await export_dataset(store, TENANT, DATA))
    assert pairs(bundle, ProvAttribution) == {(DATA, "owner:team%3Aweather")}


IDS = [
    "platform:file", "dataset:file:/a", "dataset:file:/b", "version:file:/a:1", "version:file:/b:2", "partition:/a/x:1:2",
    "column:file:/a:x", "column:file:/b:y", "system:local", "pipeline:local:p", "job:local:j", "job:local:k", "run:1", "run:2",
    "stage:c:1", "task:c:1:0", "operator:c:1", "owner:ann", "tag:pii",
]  # fmt: skip
EDGES = st.builds(
    Edge,
    st.sampled_from(IDS),
    st.sampled_from(IDS),
    st.sampled_from(EdgeKind),
    st.dictionaries(st.sampled_from(["weight", "via"]), st.integers(1, 9)),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(IDS), unique=True), st.lists(EDGES, max_size=25))
def test_every_view_is_valid_and_says_every_edge_between_data(shown, edges):
    document = Document.of(export_view("view", [node(identifier) for identifier in shown], edges).items())
    assert check(document) == []
    (statements,) = document.bundles.values()
    declared = {statement.id for statement in statements if statement.id}
    named = {arg for s in statements for arg in s.args if isinstance(arg, str) and arg.startswith("urn:")}
    assert named <= declared, "what a statement names is described"
    joined = {frozenset(arg for arg in s.args if arg) for s in statements}
    runs = {node_id("job", "local", name): node_id("runs", "local", name) for name in "jk"}
    for edge in edges:
        if edge.src == edge.dst or edge.kind is EdgeKind.CONTAINS:
            continue
        ends_ = [{f"urn:headwater:node:{end}", f"urn:headwater:node:{runs.get(end, end)}"} for end in (edge.src, edge.dst)]
        assert any(pair & ends_[0] and pair & ends_[1] for pair in joined), edge
    generations = [s.args[0] for s in statements if isinstance(s, Statement) and s.kind is Kind.GENERATION]
    assert len(generations) == len(set(generations)), "one generation an entity"


def test_what_a_run_wrote_it_made():
    edges = [Edge("run:1", "version:file:/a:1", EdgeKind.WRITES), Edge("version:file:/b:2", "run:1", EdgeKind.READS)]
    bundle = read_back(export_view("view", [], edges))
    assert pairs(bundle, ProvGeneration) == {("version:file:/a:1", "run:1")}
    assert pairs(bundle, ProvUsage) == {("run:1", "version:file:/b:2")}
