"""Caches between traces."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from headwater.graph.records import AssociationStore
from headwater.graph.trace.tracer import Tracer


def test_each_database_spills_to_a_folder_of_its_own(store: AssociationStore) -> None:
    tracers = [Tracer(store), Tracer(store)]
    folders = set()
    for tracer in tracers:
        with tracer.session("default") as session:
            folders.add(session.database.execute("SELECT current_setting('temp_directory')").fetchall()[0][0])
        tracer.close()
    assert len(folders) == 2


@pytest.mark.parametrize("place", [".spill/", "headwater-trace-"], ids=["rows", "values"])
def test_what_a_killed_process_spilled_is_dropped_after_a_day(place: str, store: AssociationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(store.root))

    def spilled(name: str, age: float) -> Path:
        folder = store.root / f"{place}{name}"
        folder.mkdir(parents=True)
        (folder / "rows.tmp").write_bytes(b"rows")
        os.utime(folder, (time.time() - age, time.time() - age))
        return folder

    old, fresh = spilled("old", 90_000), spilled("fresh", 60)
    Tracer(store).close()
    assert not old.exists()
    assert fresh.exists()


def test_a_folder_that_was_taken_for_left_is_there_again_for_the_next_trace(store: AssociationStore) -> None:
    tracer = Tracer(store, memory_limit="40MB", threads=1)

    def spill() -> Path:
        with tracer.session("default") as session:
            session.make_table("SELECT range AS a, hash(range) AS b FROM range(3000000) ORDER BY b")
            (folder,) = (store.root / ".spill").iterdir()
            return folder

    folder = spill()
    os.utime(folder, (0, 0))
    with tracer.session("default"):
        Tracer(store).close()  # as another process begins: the folder is in use
        assert folder.exists()
    shutil.rmtree(folder)  # after a day without a trace
    assert spill() == folder
    tracer.close()
    assert not folder.exists()


def test_a_folder_that_is_dropped_meanwhile_is_none_of_those_left(store: AssociationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "glob", lambda folder, _: [folder / "gone"])
    Tracer(store).close()
