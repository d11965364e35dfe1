"""A record trace as PROV: the same pairs as one trace a record gives, tied to the files and runs of the graph."""

import shutil
from types import SimpleNamespace

import pytest
from prov.model import ProvDerivation, ProvEntity, ProvGeneration, ProvInfluence, ProvMembership

from headwater.backend.projection import WrittenFile, capture_stamp, fold, project_capture
from headwater.graph.model import parse_id
from headwater.graph.prov import ProvFormat, export_records, write
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace import Semantics, TraceRequest, trace
from tests.graph.jobs import TENANT, Job
from tests.graph.prov.validity import document_of, ends, pairs, read_back
from tests.graph.trace.pipeline import build


@pytest.fixture
async def traced(tmp_path):
    """A pipeline that ran, its associations and its graph."""
    root = tmp_path / "data"
    store = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    build(store, root, seed=5)
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    await project(store, graph)
    yield SimpleNamespace(root=root, store=store, graph=graph)
    await graph.close()
    store.close()


async def project(store, graph) -> None:
    """State every capture of the store in the graph."""
    for entry in store.catalog.captures(TENANT):
        manifest = store.manifest(TENANT, entry.capture).to_json()
        files = [WrittenFile(*file.block, file.rows, file.attempt) for file in store.files(TENANT, entry.capture)]
        await fold(graph, TENANT, [project_capture(manifest, capture_stamp(manifest, entry.capture), files)])


async def exported(traced, **asked):
    async with export_records(traced.graph, traced.store, TENANT, TraceRequest(**asked)) as export:
        return read_back(export)


def place(identifier: str) -> tuple[str, int]:
    """File and row of a record's name."""
    path, _, _, row = parse_id(identifier)[1]
    return path, int(row)


def derivations(bundle) -> set[tuple[tuple[str, int], tuple[str, int]]]:
    found = pairs(bundle, ProvDerivation)
    return {(place(product), place(source)) for product, source in found if product.startswith("record:") and source.startswith("record:")}


async def one_by_one(traced, **asked) -> set[tuple[tuple[str, int], tuple[str, int]]]:
    """The pairs that single traces give, one for each selected record."""
    whole = await trace(traced.graph, traced.store, TENANT, TraceRequest(**asked, values=False))
    found = set()
    for entry in whole.selected:
        alone = {**asked, "where": None, "rows": [(entry.file, entry.row)]}
        answer = await trace(traced.graph, traced.store, TENANT, TraceRequest(**alone, values=False))
        for record in answer.records:
            pair = (entry.file, entry.row), (record.file, record.row)
            if pair[0] != pair[1]:
                found.add(pair[::-1] if asked.get("forward") else pair)
    return found


QUESTIONS = {
    "influence": {"dataset": "report"},
    "witness": {"dataset": "report", "semantics": Semantics.WITNESS},
    "witness of a column": {"dataset": "report", "column": "max_wind", "semantics": Semantics.WITNESS},
    "windows": {"dataset": "hourly"},
    "to a dataset between": {"dataset": "report", "to": "clean/weather"},
    "forward": {"dataset": "raw/weather.csv", "forward": True},
    "forward witness": {"dataset": "raw/weather.csv", "forward": True, "semantics": Semantics.WITNESS},
    "forward to a dataset between": {"dataset": "raw/weather.csv", "forward": True, "to": "hourly"},
}


@pytest.mark.parametrize("name", QUESTIONS)
async def test_every_selected_record_has_the_pairs_of_its_own_trace(traced, name):
    asked = dict(QUESTIONS[name])
    asked["dataset"] = str(traced.root / asked["dataset"])
    if "to" in asked:
        asked["to"] = str(traced.root / asked["to"])
    expected = await one_by_one(traced, where="true", **asked)
    assert expected
    assert derivations(await exported(traced, where="true", **asked)) == expected


async def test_a_record_belongs_to_its_file_and_was_made_by_the_run_that_wrote_it(traced):
    bundle = await exported(traced, dataset=str(traced.root / "hourly"), where="hour = 0")
    known = {ident.localpart for ident in (entity.identifier for entity in bundle.get_records(ProvEntity))}
    members = {child: parent for parent, child in pairs(bundle, ProvMembership) if child.startswith("record:")}
    makers = dict(pairs(bundle, ProvGeneration))
    for record, partition in members.items():
        assert partition in known
        assert parse_id(partition)[1][0] == place(record)[0]
        assert makers.get(record) == makers.get(partition)
    assert any(record in makers for record in members)


async def test_a_derivation_names_its_run_only_where_one_alone_lies_between(traced):
    across = await exported(traced, dataset=str(traced.root / "report"), where="origin = 'A'")
    direct = await exported(traced, dataset=str(traced.root / "clean" / "weather"), where="true")
    of_records = [ends(record) for record in across.get_records(ProvDerivation) if str(ends(record)[0]).startswith("record:")]
    assert {run for _, _, run in of_records} == {None}
    (run,) = {ends(record)[2] for record in direct.get_records(ProvDerivation) if str(ends(record)[0]).startswith("record:")}
    assert run.startswith("run:")


async def test_a_record_of_a_text_file_has_its_line(traced):
    bundle = await exported(traced, dataset=str(traced.root / "clean" / "weather"), where="true")
    lines = {}
    for entity in bundle.get_records(ProvEntity):
        said = {name.localpart: value for name, value in entity.extra_attributes}
        if "line" in said:
            lines[said["row"]] = said["line"]
    assert lines
    assert all(line == row + 2 for row, line in lines.items()), "a header, then a record a line"


async def test_what_is_asked_and_what_the_answer_lacks_is_said_of_the_bundle(traced):
    request = TraceRequest(dataset=str(traced.root / "report"), where="origin = 'A'", column="max_wind", semantics=Semantics.WITNESS)
    async with export_records(traced.graph, traced.store, TENANT, request) as export:
        document = document_of(export)
    (bundle,) = document.bundles
    (about,) = document.get_record(bundle.identifier)
    said = {name.localpart: value for name, value in about.extra_attributes}
    assert (said["where"], said["column"], said["semantics"], said["exact"]) == ("origin = 'A'", "max_wind", "witness", True)


async def test_values_never_leave(traced):
    request = TraceRequest(dataset=str(traced.root / "clean" / "carriers"), where="name = 'Xair'")
    async with export_records(traced.graph, traced.store, TENANT, request) as export:
        written = b"".join(write(export.items(), ProvFormat.TRIG))
    assert written.count(b"Xair") == 1, "the predicate alone"


async def test_a_job_that_overwrites_its_input_makes_no_circle(tmp_path):
    """A path before and after the run are two files, so that no record derives from itself."""
    store = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    first = Job(store, "first", 1)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.csv").write_text("n\n1\n2\n3\n")
    first.write(first.scan(tmp_path / "raw", "csv", {"n": "int"}, {"header": "true"}), tmp_path / "out", "csv", ["n"], files=1)
    again = Job(store, "again", 2)
    scan = again.scan(tmp_path / "out", "csv", {"n": "int"}, {"header": "true"})
    shutil.rmtree(tmp_path / "out")
    again.write(again.filter(scan, lambda v: v["n"] > 1, ["n"]), tmp_path / "out", "csv", ["n"], files=1)
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    await project(store, graph)
    request = TraceRequest(dataset=str(tmp_path / "out"), where="true", to=str(tmp_path / "out"))
    async with export_records(graph, store, TENANT, request) as export:
        bundle = read_back(export)
    await graph.close()
    assert not list(bundle.get_records(ProvInfluence))
    found = [(parse_id(a)[1], parse_id(b)[1]) for a, b in pairs(bundle, ProvDerivation) if a.startswith("record:")]
    assert [(product[3], source[3]) for product, source in sorted(found)] == [("0", "1"), ("1", "2")]
    assert all(product[0] == source[0] and product[1:3] != source[1:3] for product, source in found)
    store.close()
