"""The catalog: its knowledge of datasets, removals, and catalogs of earlier releases."""

import dataclasses
import json
import sqlite3
from pathlib import Path

import pytest

from headwater.errors import ConfigurationError
from headwater.graph.associations import Manifest
from headwater.graph.associations.parts import DatasetName, Recomputed
from headwater.graph.records import ANYWHERE, AssociationStore, FileBlock
from headwater.graph.records.layout import KeptFile
from tests.graph.jobs import TENANT
from tests.graph.records.conftest import run

# As releases before version 2 made it, with one capture without a folder and one with a folder.
_VERSION_1 = """
CREATE TABLE capture (
  tenant TEXT NOT NULL, capture TEXT NOT NULL, run TEXT NOT NULL, job_namespace TEXT NOT NULL, job_name TEXT NOT NULL,
  started TEXT NOT NULL, ended TEXT NOT NULL, status TEXT NOT NULL, PRIMARY KEY (tenant, capture)) WITHOUT ROWID;
CREATE INDEX capture_run ON capture (tenant, run);
CREATE TABLE dataset (
  tenant TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL, role TEXT NOT NULL, capture TEXT NOT NULL,
  PRIMARY KEY (tenant, namespace, name, role, capture, path)) WITHOUT ROWID;
CREATE TABLE written (
  tenant TEXT NOT NULL, path TEXT NOT NULL, length INTEGER NOT NULL, modified INTEGER NOT NULL, capture TEXT NOT NULL,
  rows INTEGER NOT NULL, PRIMARY KEY (tenant, path, length, modified, capture)) WITHOUT ROWID;
CREATE TABLE consumed (
  tenant TEXT NOT NULL, path TEXT NOT NULL, length INTEGER NOT NULL, modified INTEGER NOT NULL, capture TEXT NOT NULL,
  PRIMARY KEY (tenant, path, length, modified, capture)) WITHOUT ROWID;
INSERT INTO capture VALUES ('default', '0198a1b2-0000-7000-8000-000000000001', 'r', 'n', 'j', 's', 'e', 'complete');
PRAGMA user_version = 1;
"""


@pytest.fixture
def store(tmp_path: Path):
    opened = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    yield opened
    opened.close()


@pytest.fixture
def manifest(staged) -> Manifest:
    return staged[1]


def other(manifest: Manifest, number: int, *, to: str = "/lake/out", ended: str = "2026-01-02T00:00:00Z", **changes) -> Manifest:
    """Another run of the same query, which writes elsewhere."""
    sink = dataclasses.replace(manifest.sink, dataset=DatasetName(namespace="file", name=to), path=f"file:{to}")
    capture = f"0198a1b2-0000-7000-8000-{number:012}"
    return dataclasses.replace(manifest, **{"capture": capture, "sink": sink, "ended": ended, **changes})


def contents(store: AssociationStore) -> dict[str, list[tuple]]:
    """Every row of the catalog, but for what only grows: paths and the last number given."""
    with sqlite3.connect(store.root / "catalog.db") as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: sorted(database.execute(f"SELECT * FROM {table}")) for table in tables if table not in {"path", "sqlite_sequence"}}


def test_a_capture_that_is_forgotten_leaves_no_trace_of_it(store, manifest) -> None:
    store.catalog.put(TENANT, other(manifest, 1), [KeptFile(FileBlock("file:/lake/out/a", 1, 1), 1)])
    before = contents(store)
    store.catalog.put(TENANT, other(manifest, 2, to="/lake/elsewhere"), [KeptFile(FileBlock("file:/lake/out/b", 1, 1), 1)])
    store.catalog.put(TENANT, other(manifest, 3, status="refused"), [])
    assert contents(store) != before
    store.catalog.forget(TENANT, other(manifest, 2).capture)
    store.catalog.forget(TENANT, other(manifest, 3).capture)
    after = contents(store)
    for table in before.keys() - {"job", "generation"}:  # jobs stay known, and changes are counted
        assert after[table] == before[table]
    store.catalog.forget(TENANT)
    assert {table for table, rows in contents(store).items() if rows} == {"generation"}


def test_a_dataset_written_many_times_by_one_job_is_one_edge(store, manifest) -> None:
    source = f"dataset:file:{manifest.sources[0].dataset.name}"
    for number in range(20):
        store.catalog.put(TENANT, other(manifest, number), [])
    assert len(contents(store)["flow"]) == len(contents(store)["taken"]) == 1
    assert store.catalog.datasets.beyond(TENANT, [source], forward=True) == {source: {"dataset:file:/lake/out"}}
    assert store.catalog.datasets.beyond(TENANT, ["dataset:file:/lake/out"], forward=False) == {"dataset:file:/lake/out": {source}}
    assert store.catalog.datasets.beyond("other", [source], forward=True) == {}


def test_a_job_is_known_to_tell_its_records_only_while_no_query_of_it_was_refused(store, manifest) -> None:
    source = f"dataset:file:{manifest.sources[0].dataset.name}"
    store.catalog.put(TENANT, other(manifest, 1), [])
    assert store.catalog.datasets.taken_by(TENANT, source) == {"job:tests:sums"}
    store.catalog.put(TENANT, other(manifest, 2, status="refused"), [])
    assert store.catalog.datasets.taken_by(TENANT, source) == set()
    store.catalog.forget(TENANT, other(manifest, 2).capture)
    assert store.catalog.datasets.taken_by(TENANT, source) == {"job:tests:sums"}


def test_a_refused_query_of_a_job_may_have_read_any_dataset_until_its_output_is_replaced(store, manifest) -> None:
    refused = dataclasses.replace(other(manifest, 2, status="refused"), sources=[])
    store.catalog.put(TENANT, other(manifest, 1), [])
    store.catalog.put(TENANT, refused, [])
    assert store.catalog.datasets.refused_runs(TENANT, ["job:tests:sums", "job:tests:none"]) == {"job:tests:sums": {refused.run.run_id}}
    assert store.catalog.datasets.refused_runs("other", ["job:tests:sums"]) == {}
    later = other(manifest, 3, started="2027-01-01T00:00:00Z", ended="2027-01-01T00:00:01Z")
    store.catalog.put(TENANT, later, [])
    assert store.catalog.datasets.refused_runs(TENANT, ["job:tests:sums"]) == {}


def test_the_latest_capture_is_the_one_that_ended_last_whatever_came_last(store, manifest) -> None:
    late, early = other(manifest, 1, ended="2026-03-01T00:00:00Z"), other(manifest, 2, ended="2026-02-01T00:00:00Z")
    bare = dataclasses.replace(other(manifest, 3), ended="2026-04-01T00:00:00Z", sink=dataclasses.replace(late.sink, columns=()))
    for one in (late, early, bare):
        store.catalog.put(TENANT, one, [])
    assert store.catalog.datasets.latest(TENANT, "dataset:file:/lake/out", "sink") == late.capture  # `bare` has no columns
    assert store.catalog.datasets.latest(TENANT, "dataset:file:/lake/out", "source") is None


def test_a_dataset_is_found_by_id_name_path_and_the_end_of_either(store, manifest) -> None:
    store.catalog.put(TENANT, other(manifest, 1, to="/lake/a b/out"), [])
    known = store.catalog.datasets
    (found,) = known.called(TENANT, "dataset:file:/lake/a%20b/out")
    assert [found] == known.called(TENANT, "/lake/a b/out") == known.called(TENANT, "file:/lake/a b/out") == known.ending(TENANT, "/out")
    assert known.ending(TENANT, "b/out") == [found]
    assert known.called(TENANT, "out") == known.ending(TENANT, "/ut") == known.called("other", "/lake/a b/out") == []


def test_captures_with_groups_to_find_again_wait_until_they_are_looked_at(store, manifest) -> None:
    derived = tuple(
        dataclasses.replace(one, recomputed=Recomputed(estimate_ms=1)) if one.kind == "group" else one for one in manifest.boundaries
    )
    store.catalog.put(TENANT, other(manifest, 1), [])
    store.catalog.put(TENANT, other(manifest, 2, boundaries=derived), [])
    number, capture = store.catalog.next_unkept(TENANT, 0)
    assert capture == other(manifest, 2).capture
    assert store.catalog.next_unkept(TENANT, number) is None
    store.catalog.looked_at(number)
    assert store.catalog.next_unkept(TENANT, 0) is None
    # Only now is it known that a run wrote its own input: that run may have replaced its source.
    (read,) = manifest.sources[0].files
    block = FileBlock(read.path, read.length, read.modified)
    store.catalog.put(TENANT, other(manifest, 3, to="/lake/raw"), [KeptFile(block, 5)])
    assert store.catalog.next_unkept(TENANT, number)[1] == other(manifest, 2).capture


def test_readers_are_chosen_by_what_they_wrote(store, manifest) -> None:
    (read,) = manifest.sources[0].files
    block = FileBlock(read.path, read.length, read.modified)
    for number, to in enumerate(["/lake/a", "/lake/b", "/lake/a"]):
        store.catalog.put(TENANT, other(manifest, number, to=to), [])
    assert store.catalog.readers(TENANT, [block], {"dataset:file:/lake/a"}) == {
        block: [other(manifest, 0).capture, other(manifest, 2).capture]
    }
    many = {f"dataset:file:/lake/{number}" for number in range(300)} | {"dataset:file:/lake/b"}
    assert store.catalog.readers(TENANT, [block], many) == store.catalog.readers(TENANT, [block], set()) | {
        block: [other(manifest, 1).capture]
    }
    assert store.catalog.read(TENANT, [block, block._replace(length=0)]) == {block}


def test_a_catalog_of_an_earlier_release_is_filled_anew_from_what_is_kept(tmp_path) -> None:
    root = tmp_path / "associations"
    first = AssociationStore(root, sources=ANYWHERE)
    manifest = run(first, tmp_path)
    files = first.files(TENANT, manifest.capture)
    folder = first.table(TENANT, manifest.capture, 0).parent
    first.close()
    folder.rename(root / TENANT / manifest.capture)  # where that release kept it
    (root / "catalog.db").unlink()
    with sqlite3.connect(root / "catalog.db") as database:
        database.executescript(_VERSION_1)
    store = AssociationStore(root, sources=ANYWHERE)
    assert [entry.capture for entry in store.catalog.captures(TENANT)] == [manifest.capture]
    assert store.count(TENANT) == 1
    assert store.catalog.writers(TENANT, [file.block for file in files]) == {file.block: manifest.capture for file in files}
    assert store.files(TENANT, manifest.capture) == files
    assert store.publish(TENANT, manifest) == files
    assert not folder.exists()
    store.close()


def test_an_upgrade_that_is_killed_begins_again(tmp_path, monkeypatch) -> None:
    root = tmp_path / "associations"
    first = AssociationStore(root, sources=ANYWHERE)
    manifest = run(first, tmp_path)
    first.close()
    (root / "catalog.db").unlink()
    with sqlite3.connect(root / "catalog.db") as database:
        database.executescript(_VERSION_1)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("headwater.graph.records.dataset_index.enter", killed)
        with pytest.raises(KeyboardInterrupt):
            AssociationStore(root, sources=ANYWHERE)
    store = AssociationStore(root, sources=ANYWHERE)
    assert [entry.capture for entry in store.catalog.captures(TENANT)] == [manifest.capture]
    store.close()


def test_a_damaged_capture_does_not_hold_up_an_upgrade(tmp_path, caplog) -> None:
    root = tmp_path / "associations"
    first = AssociationStore(root, sources=ANYWHERE)
    manifest = run(first, tmp_path)
    first.close()
    damaged = root / TENANT / "0198a1b2-0000-7000-8000-000000000009"
    damaged.mkdir()
    (damaged / "manifest.json").write_text(json.dumps(manifest.to_json())[:100])
    (root / "catalog.db").unlink()
    with sqlite3.connect(root / "catalog.db") as database:
        database.executescript(_VERSION_1)
    store = AssociationStore(root, sources=ANYWHERE)
    assert store.count(TENANT) == 1
    assert damaged.name in caplog.text
    store.close()


def test_a_catalog_of_a_newer_release_is_refused(tmp_path) -> None:
    AssociationStore(tmp_path, sources=ANYWHERE).close()
    with sqlite3.connect(tmp_path / "catalog.db") as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(ConfigurationError, match="newer Headwater"):
        AssociationStore(tmp_path, sources=ANYWHERE)
