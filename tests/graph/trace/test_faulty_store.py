"""A trace over sources on a failing S3 server: it answers in time, names missing parts and reasons, and caches nothing wrong.

The readers of formats and the server are real. A proxy between them refuses, breaks off or keeps silent (`faulty`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fastavro
import obstore
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from obstore.store import S3Store
from pyarrow import orc

from headwater.errors import SourceUnavailableError
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.storage import Remote, read_roots
from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest, trace
from tests.graph.jobs import TENANT, Job, Relation
from tests.graph.storage.faulty import Way, way_to
from tests.lake import KEY, SECRET, S3Server, s3

pytestmark = [pytest.mark.lake, pytest.mark.timeout(120)]

_COLUMNS = {"k": "string", "v": "int"}
_ROWS = [("a", 5), ("b", 1), ("a", 9), ("b", 7)]
_FAULTS = ("403", "404", "503", "half", "silence")
_SECONDS = 40  # for an answer: a request may take one second and is made again


def _avro(table: pa.Table, path: Path) -> None:
    fields = [{"name": "k", "type": ["null", "string"]}, {"name": "v", "type": ["null", "int"]}]
    with path.open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, table.to_pylist())


def _json(table: pa.Table, path: Path) -> None:
    path.write_text("".join(f'{{"k":"{row["k"]}","v":{row["v"]}}}\n' for row in table.to_pylist()))


_WRITE: dict[str, Callable[[pa.Table, Path], object]] = {
    "parquet": pq.write_table, "orc": orc.write_table, "csv": pa_csv.write_csv, "avro": _avro, "json": _json,
}  # fmt: skip


# Each fault for a format that DuckDB reads in parts and for one that is read whole; others with faults that look like data.
_CASES = [(of, fault) for of in sorted(_WRITE) for fault in _FAULTS if of in ("parquet", "csv") or fault in ("403", "half")]


class _OnS3(Job):
    """A job that read its source from a bucket, in a format of its own."""

    def over(self, local: Path, uri: str, format_: str, length: int, modified: int) -> Relation:
        found = self.scan(local, "parquet", _COLUMNS)
        (file,) = self.sources[-1]["files"]
        file |= {"path": uri, "length": length, "modified": modified}
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        dataset = {"namespace": f"s3://{bucket}", "name": key.rpartition("/")[0]}
        options = {"header": "true"} if format_ == "csv" else {}
        self.sources[-1] |= {"format": format_, "path": uri.rpartition("/")[0], "dataset": dataset, "options": options}
        return found


@dataclass
class Lake:
    """A store whose sources lie behind a way, with the outputs of jobs over a file of each format."""

    store: AssociationStore
    remote: Remote
    way: Way
    folder: Path

    async def ask(self, name: str, **more: object) -> TraceAnswer:
        asked = {"where": "true", "semantics": Semantics.INFLUENCE, "values": True, **more}
        return await trace(None, self.store, TENANT, TraceRequest(dataset=str(self.folder / name), **asked))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder = tmp_path_factory.mktemp("faulty") / "s3"
    with s3(folder) as running:
        (folder / "lake").mkdir()
        yield running


@pytest.fixture
def lake(server: S3Server, tmp_path: Path) -> Iterator[Lake]:
    with way_to(server.endpoint) as (endpoint, way):
        (tmp_path / "storage.toml").write_text(S3Server(endpoint, server.folder).root("s3://lake/data", seconds=1))
        remote = Remote(read_roots(tmp_path / "storage.toml"))
        store = AssociationStore(tmp_path / "associations", sources=DataRoots.of([tmp_path], remote=remote))
        yield Lake(store, remote, way, tmp_path)
        store.close()


def _bucket(server: S3Server) -> S3Store:
    options = {"allow_http": True}
    return S3Store(
        "lake", endpoint=server.endpoint, access_key_id=KEY, secret_access_key=SECRET, region="us-east-1", client_options=options
    )


def _made(lake: Lake, server: S3Server, format_: str) -> str:
    """Put a file of a format into the bucket, and capture two jobs over it: a copy, and the greatest of each group."""
    local, uri = lake.folder / "local.parquet", f"s3://lake/data/{format_}/t.{format_}"
    table = pa.table({"k": [k for k, _ in _ROWS], "v": pa.array([v for _, v in _ROWS], pa.int32())})
    pq.write_table(table, local)
    _WRITE[format_](table, lake.folder / "made")
    obstore.put(_bucket(server), uri.removeprefix("s3://lake/"), lake.folder / "made")
    found = DataRoots.of([], remote=lake.remote).look().block(uri)
    copy = _OnS3(lake.store, "copy", 1)
    copy.write(copy.over(local, uri, format_, found.length, found.modified), lake.folder / "copied", "parquet", list(_COLUMNS))
    group = _OnS3(lake.store, "group", 2)
    scan = group.over(local, uri, format_, found.length, found.modified)
    most = (group.aggregation("max", group.attr(scan, "v")), lambda rows: max(row.values["v"] for row in rows), "int")
    group.write(group.aggregate(scan, ["k"], {"most": most}), lake.folder / "grouped", "parquet", ["k", "most"], files=1)
    return uri


@pytest.mark.parametrize(("format_", "fault"), _CASES)
async def test_a_trace_says_what_a_store_did_not_give(lake: Lake, server: S3Server, format_: str, fault: str) -> None:
    uri = _made(lake, server, format_)
    lake.way.fault = fault
    began = time.monotonic()
    answer = await lake.ask("copied", where="v = 9")
    took = time.monotonic() - began
    assert took < _SECONDS
    (record,) = answer.records
    assert (record.file, record.row, record.values) == (uri, 2, {}), "which record it was is known without its file"
    (reason,) = answer.incomplete
    assert (reason.what, reason.effect) == (uri, "unreadable")
    assert not any(secret in reason.reason for secret in (KEY, SECRET, "127.0.0.1"))
    witness = await lake.ask("grouped", where="k = 'a'", semantics=Semantics.WITNESS, values=False)
    assert not witness.exact, "which row was the greatest only values tell"
    assert {entry.row for entry in witness.records} >= {2}
    lake.way.fault = None
    lake.remote._silent.clear()
    again = await lake.ask("copied", where="v = 9")
    assert (again.exact, [entry.values for entry in again.records]) == (True, [{"k": "a", "v": 9}]), again.incomplete
    witness = await lake.ask("grouped", where="k = 'a'", semantics=Semantics.WITNESS)
    assert (witness.exact, [entry.row for entry in witness.records]) == (True, [2]), witness.incomplete


@pytest.mark.parametrize(("format_", "fault"), [("parquet", "503"), ("csv", "half")])
async def test_a_store_that_fails_once_is_asked_again(lake: Lake, server: S3Server, format_: str, fault: str) -> None:
    _made(lake, server, format_)
    lake.way.fault, lake.way.times = fault, 1
    answer = await lake.ask("copied", where="v = 9")
    assert (answer.exact, [entry.values for entry in answer.records]) == (True, [{"k": "a", "v": 9}]), answer.incomplete


@pytest.mark.parametrize("change", ["replaced", "removed", "added"])
async def test_a_folder_that_changes_after_it_was_listed_gives_no_answer_of_two_versions(lake: Lake, server: S3Server, change: str) -> None:
    """Values select the first records, in the files of a listing."""
    key, other = _made(lake, server, "parquet").removeprefix("s3://lake/"), "data/parquet/later.parquet"
    changed = pa.table({"k": ["z", "z", "z", "z"], "v": pa.array([9, 9, 9, 9], pa.int32())})
    pq.write_table(changed, lake.folder / "changed")
    bucket = _bucket(server)
    lake.way.meanwhile = {
        "replaced": lambda: obstore.put(bucket, key, lake.folder / "changed"),
        "removed": lambda: obstore.delete(bucket, key),
        "added": lambda: obstore.put(bucket, other, lake.folder / "changed"),
    }[change]
    request = TraceRequest(dataset="s3://lake/data/parquet", where="v = 9", forward=True, to=str(lake.folder / "copied"))
    if change == "added":
        answer = await trace(None, lake.store, TENANT, request)
        assert (answer.exact, [(record.file, record.row) for record in answer.selected]) == (True, [(f"s3://lake/{key}", 2)])
    else:
        with pytest.raises(SourceUnavailableError, match="replaced while it was read" if change == "replaced" else "not there any more"):
            await trace(None, lake.store, TENANT, request)
    assert lake.way.meanwhile is None, "it changed before it was read"
    obstore.delete(bucket, other)
