"""Services that share associations on a real S3 server: they answer alike, whoever published; and every way in which that can go wrong."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headwater.errors import ConfigurationError, DamagedError, InvalidCaptureError, UnavailableError, UnsupportedError
from headwater.graph.associations import Manifest
from headwater.graph.records import ANYWHERE, shared_store
from headwater.graph.records.archive import Archive
from headwater.graph.records.prune import Policy, prune
from headwater.graph.records.shared_store import SharedAssociationStore
from headwater.graph.records.staging import Staging
from headwater.graph.storage import Remote, read_roots
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from tests.backend.captures import capture
from tests.backend.cli.command import headwater
from tests.backend.service import ServiceProcess
from tests.graph.jobs import TENANT, Job, write_csv
from tests.graph.storage.faulty import Way, way_to
from tests.graph.trace.small import COLUMNS, RAW
from tests.lake import S3Server, s3

pytestmark = pytest.mark.lake

Opened = Callable[..., SharedAssociationStore]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder = tmp_path_factory.mktemp("lake") / "s3"
    with s3(folder) as running:
        (folder / "kept").mkdir()
        yield running


@pytest.fixture
def service(server: S3Server, tmp_path: Path) -> Iterator[Opened]:
    """Opens a service's store, by its name; each has a folder of its own, and all share a place."""
    stores: list[SharedAssociationStore] = []

    def opened(name: str, *, endpoint: str | None = None, cache_bytes: int = 1 << 30, seconds: float = 0.0) -> SharedAssociationStore:
        home = tmp_path / name
        home.mkdir(exist_ok=True)
        (home / "storage.toml").write_text(S3Server(endpoint or server.endpoint, server.folder).root("s3://kept/hw", seconds=2))
        place = Remote(read_roots(home / "storage.toml")).place(f"s3a://kept/hw/{tmp_path.name}")
        store = SharedAssociationStore(
            home / "associations", sources=ANYWHERE, archive=Archive(place), cache_bytes=cache_bytes, seconds=seconds
        )
        stores.append(store)
        return store

    yield opened
    for store in stores:
        store.close()


def copy(
    store: SharedAssociationStore, source: Path, target: Path, clock: int, rows: list[list[Any]] | None = None
) -> tuple[Job, Manifest]:
    if rows is not None:
        write_csv(source, list(COLUMNS), rows)
    job = Job(store, f"copy{clock}", clock, part=f"run{clock}")
    of_csv = source.suffix == ".csv"
    scan = job.scan(source, "csv" if of_csv else "parquet", COLUMNS, RAW if of_csv else {})
    return job, job.write(scan, target, "parquet", list(COLUMNS), files=1)


def ask(store: SharedAssociationStore, **request: Any) -> TraceAnswer:
    return asyncio.run(trace(None, store, TENANT, TraceRequest(**{"values": False, **request})))


def told(answer: TraceAnswer) -> tuple[Any, ...]:
    return answer.exact, [(record.file, record.row) for record in answer.records], [hop.run for hop in answer.path], answer.incomplete


def objects(server: S3Server, store: SharedAssociationStore, capture: str) -> Path:
    """Where the server has the objects of a capture."""
    return server.folder / store.archive.url.removeprefix("s3://") / TENANT / capture[-2:] / capture


def tables(store: SharedAssociationStore) -> list[Path]:
    return sorted(store.root.glob("*/*/*/b*.parquet"))


def test_what_one_service_publishes_the_others_trace_alike(service: Opened, tmp_path: Path) -> None:
    a, b = service("a"), service("b")
    copy(a, tmp_path / "raw.csv", tmp_path / "one", 1, [["a", 1], ["b", 2]])
    copy(b, tmp_path / "one", tmp_path / "two", 2)
    c = service("c")  # it has nothing yet, not even a catalog
    answers = [told(ask(store, dataset=str(tmp_path / "two"), where="v = 2")) for store in (a, b, c)]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][:2] == (True, [(f"file:{tmp_path}/raw.csv", 1)])
    forward = [told(ask(store, dataset=str(tmp_path / "raw.csv"), where="v = 1", forward=True)) for store in (a, b, c)]
    assert forward[0] == forward[1] == forward[2]
    assert [store.count(TENANT) for store in (a, b, c)] == [2, 2, 2]
    c.rebuild(TENANT)
    assert told(ask(c, dataset=str(tmp_path / "two"), where="v = 2")) == answers[0]


def test_two_services_that_publish_the_same_capture_agree(service: Opened, tmp_path: Path) -> None:
    a, b = service("a"), service("b")
    _, manifest = copy(a, tmp_path / "raw.csv", tmp_path / "one", 1, [["a", 1], ["b", 2]])
    capture = manifest.capture
    first = a.archive.kept(TENANT, capture)
    assert first is not None
    assert b.missing_segments(TENANT, manifest) == []  # a sender who repeats them learns that they are kept
    b.publish(TENANT, manifest)
    again = b.archive.kept(TENANT, capture)
    assert again is not None
    assert again[0] == first[0]
    assert told(ask(b, dataset=str(tmp_path / "one"), where="v = 2")) == told(ask(a, dataset=str(tmp_path / "one"), where="v = 2"))


def test_services_that_publish_at_once_have_one_set_of_tables(service: Opened, server: S3Server, tmp_path: Path) -> None:
    stores = [service(name) for name in "abcd"]
    raw = write_csv(tmp_path / "raw.csv", list(COLUMNS), [["a", 1], ["b", 2]])
    job = Job(stores[0], "copy", 1)
    staged: list[tuple[str, bytes]] = []
    real = stores[0].stage_segment
    stores[0].stage_segment = lambda tenant, capture, name, data: staged.append((name, data)) or real(tenant, capture, name, data)
    published: list[Manifest] = []
    publish, stores[0].publish = stores[0].publish, lambda tenant, manifest: published.append(manifest)
    job.write(job.scan(raw, "csv", COLUMNS, RAW), tmp_path / "one", "parquet", list(COLUMNS), files=1)
    stores[0].publish = publish
    for store in stores[1:]:
        for name, data in staged:
            store.stage_segment(TENANT, job.capture, name, data)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda store: store.publish(TENANT, published[0]), stores))
    answers = [told(ask(store, dataset=str(tmp_path / "one"), where="v = 2")) for store in stores]
    assert answers == [answers[0]] * 4
    assert answers[0][0]
    kept = stores[0].archive.kept(TENANT, job.capture)
    assert kept is not None
    names = {path.name for path in objects(server, stores[0], job.capture).iterdir()}
    assert names == {"kept.json", kept[0].generation}  # the others deleted what they had put


def test_segments_that_one_service_took_are_published_by_another(service: Opened, server: S3Server) -> None:
    a, b, c = (service(name) for name in "abc")
    document, segments = capture()
    manifest, size = Manifest.from_json(document), sum(map(len, segments.values()))
    staged = server.folder / a.archive.url.removeprefix("s3://") / ".staging"
    first, second = segments
    a.stage_segment(TENANT, manifest.capture, first, segments[first])
    assert b.missing_segments(TENANT, manifest) == [second]
    b.stage_segment(TENANT, manifest.capture, second, b"another attempt of it")
    assert a.missing_segments(TENANT, manifest) == [second]
    with pytest.raises(InvalidCaptureError, match="has not arrived"):
        c.publish(TENANT, manifest)
    b.stage_segment(TENANT, manifest.capture, second, segments[second])
    assert c.bytes_staged() >= size
    assert b.missing_segments(TENANT, manifest) == []
    written = c.publish(TENANT, manifest)
    assert len(written) == 2
    assert a.publish(TENANT, manifest) == written  # though c dropped what was staged
    assert not [file for file in staged.rglob("*") if file.is_file()]
    assert (a.bytes_staged(), a.missing_segments(TENANT, manifest)) == (0, [])


def test_segments_whose_manifest_never_comes_are_dropped_by_any_service(service: Opened, tmp_path: Path) -> None:
    a, b = service("a"), service("b")
    document, segments = capture(7)
    manifest = Manifest.from_json(document)
    (first, data), (second, more) = segments.items()
    Staging(a.root / TENANT).put(manifest.capture, first, data)  # by this home, before it shared a place
    b.stage_segment(TENANT, manifest.capture, second, more)
    assert a.missing_segments(TENANT, manifest) == []
    assert b.missing_segments(TENANT, manifest) == [first]
    assert b.clear_stale(0.0) == 0
    assert b.clear_stale(time.time() + 3600) == 1
    assert a.missing_segments(TENANT, manifest) == [second]
    assert a.clear_stale(time.time() + 3600) == 1
    assert a.missing_segments(TENANT, manifest) == [first, second]


def test_a_staged_segment_that_was_altered_is_a_fault_of_its_capture_alone(service: Opened, server: S3Server, tmp_path: Path) -> None:
    a, b = service("a"), service("b")
    document, segments = capture(8)
    manifest = Manifest.from_json(document)
    for name, content in segments.items():
        a.stage_segment(TENANT, manifest.capture, name, content)
    staged = server.folder / "kept/hw" / tmp_path.name / ".staging" / TENANT / manifest.capture
    altered = min(staged.iterdir())
    altered.write_bytes(bytes(altered.stat().st_size))
    with pytest.raises(InvalidCaptureError, match="not what was put"):
        b.publish(TENANT, manifest)


def test_the_cache_is_bounded_and_what_was_evicted_is_brought_again(service: Opened, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(shared_store, "_GRACE", -60.0)
    monkeypatch.setattr(shared_store, "_TOUCHED", 0.0)
    a = service("a")
    for clock in range(1, 5):
        copy(a, tmp_path / f"raw{clock}.csv", tmp_path / f"out{clock}", clock, [["a", clock]])
    one = sum(path.stat().st_size for path in next(iter(tables(a))).parent.iterdir())
    b = service("b", cache_bytes=2 * one + one // 2)
    for clock in (1, 2, 3, 4, 1):
        answer = ask(b, dataset=str(tmp_path / f"out{clock}"), where="true")
        assert told(answer)[:2] == (True, [(f"file:{tmp_path}/raw{clock}.csv", 0)])
    b._limit_cache(b._cache_bytes)
    assert sum(path.stat().st_size for path in b.root.glob("*/*/*/*")) <= b._cache_bytes
    assert b.count(TENANT) == 4


def test_what_one_service_prunes_the_others_tell(service: Opened, server: S3Server, tmp_path: Path) -> None:
    a, b = service("a"), service("b")
    first, _ = copy(a, tmp_path / "raw.csv", tmp_path / "out", 1, [["a", 1]])
    copy(a, tmp_path / "raw2.csv", tmp_path / "out", 2, [["a", 2]])
    version = {"dataset": str(tmp_path / "out"), "as_of": first.run, "rows": [(f"{tmp_path}/out/run1-00000.parquet", 0)]}
    assert ask(b, **version).exact
    report = prune(b, TENANT, Policy(replaced_days=0), by="ann", now=datetime(2027, 1, 1, tzinfo=UTC))
    assert sum(report.captures.values()) == 1
    answers = [told(ask(store, **version)) for store in (a, b, service("c"))]
    assert answers[0] == answers[1] == answers[2]
    assert not answers[0][0]
    assert any("pruned by ann" in item.reason for item in answers[0][3])
    assert not list(objects(server, a, first.capture).rglob("*.parquet"))
    a.publish(TENANT, a.manifest(TENANT, first.capture))  # as a rebuild does
    assert told(ask(a, **version)) == answers[0]


def test_a_table_that_is_kept_later_is_every_services(service: Opened, tmp_path: Path) -> None:
    a, b = service("a"), service("b")
    job, _ = copy(a, tmp_path / "raw.csv", tmp_path / "out", 1, [["a", 1]])
    ask(b, dataset=str(tmp_path / "out"), where="true")
    folder = a.table(TENANT, job.capture, 7).parent
    (folder / ".draft").write_bytes(b"a table")
    a.put_table(TENANT, job.capture, 7, folder / ".draft")
    b.refresh(TENANT, at_once=True)
    assert b.table(TENANT, job.capture, 7).read_bytes() == b"a table"


@pytest.fixture
def faulty(server: S3Server) -> Iterator[tuple[str, Way]]:
    with way_to(server.endpoint) as way:
        yield way


@pytest.mark.parametrize("fault", ["403", "503", "half", "silence"])
def test_what_the_store_does_not_give_is_told_and_never_cached(service: Opened, faulty, tmp_path: Path, fault: str) -> None:
    a = service("a")
    copy(a, tmp_path / "raw.csv", tmp_path / "out", 1, [["a", 1], ["b", 2]])
    endpoint, way = faulty
    b = service("b", endpoint=endpoint)
    expected = told(ask(a, dataset=str(tmp_path / "out"), where="v = 2"))
    assert told(ask(b, dataset=str(tmp_path / "out"), where="v = 2"))[1] == expected[1]  # headers and tables are here
    for path in tables(b):
        path.unlink()
    way.fault = fault
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="cannot be reached") as raised:
        b.table(TENANT, b.catalog.captures(TENANT)[0].capture, 0)
    assert time.monotonic() - began < 45
    assert "headwater-secret" not in str(raised.value)
    assert tables(b) == []
    assert not list(b.root.glob("*/*/*/.*.tmp"))
    way.fault = None
    assert told(ask(b, dataset=str(tmp_path / "out"), where="v = 2")) == expected


def test_a_service_that_cannot_ask_says_that_captures_may_be_missing(service: Opened, faulty, tmp_path: Path) -> None:
    endpoint, way = faulty
    b = service("b", endpoint=endpoint)
    copy(service("a"), tmp_path / "raw.csv", tmp_path / "out", 1, [["a", 1]])
    assert ask(b, dataset=str(tmp_path / "out"), where="true").exact
    way.fault = "503"
    answer = ask(b, dataset=str(tmp_path / "out"), where="true")
    assert not answer.exact
    assert [item.effect for item in answer.incomplete] == ["missing"]
    assert "what other services kept" in answer.incomplete[0].reason
    way.fault = None
    assert ask(b, dataset=str(tmp_path / "out"), where="true").exact


def test_a_capture_that_cannot_be_put_is_published_later(service: Opened, faulty, tmp_path: Path) -> None:
    endpoint, way = faulty
    b = service("b", endpoint=endpoint)
    way.fault = "403"
    raw = write_csv(tmp_path / "raw.csv", list(COLUMNS), [["a", 1]])
    job = Job(b, "copy", 1)
    with pytest.raises(UnavailableError) as raised:
        job.write(job.scan(raw, "csv", COLUMNS, RAW), tmp_path / "out", "parquet", list(COLUMNS), files=1)
    assert raised.value.transient  # the projector waits, and no capture becomes a dead letter
    assert b.count(TENANT) == 0


def test_what_is_not_what_was_put_is_refused(service: Opened, server: S3Server, tmp_path: Path) -> None:
    a, b = service("a"), service("b")
    job, _ = copy(a, tmp_path / "raw.csv", tmp_path / "out", 1, [["a", 1]])
    (table,) = objects(server, a, job.capture).rglob("b0.parquet")
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.write_bytes(content)
    b.refresh(TENANT, at_once=True)
    with pytest.raises(UnavailableError, match="is not what was put there"):
        b.table(TENANT, job.capture, 0)
    assert tables(b) == []


def test_a_place_below_no_root_is_refused_and_nothing_of_it_is_read_as_data(service: Opened, server: S3Server, tmp_path: Path) -> None:
    (tmp_path / "storage.toml").write_text(server.root("s3://kept/hw"))
    remote = Remote(read_roots(tmp_path / "storage.toml"))
    for wrong in ("s3://other/hw", "s3://kept/elsewhere", "file:/tmp/x", "hdfs://h/x", "nonsense"):
        with pytest.raises(ConfigurationError):
            remote.place(wrong)
    remote.place("s3://kept/hw/associations")
    with pytest.raises(UnsupportedError):
        remote.file("s3a://kept/hw/associations/default/journal/x")


def test_a_manifest_that_says_more_is_put_again_with_all_tables(service: Opened, tmp_path: Path) -> None:
    a, b = service("a"), service("b")
    _, manifest = copy(a, tmp_path / "raw.csv", tmp_path / "out", 1, [["a", 1]])
    expected = told(ask(b, dataset=str(tmp_path / "out"), where="true"))
    for path in tables(b):
        path.unlink()
    b.publish(TENANT, Manifest.from_json({**manifest.to_json(), "mode": "auto"}))
    c = service("c")
    for store in (a, b, c):
        assert told(ask(store, dataset=str(tmp_path / "out"), where="true")) == expected
        assert store.manifest(TENANT, manifest.capture).mode == "auto"
        assert store.catalog.prunable.bytes_kept(TENANT) == sum(path.stat().st_size for path in tables(b))


def test_a_home_with_the_setting_answers_what_another_published(service: Opened, server: S3Server, tmp_path: Path) -> None:
    a = service("a")
    copy(a, tmp_path / "raw.csv", tmp_path / "out", 1, [["a", 1], ["b", 2]])
    home, place = tmp_path / "other", a.archive.url
    home.mkdir()
    (home / "storage.toml").write_text(server.root("s3://kept"))
    asked = ["trace", str(tmp_path / "out"), "--where", "v = 2", "--home", str(home), "-f", "json"]
    answer = json.loads(headwater(*asked, HEADWATER_ASSOCIATIONS=place, HEADWATER_DATA_ROOTS=f'["{tmp_path}"]').stdout)
    assert answer["exact"]
    assert [(record["file"], record["row"]) for record in answer["records"]] == [(f"file:{tmp_path}/raw.csv", 1)]
    refused = headwater(*asked, code=2, HEADWATER_ASSOCIATIONS="s3://elsewhere/x")
    assert "lies below no root" in refused.stderr


@pytest.mark.slow
def test_replicas_of_the_service_answer_alike_and_are_ready(server: S3Server, tmp_path: Path) -> None:
    manifest, segments = capture()
    settings = {"HEADWATER_ASSOCIATIONS": f"s3://kept/hw/{tmp_path.name}", "HEADWATER_STORAGE": str(tmp_path / "storage.toml")}
    (tmp_path / "storage.toml").write_text(server.root("s3://kept/hw"))
    asked = ["trace", "/out/0", "--row", "/out/0/part-1.parquet:7", "-f", "json"]
    with ServiceProcess(tmp_path / "a", **settings) as a, ServiceProcess(tmp_path / "b", **settings) as b:
        with a.client() as client:
            for name, data in segments.items():
                digest = {"X-Headwater-Sha256": hashlib.sha256(data).hexdigest()}
                client.put(f"/api/v1/captures/{manifest['capture']}/segments/{name}", content=data, headers=digest).raise_for_status()
            client.post("/api/v1/captures", json=manifest).raise_for_status()
        a.settled()
        asking = [{"HEADWATER_URL": replica.url, "HEADWATER_API_KEY": replica.home.key()} for replica in (a, b)]
        answers = [json.loads(headwater(*asked, **way).stdout) for way in asking]
        assert [(record["file"], record["row"]) for record in answers[1]["records"]] == [("file:/in/0/1.parquet", 7)]
        assert answers[0]["records"] == answers[1]["records"]
        assert (answers[0]["exact"], answers[0]["incomplete"]) == (answers[1]["exact"], answers[1]["incomplete"])
        (table,) = b.home.associations.glob("*/*/*/b0.parquet")
        table.unlink()  # as what is evicted
        with b.client() as client:
            time.sleep(1)  # the next look at what is kept is due
            assert client.get("/readyz").json()["checks"]["associations"] == "ok"
        table.write_bytes(b"damaged")
        assert "b0.parquet" in headwater("store", "check", "--home", str(b.home.path), code=1).stdout
    assert "brings it again" in headwater("store", "repair", "--home", str(tmp_path / "b"), **settings).stdout
    assert json.loads(headwater(*asked, "--home", str(tmp_path / "b"), **settings).stdout)["records"] == answers[0]["records"]


def test_a_damaged_capture_fails_what_reads_it_and_nothing_else(service: Opened, server: S3Server, tmp_path: Path) -> None:
    a = service("a")
    job, _ = copy(a, tmp_path / "raw.csv", tmp_path / "one", 1, [["a", 1]])
    copy(a, tmp_path / "one", tmp_path / "two", 2)
    copy(a, tmp_path / "other.csv", tmp_path / "apart", 3, [["a", 1]])
    expected = {name: told(ask(a, dataset=str(tmp_path / name), where="true")) for name in ("two", "apart")}
    kept = objects(server, a, job.capture) / "kept.json"
    sound = kept.read_bytes()
    for number, wrong in enumerate((
        b"{",
        b"[]",
        sound.replace(b'"b0.parquet"', b'"../../b0.parquet"'),
        sound.replace(b'"generation": "', b'"generation": "../'),
        re.sub(rb'"files": .*', b'"files": []}', sound),
    )):  # fmt: skip
        assert wrong != sound
        kept.write_bytes(wrong)
        b = service(f"b{number}")  # it has nothing yet, not even a catalog
        for _ in range(2):
            for way in ({"dataset": str(tmp_path / "two")}, {"dataset": str(tmp_path / "raw.csv"), "forward": True}):
                with pytest.raises(DamagedError, match=r"kept\.json is damaged"):
                    ask(b, where="true", **way)
            assert told(ask(b, dataset=str(tmp_path / "apart"), where="true")) == expected["apart"]
        with pytest.raises(DamagedError):
            prune(b, TENANT, Policy(replaced_days=0), by="ann")  # what is not known may need what would go
        kept.write_bytes(sound)
        assert told(ask(b, dataset=str(tmp_path / "two"), where="true")) == expected["two"]
        assert b.catalog.prunable.bytes_kept(TENANT) == a.catalog.prunable.bytes_kept(TENANT)


@pytest.mark.parametrize("name", ["manifest.json", "files.json"])
def test_where_nobody_knows_what_a_damaged_capture_is_about_no_answer_is_exact(
    service: Opened, server: S3Server, tmp_path: Path, name: str
) -> None:
    a = service("a")
    job, _ = copy(a, tmp_path / "raw.csv", tmp_path / "one", 1, [["a", 1]])
    copy(a, tmp_path / "other.csv", tmp_path / "apart", 3, [["a", 1]])
    (altered,) = objects(server, a, job.capture).rglob(name)
    sound = altered.read_bytes()
    if name == "manifest.json":  # whole, readable and as long as before, with another path
        text = gzip.decompress(sound)
        others = (text.replace(b"raw.csv", "".join(letters).encode() + b".csv") for letters in permutations("rawtwo", 3))
        forged = (gzip.compress(other, 6, mtime=0) for other in others if other != text)
        altered.write_bytes(next(content for content in forged if len(content) == len(sound)))
    else:
        altered.write_bytes(sound[:20] + bytes([sound[20] ^ 1]) + sound[21:])
    b = service("b")
    answer = ask(b, dataset=str(tmp_path / "apart"), where="true")
    assert answer.records, "what comes later in the journal is known"
    assert [item.effect for item in answer.incomplete] == ["missing"]
    assert "is not what was put there" in answer.incomplete[0].reason
    altered.write_bytes(sound)
    for dataset in ("one", "apart"):
        assert told(ask(b, dataset=str(tmp_path / dataset), where="true")) == told(ask(a, dataset=str(tmp_path / dataset), where="true"))


def test_the_journal_is_read_on_from_where_this_home_was_and_odd_entries_harm_nothing(service: Opened, faulty, tmp_path: Path) -> None:
    endpoint, way = faulty
    a = service("a")
    copy(a, tmp_path / "raw.csv", tmp_path / "one", 1, [["a", 1]])
    for odd in ("9999999999999-0", "x", f"{9_999_999_999_999}-{UUID(int=1)}", f"1-{UUID(int=2)}"):
        a.archive.place.put(f"{TENANT}/journal/{odd}", b"")
    assert ask(service("b"), dataset=str(tmp_path / "one"), where="true").exact
    copy(a, tmp_path / "one", tmp_path / "two", 2)
    b = service("b", endpoint=endpoint)  # another process of the same home
    assert told(ask(b, dataset=str(tmp_path / "two"), where="true")) == told(ask(a, dataset=str(tmp_path / "two"), where="true"))
    assert not any(f"/{a.catalog.captures(TENANT)[0].capture}/kept.json" in line for line in way.seen)  # that was known
