"""The cost of a trace depends on its walk: a hundred times as many other captures change neither the files it reads nor SQLite's work.

The counts are manifests read, statements of the catalog, and instructions of SQLite's machine, which a scan would multiply. No time is
measured.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headwater.errors import NotFoundError
from headwater.graph.associations import Manifest
from headwater.graph.associations.parts import DatasetName
from headwater.graph.records import AssociationStore, FileBlock, lists
from headwater.graph.records.layout import KeptFile
from headwater.graph.records.prune import Policy, prune
from headwater.graph.records.roots import ANYWHERE
from headwater.graph.trace import TraceRequest, trace
from headwater.graph.trace.preview import preview
from tests.graph.jobs import TENANT
from tests.graph.trace.small import copy

_AROUND = 1_000
_STEP = 5  # instructions between two looks at SQLite's machine
_MORE = 1.5  # how much more there may be: indexes are deeper, and hubs are counted up to sixteen; a scan would give five times as much


def fill(store: AssociationStore, manifests: list[Manifest], count: int) -> None:
    """Captures around a pipeline: earlier runs of its jobs, readers of its source, and one dataset that all others append to."""
    with store.catalog.together():
        for number in range(count):
            template, identifier = manifests[number % len(manifests)], str(UUID(int=number + 1, version=4))
            (source,), sink, files = template.sources, template.sink, []
            ended = f"2025-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
            if number % 3 == 0:  # an earlier run: the same paths, other states of the files
                old = tuple(dataclasses.replace(file, modified=number) for file in source.files)
                source = dataclasses.replace(source, files=old)
                files = [KeptFile(file.block._replace(modified=number), 1) for file in store.files(TENANT, template.capture)]
            elif number % 3 == 1:  # a reader of the same source
                sink = dataclasses.replace(
                    sink, dataset=DatasetName(namespace="file", name=f"/lake/other{number}"), path=f"/lake/other{number}"
                )
            else:
                feed = DatasetName(namespace="file", name=f"/lake/feed{number}")
                source = dataclasses.replace(source, dataset=feed, path=feed.name, files=())
                sink = dataclasses.replace(sink, dataset=DatasetName(namespace="file", name="/lake/hot"), path="/lake/hot")
                files = [KeptFile(FileBlock(f"file:/lake/hot/part-{number}", 1, number), 1)]
            made = dataclasses.replace(template, capture=identifier, sources=(source,), sink=sink, ended=ended)
            store.catalog.put(TENANT, made, files)


class Counted:
    def __init__(self) -> None:
        self.statements = self.steps = self.manifests = 0


@contextmanager
def counting(store: AssociationStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    counted, read = Counted(), Manifest.from_json.__func__
    database = store.catalog._database

    def step() -> None:
        counted.steps += 1

    def statement(_: str) -> None:
        counted.statements += 1

    def parsed(cls: type[Manifest], *arguments: Any) -> Manifest:
        counted.manifests += 1
        return read(cls, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Manifest, "from_json", classmethod(parsed))
        database.set_progress_handler(step, _STEP)
        database.set_trace_callback(statement)
        yield counted
        database.set_progress_handler(None, 0)
        database.set_trace_callback(None)


@pytest.fixture
def pipeline(store, raw, tmp_path) -> list[Path]:
    """raw → a → b → c; the datasets, the first and the last of them asked about."""
    folders = [raw, tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    for clock, (read, written) in enumerate(pairwise(folders), start=1):
        copy(store, read, written, clock)
    return folders


_QUESTIONS = {
    "backward": lambda raw, out: TraceRequest(dataset=str(out), where="v = 5", values=False),
    "to": lambda raw, out: TraceRequest(dataset=str(out), where="v = 5", to=str(raw), values=False),
    "forward": lambda raw, out: TraceRequest(dataset=str(raw), rows=[(str(raw), 0)], to=str(out), forward=True),
}


@pytest.mark.parametrize("question", _QUESTIONS)
async def test_a_trace_reads_as_much_among_a_thousand_captures_as_among_ten(store, pipeline, monkeypatch, question) -> None:
    request = _QUESTIONS[question](pipeline[0], pipeline[-1])
    manifests = [store.manifest(TENANT, entry.capture) for entry in store.catalog.captures(TENANT)]
    found = []
    for count in (10, _AROUND):
        fill(store, manifests, count)
        opened = AssociationStore(store.root, sources=ANYWHERE)  # with nothing in memory
        with counting(opened, monkeypatch) as counted:
            answer = await trace(None, opened, TENANT, request)
        assert answer.exact
        assert answer.total == 1
        found.append(counted)
        opened.close()
    few, many = found
    assert store.count(TENANT) == _AROUND + len(manifests)
    assert many.manifests == few.manifests <= len(manifests)
    assert many.statements <= few.statements
    assert many.steps <= _MORE * few.steps


async def test_previews_and_wrong_names_do_not_look_through_the_captures(store, pipeline, monkeypatch) -> None:
    manifests = [store.manifest(TENANT, entry.capture) for entry in store.catalog.captures(TENANT)]
    found = []
    for count in (10, _AROUND):
        fill(store, manifests, count)
        with counting(store, monkeypatch) as counted:
            page = await preview(None, store, TENANT, str(pipeline[-1]), first=1)
            assert page.has_record_lineage
        found.append(counted.steps)
    assert found[1] <= _MORE * found[0]
    with pytest.raises(NotFoundError, match="Near are: /lake/hot"):
        await preview(None, store, TENANT, "/lake/hod")


def test_publishing_and_the_next_capture_to_keep_do_not_look_through_the_captures(store, pipeline, monkeypatch) -> None:
    manifests = [store.manifest(TENANT, entry.capture) for entry in store.catalog.captures(TENANT)]
    found = []
    for count in (10, _AROUND):
        fill(store, manifests, count)
        again = dataclasses.replace(manifests[0], capture=str(UUID(int=10**9 + count, version=4)))
        with counting(store, monkeypatch) as counted:
            store.catalog.put(TENANT, again, [KeptFile(FileBlock(f"file:/lake/new/{count}", 1, 1), 1)])
            store.catalog.put(TENANT, dataclasses.replace(again, ended="2026-02-01T00:00:00Z"), [])
            assert store.catalog.next_unkept(TENANT, 0) is None
            store.drop(TENANT, again.capture)
            assert store.count(TENANT) >= count
        found.append(counted.steps)
    assert found[1] <= _MORE * found[0]


async def test_of_captures_with_many_files_a_trace_reads_no_lists(store, raw, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(lists, "MANY", 0)
    copy(store, raw, tmp_path / "a", 1)
    copy(store, tmp_path / "a", tmp_path / "c", 2)
    read, whole = Manifest.from_json.__func__, []

    def parsed(cls: type[Manifest], *arguments: Any) -> Manifest:
        manifest = read(cls, *arguments)
        whole.append(bool(manifest.segments) or any(source.files for source in manifest.sources))
        return manifest

    opened = AssociationStore(store.root, sources=ANYWHERE)
    with monkeypatch.context() as patched:
        patched.setattr(Manifest, "from_json", classmethod(parsed))
        back = await trace(None, opened, TENANT, TraceRequest(dataset=str(tmp_path / "c"), where="v = 5", values=False))
        on = await trace(None, opened, TENANT, TraceRequest(dataset=str(raw), rows=[(str(raw), 0)], forward=True, values=False))
    assert [(Path(record.file).name, record.row) for record in back.records] == [("t.csv", 0)]
    assert [(Path(record.file).parent.name, record.row) for record in on.records] == [("c", 0)]
    assert back.exact
    assert on.exact
    assert whole
    assert not any(whole)
    opened.close()


@pytest.mark.slow
def test_a_small_prune_does_not_look_through_what_stands_or_is_needed(store, pipeline, monkeypatch) -> None:
    manifests = [store.manifest(TENANT, entry.capture) for entry in store.catalog.captures(TENANT)]
    now, found, identifiers = datetime(2027, 1, 1, tzinfo=UTC), [], iter(range(1, 10**6))

    def put(sink: str, ended: str, path: str, read: FileBlock | None = None) -> None:
        (source,) = manifests[0].sources
        files = (dataclasses.replace(source.files[0], path=read.path, length=1, modified=1),) if read else ()
        name = DatasetName(namespace="file", name=sink)
        made = dataclasses.replace(
            manifests[0], capture=str(UUID(int=next(identifiers), version=4)), started=ended, ended=ended,
            sources=(dataclasses.replace(source, files=files),), sink=dataclasses.replace(manifests[0].sink, dataset=name, path=sink),
        )  # fmt: skip
        store.catalog.put(TENANT, made, [KeptFile(FileBlock(path, 1, 1), 1)])

    for count in (10, _AROUND):
        with store.catalog.together():
            for number in range(count):
                put(f"/lake/standing{count}-{number}", "2025-01-01T00:00:00Z", f"file:/s{count}-{number}")
                block = FileBlock(f"file:/n{count}-{number}", 1, 1)  # replaced, but what stands was made of it
                put(f"/lake/needed{count}-{number}", "2025-01-01T00:00:00Z", block.path)
                put(f"/lake/made{count}-{number}", "2025-01-02T00:00:00Z", f"file:/m{count}-{number}", block)
                put(f"/lake/needed{count}-{number}", "2025-01-03T00:00:00Z", f"file:/l{count}-{number}")
        assert not prune(store, TENANT, Policy(), by="ann", now=now).captures
        put(f"/lake/few{count}", "2025-02-01T00:00:00Z", f"file:/a{count}")
        put(f"/lake/few{count}", "2025-02-02T00:00:00Z", f"file:/b{count}")
        with counting(store, monkeypatch) as counted:
            assert sum(prune(store, TENANT, Policy(), by="ann", now=now).captures.values()) == 1
        found.append(counted)
    assert found[1].manifests == 0
    assert found[1].statements <= found[0].statements
    assert found[1].steps <= _MORE * found[0].steps
