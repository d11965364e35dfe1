"""A sound catalog has no faults, in whatever order the captures arrived."""

from __future__ import annotations

from contextlib import closing
from itertools import permutations
from pathlib import Path

from headwater.backend.operate.soundness.catalog import catalog_faults
from headwater.graph.records import ANYWHERE, AssociationStore
from tests.graph.jobs import TENANT, Job, write_csv

_COLUMNS = {"k": "string", "v": "int"}


def test_captures_of_a_join_and_of_moved_files_arrive_in_any_order(tmp_path: Path) -> None:
    raw = write_csv(tmp_path / "raw" / "t.csv", list(_COLUMNS), [["a", 1], ["b", 2]])
    with closing(AssociationStore(tmp_path / "associations", sources=ANYWHERE)) as store:
        for number, name in enumerate(("left", "right"), 1):
            job = _job(store, f"writes {name}", number, part=name)
            job.write(job.scan(raw, "csv", _COLUMNS, {"header": "true"}), tmp_path / f"{name} written", "parquet", list(_COLUMNS))
        (tmp_path / "left written").rename(tmp_path / "left moved")
        reader = _job(store, "joins", 0)  # its folder comes first
        left, right = (reader.scan(tmp_path / name, "parquet", _COLUMNS) for name in ("left moved", "right written"))
        reader.write(reader.join(left, right, [("k", "k")]), tmp_path / "out", "parquet", list(_COLUMNS))
        kept = [
            (store.manifest(TENANT, entry.capture), list(store.written_files(TENANT, entry.capture)))
            for entry in store.catalog.captures(TENANT)
        ]
        assert len(kept) == 3
        for order in permutations(kept):
            store.catalog.forget(TENANT)
            for manifest, files in order:
                store.catalog.put(TENANT, manifest, files)
            assert list(catalog_faults(store.root)) == [], [manifest.run.job for manifest, _ in order]


def _job(store: AssociationStore, name: str, number: int, part: str = "part") -> Job:
    return Job(store, name, 3 - number, part=part, capture=f"0198a1b2-0000-7000-8000-{number:012}")
