"""Two homes that differ in masked values alone: no question to a service lets an analyst distinguish them.

The values are in files, and in the reports of producers. Each question of the schema, each route that reads, each command, each export
and each subscription is asked in both, and all answers must be the same.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from headwater.backend.access.keys import ring_of
from headwater.backend.home.settings import load_settings
from headwater.graph.access.rights import Rights
from headwater.graph.access.scopes import ROLES
from headwater.graph.records import ANYWHERE, AssociationStore
from tests.backend.api.everything import Side, questions_about, route_answers
from tests.backend.cli.command import headwater
from tests.backend.events import facet, run_event
from tests.backend.service import ServiceProcess
from tests.graph.jobs import Job, write_csv

WORLDS = (("s900", "s100", "s500"), ("s200", "s800", "s300"))
_TIME = 1_700_000_000
_RUN, _COPY = "00000001-0000-4000-8000-000000000000", "00000002-0000-4000-8000-000000000000"
_MASKS = '[[mask]]\ncolumns = ["salary", "pay"]\n'
_COLUMNS = {"id": "string", "salary": "string", "city": "string"}
# Instants, the time of a file in milliseconds, how long something took, and the ids of keys are of no column.
_UNLIKE = re.compile(
    r"20\d\d-\d\d-\d\d(?:[T ]|%20)(?:[0-9:.]|%3A)+(?:Z|(?:\+|%2B)00(?::|%3A)00)?|\b1[0-9]{12}\b|key:\w+:[0-9a-f]{8}|[0-9.]+ m?s\b"
    r'|"(?:elapsedMs|tookMs|end|endTimeInSeconds|estimatedMs|storageRequests|storageBytes)":\s*[0-9.]+'
)


class _Lake:
    """The files of a world and what two jobs say of them, in a home."""

    def __init__(self, root: Path, salaries: Sequence[str]) -> None:
        self.raw, self.report, self.copy = (root / "lake" / name for name in ("people", "report", "copy"))
        self.home = root / "home"
        write_csv(self.raw / "part.csv", list(_COLUMNS), [[f"i{number}", salary, "Ulm"] for number, salary in enumerate(salaries)])
        os.utime(self.raw / "part.csv", (_TIME, _TIME))
        store = AssociationStore(load_settings(home=self.home).folder.create().associations, sources=ANYWHERE)
        job = self._job(store, "load", 1, _RUN)
        job.write(job.scan(self.raw, "csv", _COLUMNS, {"header": "true"}), self.report, "parquet", list(_COLUMNS), files=1)
        job = self._job(store, "again", 2, _COPY)
        read = job.scan(self.report, "parquet", _COLUMNS)
        job.write(job.filter(read, lambda row: row["id"] != "i1", ["id"]), self.copy, "parquet", list(_COLUMNS), files=1)
        store.close()
        (self.home / "masks.toml").write_text(_MASKS)
        self._salaries = salaries

    def _job(self, store: AssociationStore, name: str, clock: int, run: str) -> Job:
        return Job(store, name, clock, run=run, capture=f"0000000{clock}-0000-4000-9000-000000000000", modified=_TIME)

    def events(self) -> list[dict[str, Any]]:
        """Events of producers. They contain values of the masked column wherever OpenLineage permits values."""
        least, greatest = min(self._salaries), max(self._salaries)
        metrics = facet(rowCount=3, columnMetrics={"salary": {"min": least, "max": greatest, "quantiles": {"0.5": self._salaries[2]}}})
        checks = facet(assertions=[{"assertion": "max", "success": True, "column": "salary", "expected": greatest, "actual": greatest}])
        expectations = facet(assertions=[{
            "expectationType": "expect_column_max_to_be_between", "success": True, "columnId": "salary",
            "kwargs": {"max_value": greatest}, "result": {"observed_value": greatest, "partial_unexpected_list": list(self._salaries)},
        }])  # fmt: skip
        values = {
            "dataQualityMetrics": metrics, "dataQualityAssertions": checks, "greatExpectations_assertions": expectations,
            "own_profile": facet(histogram=list(self._salaries)),
        }  # fmt: skip
        schema = {"schema": facet(fields=[{"name": name, "type": "string"} for name in _COLUMNS])}
        lineage = {"columnLineage": facet(fields={
            name: {"inputFields": [{"namespace": "file", "name": str(self.raw), "field": name}]} for name in _COLUMNS
        })}  # fmt: skip
        raw = {"namespace": "file", "name": str(self.raw), "facets": schema | values, "inputFacets": values}
        report = {"namespace": "file", "name": str(self.report), "facets": schema | lineage | values, "outputFacets": values}
        again = {"namespace": "file", "name": str(self.copy), "facets": schema | values}
        run = {"runId": _RUN, "facets": {"own_sample": facet(rows=list(self._salaries))}}
        job = {"namespace": "default", "name": "load", "facets": {"own_sample": facet(rows=list(self._salaries))}}
        return [
            run_event(1, run=run, job=job, inputs=[raw], outputs=[report]),
            run_event(2, run={"runId": _COPY}, job={"namespace": "default", "name": "again"}, inputs=[report], outputs=[again]),
        ]


@pytest.mark.slow
def test_no_way_of_asking_tells_one_world_from_the_other(tmp_path: Path) -> None:
    _compare(tmp_path, _Depth(["analyst"], sides=1, notations=1, commands=5))


@pytest.mark.torture
def test_no_way_of_asking_about_anything_tells_one_world_from_the_other(tmp_path: Path) -> None:
    _compare(tmp_path, _Depth(["analyst", "viewer", "steward"], sides=3, notations=5, commands=100, few=False))


@dataclass(frozen=True)
class _Depth:
    """By whom and how much is asked."""

    roles: Sequence[str]
    sides: int
    notations: int
    commands: int
    few: bool = True


def _compare(folder: Path, depth: _Depth) -> None:
    told = []
    for salaries in WORLDS:
        told.append(dict(_everything_told(folder / "world", salaries, depth)))
        shutil.rmtree(folder / "world")
        owners = told[-1].pop("owner")
        assert all(salary in owners for salary in salaries), "they are there to be told"
        assert [asked for asked, answer in told[-1].items() if any(salary in answer for salary in salaries)] == []
    first, second = told
    assert [(asked, first[asked], second.get(asked)) for asked in first if first[asked] != second.get(asked)] == []
    assert "Ulm" in first["rows"], "what is not masked is shown"


def _everything_told(root: Path, salaries: Sequence[str], depth: _Depth) -> Iterator[tuple[str, str]]:
    lake = _Lake(root, salaries)
    ring = ring_of(load_settings(home=lake.home))
    keys = {role: ring.create(role, Rights(ROLES[role]), tenant="default")[1] for role in depth.roles}
    ring.close()
    with ServiceProcess(lake.home, HEADWATER_DATA_ROOTS=json.dumps([str(root / "lake")])) as service, service.client() as owner:
        analyst = keys["analyst"]
        with _followed(service, analyst) as heard, service.client(key=False, headers={"X-Api-Key": analyst}) as client:
            owner.post("/api/v1/lineage", json=lake.events()).raise_for_status()
            service.settled()
            yield "subscription", json.dumps(heard())
            yield "rows", _rows(client, lake.report)
            yield "owner", _rows(owner, lake.report) + owner.get("/api/v1/events/lineage").text
        for role, key in keys.items():
            with service.client(key=False, headers={"X-Api-Key": key}) as client:
                for asked, answer in (*_answers(client, lake, depth), *_commands(service, key, lake, depth)):
                    yield f"{role}: {asked}", _UNLIKE.sub("-", answer.replace(service.url, "URL").replace(key, "KEY"))


def _sides(lake: _Lake) -> Iterator[Side]:
    for path, job, run in ((lake.report, "load", _RUN), (lake.raw, "load", _RUN), (lake.copy, "again", _COPY)):
        yield Side("file", "default", str(path), "salary", job, run)


def _answers(client: httpx.Client, lake: _Lake, depth: _Depth) -> Iterator[tuple[str, str]]:
    for side in list(_sides(lake))[: depth.sides]:
        for _, document in questions_about(side):
            yield document, client.post("/graphql", json={"query": document}).text
        for path, response, query in route_answers(client, {}, side, few=depth.few):
            yield f"{path} {query} {response.headers.get('content-type')}", response.text
        for notation in ("json", "provn", "turtle", "xml", "jsonld")[: depth.notations]:
            asked: dict[str, str] = {"target": side.dataset_id, "where": "city = 'Ulm'", "format": notation}
            yield f"prov {asked}", client.get("/api/v1/prov", params=asked).text
    yield from ((where, client.post("/graphql", json={"query": _ROWS, "variables": asked}).text) for where, asked in _predicates(lake))


_ROWS = "query ($d: ID!, $w: String, $o: RowOrder) { rows(dataset: $d, where: $w, order: $o) { total note rows { file values } } }"


def _predicates(lake: _Lake) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path in (lake.raw, lake.report, lake.copy):
        dataset = next(side.dataset_id for side in _sides(lake) if path.name in side.dataset_id)
        for where in ("salary > 's4'", "SALARY LIKE '%9%'", "length(city) > 2", "hash(report) > 0", "id IN (SELECT salary FROM report)"):
            yield f"rows of {path.name} where {where}", {"d": dataset, "w": where}
        for column in ("salary", "Salary", "city"):
            yield f"rows of {path.name} by {column}", {"d": dataset, "o": {"column": column}}


def _rows(client: httpx.Client, path: Path) -> str:
    side = Side("file", "default", str(path), "salary", "load", _RUN)
    return client.post("/graphql", json={"query": _ROWS, "variables": {"d": side.dataset_id}}).text


_FORMATS = ("tree", "table", "json", "csv", "dot", "mermaid")


def _commands(service: ServiceProcess, key: str, lake: _Lake, depth: _Depth) -> Iterator[tuple[str, str]]:
    report, column = str(lake.report), f"column:file:{lake.report}:salary"
    commands = [
        ["trace", report, "--where", "id = 'i0'", "--format", "json"], ["trace", report, "--where", "salary > 's4'"],
        ["trace", str(lake.raw), "--where", "city = 'Ulm'", "--forward", "--format", "csv"], ["trace", report, "--row", "0"],
        ["subject", str(lake.raw), "--where", "city = 'Ulm'", "--format", "csv"], ["subject", str(lake.raw), "--where", "salary > 's4'"],
        *(["lineage", report, "--direction", "both", "--format", name] for name in _FORMATS),
        ["impact", report], ["versions", report], ["consumers", report], ["describe", report],
        ["column", "access", column], ["column", "lineage", column], ["column", "tags", column],
        *(["export", *export, "--output", str(lake.home / "exported")] for export in (
            ["prov", report], ["datahub"], ["openmetadata"], ["prov", report, "--where", "id = 'i0'"],
        )),
    ]  # fmt: skip
    for command in commands[:: max(1, len(commands) // depth.commands)]:
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("HEADWATER_HOME", raising=False)
            ended = _run(command, HEADWATER_URL=service.url, HEADWATER_API_KEY=key)
        exported = lake.home / "exported"
        yield " ".join(command), ended + (exported.read_text() if exported.exists() else "")
        exported.unlink(missing_ok=True)


def _run(command: Sequence[str], **environment: str) -> str:
    for code in (0, 1, 2, 3, 5):
        try:
            ended = headwater(*command, code=code, **environment)
        except AssertionError:
            continue
        return f"{ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    raise AssertionError(command)


@contextmanager
def _followed(service: ServiceProcess, key: str) -> Iterator[Callable[[], list[Any]]]:
    """Follow runs on a socket. The yielded function returns all messages, once both runs arrived."""
    url = service.url.replace("http", "ws", 1) + "/graphql"
    protocols = [Subprotocol("graphql-transport-ws")]
    with connect(url, additional_headers={"X-Api-Key": key}, subprotocols=protocols, proxy=None, open_timeout=60) as socket:
        socket.send(json.dumps({"type": "connection_init"}))
        socket.recv(60)
        what = "{ id kind properties descriptions { tags } containers { id properties } }"
        socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": f"subscription {{ runs {what} }}"}}))
        socket.recv(60)  # an empty list: from now on nothing is left out

        def heard() -> list[Any]:
            runs: dict[str, Any] = {}
            until = time.monotonic() + 120
            while {f"run:{_RUN}", f"run:{_COPY}"} - {identifier for identifier, run in runs.items() if "state" in run["properties"]}:
                message = json.loads(socket.recv(max(0.0, until - time.monotonic())))
                runs |= {run["id"]: run for run in message["payload"]["data"]["runs"]}
            return sorted(runs.items())

        yield heard
