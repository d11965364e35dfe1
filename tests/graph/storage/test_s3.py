"""Files on a real S3 server: looked at, listed and read as they are, and every way in which that can go wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import S3Store

from headwater.errors import SourceUnavailableError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.graph.storage import Remote, duck, read_roots
from tests.graph.storage.faulty import Way, way_to
from tests.lake import KEY, SECRET, S3Server, s3

pytestmark = pytest.mark.lake

CONTENT = bytes(range(256)) * 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder = tmp_path_factory.mktemp("lake") / "s3"
    with s3(folder) as running:
        (folder / "lake").mkdir()
        (folder / "other").mkdir()
        yield running


@pytest.fixture(scope="module")
def bucket(server: S3Server) -> S3Store:
    store = S3Store(
        "lake", endpoint=server.endpoint, access_key_id=KEY, secret_access_key=SECRET, region="us-east-1",
        client_options={"allow_http": True},
    )  # fmt: skip
    obstore.put(store, "data/a.bin", CONTENT)
    return store


def opened(folder: Path, *roots: str) -> Remote:
    (folder / "storage.toml").write_text("\n".join(roots))
    return Remote(read_roots(folder / "storage.toml"))


@pytest.fixture
def remote(server: S3Server, bucket: S3Store, tmp_path: Path) -> Remote:
    return opened(tmp_path, server.root("s3://lake/data"))


@pytest.fixture
def faulty(server: S3Server, bucket: S3Store, tmp_path: Path) -> Iterator[tuple[Remote, Way]]:
    """A root behind a way that can be made to go wrong; one request may take a second."""
    with way_to(server.endpoint) as (endpoint, way):
        yield opened(tmp_path, S3Server(endpoint, server.folder).root("s3://lake/data", seconds=1)), way


def test_a_file_is_read_in_ranges_under_every_scheme_of_hadoop(remote: Remote) -> None:
    for scheme in ("s3", "s3a", "s3n"):
        file = remote.file(f"{scheme}://lake/data/a.bin")
        assert file is not None
        assert (file.stat.length, file.is_pinned, file.name) == (len(CONTENT), True, "a.bin")
        assert file.read(1000, 300) == CONTENT[1000:1300]
        assert file.read(len(CONTENT) - 5, 100) == CONTENT[-5:]
        assert file.read(len(CONTENT), 100) == b""
        assert bytes(file.content()) == CONTENT
    assert remote.file("s3://lake/data/nothing") is None


def test_what_was_read_is_not_asked_for_again(remote: Remote) -> None:
    file = remote.file("s3://lake/data/a.bin")
    assert file is not None
    file.read(0, 1000)
    before = remote.traffic
    assert before.requests == 2
    file.read(0, 1000)
    again = remote.file("s3a://lake/data/a.bin")
    assert again is not None
    again.read(0, 1000)
    assert remote.traffic.since(before).requests == 1, "the second look"


@pytest.mark.parametrize(
    "key",
    [
        "a b.txt", "a%20b.txt", "ts=2024 00%3A00/x", "q?[x]*#.txt", "ümlaut", "u\u0308mlaut", "{a}/$&+,;=@.txt", "50%", "50%25", "a%2Fb",
        "q'u\"o`", "a:b", "..x/x..y", "trail /x.", "p=__HIVE_DEFAULT_PARTITION__/x", "~", "^|", "%zz",
    ],
)  # fmt: skip
def test_names_with_special_characters_are_found_in_lists_and_alone(remote: Remote, bucket: S3Store, key: str) -> None:
    obstore.put(bucket, f"data/odd/{key}", key.encode())
    try:
        (listed,) = remote.files("s3a://lake/data/odd")
        assert listed.uri == f"s3a://lake/data/odd/{key}"
        found = remote.file(listed.uri)
        assert found is not None
        assert found.read(0, 100) == key.encode()
    finally:
        obstore.delete(bucket, f"data/odd/{key}")


def test_a_dataset_is_its_data_files_below_a_folder(remote: Remote, bucket: S3Store) -> None:
    for key in ("k=1/part-0.csv", "k=2/part-0.csv", "_SUCCESS", "_temporary/0/part-9.csv", ".part.crc", "_k=3/part-1.csv"):
        obstore.put(bucket, f"data/table/{key}", b"x")
    look = DataRoots.of([], remote=remote).look()
    listed = look.listed("s3a://lake/data/table/")
    assert listed is not None
    assert [block.path.removeprefix("s3://lake/data/table/") for block in listed] == [
        "_k=3/part-1.csv",
        "k=1/part-0.csv",
        "k=2/part-0.csv",
    ]
    before = remote.traffic
    assert [look.block(block.path) for block in listed] == listed
    assert remote.traffic == before, "a list tells all that a look does"
    assert look.listed("s3a://lake/data/nothing") is None
    assert [block.path for block in look.listed("s3a://lake/data/a.bin") or ()] == ["s3://lake/data/a.bin"]


def test_a_file_that_is_replaced_while_it_is_read_is_never_mixed_with_the_new_one(remote: Remote, bucket: S3Store) -> None:
    obstore.put(bucket, "data/replaced.bin", b"old" * 100_000)
    file = remote.file("s3://lake/data/replaced.bin")
    assert file is not None
    assert file.read(0, 3) == b"old"
    obstore.put(bucket, "data/replaced.bin", b"new" * 100_000)
    with pytest.raises(SourceUnavailableError, match="replaced while it was read"):
        file.read(3, 3)
    obstore.delete(bucket, "data/replaced.bin")
    with pytest.raises(SourceUnavailableError):
        file.read(6, 3)


@pytest.mark.parametrize(
    "uri",
    ["s3://other/a", "s3://lake/a.bin", "s3://lake/data2/a", "s3://lake/data/../a", "s3://u:p@lake/data/a.bin", "s3://lake/data/%2e%2e/x",
     "hdfs://lake/data", "gs://lake/data/a.bin"],
)  # fmt: skip
def test_nothing_beside_the_roots_is_ever_asked_for(server: S3Server, bucket: S3Store, tmp_path: Path, uri: str) -> None:
    with way_to(server.endpoint) as (endpoint, way):
        remote = opened(tmp_path, S3Server(endpoint, server.folder).root("s3://lake/data"))
        try:
            assert remote.file(uri) is None
        except UnsupportedError:
            assert way.requests == 0
        else:
            assert uri.endswith("%2e%2e/x")
            assert all("/lake/data/%252e%252e/x" in line for line in way.seen), "literally, below the root"


@pytest.mark.parametrize(
    ("fault", "says", "transient"),
    [
        ("403", "403 Forbidden", False),
        ("503", "503 Service Unavailable", True),
        ("half", "broke|did not answer|not understood|came", True),
        ("silence", "did not answer within 1 s", True),
        ("redirect", "s3:", None),
    ],
)
def test_a_store_that_fails_is_said_in_time_and_nothing_is_remembered_wrongly(
    faulty: tuple[Remote, Way], fault: str, says: str, transient: bool | None
) -> None:
    remote, way = faulty
    file = remote.file("s3://lake/data/a.bin")
    assert file is not None
    way.fault = fault
    began = time.monotonic()
    with pytest.raises(SourceUnavailableError, match=says) as failed:
        file.read(0, 50_000)
    took = time.monotonic() - began
    assert took < 25, "within its second, and once again"
    assert transient is None or failed.value.transient is transient
    for secret in (KEY, SECRET, "Signature", "127.0.0.1"):
        assert secret not in str(failed.value)
    if failed.value.transient:
        asked = way.requests
        with pytest.raises(SourceUnavailableError):
            file.read(100_000, 10)
        assert way.requests == asked, "it is not asked again for some seconds"
        remote._silent.clear()
    way.fault = None
    assert file.read(0, 50_000) == CONTENT[:50_000]
    assert "stolen" not in "".join(way.seen)


@pytest.mark.parametrize("fault", ["503", "half"])
def test_what_fails_for_a_moment_is_asked_for_again(faulty: tuple[Remote, Way], fault: str) -> None:
    remote, way = faulty
    file = remote.file("s3://lake/data/a.bin")
    assert file is not None
    way.fault, way.times = fault, 1
    assert file.read(0, 50_000) == CONTENT[:50_000]


def test_a_file_that_is_not_there_any_more_is_not_there(faulty: tuple[Remote, Way]) -> None:
    remote, way = faulty
    way.fault = "404"
    assert remote.file("s3://lake/data/a.bin") is None


def test_wrong_credentials_are_said_without_any_of_them(server: S3Server, bucket: S3Store, tmp_path: Path) -> None:
    remote = opened(tmp_path, server.root("s3://lake/data").replace(SECRET, "not-the-secret"))
    with pytest.raises(SourceUnavailableError, match="403 Forbidden") as refused:
        remote.files("s3://lake/data")
    assert KEY not in str(refused.value)


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    remote = opened(tmp_path, S3Server("http://127.0.0.1:9", tmp_path).root("s3://lake/data", seconds=1))
    with pytest.raises(SourceUnavailableError, match=r"cannot be connected to|did not answer"):
        remote.file("s3://lake/data/a.bin")


def test_duckdb_reads_a_parquet_file_by_a_few_requests_and_raises_what_the_store_said(
    faulty: tuple[Remote, Way], bucket: S3Store, tmp_path: Path
) -> None:
    remote, way = faulty
    rows = 200_000
    pq.write_table(pa.table({"n": range(rows), "t": [f"text {n}" for n in range(rows)]}), tmp_path / "t.parquet", row_group_size=20_000)
    obstore.put(bucket, "data/[t]*?.parquet", (tmp_path / "t.parquet").read_bytes())
    file = remote.file("s3a://lake/data/[t]*?.parquet")
    assert file is not None
    with duckdb.connect() as database:
        duck.register(database)
        query = "SELECT t, file_row_number FROM read_parquet(?, hive_partitioning = false) WHERE file_row_number = 123456"
        before = remote.traffic
        assert database.execute(query, [file.scan]).fetchall() == [("text 123456", 123456)]
        cold = remote.traffic.since(before)
        assert cold.requests <= 4
        assert cold.bytes < file.stat.length / 2
        before = remote.traffic
        database.execute(query, [file.scan]).fetchall()
        assert remote.traffic == before, "all of it is remembered"
        way.fault = "403"
        with pytest.raises(SourceUnavailableError, match="403 Forbidden"), duck.faults():
            database.execute("SELECT sum(n) FROM read_parquet(?)", [file.scan]).fetchall()
        with pytest.raises(duckdb.Error):
            database.execute("SELECT * FROM read_parquet('headwater-stored://999999')")
        duck.forget(database)
