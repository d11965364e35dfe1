"""The events, record captures and policy of a simulated company: `bench.company`.

Pipelines of twenty jobs lead from sources over cleaned, joined and enriched data and marts to reports. Some sources are hubs, which many
pipelines read. A run has two events, stages and tasks: ten nodes of the graph. One run of a hundred has a record capture, whose data
files do not exist.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import yaml

from bench.data import captures
from headwater.graph.model import NodeKind, node_id

CAPTURED = 100  # one run in so many has a record capture
PIPELINE = 20  # jobs of a pipeline
AREAS = ("sales", "finance", "logistics", "marketing", "people", "risk", "support", "web", "stores", "energy")
THINGS = ("orders", "customers", "payments", "stock", "visits", "invoices", "contracts", "routes", "prices", "returns", "tickets")
_SOURCES, _HUBS = 5, 100  # sources of a pipeline's own, and one source in a hundred is a hub
_YEAR, _BEGIN = 365 * 86_400.0, datetime(2025, 10, 1, tzinfo=UTC)
_LAYERS = ("cleaned",) * 7 + ("joined",) * 5 + ("enriched",) * 3 + ("mart",) * 2 + ("report",) * 3  # of the jobs of a pipeline
_FAILED = 50  # one run in so many fails
_RULES = 100
_FIELDS = ("id", "customer_id", "email", "country", "created_at", "amount", "currency", "status", "quantity", "product_id", "score", "note")
_SPARK = "https://example.org/spark"
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"

Json = dict[str, Any]


@dataclass(frozen=True)
class Company:
    """The jobs of a company, and their runs in a year. Everything is a pure function of a number and the seed.

    Dataset `n` is written by job `n`. The numbers from `jobs` on are the sources.
    """

    runs: int
    jobs: int
    seed: int

    @property
    def datasets(self) -> int:
        return self.jobs + self.jobs // PIPELINE * _SOURCES

    def name(self, dataset: int) -> tuple[str, str]:
        """Return the namespace and name of a dataset."""
        pipeline = dataset // PIPELINE if dataset < self.jobs else (dataset - self.jobs) // _SOURCES
        area = AREAS[pipeline % len(AREAS)]
        thing = f"{THINGS[dataset % len(THINGS)]}_{dataset}"
        if dataset < self.jobs:
            return f"s3://{area}-lake", f"{_LAYERS[dataset % PIPELINE]}/{area}_{pipeline}/{thing}"
        return f"postgres://{area}-db:5432", f"{area}.public.{thing}"

    def hub(self, drawn: random.Random) -> int:
        """Draw a hub: the first has a third of the readers of all hubs."""
        return self.jobs + int(max(1, (self.datasets - self.jobs) // _HUBS) * drawn.random() ** 3)

    def dataset_id(self, dataset: int) -> str:
        return node_id(NodeKind.DATASET, *self.name(dataset))

    def job_name(self, job: int) -> tuple[str, str]:
        pipeline, place = divmod(job, PIPELINE)
        return "airflow", f"{AREAS[pipeline % len(AREAS)]}_{pipeline}.{_LAYERS[place]}_{THINGS[job % len(THINGS)]}_{job}"

    def inputs(self, job: int) -> list[int]:
        """Return up to five datasets of the layer before: most of the own pipeline, some of others, some hubs."""
        drawn = random.Random(self.seed << 40 | job)
        pipeline, place = divmod(job, PIPELINE)
        first = _LAYERS.index(_LAYERS[place])
        before = [other for other in range(first) if _LAYERS[other] == _LAYERS[first - 1]]
        found = [] if before else [self.jobs + pipeline * _SOURCES + place % _SOURCES]  # so each source is read
        for _ in range(drawn.choice((1, 2, 2, 3, 4))):
            share = drawn.random()
            home = pipeline if share < 0.7 else drawn.randrange(self.jobs // PIPELINE)
            if share > 0.9:
                found.append(self.hub(drawn))
            elif before:
                found.append(home * PIPELINE + drawn.choice(before))
            else:
                found.append(self.jobs + home * _SOURCES + drawn.randrange(_SOURCES))
        return list(dict.fromkeys(found))

    def job_of(self, run: int) -> int:
        """Return the job of a run. Each job runs once at first. Then a few jobs run every hour, and most about once a week."""
        if run < self.jobs:
            return run
        chance = random.Random(self.seed << 40 | run).random()
        return int(self.jobs * chance * chance) * 7919 % self.jobs

    def events(self, first: int, count: int) -> Iterator[bytes]:
        """Yield events from a number on as JSON. A run has two: START, and COMPLETE or FAIL."""
        for number in range(first, first + count):
            yield json.dumps(self._event(*divmod(number, 2)), separators=(",", ":")).encode()

    def capture(self, run: int) -> tuple[Json, Mapping[str, bytes]]:
        """Return the manifest and segments of a run that has a record capture."""
        job = self.job_of(run)
        folder, at = "/".join(self.name(job)), self._time(run).timestamp() - captures.BEGIN.timestamp()
        folders = {"/".join(self.name(dataset)): dataset for dataset in self.inputs(job)}
        reads = [captures.Read(each, (f"{each}/part-0", 1_000, 1)) for each in folders]
        document, segments = captures.capture("", reads, folder, (f"{folder}/part-{run}", 1_000, run), at, uuid=_run_id(run))
        document["run"] = dict(zip(("namespace", "job", "runId"), (*self.job_name(job), _run_id(run)), strict=True))
        for part, dataset in [*zip(document["sources"], folders.values(), strict=True), (document["sink"], job)]:
            part |= {"dataset": _named(self.name(dataset)), "path": "/".join(self.name(dataset))}
        return document, segments

    def _time(self, run: int) -> datetime:
        return _BEGIN + timedelta(seconds=run * _YEAR / self.runs)

    def _event(self, run: int, is_end: int) -> Json:
        job = self.job_of(run)
        pipeline, state = job // PIPELINE, "FAIL" if run % _FAILED == _FAILED - 1 else "COMPLETE"
        flow = _named(("airflow", f"{AREAS[pipeline % len(AREAS)]}_{pipeline}"))
        facets: Json = {"parent": {"run": {"runId": _run_id(1 << 60 | pipeline)}, "job": flow}}
        if is_end:
            facets["headwater_stages"] = {"stages": [_stage(0, 1, []), _stage(1, 5, [0])]}
            if state == "FAIL":
                facets["errorMessage"] = {"message": f"Task {run} failed 4 times: the disk is full", "programmingLanguage": "JAVA"}
        inputs = self.inputs(job)
        output = self._dataset(job)
        output["facets"]["columnLineage"] = self._column_lineage(job, inputs)
        return {
            "eventType": state if is_end else "START",
            "eventTime": (self._time(run) + timedelta(seconds=(60 + run % 540) * is_end)).isoformat(timespec="milliseconds"),
            "producer": _SPARK,
            "schemaURL": _SCHEMA,
            "run": {"runId": _run_id(run), "facets": facets},
            "job": _named(self.job_name(job)),
            "inputs": [self._dataset(each) for each in inputs],
            "outputs": [output if is_end else self._dataset(job)],
        }

    def _dataset(self, number: int) -> Json:
        fields = [{"name": name, "type": "double" if name in ("amount", "score") else "string"} for name in _FIELDS]
        facets: Json = {"schema": {"fields": fields}}
        if number % 3 == 0:
            facets["ownership"] = {"owners": [{"name": f"team:{AREAS[number // PIPELINE % len(AREAS)]}", "type": "OWNER"}]}
        if number >= self.jobs and number % 10 == 0:
            facets["tags"] = {"tags": [{"key": "personal", "value": "true", "source": "CATALOG"}]}
        return _named(self.name(number)) | {"facets": facets}

    def _column_lineage(self, job: int, inputs: Sequence[int]) -> Json:
        """Each column comes from one column of an input, and the key of the first two inputs decides about the rows."""
        fields = {}
        for number, column in enumerate(_FIELDS):
            kind = {"type": "DIRECT", "subtype": "IDENTITY" if (job + number) % 3 else "TRANSFORMATION"}
            origin = _named(self.name(inputs[number % len(inputs)]))
            fields[column] = {"inputFields": [origin | {"field": column, "transformations": [kind]}]}
        how = [{"type": "INDIRECT", "subtype": "JOIN"}]
        keys = [_named(self.name(each)) | {"field": "id", "transformations": how} for each in inputs[:2]] if len(inputs) > 1 else []
        return {"fields": fields, "dataset": keys}

    def policy(self) -> str:
        """Return the text of a policy: personal data, flows between areas, and owners of reports."""
        drawn = random.Random(self.seed)
        reports = [job for job in range(self.jobs) if _LAYERS[job % PIPELINE] == "report"]
        rules: list[Json] = []
        for number in range(_RULES):
            area, source = AREAS[number % len(AREAS)], self.name(drawn.randrange(self.jobs, self.datasets))[1]
            if number % 10 == 0:
                rule: Json = {"must_have": {"of": {"dataset": f"report/{area}_*"}, "owner": True}}
            elif number % 10 == 1:
                rule = {"must_not_flow": {"from": {"tag": "personal"}, "to": {"dataset": f"report/{area}_{number}/*"}, "ways": "direct"}}
            else:
                rule = {"must_not_flow": {"from": {"dataset": source}, "to": {"dataset": self.name(drawn.choice(reports))[1]}}}
            rules.append({"name": f"rule {number}", **rule})
        return str(yaml.safe_dump({"policy": "company", "rules": rules}))


def _named(name: tuple[str, str]) -> Json:
    return {"namespace": name[0], "name": name[1]}


def _stage(number: int, tasks: int, parents: Sequence[int]) -> Json:
    shown = [{"task": 10 * number + task, "partition": task, "attempt": 0, "state": "SUCCESS"} for task in range(tasks)]
    return {"stage": number, "attempt": 0, "tasks": tasks, "failed": 0, "parents": list(parents), "shown": shown}


def _run_id(run: int) -> str:
    return str(UUID(int=0xC0 << 120 | run, version=4))
