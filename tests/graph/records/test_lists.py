"""Captures with many files: what traces ask of them is found without their lists, and is what the whole manifest says."""

import dataclasses
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headwater.errors import HeadwaterError
from headwater.graph.associations import Manifest
from headwater.graph.associations.parts import SourceFile, Split
from headwater.graph.records import AssociationStore, FileBlock
from headwater.graph.records import lists as lists_module
from headwater.graph.records.layout import KeptFile
from headwater.graph.records.lists import FewSourceFiles, FewWrittenFiles, ManySourceFiles, ManyWrittenFiles, shortened, write_lists
from headwater.graph.records.roots import ANYWHERE
from tests.graph.jobs import TENANT
from tests.graph.records.conftest import run


def source_file(ordinal: int, ordinals: int, name: str) -> SourceFile:
    partition = {"day": name, "none": None}
    return SourceFile(
        ordinal=ordinal, ordinals=ordinals, path=f"file:///lake/{name}", length=ordinal, modified=7, partition=partition, extra={"x": [1]}
    )


@pytest.fixture
def long(staged) -> Manifest:
    """A manifest whose source has fifty files, some of them read in several splits, in no order of their paths."""
    drawn, files, splits, ordinal = random.Random(1), [], [], 0
    for number in drawn.sample(range(50), 50):
        count = drawn.randint(1, 3)
        files.append(source_file(ordinal, count, f"part {number:02}"))
        splits += [Split(ordinal=ordinal + step, path=files[-1].path, start=step * 10, length=10) for step in range(count) if count > 1]
        ordinal += count
    _, manifest = staged
    (source,) = manifest.sources
    return dataclasses.replace(manifest, sources=(dataclasses.replace(source, files=tuple(files), splits=tuple(splits)),))


def test_lists_of_an_earlier_release_are_asked_by_every_scheme_of_a_store(long: Manifest, tmp_path: Path) -> None:
    (source,) = long.sources
    read = dataclasses.replace(source.files[0], path="s3a://lake/a", modified=1_000)
    long = dataclasses.replace(long, sources=(dataclasses.replace(source, files=(read,), splits=()),))
    write_lists(tmp_path / "lists.db", long, [KeptFile(FileBlock("s3a://lake/out", 3, 1_000), 5)])
    with closing(sqlite3.connect(tmp_path / "lists.db", isolation_level=None)) as database:
        database.execute("UPDATE source SET uri = path")
    for scheme in ("s3", "s3a", "s3n"):
        assert ManySourceFiles(tmp_path / "lists.db", source.source).of(FileBlock(f"{scheme}://lake/a", read.length, 1_000)) == read
        assert ManyWrittenFiles(tmp_path / "lists.db").place_of(FileBlock(f"{scheme}://lake/out", 3, 1_000)) == 0
    assert [file.block for file in ManyWrittenFiles(tmp_path / "lists.db")] == [FileBlock("s3://lake/out", 3, 1_000)]


def test_lists_on_disk_answer_as_lists_in_memory(long: Manifest, tmp_path: Path) -> None:
    kept = [KeptFile(FileBlock(f"file:/out/{place}", place, 1), place, place if place % 2 else None) for place in range(40)]
    write_lists(tmp_path / "lists.db", long, kept)
    (source,) = long.sources
    few, many = FewSourceFiles(source), ManySourceFiles(tmp_path / "lists.db", source.source)
    assert list(many) == list(few) == list(source.files)
    assert (len(many), many.by_path) == (len(few), few.by_path) == (50, False)
    for ordinal in range(-1, source.files[-1].ordinal + 5):
        assert many.at(ordinal) == few.at(ordinal)
        assert many.split(ordinal) == few.split(ordinal)
    for file in source.files:
        block = FileBlock(f"file:/lake/{Path(file.path).name}", file.length, file.modified)
        assert many.of(block) == few.of(block) == file
        assert many.splits(file) == few.splits(file)
        assert many.of(block._replace(modified=8)) is few.of(block._replace(modified=8)) is None
    wrote, written = FewWrittenFiles(kept), ManyWrittenFiles(tmp_path / "lists.db")
    assert list(wrote) == list(written) == kept
    assert len(wrote) == len(written)
    assert list(wrote.first(7)) == list(written.first(7)) == kept[:7]
    assert list(few.first(7)) == list(many.first(7)) == list(source.files[:7])
    for place, file in enumerate(kept):
        assert wrote[place] == written[place] == file
        assert wrote.place_of(file.block) == written.place_of(file.block) == place
    assert wrote.place_of(FileBlock("file:/out/0", 1, 1)) is written.place_of(FileBlock("file:/out/0", 1, 1)) is None


def test_of_a_capture_with_many_files_traces_read_the_manifest_without_them(staged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists_module, "MANY", 0)
    store, manifest = staged
    files = store.publish(TENANT, manifest)
    assert store.manifest(TENANT, manifest.capture) == manifest
    brief = store.brief(TENANT, manifest.capture)
    assert brief == shortened(manifest)
    assert [list(listed) for listed in store.source_files(TENANT, brief).values()] == [list(source.files) for source in manifest.sources]
    assert list(store.written_files(TENANT, manifest.capture)) == files
    later = dataclasses.replace(manifest, cost={"rows": 5})
    store.publish(TENANT, later)
    assert store.brief(TENANT, manifest.capture).cost == {"rows": 5}


def test_of_a_capture_with_few_files_nothing_more_is_kept(staged) -> None:
    store, manifest = staged
    store.publish(TENANT, manifest)
    folder = store.table(TENANT, manifest.capture, 0).parent
    assert sorted(path.name for path in folder.iterdir()) == ["b0.parquet", "b1.parquet", "digests.json", "files.json", "manifest.json"]
    assert store.brief(TENANT, manifest.capture) == manifest


def test_damaged_lists_are_named_and_made_anew_by_a_rebuild(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists_module, "MANY", 0)
    store = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    manifest = run(store, tmp_path)
    lists = store.table(TENANT, manifest.capture, 0).with_name("lists.db")
    whole = list(store.written_files(TENANT, manifest.capture))
    for damage in (lambda: lists.write_bytes(b"no database at all" * 100), lists.unlink):
        damage()
        with pytest.raises(HeadwaterError, match=r"lists\.db"):
            list(store.written_files(TENANT, manifest.capture))
        assert store.rebuild(TENANT) == 1
        assert list(store.written_files(TENANT, manifest.capture)) == whole
    store.close()
