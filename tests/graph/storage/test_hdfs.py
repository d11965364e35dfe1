"""Files on a real HDFS."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hdfs_native import Client

from headwater.errors import SourceChangedError, SourceUnavailableError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.graph.storage import Remote, duck, read_roots

pytestmark = [pytest.mark.lake, pytest.mark.xdist_group("hdfs")]

CONTENT = bytes(range(256)) * 1000


@pytest.fixture(scope="module")
def url(hdfs_url: str) -> str:
    put(hdfs_url, "/data/a.bin", CONTENT)
    return hdfs_url


@pytest.fixture
def remote(url: str, tmp_path: Path) -> Remote:
    return opened(tmp_path, f"{url}/data")


def opened(folder: Path, url: str) -> Remote:
    (folder / "storage.toml").write_text(f'[[root]]\nurl = "{url}"\nseconds = 10\n')
    return Remote(read_roots(folder / "storage.toml"))


def put(url: str, path: str, content: bytes) -> None:
    client = Client(url)
    client.mkdirs(path.rpartition("/")[0], create_parent=True)
    with client.create(path) as file:
        file.write(content)


def test_a_file_is_read_in_ranges(remote: Remote, url: str) -> None:
    file = remote.file(f"{url}/data/a.bin")
    assert file is not None
    assert (file.stat.length, file.is_pinned, file.stat.modified > 1_600_000_000_000) == (len(CONTENT), False, True)
    assert file.read(1000, 300) == CONTENT[1000:1300]
    assert bytes(file.content()) == CONTENT
    assert remote.file(f"{url}/data/nothing") is None
    assert remote.file(f"{url}/data") is None, "a folder is no file"


def test_a_dataset_is_its_data_files(remote: Remote, url: str) -> None:
    for name in ("k=1/part-0.csv", "_SUCCESS", "k 2/part-1.csv"):
        put(url, f"/data/table/{name}", b"x")
    look = DataRoots.of([], remote=remote).look()
    assert [block.path for block in look.listed(f"{url}/data/table") or ()] == [
        f"{url}/data/table/k 2/part-1.csv", f"{url}/data/table/k=1/part-0.csv",
    ]  # fmt: skip
    assert look.listed(f"{url}/data/nothing") is None


def test_a_file_that_is_replaced_while_a_question_reads_it_is_said(remote: Remote, url: str) -> None:
    put(url, "/data/replaced.bin", b"before")
    look = DataRoots.of([], remote=remote).look()
    _, file = look.file(f"{url}/data/replaced.bin")
    look.reads(file)
    assert bytes(file.content()) == b"before"
    look.check()
    Client(url).delete("/data/replaced.bin")
    with pytest.raises(SourceChangedError, match=r"replaced\.bin changed while it was read"):
        look.check()
    put(url, "/data/replaced.bin", b"behind")
    with pytest.raises(SourceChangedError, match=r"replaced\.bin changed while it was read"):
        look.check()
    look.excuse(file)
    look.check()


def test_nothing_beside_the_root_is_read(remote: Remote, url: str) -> None:
    put(url, "/elsewhere/b.bin", b"secret")
    for path in ("/elsewhere/b.bin", "/data/../elsewhere/b.bin", "/data2/b.bin"):
        with pytest.raises(UnsupportedError):
            remote.file(f"{url}{path}")


def test_duckdb_reads_a_parquet_file(remote: Remote, url: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": range(10_000)}), tmp_path / "t.parquet", row_group_size=1000)
    put(url, "/data/t.parquet", (tmp_path / "t.parquet").read_bytes())
    file = remote.file(f"{url}/data/t.parquet")
    assert file is not None
    with duckdb.connect() as database:
        duck.register(database)
        assert database.execute("SELECT n FROM read_parquet(?) WHERE file_row_number = 4321", [file.scan]).fetchall() == [(4321,)]
        duck.forget(database)


def test_a_name_node_that_is_not_there_is_said_in_time(tmp_path: Path) -> None:
    remote = opened(tmp_path, "hdfs://127.0.0.1:9/data")
    with pytest.raises(SourceUnavailableError, match=r"hdfs://127\.0\.0\.1:9/data cannot be read now"):
        remote.file("hdfs://127.0.0.1:9/data/a")
