"""What stays warm between traces."""

import os
import time
from pathlib import Path

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


def test_what_a_killed_process_spilled_is_dropped_after_a_day(store: AssociationStore) -> None:
    def spilled(name: str, age: float) -> Path:
        folder = store.root / ".spill" / name
        folder.mkdir(parents=True)
        (folder / "rows.tmp").write_bytes(b"rows")
        os.utime(folder, (time.time() - age, time.time() - age))
        return folder

    old, fresh = spilled("old", 90_000), spilled("fresh", 60)
    Tracer(store).close()
    assert not old.exists()
    assert fresh.exists()
