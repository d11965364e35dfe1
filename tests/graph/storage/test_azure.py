"""Azure's object store, by the emulator of its maker: what a trace reads there, and what services share there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import AzureStore

from headwater.errors import SourceUnavailableError
from headwater.graph.records import DataRoots
from headwater.graph.records.archive import Archive
from headwater.graph.records.shared_store import SharedAssociationStore
from headwater.graph.storage import Remote, read_roots
from headwater.graph.storage.objects import _open_store
from headwater.graph.trace import TraceRequest, trace
from tests.azure_server import KEY, AzureServer, azure
from tests.graph.jobs import TENANT, Job
from tests.graph.trace.small import COLUMNS

pytestmark = pytest.mark.lake

CONTENT = bytes(range(256)) * 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureServer]:
    with azure(tmp_path_factory.mktemp("azure") / "store") as running:
        obstore.put(running.container(), "data/a.bin", CONTENT)
        yield running


def opened(folder: Path, server: AzureServer, **more: object) -> Remote:
    (folder / "storage.toml").write_text(server.root(**more))
    return Remote(read_roots(folder / "storage.toml"))


@pytest.fixture
def remote(server: AzureServer, tmp_path: Path) -> Remote:
    return opened(tmp_path, server)


def test_a_file_is_read_in_ranges_of_what_was_looked_at(server: AzureServer, remote: Remote) -> None:
    file = remote.file(f"{server.url}/data/a.bin")
    assert file is not None
    assert (file.stat.length, file.is_pinned, file.name) == (len(CONTENT), True, "a.bin")
    assert file.read(1000, 300) == CONTENT[1000:1300]
    assert file.read(len(CONTENT) - 5, 100) == CONTENT[-5:]
    assert remote.file(f"{server.url}/data/nothing") is None
    assert remote.file(f"{server.url}/data/a.bin".replace("abfss:", "abfs:")) is not None


@pytest.mark.parametrize("key", ["a b.txt", "a%20b.txt", "ts=2024 00%3A00/x", "q?[x]*#.txt", "ümlaut", "{a}/$&+,;=@.txt", "50%25", "a%2Fb"])
def test_names_with_special_characters_are_found_in_lists_and_alone(server: AzureServer, remote: Remote, key: str) -> None:
    obstore.put(server.container(), f"data/odd/{key}", key.encode())
    try:
        (listed,) = remote.files(f"{server.url}/data/odd")
        assert listed.uri == f"{server.url}/data/odd/{key}"
        found = remote.file(listed.uri)
        assert found is not None
        assert found.read(0, 100) == key.encode()
    finally:
        obstore.delete(server.container(), f"data/odd/{key}")


def test_a_dataset_is_its_data_files_below_a_folder(server: AzureServer, remote: Remote) -> None:
    for key in ("k=1/part-0.csv", "k=2/part-0.csv", "_SUCCESS", "_temporary/0/part-9.csv", ".part.crc"):
        obstore.put(server.container(), f"data/table/{key}", b"x")
    look = DataRoots.of([], remote=remote).look()
    listed = look.listed(f"{server.url}/data/table/")
    assert [block.path.removeprefix(f"{server.url}/data/table/") for block in listed or ()] == ["k=1/part-0.csv", "k=2/part-0.csv"]
    assert look.listed(f"{server.url}/data/nothing") is None
    (file, *_) = remote.files(f"{server.url}/data/table")
    alone = remote.file(file.uri)
    assert alone is not None
    assert file.stat == alone.stat, "lists write tags without quotes"
    assert file.read(0, 1) == b"x"


def test_a_file_that_is_replaced_while_it_is_read_is_never_mixed_with_the_new_one(server: AzureServer, remote: Remote) -> None:
    obstore.put(server.container(), "data/replaced.bin", b"old" * 100_000)
    file = remote.file(f"{server.url}/data/replaced.bin")
    assert file is not None
    assert file.read(0, 3) == b"old"
    obstore.put(server.container(), "data/replaced.bin", b"new" * 100_000)
    with pytest.raises(SourceUnavailableError, match="replaced while it was read"):
        file.read(3, 3)
    obstore.delete(server.container(), "data/replaced.bin")
    with pytest.raises(SourceUnavailableError):
        file.read(6, 3)


def test_a_place_puts_only_where_it_may_and_deletes_what_it_put(remote: Remote, server: AzureServer, tmp_path: Path) -> None:
    place = remote.place(f"{server.url}/place")
    assert place.put_where("kept.json", b"first", None)
    assert not place.put_where("kept.json", b"second", None)
    found = place.get("kept.json")
    assert found is not None
    content, tag = found
    assert content == b"first"
    assert place.put_where("kept.json", b"second", tag)
    assert not place.put_where("kept.json", b"third", tag)
    place.bring("kept.json", tmp_path / "kept.json", 6, hashlib.sha256(b"second").hexdigest())
    assert (tmp_path / "kept.json").read_bytes() == b"second"
    for name in ("c", "a", "b"):
        place.put(f"list/{name}", b"x")
    assert place.names("list", "") == ["a", "b", "c"]
    assert place.names("list", "a") == ["b", "c"]
    place.delete_all(["list/a", "list/b", "list/nothing"])
    assert [name for name, _ in place.files("list")] == ["list/c"]
    place.delete("list/c")
    place.delete("list/c")
    assert place.length("list/c") is None


async def test_services_share_their_records_there_and_read_what_lies_there(server: AzureServer, tmp_path: Path) -> None:
    """One service publishes a capture of a job that read a file there; both answer, from the place that they share."""
    local, uri = tmp_path / "source.parquet", f"{server.url}/data/source/part-0.parquet"
    pq.write_table(pa.table({"k": ["x", "y", "x"], "v": pa.array([1, 2, 3], pa.int32())}), local)
    obstore.put(server.container(), "data/source/part-0.parquet", local)
    stores = []
    for home in (tmp_path / "first", tmp_path / "second"):
        home.mkdir()
        remote = opened(home, server)
        archive = Archive(remote.place(f"{server.url}/shared"))
        sources = DataRoots.of([tmp_path], remote=remote)
        stores.append(SharedAssociationStore(home / "associations", sources=sources, archive=archive, cache_bytes=1 << 30, seconds=0))
    try:
        block = stores[0].sources.look().block(uri)
        assert block is not None
        job = Job(stores[0], "copy", 1)
        scan = job.scan(local, "parquet", COLUMNS)
        job.sources[-1]["files"][0] |= {"path": uri, "length": block.length, "modified": block.modified}
        job.sources[-1] |= {"path": f"{server.url}/data/source", "dataset": {"namespace": server.url, "name": "data/source"}}
        job.write(scan, tmp_path / "copied", "parquet", list(COLUMNS), files=1)
        for store in stores:
            answer = await trace(None, store, TENANT, TraceRequest(dataset=str(tmp_path / "copied"), where="v = 3"))
            assert answer.exact, answer.incomplete
            assert [(record.file, record.row, record.values) for record in answer.records] == [(uri, 2, {"k": "x", "v": 3})]
    finally:
        for store in stores:
            store.close()


def test_who_may_not_ask_is_told_so_without_any_key(server: AzureServer, tmp_path: Path) -> None:
    wrong = "d3Jvbmc="
    with pytest.raises(SourceUnavailableError, match="403 Forbidden") as refused:
        opened(tmp_path, server, account_key=wrong).files(f"{server.url}/data")
    assert wrong not in str(refused.value)


def test_an_account_of_another_cloud_is_asked_for_there_and_nowhere_else(tmp_path: Path) -> None:
    """There may be an account of the same name in the public cloud, which would be sent what is signed for this one."""
    (tmp_path / "storage.toml").write_text(f'[[root]]\nurl = "abfss://lake@acc.dfs.core.chinacloudapi.cn"\naccount_key = "{KEY}"\n')
    (root,) = read_roots(tmp_path / "storage.toml")
    store = _open_store(root)
    assert isinstance(store, AzureStore)
    assert store.config["endpoint"] == "https://acc.blob.core.chinacloudapi.cn"
