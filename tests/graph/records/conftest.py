"""A capture of one small job, staged."""

from pathlib import Path

import pytest

from headwater.graph.associations import Manifest
from headwater.graph.records import ANYWHERE, AssociationStore
from tests.graph.jobs import Job, write_csv

COLUMNS = {"k": "string", "v": "int"}


class Held(AssociationStore):
    """Keeps what a job publishes for the test to publish."""

    held: Manifest

    def publish(self, tenant, manifest):
        self.held = manifest
        return []


@pytest.fixture
def staged(tmp_path: Path):
    """A store in which one capture is staged and not published, and its manifest."""
    held = Held(tmp_path / "associations", sources=ANYWHERE)
    run(held, tmp_path)
    held.close()
    opened = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    yield opened, held.held
    opened.close()


def run(store: AssociationStore, root: Path, clock: int = 1) -> Manifest:
    raw = write_csv(root / "raw" / "t.csv", list(COLUMNS), [[key, n] for n, key in enumerate("abcab")])
    job = Job(store, "sums", clock)
    scan = job.scan(raw, "csv", COLUMNS, {"header": "true", "nullvalue": "NA"})
    total = job.aggregation("sum", job.attr(scan, "v"))
    grouped = job.aggregate(scan, ["k"], {"total": (total, lambda rows: sum(r.values["v"] for r in rows), "bigint")})
    return job.write(grouped, root / "out", "parquet", ["k", "total"])
