"""The association store: staging, publishing whole or not at all, and finding captures by what they wrote and read."""

import dataclasses
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headwater.errors import InvalidCaptureError, InvalidInputError, NotFoundError
from headwater.graph.associations import Manifest
from headwater.graph.records import ANYWHERE, AssociationStore, block_of
from headwater.graph.records.staging import Staging
from tests.graph.jobs import TENANT, Job, write_csv
from tests.graph.records.conftest import COLUMNS, run


@pytest.fixture
def store(tmp_path: Path):
    opened = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    yield opened
    opened.close()


def test_a_published_capture_is_kept_sorted_and_its_segments_are_gone(staged) -> None:
    store, manifest = staged
    files = store.publish(TENANT, manifest)
    assert [file.rows for file in files] == [2, 1]
    sink = pq.read_table(store.table(TENANT, manifest.capture, 1))
    assert sink.column_names == ["file", "row", "r0"]
    assert list(zip(sink["file"].to_pylist(), sink["row"].to_pylist(), strict=True)) == [(0, 0), (0, 1), (1, 0)]
    group = pq.read_table(store.table(TENANT, manifest.capture, 0))
    assert group["key"].to_pylist() == sorted(group["key"].to_pylist())
    assert sorted(group["r0"].to_pylist()) == [0, 1, 2, 3, 4]
    assert not list((store.root / TENANT / "staging").iterdir())
    assert store.count(TENANT) == 1


def test_kept_columns_are_delta_packed(staged) -> None:
    store, manifest = staged
    store.publish(TENANT, manifest)
    column = pq.ParquetFile(store.table(TENANT, manifest.capture, 0)).metadata.row_group(0).column(0)
    assert "DELTA_BINARY_PACKED" in column.encodings
    assert column.compression == "ZSTD"


def test_publishing_twice_is_publishing_once(staged) -> None:
    store, manifest = staged
    first = store.publish(TENANT, manifest)
    folder = store.table(TENANT, manifest.capture, 0).parent
    tables = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert store.publish(TENANT, manifest) == first
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == tables
    assert store.count(TENANT) == 1
    assert store.missing_segments(TENANT, manifest) == []


def test_a_later_text_of_the_same_capture_needs_no_segments(staged) -> None:
    store, manifest = staged
    store.publish(TENANT, manifest)
    redacted = dataclasses.replace(manifest, cost={"rows": 5})
    store.publish(TENANT, redacted)
    assert store.manifest(TENANT, manifest.capture).cost == {"rows": 5}
    assert store.count(TENANT) == 1


@pytest.mark.parametrize("where", ["compact", "rename", "catalog", "clear"])
def test_a_crash_while_publishing_can_be_repaired_by_publishing_again(staged, monkeypatch, where) -> None:
    store, manifest = staged

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        target = {
            "compact": ("headwater.graph.records.compact.files_written", crash),
            "rename": ("pathlib.Path.rename", crash),
            "catalog": ("headwater.graph.records.catalog.Catalog.put", crash),
            "clear": ("headwater.graph.records.staging.Staging.clear", crash),
        }[where]
        patched.setattr(*target)
        with pytest.raises(KeyboardInterrupt):
            store.publish(TENANT, manifest)
    again = AssociationStore(store.root, sources=ANYWHERE)
    again.publish(TENANT, manifest)
    assert again.count(TENANT) == 1
    assert pq.read_table(again.table(TENANT, manifest.capture, 0)).num_rows == 5
    assert list((store.root / TENANT / ".drafts").iterdir()) == []
    assert not list((store.root / TENANT / "staging").iterdir())
    again.close()


def test_what_a_killed_process_left_half_made_is_removed(staged) -> None:
    store, manifest = staged
    left = store.root / TENANT / ".drafts" / f"{manifest.capture}.0123"
    left.mkdir(parents=True)
    store.publish(TENANT, manifest)
    assert not left.exists()


def test_a_missing_segment_is_named_and_nothing_is_published(staged) -> None:
    store, manifest = staged
    name = manifest.segments[0].name
    (store.root / TENANT / "staging" / manifest.capture / name).unlink()
    assert store.missing_segments(TENANT, manifest) == [name]
    with pytest.raises(InvalidCaptureError, match="has not arrived") as caught:
        store.publish(TENANT, manifest)
    assert caught.value.field == name
    assert store.count(TENANT) == 0
    with pytest.raises(NotFoundError):
        store.manifest(TENANT, manifest.capture)


def test_a_segment_of_other_content_counts_as_missing_until_it_is_sent_again(staged) -> None:
    store, manifest = staged
    entry = manifest.segments[0]
    whole = (store.root / TENANT / "staging" / manifest.capture / entry.name).read_bytes()
    store.stage_segment(TENANT, manifest.capture, entry.name, whole[:-1])
    assert store.missing_segments(TENANT, manifest) == [entry.name]
    assert store.stage_segment(TENANT, manifest.capture, entry.name, whole) == entry.sha256
    assert store.missing_segments(TENANT, manifest) == []


def test_a_segment_that_contradicts_the_manifest_is_refused(staged) -> None:
    store, manifest = staged
    first, *rest = manifest.segments
    wrong = dataclasses.replace(manifest, segments=(dataclasses.replace(first, rows=first.rows + 1), *rest))
    with pytest.raises(InvalidCaptureError, match="the manifest says"):
        store.publish(TENANT, wrong)
    assert store.count(TENANT) == 0


def test_staging_is_durable_before_it_returns_and_idempotent(tmp_path, monkeypatch) -> None:
    staging, synced = Staging(tmp_path), []
    monkeypatch.setattr("headwater.graph.records.atomic_files.sync", lambda path: synced.append(path.suffix or "folder"))
    capture = "0198a1b2-0000-7000-8000-000000000001"
    digest = staging.put(capture, "b0-s1.0-p0-a1.seg", b"abc")
    assert synced == [".tmp", "folder"]
    assert staging.put(capture, "b0-s1.0-p0-a1.seg", b"abc") == digest
    assert len(synced) == 2


@pytest.mark.parametrize(("capture", "name"), [("..", "b0-s1.0-p0-a1.seg"), ("0198a1b2-0000-7000-8000-000000000001", "../../key")])
def test_no_name_leads_out_of_the_store(store, capture, name) -> None:
    with pytest.raises(InvalidCaptureError):
        store.stage_segment(TENANT, capture, name, b"")


@pytest.mark.parametrize("tenant", ["", "..", "a/b", ".hidden", "x" * 65])
def test_what_cannot_name_a_folder_is_no_tenant(store, tenant) -> None:
    with pytest.raises(InvalidInputError, match="tenant"):
        store.stage_segment(tenant, "0198a1b2-0000-7000-8000-000000000001", "b0-s1.0-p0-a1.seg", b"")


def test_captures_are_found_by_the_blocks_that_they_wrote_and_read(store, tmp_path) -> None:
    manifest = run(store, tmp_path)
    written = [file.block for file in store.files(TENANT, manifest.capture)]
    raw = block_of(tmp_path / "raw" / "t.csv")
    assert store.catalog.writers(TENANT, [*written, raw]) == dict.fromkeys(written, manifest.capture)
    assert store.catalog.readers(TENANT, [raw, *written]) == {raw: [manifest.capture]}
    assert store.catalog.writers("other", written) == {}
    changed = written[0]._replace(modified=written[0].modified + 1)
    assert store.catalog.writers(TENANT, [changed]) == {}


def test_captures_of_a_run_and_datasets_are_listed(store, tmp_path) -> None:
    manifest = run(store, tmp_path)
    (entry,) = store.catalog.captures(TENANT, run=manifest.run.run_id)
    assert (entry.capture, entry.job_name, entry.status) == (manifest.capture, "sums", "complete")
    assert {(d.role, Path(d.name).name) for d in store.catalog.touched(TENANT, manifest.capture)} == {("source", "t.csv"), ("sink", "out")}


def test_the_catalog_is_made_again_from_what_is_kept(store, tmp_path) -> None:
    manifest = run(store, tmp_path)
    block = store.files(TENANT, manifest.capture)[0].block
    before = store.catalog.captures(TENANT)
    store.catalog.forget(TENANT)
    assert store.catalog.writers(TENANT, [block]) == {}
    assert store.rebuild(TENANT) == 1
    assert store.catalog.captures(TENANT) == before
    assert store.catalog.writers(TENANT, [block]) == {block: manifest.capture}


def test_dropping_a_tenant_leaves_the_others(store, tmp_path) -> None:
    manifest = run(store, tmp_path)
    store.drop("other")
    assert store.count(TENANT) == 1
    store.drop(TENANT)
    assert store.count(TENANT) == 0
    with pytest.raises(NotFoundError):
        store.manifest(TENANT, manifest.capture)


def test_a_refused_capture_is_kept_without_associations(store, tmp_path) -> None:
    manifest = run(store, tmp_path)
    refused = Manifest.from_json({
        **json.loads(json.dumps(manifest.to_json())), "capture": "0198a1b2-0000-7000-8000-000000000009", "status": "refused",
        "boundaries": [], "segments": [], "problems": [{"operator": "Generate", "reason": "not yet", "kind": "refused"}],
    })  # fmt: skip
    assert store.publish(TENANT, refused) == []
    assert sorted(entry.status for entry in store.catalog.captures(TENANT)) == ["complete", "refused"]


def test_interleaved_runs_place_each_record_at_the_next_position_of_its_file(store, tmp_path) -> None:
    raw = write_csv(tmp_path / "raw" / "t.csv", list(COLUMNS), [[key, n] for n, key in enumerate("abacbbca")])
    job = Job(store, "by_key", 1)
    scan = job.scan(raw, "csv", COLUMNS, {"header": "true"})
    manifest = job.write(scan, tmp_path / "out", "parquet", list(COLUMNS), files=2, partition_by="k")
    files = [file.block.path for file in store.files(TENANT, manifest.capture)]
    table = pq.read_table(store.table(TENANT, manifest.capture, 0))
    rows = list(zip(*(table[name].to_pylist() for name in ("file", "row", "r0")), strict=True))
    values = {(file, row): pq.ParquetFile(files[file].removeprefix("file:")).read()["v"][row].as_py() for file, row, _ in rows}
    assert {place: values[place] for place in values} == {(file, row): ref for file, row, ref in rows}


def test_what_was_staged_long_ago_and_never_published_is_dropped(staged, tmp_path: Path) -> None:
    store, manifest = staged
    folder = tmp_path / "associations" / TENANT / "staging" / manifest.capture
    latest = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
    assert store.clear_stale(latest) == 0  # something arrived just then
    assert store.missing_segments(TENANT, manifest) == []
    assert store.clear_stale(latest + 1) == 1
    assert not folder.exists()
    assert store.missing_segments(TENANT, manifest) == [entry.name for entry in manifest.segments]


def test_a_published_capture_is_never_stale(staged) -> None:
    store, manifest = staged
    store.publish(TENANT, manifest)
    assert store.clear_stale(float("inf")) == 0
    assert store.manifest(TENANT, manifest.capture) == manifest


def test_what_traces_spill_beside_is_no_tenant(staged) -> None:
    store, _ = staged
    (store.root / ".spill" / "0123").mkdir(parents=True)
    assert store.clear_stale(0.0) == 0
