"""A trace that meets a damaged file of a capture names it; it never answers from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.errors import DamagedError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from headwater.graph.trace.tracer import _TRACERS, Tracer
from tests.graph.jobs import TENANT
from tests.graph.trace.pipeline import build


def _flip(path: Path) -> None:
    """Change one bit of what the first page of the first column holds."""
    data = bytearray(path.read_bytes())
    data[max(8, min(60, len(data) // 4))] ^= 0x10
    path.write_bytes(data)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


_WAYS: dict[str, Callable[[Path], None]] = {"flipped": _flip, "cut": _cut, "gone": Path.unlink}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pipeline")
    store = AssociationStore(root / "associations", sources=ANYWHERE)
    build(store, root, 1)
    store.close()
    return root


async def _ask(root: Path, associations: Path, *, held: int) -> TraceAnswer:
    store = AssociationStore(associations, sources=ANYWHERE)
    try:
        _TRACERS[store] = Tracer(store, rows_in_memory=held)
        return await trace(None, store, TENANT, TraceRequest(dataset=str(root / "report"), where="origin = 'A'", values=False))
    finally:
        store.close()


@pytest.mark.parametrize(("way", "held"), [("flipped", 4_000_000), ("flipped", 0), ("cut", 4_000_000), ("gone", 0)], ids=str)
async def test_a_trace_names_the_damaged_file_that_it_meets(built: Path, way: str, held: int) -> None:
    associations, met = built / "associations", 0
    whole = _places(await _ask(built, associations, held=held))
    folders = sorted(folder for _, folder in AssociationStore.kept_folders(associations))
    for file in [path for folder in folders for path in sorted(folder.iterdir()) if way != "flipped" or path.suffix == ".parquet"]:
        before = file.read_bytes()
        _WAYS[way](file)
        damaged: DamagedError | None = None
        try:
            answer = await _ask(built, associations, held=held)
        except DamagedError as error:
            damaged = error
        else:
            assert _places(answer) == whole, file  # it has no part in the answer
        finally:
            file.write_bytes(before)
        if damaged is not None:
            met += 1
            assert str(file) in damaged.message
            assert "headwater store repair" in (damaged.hint or "")
    assert met >= 5


def _places(answer: TraceAnswer) -> set[tuple[str | None, int | None]]:
    return {(record.file, record.row) for record in answer.records}
