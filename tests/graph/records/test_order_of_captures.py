"""The catalog is the same in whatever order captures arrive, for files that were written as those of other datasets too."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.graph.associations import Manifest
from headwater.graph.associations.parts import DatasetName
from headwater.graph.records import FileBlock
from headwater.graph.records.catalog import Catalog
from headwater.graph.records.layout import KeptFile
from headwater.graph.records.moved_files import KnownMoves
from tests.graph.jobs import TENANT

_UNIQUE = "part-6f1c1a52-4d0e-4f6f-9c53-3a8f4a7f0001.parquet"
_FOLDERS = ("file:/lake/a", "file:/lake/b", "file:/lake/b/below", "s3://lake/c")
_BLOCKS = st.builds(
    lambda folder, name, length, modified: FileBlock(f"{folder}/{name}", length, modified),
    st.sampled_from(_FOLDERS), st.sampled_from(["part-0.parquet", _UNIQUE]), st.sampled_from([100, 200]), st.sampled_from([1_000, 2_000]),
)  # fmt: skip
# For each capture: the files that it reads with the places of their datasets, the files that it writes, the place of its output.
_CAPTURES = st.lists(
    st.tuples(st.sets(st.tuples(_BLOCKS, st.integers(0, 3)), max_size=4), st.sets(_BLOCKS, max_size=3), st.integers(0, 3)),
    min_size=2, max_size=5,
)  # fmt: skip
_TABLES = (
    "SELECT i.name, o.name FROM handed h JOIN dataset i ON i.number = h.input JOIN dataset o ON o.number = h.output",
    "SELECT p.uri, s.length, s.modified, d.name FROM sourced s JOIN path p ON p.number = s.path JOIN dataset d ON d.number = s.dataset",
    "SELECT i.name, o.name, f.captures FROM flow f JOIN dataset i ON i.number = f.input JOIN dataset o ON o.number = f.output",
)


def _dataset(place: int) -> DatasetName:
    return DatasetName(namespace="file", name=_FOLDERS[place])


def _capture(
    manifest: Manifest, number: int, read: set[tuple[FileBlock, int]], wrote: set[FileBlock], output: int
) -> tuple[Manifest, list[KeptFile]]:
    source, (file, *_) = manifest.sources[0], manifest.sources[0].files
    sources = tuple(
        dataclasses.replace(
            source, dataset=_dataset(place), path=_FOLDERS[place],
            files=tuple(dataclasses.replace(file, **block._asdict()) for block, own in sorted(read) if own == place),
        )
        for place in sorted({place for _, place in read})
    )  # fmt: skip
    sink = dataclasses.replace(manifest.sink, dataset=_dataset(output), path=_FOLDERS[output])
    capture = f"0198a1b2-0000-7000-8000-{number:012}"
    return dataclasses.replace(manifest, capture=capture, sources=sources, sink=sink), [KeptFile(block, 1) for block in sorted(wrote)]


def _rows(path: Path) -> list[list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(path)) as database:
        return [sorted(database.execute(statement)) for statement in _TABLES]


def _catalog_of(captures: Sequence[tuple[Manifest, list[KeptFile]]]) -> list[list[tuple[Any, ...]]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.db"
        with closing(Catalog(path)) as catalog, catalog.brought_up_to_date():
            for manifest, files in captures:
                catalog.put(TENANT, manifest, files)
        return _rows(path)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])  # the manifest is never changed
@given(_CAPTURES, st.randoms(use_true_random=False))
def test_captures_in_any_order_give_the_same_catalog(staged, drawn, random) -> None:
    captures = [_capture(staged[1], number, *parts) for number, parts in enumerate(drawn)]
    others = captures.copy()
    random.shuffle(others)
    assert _catalog_of(captures) == _catalog_of(others)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["writer first", "reader first"])
def test_a_join_hands_nothing_from_one_side_to_the_other(staged, order) -> None:
    mine, theirs = (FileBlock(f"{_FOLDERS[place]}/part-{place}.parquet", 100 + place, 1_000) for place in (0, 1))
    captures = [_capture(staged[1], 0, set(), {mine}, 0), _capture(staged[1], 1, {(mine, 0), (theirs, 1)}, set(), 3)]
    assert _catalog_of([captures[place] for place in order])[0] == []


def test_a_folder_of_many_moved_files_is_asked_about_in_few_statements(staged, tmp_path: Path) -> None:
    wrote = {FileBlock(f"{_FOLDERS[0]}/part-{number}", 100, 1_000 + number) for number in range(500)}
    read = {(FileBlock(f"{_FOLDERS[1]}/part-{number}", 100, 1_000 + number), 1) for number in range(500)}
    path = tmp_path / "moves.db"
    with closing(Catalog(path)) as catalog, catalog.brought_up_to_date():
        for number, parts in enumerate([(set(), wrote, 0), (read, set(), 2)]):
            catalog.put(TENANT, *_capture(staged[1], number, *parts))
    asked: list[str] = []

    def rows(statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        asked.append(statement)
        return database.execute(statement, values).fetchall()

    with closing(sqlite3.connect(path)) as database:
        for number in (0, 1):
            asked.clear()
            (flow,) = KnownMoves(rows).flows(TENANT, f"0198a1b2-0000-7000-8000-{number:012}")
            assert flow.dataset == ("file", _FOLDERS[1])
            assert len(asked) < 20
