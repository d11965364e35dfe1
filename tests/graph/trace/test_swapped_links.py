"""Files below a root that are swapped for links which lead outside while questions read them: no answer has a value from outside."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from headwater.backend.access.masks import Mask
from headwater.backend.questions.masked_answers import SHOWN, MaskedQuestions
from headwater.errors import HeadwaterError
from headwater.graph.records import AssociationStore, DataRoots, block_of
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace import TraceRequest, trace
from headwater.graph.trace.preview import preview
from headwater.graph.trace.questions import DirectQuestions, RowsRequest
from tests.graph.jobs import TENANT, Job, write_csv

INSIDE, OUTSIDE = "harmless", "topsecret"[:8]  # of one length, so that files of both are alike
ROWS = 300
FEW, MANY = 30, 800  # answers for each format
_SWAPS = """
import os, random, sys, time
place, other = sys.argv[1:]
def wait():
    time.sleep(random.random() * 0.004)  # as long as a question takes between two steps
aside, link = place + ".aside", place + ".link"
print("ready", flush=True)
while True:
    os.symlink(other, link)
    if os.path.isdir(place):
        os.rename(place, aside)
        os.rename(link, place)
        wait()
        os.unlink(place)
        os.rename(aside, place)
    else:
        os.link(place, aside)
        os.rename(link, place)
        wait()
        os.rename(aside, place)
    wait()
"""


def _texts(word: str) -> list[str]:
    return [f"{word}-{number:05d}" for number in range(ROWS)]


def _table(word: str) -> pa.Table:
    return pa.table({"v": _texts(word)})


def _lines(word: str) -> bytes:
    return "".join(f"{text}\n" for text in _texts(word)).encode()


def _avro(path: Path, word: str) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "v", "type": "string"}]}
    with path.open("wb") as file:
        fastavro.writer(file, schema, [{"v": text} for text in _texts(word)], codec="deflate", sync_marker=b"0" * 16)


def _xml(path: Path, word: str) -> None:
    path.write_text("<rows>" + "".join(f"<row><v>{text}</v></row>\n" for text in _texts(word)) + "</rows>")


def _json(word: str) -> bytes:
    return "".join(json.dumps({"v": text}) + "\n" for text in _texts(word)).encode()


def _large(path: Path, word: str) -> None:
    pq.write_table(pa.table({"v": [text * 4000 for text in _texts(word)]}), path, use_dictionary=False)


Write = Callable[[Path, str], Any]
# name -> format of the manifest, name of the file, options, how it is written
FORMATS: dict[str, tuple[str, str, dict[str, str], Write]] = {
    "parquet": ("parquet", "a.parquet", {}, lambda path, word: pq.write_table(_table(word), path)),
    "parquet of large values": (
        "parquet", "a.parquet", {}, _large,
    ),
    "orc": ("orc", "a.orc", {}, lambda path, word: orc.write_table(_table(word), str(path))),
    "csv": ("csv", "a.csv", {}, lambda path, word: path.write_bytes(_lines(word))),
    "csv of gzip": ("csv", "a.csv.gz", {}, lambda path, word: path.write_bytes(gzip.compress(_lines(word), mtime=0))),
    "csv of bzip2": ("csv", "a.csv.bz2", {}, lambda path, word: path.write_bytes(bz2.compress(_lines(word)))),
    "csv of many lines": ("csv", "a.csv", {"multiline": "true"}, lambda path, word: path.write_bytes(_lines(word))),
    "json": ("json", "a.json", {}, lambda path, word: path.write_bytes(_json(word))),
    "text": ("text", "a.txt", {}, lambda path, word: path.write_bytes(_lines(word))),
    "whole text": ("text", "a.txt", {"wholetext": "true"}, lambda path, word: path.write_bytes(_lines(word))),
    "avro": ("avro", "a.avro", {}, _avro),
    "xml": ("xml", "a.xml", {"rowTag": "row"}, _xml),
    "binary": ("binaryFile", "a.bin", {}, lambda path, word: path.write_bytes(_lines(word))),
}  # fmt: skip


def _written(folder: Path, name: str, write: Write, word: str) -> Path:
    folder.mkdir(parents=True)
    write(folder / name, word)
    os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    return folder / name


def _captured(
    store: AssociationStore, file: Path, out: Path, format_: str, options: dict[str, str], column: str, partitions: Sequence[str] = ()
) -> None:
    """A capture of a job that read the file and wrote `out`: row 0 of it is made of record 0 of the file."""
    raw = write_csv(out.parent / "raw" / "t.csv", ["k"], [["x"]])
    job = Job(store, "j", 1)
    scan = job.scan(raw, "csv", {"k": "string"}, {"header": "true"})
    block = block_of(file)
    job.sources[0] |= {
        "dataset": {"namespace": "file", "name": str(file.parent)}, "path": f"file:{file.parent}", "format": format_, "options": options,
        "columns": [{"name": name, "type": "binary" if name == "content" else "string"} for name in (column, *partitions)],
        "partition_columns": list(partitions),
        "files": [{"ordinal": 0, "ordinals": 1, "path": block.path, "length": block.length, "modified": block.modified, "partition": {}}],
    }  # fmt: skip
    job.write(scan, out, "parquet", ["k"], files=1)


@contextmanager
def _swapped(place: Path, other: Path) -> Iterator[None]:
    """While a process of its own swaps a file or folder for a link to another, and back, as fast as it can."""
    with subprocess.Popen([sys.executable, "-c", _SWAPS, str(place), str(other)], stdout=subprocess.PIPE, text=True) as swaps:
        assert swaps.stdout is not None
        assert swaps.stdout.readline() == "ready\n"
        try:
            yield
            assert swaps.poll() is None, "it swapped until the end"
        finally:
            swaps.send_signal(signal.SIGKILL)


async def _answers(store: AssociationStore, data: Path, kind: str, count: int, column: str) -> dict[str, int]:
    """The numbers of answers with values from inside, from outside, and without values."""
    found = {INSIDE: 0, OUTSIDE: 0, "none": 0}
    for number in range(count):
        try:
            if number % 3 == 0:
                values = [dict(enumerate(row.values)) for row in (await preview(None, store, TENANT, str(data / kind), first=5)).rows]
            elif number % 3 == 1:
                answer = await trace(None, store, TENANT, TraceRequest(dataset=str(data / "out"), where="true"))
                values = [dict(record.values) for record in answer.records]
            else:
                request = TraceRequest(dataset=str(data / kind), where=f"{column} IS NOT NULL", forward=True, limit=3)
                answer = await trace(None, store, TENANT, request)
                values = [dict(record.values) for record in answer.selected]
        except (HeadwaterError, OSError):
            values = []
        text = repr(values)
        found[OUTSIDE if OUTSIDE in text else INSIDE if INSIDE in text else "none"] += 1
    return found


CASES = [
    pytest.param(kind, count, whole, id=f"{kind}, {'folder' if whole else 'file'}, {count}", marks=[pytest.mark.torture] if long else [])
    for kind in FORMATS
    for whole in (False, True)
    for count, long in ((FEW, whole and kind not in ("parquet", "text")), (MANY, True))
    if not long or count == MANY
]


@pytest.mark.parametrize(("kind", "count", "whole"), CASES)
async def test_no_answer_has_a_value_from_outside_the_roots(tmp_path: Path, kind: str, count: int, whole: bool) -> None:
    format_, name, options, write = FORMATS[kind]
    data = tmp_path / "data"
    inside, outside = _written(data / kind, name, write, INSIDE), _written(tmp_path / "outside", name, write, OUTSIDE)
    column = {"binary": "content", "text": "value", "whole text": "value"}.get(kind, "v" if "csv" not in kind else "_c0")
    store = AssociationStore(tmp_path / "associations", sources=DataRoots.of([data]))
    try:
        _captured(store, inside, data / "out", format_, options, column)
        assert (await _answers(store, data, kind, 6, column))[INSIDE] >= 4, "it is read where nothing is swapped"
        with _swapped(inside.parent if whole else inside, outside.parent if whole else outside):
            found, until = await _answers(store, data, kind, count, column), time.monotonic() + 60
            while not found[INSIDE] and time.monotonic() < until:
                more = await _answers(store, data, kind, 3, column)
                found = {key: number + more[key] for key, number in found.items()}
    finally:
        store.close()
    assert found[OUTSIDE] == 0
    assert found[INSIDE] > 0, "answers are given meanwhile"


def _delta_log(folder: Path, data: Path, word: str) -> None:
    """The log of a Delta table with one file and a value of a partition, which no file holds."""
    folder.mkdir(parents=True)
    add = {"path": data.name, "size": data.stat().st_size, "modificationTime": 1_700_000_000_000, "partitionValues": {"p": word}}
    fields = [{"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("v", "p")]
    schema = json.dumps({"type": "struct", "fields": fields})
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {"id": "t", "format": {"provider": "parquet", "options": {}}, "schemaString": schema, "partitionColumns": ["p"]}},
        {"add": {**add, "dataChange": True}},
    ]
    (folder / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.torture)])
async def test_no_answer_goes_by_a_log_from_outside_the_roots(tmp_path: Path, count: int) -> None:
    data = tmp_path / "data"
    file = _written(data / "table", "a.parquet", FORMATS["parquet"][3], "anything")
    _delta_log(data / "table" / "_delta_log", file, INSIDE)
    _delta_log(tmp_path / "outside", file, OUTSIDE)
    store = AssociationStore(tmp_path / "associations", sources=DataRoots.of([data]))
    try:
        _captured(store, file, data / "out", "delta", {}, "v", partitions=["p"])
        assert (await _answers(store, data, "table", 6, "v"))[INSIDE] >= 2, "it is read where nothing is swapped"
        with _swapped(data / "table" / "_delta_log", tmp_path / "outside"):
            found = await _answers(store, data, "table", count, "v")
    finally:
        store.close()
    assert found[OUTSIDE] == 0


@pytest.mark.parametrize("whole", [False, True], ids=["file", "folder"])
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.torture)])
async def test_no_answer_tells_what_a_mask_of_a_folder_hides(tmp_path: Path, count: int, *, whole: bool) -> None:
    """A file of an open folder is swapped for a link to one of a folder that is masked, below the same root."""
    format_, name, options, write = FORMATS["parquet"]
    data = tmp_path / "data"
    opened, hidden = _written(data / "open", name, write, INSIDE), _written(data / "hidden", name, write, OUTSIDE)
    store, graph = AssociationStore(tmp_path / "associations", sources=DataRoots.of([data])), SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    shown = masked = 0
    try:
        _captured(store, opened, data / "out", format_, options, "v")
        masks = [Mask(columns=("v",), datasets=("*/hidden", "*/hidden/*"))]
        with _swapped(opened.parent if whole else opened, hidden.parent if whole else hidden):
            for number in range(count):
                questions = MaskedQuestions(DirectQuestions(graph, store), graph, store, masks)
                where = f"v = '{OUTSIDE}-00007'" if number % 2 else None
                try:
                    page = await questions.rows(TENANT, RowsRequest(str(data / "open"), where=where))
                    asked = TraceRequest(dataset=str(data / "open"), where=where, forward=True, limit=3) if where else None
                    answer = await questions.trace(TENANT, asked or TraceRequest(dataset=str(data / "out"), where="true"))
                except (HeadwaterError, OSError):
                    continue
                text = repr((page.rows, answer.records, answer.selected))
                assert OUTSIDE not in text
                assert not where or (page.total == 0 and not answer.selected), "a predicate tells a value that is masked"
                shown, masked = shown + (INSIDE in text), masked + (SHOWN in text)
    finally:
        store.close()
        await graph.close()
    assert shown
    assert count == FEW or masked
