"""A service that keeps records of two teams: their jobs read each other's datasets, and every name of the other team holds `canary`.

`orders` and the other team's `canarysecret` are joined into `report`; a job of theirs copies it to `canarycopy`, and one of ours that to
`back`. All files lie on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from headwater.backend.app import create_app
from headwater.backend.home.settings import load_settings
from headwater.graph.access.patterns import Namespaces
from headwater.graph.associations import Manifest
from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import ANYWHERE, AssociationStore
from tests.backend.api.two_namespaces import Teams
from tests.backend.events import run_event
from tests.graph.jobs import Job, Relation, write_csv

OURS, THEIRS, OUR_JOBS, THEIR_JOBS = "sales", "canaryhr", "sales-jobs", "canaryhr-jobs"
HERE = "file"  # the namespace of files on this machine
READING = Namespaces.of([OURS, OUR_JOBS, HERE])
WITHOUT_FILES = Namespaces.of([OURS, OUR_JOBS])
_CSV = {"header": "true", "nullvalue": "NA"}
_RAW = {"orders": ("amount", [["a", 1], ["b", 2]]), "canarysecret": ("pay", [["a", 777001], ["b", 777002]])}


class _Store:
    """Publishes captures as those of a namespace of jobs."""

    def __init__(self, store: AssociationStore, namespace: str) -> None:
        self._store = store
        self._namespace = namespace

    def stage_segment(self, *staged: Any) -> str:
        return self._store.stage_segment(*staged)

    def publish(self, tenant: str, manifest: Manifest) -> None:
        self._store.publish(tenant, replace(manifest, run=replace(manifest.run, namespace=self._namespace)))


class Lake:
    """The files, and what the jobs state of them."""

    def __init__(self, root: Path, store: AssociationStore) -> None:
        self.root = root
        self._store = store
        self.events: list[dict[str, Any]] = []
        self.captures: dict[str, str] = {}  # by job
        for name, (column, rows) in _RAW.items():
            write_csv(self.path(name) / "part.csv", ["k", column], rows)
        self._run(1, OUR_JOBS, "load", ["orders", "canarysecret"], "report")
        self._run(2, THEIR_JOBS, "canaryjob", ["report"], "canarycopy")
        self._run(3, OUR_JOBS, "again", ["canarycopy"], "back")

    def path(self, name: str) -> Path:
        return self.root / name

    def _run(self, number: int, jobs: str, name: str, sources: list[str], target: str) -> None:
        job = Job(_Store(self._store, jobs), name, number)  # type: ignore[arg-type]  # it has what a job asks for
        read = [self._scan(job, source) for source in sources]
        of = read[0] if len(read) == 1 else job.join(read[0], read[1], [("k", "k")])
        job.said = {"dataset": _named(target)}
        columns = [column for column in of.columns if column != "k"]
        job.write(of, self.path(target), "parquet", ["k", *columns], files=1)
        self.captures[name] = job.capture
        state: dict[str, Any] = {"run": {"runId": job.run}, "job": {"namespace": jobs, "name": name}}
        self.events.append(run_event(number, **state, inputs=[_named(source) for source in sources], outputs=[_named(target)]))

    def _scan(self, job: Job, source: str) -> Relation:
        is_raw = source in _RAW
        kinds = {"k": "string"} | dict.fromkeys([_RAW[source][0]] if is_raw else ["amount", "pay"], "bigint")
        scanned = job.scan(self.path(source), "csv" if is_raw else "parquet", kinds, _CSV if is_raw else {})
        job.sources[-1]["dataset"] = _named(source)
        return scanned


def _named(name: str) -> dict[str, str]:
    return {"namespace": THEIRS if name.startswith("canary") else OURS, "name": name}


def dataset(name: str) -> str:
    """The id of a dataset."""
    return node_id(NodeKind.DATASET, *_named(name).values())


@contextmanager
def two_teams(root: Path) -> Iterator[tuple[Teams, Lake]]:
    """The service, and what lies on the disk."""
    settings = load_settings(home=root / "home", data_roots=[root / "lake"], question_processes=1)
    store = AssociationStore(settings.folder.create().associations, sources=ANYWHERE)
    lake = Lake(root / "lake", store)
    store.close()
    app = create_app(settings)
    with TestClient(app, base_url="http://localhost", follow_redirects=False) as client:
        found = Teams(client, app.state.service.settings.key())
        client.post("/api/v1/lineage", json=lake.events, headers=found.home).raise_for_status()
        found.settle()
        yield found, lake
