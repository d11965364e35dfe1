"""PROV documents as lineage: exports come back as they were, others become datasets, runs and owners, wrong ones are refused."""

import asyncio

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from headwater.errors import InvalidProvenanceError
from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.prov import ProvFormat, export_dataset, export_run, export_shown, export_view, write
from headwater.graph.stores import Direction
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.views import ViewOptions
from tests.stated import REPORT, TENANT, state_pipeline

TARGET = "dataset:file:/data/out/report"
FOREIGN = """document
prefix ex <http://example.org/>
entity(ex:raw, [prov:label="Raw weather"])
entity(ex:report, [ex:password="hunter2"])
entity(ex:report_v1)
specializationOf(ex:report_v1, ex:report)
entity(ex:script, [prov:type='prov:Plan'])
activity(ex:compile1, 2026-01-31T10:00:00Z, 2026-01-31T10:05:00Z)
agent(ex:derek, [prov:type='prov:Person'])
agent(ex:airflow, [prov:type='prov:SoftwareAgent'])
used(ex:compile1, ex:raw, -)
wasGeneratedBy(ex:report_v1, ex:compile1, 2026-01-31T10:05:00Z)
wasAssociatedWith(ex:compile1, ex:airflow, ex:script)
wasAttributedTo(ex:report, ex:derek)
wasDerivedFrom(ex:summary, ex:report)
alternateOf(ex:a, ex:b)
endDocument
"""


@pytest.fixture
async def source(tmp_path):
    store = SqliteStore(str(tmp_path / "source.db"))
    await store.open()
    await state_pipeline(store)
    yield store
    await store.close()


@pytest.fixture
async def workspace(tmp_path):
    async with await Workspace.open(load_settings(home=tmp_path / "home")) as opened:
        yield opened


async def taken(workspace, body: bytes, notation=None):
    report = await asyncio.to_thread(workspace.prov.submit, TENANT, body, notation)
    assert await workspace.settle() == 0
    assert not workspace.log.dead_letters(TENANT)
    return report


async def shape(store, focus, *, depth=99):
    """Nodes and edges around a focus, and what contains them."""
    kinds = [EdgeKind.READS, EdgeKind.WRITES]
    reached = await store.reach(TENANT, focus, direction=Direction.UPSTREAM, kinds=kinds, depth=depth, limit=9_999)
    nodes = {node.id for node in reached.nodes}
    held = await store.ancestors(TENANT, sorted(nodes))
    return {(edge.src, edge.dst, edge.kind) for edge in reached.edges}, {child: [node.id for node in held[child]] for child in held}


def written(export, notation) -> bytes:
    return b"".join(write(export.items(), notation, export.namespaces))


@pytest.mark.parametrize("notation", [ProvFormat.JSON, ProvFormat.N, ProvFormat.XML])
async def test_an_export_comes_back_as_the_graph_that_it_was(source, workspace, notation):
    await taken(workspace, written(await export_dataset(source, TENANT, TARGET), notation))
    versions = [node.id for node in (await source.children(TENANT, TARGET, kinds=[NodeKind.VERSION])).nodes]
    files = [node.id for node in (await source.children(TENANT, versions[0], kinds=[NodeKind.PARTITION])).nodes]
    assert files
    assert await shape(workspace.graph, [*versions, *files]) == await shape(source, [*versions, *files])
    assert await shape(workspace.graph, [TARGET]) == await shape(source, [TARGET]), "at the level of jobs and datasets too"
    (run,) = await workspace.graph.get(TENANT, [f"run:{REPORT}"])
    (before,) = await source.get(TENANT, [f"run:{REPORT}"])
    assert {key: run.properties[key] for key in ("state", "startedAt", "endedAt")} == {
        key: before.properties[key] for key in ("state", "startedAt", "endedAt")
    }


async def test_a_view_of_jobs_comes_back_as_jobs(source, workspace):
    kinds = [EdgeKind.READS, EdgeKind.WRITES]
    reached = await source.reach(TENANT, [TARGET], direction=Direction.UPSTREAM, kinds=kinds, depth=9, limit=99)
    await taken(workspace, written(export_view("view", reached.nodes, reached.edges), ProvFormat.JSON))
    assert (await shape(workspace.graph, [TARGET]))[0] == (await shape(source, [TARGET]))[0]


async def test_the_same_document_is_taken_once_and_is_there_after_a_rebuild(source, workspace):
    export = await export_run(source, TENANT, f"run:{REPORT}")
    items = list(export.items())
    first = await taken(workspace, b"".join(write(items, ProvFormat.JSON)))
    again = await taken(workspace, b"".join(write(items, ProvFormat.N)))
    assert (first.duplicate, again.duplicate) == (False, True)
    assert workspace.log.counts(TENANT)["prov"] == 1
    before = await workspace.graph.fingerprint(TENANT)
    assert workspace.role.take()
    assert await workspace.projector.rebuild(TENANT) == 1
    assert await workspace.graph.fingerprint(TENANT) == before


async def test_somebody_elses_document_becomes_datasets_jobs_runs_and_owners(workspace):
    report = await taken(workspace, FOREIGN.encode())
    assert report.left_out == {"alternateOf": 1}
    ex = "http%3A//example.org/"
    raw, made, job = f"dataset:{ex}:raw", f"dataset:{ex}:report", f"job:{ex}:script"
    edges, _ = await shape(workspace.graph, [f"dataset:{ex}:summary"])
    derived = f"job:{ex}:derivation%20of%20summary"
    assert edges == {
        (raw, job, EdgeKind.READS), (job, made, EdgeKind.WRITES), (made, derived, EdgeKind.READS),
        (derived, f"dataset:{ex}:summary", EdgeKind.WRITES),
    }  # fmt: skip
    ((version,),) = [(await workspace.graph.children(TENANT, made, kinds=[NodeKind.VERSION])).nodes]
    (run,) = (await workspace.graph.children(TENANT, job, kinds=[NodeKind.RUN])).nodes
    assert (run.properties["state"], run.properties["endedAt"]) == ("COMPLETE", "2026-01-31T10:05:00.000000Z")
    assert version.id.endswith(run.id.removeprefix("run:"))
    containers = (await workspace.graph.ancestors(TENANT, [job]))[job]
    assert f"pipeline:{ex}:airflow" in {node.id for node in containers}
    (dataset,) = await workspace.graph.get(TENANT, [made])
    assert [owner["name"] for owner in dataset.properties["ownership"]["owners"]] == ["http://example.org/derek"]


async def test_secrets_do_not_get_into_the_log(workspace):
    await taken(workspace, FOREIGN.encode())
    (entry,) = workspace.log.read(TENANT, after=0)
    assert b"hunter2" not in entry.body


BAD = {
    "not JSON": (b'{"prefix": {"ex": "http://x/"}, "entity": {"ex:e": {}},\n "used": {,}}', 2, "PROV-JSON"),
    "a key twice": (b'{"prefix": {"ex": "http://x/"},\n "entity": {"ex:e": {},\n "ex:e": {}}}', 3, "PROV-JSON"),
    "no such kind": (b'{\n"entitie": {}}', 2, "PROV-JSON"),
    "an argument is missing": (
        b'{"prefix": {"ex": "http://x/"},\n\n"wasDerivedFrom": {"_:d": {"prov:usedEntity": "ex:e"}}}', 3, "PROV-DM 5.2.1",
    ),
    "a prefix is not declared": (b'{"entity": {\n"ex:e": {}}}', 2, "PROV-DM 5.7.1"),
    "a time is none": (b'{"prefix": {"ex": "http://x/"},\n"activity": {"ex:a": {"prov:startTime": "yesterday"}}}', 2, "PROV-DM 5.7.3"),
    "PROV-N is cut short": (b"document\nprefix ex <http://x/>\nentity(ex:e", 3, "PROV-N"),
    "PROV-N has a stray mark": (b"document\nprefix ex <http://x/>\nentity(ex:e)\n)\nendDocument", 4, "PROV-N"),
    "a constraint is broken": (
        b"document\nprefix ex <http://x/>\nentity(ex:e)\nspecializationOf(ex:e, ex:e)\nendDocument", 4, "PROV-CONSTRAINTS 52",
    ),
    "a constraint is broken in JSON": (
        b'{"prefix": {"ex": "http://x/"},\n"entity": {"ex:e": {}},\n"activity": {\n"ex:e": {}}}', 4, "PROV-CONSTRAINTS 55",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
async def test_what_is_wrong_is_refused_with_its_line_and_clause_and_kept(workspace, name):
    body, line, clause = BAD[name]
    with pytest.raises(InvalidProvenanceError) as raised:
        workspace.prov.submit(TENANT, body)
    assert (raised.value.line, raised.value.clause[: len(clause)]) == (line, clause)
    assert raised.value.message.startswith(f"line {line}: ")
    (letter,) = workspace.log.dead_letters(TENANT)
    assert (letter.body, letter.field) == (body, f"line {line}")
    assert workspace.log.latest(TENANT) == 0


async def test_records_are_left_out_and_counted(workspace):
    text = """document
prefix node <urn:headwater:node:>
entity(node:record\\:/a\\:1\\:2\\:0)
entity(node:record\\:/b\\:1\\:2\\:0)
wasDerivedFrom(node:record\\:/a\\:1\\:2\\:0, node:record\\:/b\\:1\\:2\\:0)
endDocument"""
    report = await taken(workspace, text.encode())
    assert (report.nodes, report.left_out) == (0, {"record": 2})


async def test_a_way_through_what_a_view_hid_becomes_no_edge(source, workspace):
    request = ViewOptions(levels=[NodeKind.VERSION, NodeKind.RUN], masks=["kind=run"]).request([TARGET])
    document = b"".join(write((await export_shown(source, TENANT, request)).items(), ProvFormat.JSON))
    report = await asyncio.to_thread(workspace.prov.submit, TENANT, document)
    assert report.left_out["wasDerivedFrom"] >= 1
    assert await workspace.settle() == 0
    known = [node.id for node in (await workspace.graph.search(TENANT, "", first=1_000)).nodes]
    kinds = [EdgeKind.READS, EdgeKind.WRITES, EdgeKind.DERIVES]
    assert await workspace.graph.neighbours(TENANT, known, direction=Direction.BOTH, kinds=kinds) == []
