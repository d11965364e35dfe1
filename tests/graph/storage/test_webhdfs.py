"""Files on a real HDFS, over HTTP; and name nodes that lead elsewhere."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests

from headwater.errors import ConfigurationError, SourceUnavailableError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.graph.storage import Remote, duck, read_roots
from tests.graph.storage.test_hdfs import put
from tests.lake import OVER_HTTP

pytestmark = [pytest.mark.lake, pytest.mark.xdist_group("hdfs")]

CONTENT = bytes(range(256)) * 1000


def opened(folder: Path, url: str, **more: str) -> Remote:
    stated = "".join(f'{name} = "{value}"\n' for name, value in more.items())
    (folder / "storage.toml").write_text(f'[[root]]\nurl = "{url}"\nseconds = 5\n{stated}')
    return Remote(read_roots(folder / "storage.toml"))


@pytest.fixture(scope="module")
def url(hdfs_url: str) -> str:
    put(hdfs_url, "/http/a.bin", CONTENT)
    name_node = OVER_HTTP[hdfs_url][0]
    # Their first answers over HTTP take seconds, on a busy machine more than these tests give them.
    assert requests.get(f"http://{name_node}/webhdfs/v1/http/a.bin", params={"op": "OPEN"}, timeout=120).content == CONTENT
    return f"webhdfs://{name_node}"


@pytest.fixture
def remote(url: str, hdfs_url: str, tmp_path: Path) -> Remote:
    return opened(tmp_path, f"{url}/http", datanodes=OVER_HTTP[hdfs_url][1])


def test_a_file_is_read_in_ranges(remote: Remote, url: str, hdfs_url: str, tmp_path: Path) -> None:
    file = remote.file(f"{url}/http/a.bin")
    assert file is not None
    assert (file.stat.length, file.is_pinned) == (len(CONTENT), False)
    assert file.read(1000, 300) == CONTENT[1000:1300]
    assert bytes(file.content()) == CONTENT
    assert remote.file(f"{url}/http/nothing") is None
    assert remote.file(f"{url}/http") is None, "a folder is no file"
    own = opened(tmp_path, f"{hdfs_url}/http").file(f"{hdfs_url}/http/a.bin")
    assert own is not None
    assert own.stat == file.stat, "identity is the same by either way"


def test_a_dataset_is_its_data_files(remote: Remote, url: str, hdfs_url: str) -> None:
    for name in ("k=1/part-0.csv", "_SUCCESS", "k 2/part-1.csv", "ü%41/part-2.csv"):
        put(hdfs_url, f"/http/table/{name}", b"x")
    look = DataRoots.of([], remote=remote).look()
    assert [block.path for block in look.listed(f"{url}/http/table") or ()] == [
        f"{url}/http/table/k 2/part-1.csv", f"{url}/http/table/k=1/part-0.csv", f"{url}/http/table/ü%41/part-2.csv",
    ]  # fmt: skip
    assert look.listed(f"{url}/http/nothing") is None


def test_nothing_beside_the_root_is_read(remote: Remote, url: str, hdfs_url: str) -> None:
    put(hdfs_url, "/beside/b.bin", b"secret")
    for path in ("/beside/b.bin", "/http/../beside/b.bin", "/http2/b.bin"):
        with pytest.raises(UnsupportedError):
            remote.file(f"{url}{path}")


def test_duckdb_reads_a_parquet_file(remote: Remote, url: str, hdfs_url: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": range(10_000)}), tmp_path / "t.parquet", row_group_size=1000)
    put(hdfs_url, "/http/t.parquet", (tmp_path / "t.parquet").read_bytes())
    file = remote.file(f"{url}/http/t.parquet")
    assert file is not None
    with duckdb.connect() as database:
        duck.register(database)
        assert database.execute("SELECT n FROM read_parquet(?) WHERE file_row_number = 4321", [file.scan]).fetchall() == [(4321,)]
        duck.forget(database)


def test_a_data_node_that_the_root_does_not_name_is_refused(url: str, hdfs_url: str, tmp_path: Path) -> None:
    node = OVER_HTTP[hdfs_url][1]
    file = opened(tmp_path, f"{url}/http").file(f"{url}/http/a.bin")
    assert file is not None
    with pytest.raises(SourceUnavailableError, match=f"data node {node}, which the root does not name"):
        file.read(0, 10)
    port = node.rpartition(":")[2]
    for pattern, good in ((f"127.0.*.1:{port}", True), (f"*:{port}", False), (f"127.0.0.1:{int(port) - 1}", False), ("127.0.0.1:*", False)):
        try:
            file = opened(tmp_path, f"{url}/http", datanodes=pattern).file(f"{url}/http/a.bin")
        except ConfigurationError:
            assert not good
            continue
        assert file is not None
        if good:
            assert file.read(0, 10) == CONTENT[:10]
        else:
            with pytest.raises(SourceUnavailableError, match="does not name"):
                file.read(0, 10)


@contextmanager
def answering(answer: Callable[[http.server.BaseHTTPRequestHandler], None]) -> Iterator[tuple[str, list[str]]]:
    """A server with given answers; its host and port, and the received requests."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path + ("" if self.headers.get("Authorization") is None else " with a password"))
            answer(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", asked
        server.shutdown()


def said(handler: http.server.BaseHTTPRequestHandler, code: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(code)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


STATUS = json.dumps({"FileStatus": {"type": "FILE", "length": 10, "modificationTime": 5}}).encode()


@pytest.mark.parametrize(
    "location",
    [
        "http://{inside}/webhdfs/v1/a", "http://{inside}/latest/meta-data", "http://{datanode}@{inside}/webhdfs/v1/a",
        "//{inside}/webhdfs/v1/a",
        "http://{inside}\\@{datanode}/webhdfs/v1/a", "file:///etc/passwd", "gopher://{datanode}/webhdfs/v1/a", "http://{datanode}/elsewhere",
        "http://127.0.0.1:99999999/webhdfs/v1/a", "", "http://[::1/webhdfs/v1/",
    ],
    ids=range(11),
)  # fmt: skip
def test_a_name_node_leads_nowhere_but_to_its_data_nodes(location: str, tmp_path: Path) -> None:
    with answering(lambda handler: said(handler, 200, b"0123456789")) as (inside, asked), answering(lambda handler: said(handler, 200)) as (
        datanode, at_node,
    ):  # fmt: skip
        target = location.format(inside=inside, datanode=datanode)

        def name_node(handler: http.server.BaseHTTPRequestHandler) -> None:
            if "op=OPEN" in handler.path:
                said(handler, 307, Location=target)
            else:
                said(handler, 200, STATUS)

        with answering(name_node) as (node, _):
            file = opened(tmp_path, f"webhdfs://{node}/d", datanodes=datanode).file(f"webhdfs://{node}/d/a")
            assert file is not None
            with pytest.raises(SourceUnavailableError):
                file.read(0, 10)
        assert (asked, at_node) == ([], [])


def test_a_data_node_sees_no_password_and_leads_no_further(tmp_path: Path) -> None:
    with answering(lambda handler: said(handler, 200, b"0123456789")) as (inside, asked):
        answers = [lambda handler: said(handler, 200, b"0123456789"), lambda handler: said(handler, 307, Location=f"http://{inside}/webhdfs/v1/a"),
                   lambda handler: said(handler, 403, b"0123456789"), lambda handler: said(handler, 200, b"012"),
                   lambda handler: said(handler, 200, b"0123456789ab")]  # fmt: skip
        for number, answer in enumerate(answers):
            with answering(answer) as (datanode, at_node):

                def name_node(handler: http.server.BaseHTTPRequestHandler, to: str = datanode) -> None:
                    if "op=OPEN" in handler.path:
                        said(handler, 307, Location=f"http://{to}/webhdfs/v1/a?op=OPEN")
                    else:
                        said(handler, 200, STATUS)

                with answering(name_node) as (node, at_name):
                    remote = opened(tmp_path, f"webhdfs://{node}/d", datanodes=datanode, user="me", password="hunter2")
                    file = remote.file(f"webhdfs://{node}/d/a")
                    assert file is not None
                    if number == 0:
                        assert file.read(0, 10) == b"0123456789"
                    else:
                        with pytest.raises(SourceUnavailableError):
                            file.read(0, 10)
                    assert all("with a password" in request for request in at_name)
            assert at_node
            assert not any("with a password" in request for request in at_node)
        assert asked == []


def test_names_in_a_list_do_not_step_out_of_the_folder(tmp_path: Path) -> None:
    for name in ("..", "../x", "a/b", "."):
        body = json.dumps(
            {"FileStatuses": {"FileStatus": [{"pathSuffix": name, "type": "FILE", "length": 1, "modificationTime": 1}]}}
        ).encode()
        with answering(lambda handler, body=body: said(handler, 200, body)) as (node, _):  # type: ignore[misc]
            remote = opened(tmp_path, f"webhdfs://{node}/d")
            with pytest.raises(SourceUnavailableError):
                remote.files(f"webhdfs://{node}/d")


def test_what_is_no_answer_of_hdfs_is_not_taken_for_an_absent_file(tmp_path: Path) -> None:
    gone = json.dumps({"RemoteException": {"exception": "FileNotFoundException"}}).encode()
    for code, body, says in ((404, b"<html>", "HTTP 404"), (404, b'{"RemoteException": 1}', "HTTP 404"), (200, b"[]", "as WebHDFS does"),
                             (403, gone, "denied"), (307, gone, "redirected"), (503, gone, "HTTP 503")):  # fmt: skip
        with answering(lambda handler, code=code, body=body: said(handler, code, body, Location="http://x/")) as (node, _):  # type: ignore[misc]
            with pytest.raises(SourceUnavailableError, match=says):
                opened(tmp_path, f"webhdfs://{node}/d").file(f"webhdfs://{node}/d/a")
            with pytest.raises(SourceUnavailableError, match=says):
                opened(tmp_path, f"webhdfs://{node}/d").files(f"webhdfs://{node}/d")
    with answering(lambda handler: said(handler, 404, gone)) as (node, _):
        assert opened(tmp_path, f"webhdfs://{node}/d").file(f"webhdfs://{node}/d/a") is None


def test_a_name_node_that_is_not_there_is_said_in_time(tmp_path: Path) -> None:
    remote = opened(tmp_path, "webhdfs://127.0.0.1:9/data")
    with pytest.raises(SourceUnavailableError, match=r"webhdfs://127\.0\.0\.1:9/data cannot be read now"):
        remote.file("webhdfs://127.0.0.1:9/data/a")
