"""One Spark session with record capture for the tests of this folder, and what a test needs to look at a capture."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import DataFrame, SparkSession

from bench.truth.published import publish
from headwater.backend.ingest.intake.documents import read_document
from headwater.backend.ingest.intake.scan import MANIFEST
from headwater.graph.associations.behaviours import assumed
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import Semantics, TracedRecord, TraceRequest, trace
from headwater.graph.trace.record_pairs import trace_pairs
from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY, start_with
from tests.spark_listener.capture.lineage import Lineage, Written


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            # py4j leaves closing its sockets to the garbage collector, whenever that comes
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
            item.add_marker(pytest.mark.timeout(1200))
            if "spark" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("spark"):
                raise pytest.UsageError(
                    f"{item.nodeid} asks for Spark: mark its module, or each worker of the unit tests starts a session."
                )


class Captured(NamedTuple):
    """The end of a query that wrote, its output folder, and its lineage."""

    event: dict[str, Any]
    out: Path
    lineage: Lineage | None

    @property
    def capture(self) -> dict[str, Any]:
        capture: dict[str, Any] = self.event["capture"]
        return capture

    def ids(self, *columns: str) -> dict[tuple[Any, ...], list[frozenset[Any]]]:
        """For each output row, by the values of its columns: the `id`s of the source records behind it, a list for equal rows."""
        assert self.lineage is not None, self.capture["problems"]
        result: dict[tuple[Any, ...], list[frozenset[Any]]] = {}
        for written in self.lineage.written():
            row = read_row(written)
            key = tuple(row[name] for name in columns)
            result.setdefault(key, []).append(frozenset(_id(record.path, record.row) for record in written.records))
        return result


_files: dict[str, list[dict[str, Any]]] = {}


def read_row(written: Written) -> dict[str, Any]:
    """The values of an output row (Parquet), read by its place; partition values are those of its folder."""
    values = dict(part.split("=", 1) for part in Path(written.path).parts if "=" in part)
    return {**_rows(written.path)[written.row], **values}


def _rows(uri: str) -> list[dict[str, Any]]:
    if uri not in _files:
        path = Path(uri.removeprefix("file:"))
        _files[uri] = _READERS[path.suffix](path)
    return _files[uri]


def _records_over_lines(path: Path) -> list[dict[str, Any]]:
    """CSV whose records may go over lines, with an id and more, by Python's reader."""
    text = "\n".join(line for line in path.read_bytes().decode().replace("\r\n", "\n").split("\n") if not line.startswith("#"))
    rows = csv.reader(io.StringIO(text), delimiter=";" if ";" in text else ",")
    return [{"id": int(row[0])} for row in rows if row and row[0] != "id"]


def _lines_of_json(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def _records_of_avro(path: Path) -> list[dict[str, Any]]:
    import fastavro

    with path.open("rb") as file:
        return [dict(record) for record in fastavro.reader(file) if isinstance(record, dict)]


_READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    ".parquet": lambda path: pq.ParquetFile(path).read().to_pylist(),
    ".avro": _records_of_avro,
    ".orc": lambda path: orc.ORCFile(path).read().to_pylist(),
    ".json": _lines_of_json,
    ".array": lambda path: list(json.loads(path.read_text())),
    ".xml": lambda path: [{child.tag: child.text for child in row} for row in ET.parse(path).getroot()],
    ".multi": _records_over_lines,
    ".csv": _records_over_lines,
    ".txt": lambda path: [{"id": path.name}],
    ".bin": lambda path: [{"id": path.name}],
}


def _id(path: str, row: int) -> Any:
    return _rows(path)[row]["id"]


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session of two threads; AQE and small shuffles as a test wishes."""
    start_with()
    session = (
        SparkSession.builder.master("local[2]")
        .appName("capture")
        .config("spark.ui.enabled", "false")
        .config("spark.jars", "")  # those of a JVM that was started for others
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="package")
def segments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where captures go."""
    return tmp_path_factory.mktemp("segments")


@pytest.fixture(scope="package")
def bridge(spark: SparkSession, segments: Path) -> Iterator[Bridge]:
    """Capture in that session."""
    installed = Bridge.install(spark, mode="active", segments=str(segments))
    yield installed
    installed.close()


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[Callable[..., None]]:
    """Set options of the session for one test."""
    changed: dict[str, str | None] = {}

    def change(**options: Any) -> None:
        for name, value in options.items():
            key = "spark.sql." + name.replace("__", ".")
            changed.setdefault(key, spark.conf.get(key, None))
            spark.conf.set(key, str(value).lower() if isinstance(value, bool) else str(value))

    yield change
    for key, value in changed.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)


Run = Callable[..., Captured]


@pytest.fixture
def write(bridge: Bridge, segments: Path, tmp_path: Path) -> Run:
    """Write a DataFrame and return what was captured of that."""
    number = iter(range(1000))

    def run(
        frame: DataFrame,
        *,
        kind: str = "parquet",
        mode: str = "errorifexists",
        out: Path | None = None,
        partition: Sequence[str] = (),
        **options: Any,
    ) -> Captured:
        assert bridge.flush(PATIENTLY)
        while bridge.drain(0):
            pass
        target = out or tmp_path / f"out{next(number)}"
        frame.write.format(kind).mode(mode).partitionBy(*partition).options(**options).save(str(target))
        assert bridge.flush(PATIENTLY)
        events = bridge.drain(1000)
        assert not [event for event in events if event["event"] in ("fault", "off", "dropped")], events
        (end,) = [event for event in events if event["event"] == "query_end" and event["plan"] and event["plan"]["sink"]]
        _check_behaviours(end["plan"]["operators"])
        if end["capture"]:
            read_document(json.dumps(end["capture"]).encode(), MANIFEST)  # no bound of the intake refuses it
        complete = end["capture"] and end["capture"]["status"] == "complete"
        return Captured(end, target, Lineage(end["capture"], segments) if complete else None)

    return run


def _check_behaviours(operators: Sequence[Mapping[str, Any]]) -> None:
    """Each operator states what traces took it for before manifests said so, by its name, or that it limits a query for each row."""
    for operator in operators:
        if (operator["op"], operator.get("behaviour")) == ("Window", "passes"):
            continue
        behaviour, optional = assumed(operator["op"], operator.get("how"))
        stated = (operator.get("behaviour"), tuple(operator.get("optional", ())))
        assert stated == (behaviour, optional), operator


_ALONE = 6  # rows at most that are also asked for one by one

Place = tuple[str, int]


class Traced(NamedTuple):
    """The service's answer for each output row: the `id`s of the source records by the row's values, and missing parts."""

    ids: dict[tuple[Any, ...], list[frozenset[Any]]]
    said: set[tuple[str, str]]


@pytest.fixture
def traced(segments: Path, tmp_path: Path) -> Iterator[Callable[..., Traced]]:
    """Trace every output row of a capture back, all in one walk and some also alone; forward from a source record of each of these."""
    with closing(AssociationStore(tmp_path / "associations", sources=ANYWHERE)) as store:

        def run(captured: Captured, *columns: str, semantics: Semantics = Semantics.INFLUENCE, column: str | None = None) -> Traced:
            if not store.root.joinpath("default", captured.capture["capture"]).exists():
                publish(store, "default", captured.capture, segments)
            written = list(_written(captured.out))
            asked = TraceRequest(dataset=str(captured.out), semantics=semantics, column=column, values=False)
            behind, said = asyncio.run(_walked(store, replace(asked, rows=[(path, row) for path, row, _ in written])))
            for path, row, _ in written[:: len(written) // _ALONE + 1]:
                answer = asyncio.run(trace(None, store, "default", replace(asked, rows=[(path, row)])))
                assert answer.exact == (not answer.incomplete)
                assert {(entry.reason, entry.effect) for entry in answer.incomplete} <= said
                assert {(str(record.file), record.row) for record in answer.records} == behind[path, row]
                if semantics is Semantics.INFLUENCE and answer.exact:
                    _check_forward(store, answer.records, captured.out, (path, row))
            result: dict[tuple[Any, ...], list[frozenset[Any]]] = {}
            for path, row, values in written:
                found = frozenset(_id(*place) for place in behind[path, row])
                result.setdefault(tuple(values[name] for name in columns), []).append(found)
            return Traced(result, said)

        yield run


async def _walked(store: AssociationStore, request: TraceRequest) -> tuple[dict[Place, set[Place]], set[tuple[str, str]]]:
    """The records behind each of some, and what the answers lack."""
    behind: dict[Place, set[Place]] = {place: set() for place in request.rows}
    async with trace_pairs(None, store, "default", request) as traced:
        assert traced.exact == (not traced.incomplete)
        paths = [file.block.path for file in traced.files]
        for file, row, source, record in traced.read_pairs():
            behind[paths[file], row].add((paths[source], record))
        return behind, {(entry.reason, entry.effect) for entry in traced.incomplete}


def _check_forward(store: AssociationStore, records: Sequence[TracedRecord], out: Path, place: tuple[str, int]) -> None:
    """The trace forward from a source record reaches the output row."""
    for record in list(records)[:1]:
        request = TraceRequest(dataset=record.dataset, rows=[(str(record.file), int(str(record.row)))], forward=True, values=False)
        reached = asyncio.run(trace(None, store, "default", request)).records
        assert place in {(str(entry.file), entry.row) for entry in reached if entry.dataset.endswith(out.name)}


def _written(out: Path) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for path in sorted(out.rglob("*.parquet")):
        for row, values in enumerate(_rows(f"file:{path}")):
            yield f"file:{path}", row, values


Table = Callable[..., str]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Write rows (with a unique `id` each) as a folder of Parquet files; its path."""

    def make(name: str, rows: Sequence[dict[str, Any]], *, files: int = 2, schema: pa.Schema | None = None) -> str:
        folder = tmp_path / name
        folder.mkdir()
        size = -(-len(rows) // files) or 1
        for number in range(files):
            part = list(rows[number * size : (number + 1) * size])
            arrow = pa.Table.from_pylist(part, schema=schema or pa.Table.from_pylist(list(rows)).schema)
            pq.write_table(arrow, folder / f"part-{number}.parquet")
        return str(folder)

    return make
