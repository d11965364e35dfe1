"""Every question of the schema and every route of the table, asked about a dataset with its columns, jobs and runs.

Generated, so that a question or a route that is added is asked, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from graphql import GraphQLInterfaceType, GraphQLObjectType, GraphQLUnionType, get_named_type, is_required_argument

from headwater.backend.api.access import RULES
from headwater.backend.compat.marquez.run_shape import job_version
from headwater.graph.access.scopes import Scope
from headwater.graphql.schema import schema
from tests.backend.api.two_namespaces import CANARY, OURS, THEIR_JOBS

_ALL_KINDS = "CONTAINS, DESCRIBES, CHECKS, ACCESSES, READS, WRITES, DERIVES"
_WAYS = ("UPSTREAM", "DOWNSTREAM")


def encoded(*parts: str) -> str:
    """The end of an id."""
    return ":".join(quote(part, safe="/-") for part in parts)


class Side:
    """The names of one team, as routes and questions ask for them."""

    def __init__(self, data: str, jobs: str, table: str, column: str, job: str, run: str) -> None:
        self.data, self.jobs, self.table, self.column, self.job, self.run = data, jobs, table, column, job, run
        self.dataset_id = f"dataset:{encoded(data, table)}"
        self.column_id = f"column:{encoded(data, table, column)}"
        self.job_id = f"job:{encoded(jobs, job)}"
        self.version_id = f"version:{encoded(data, table, run)}"
        self.pipeline_id = f"pipeline:{encoded(THEIR_JOBS, 'canarydag')}"


def _arguments(side: Side) -> dict[str, list[str]]:
    """The arguments of each question of the schema; one that is not here fails."""
    ids = [
        side.dataset_id,
        side.column_id,
        side.job_id,
        side.version_id,
        f"run:{side.run}",
        side.pipeline_id,
        f"tag:{CANARY}tag",
        "tag:monthly",
    ]
    ids += [f"platform:{encoded(side.data)}", f"system:{encoded(side.jobs)}", f"owner:{CANARY}owner", "owner:ann"]
    ids += [f"actor:{CANARY}type:{CANARY}actor", f"check:{encoded(side.data, side.table, '', CANARY + 'check')}"]
    nodes = [json.dumps(identifier) for identifier in ids]
    data, column, job = json.dumps(side.dataset_id), json.dumps(side.column_id), json.dumps(side.job_id)
    views = [f"{{focus: [{node}]}}" for node in nodes[:6]]
    views += [
        f"{{focus: [{data}], data: COLUMN}}",
        f"{{focus: [{data}], actors: RUN, data: VERSION}}",
        f'{{focus: [{data}], asOf: "2030-01-01"}}',
    ]
    views += [
        f'{{focus: [{data}], masks: [{{by: KIND, values: ["job"]}}]}}',
        f'{{focus: ["platform:{encoded(side.data)}"], data: PLATFORM}}',
    ]
    empty = "0" * 32
    return {
        "glossary": [""], "savedViews": [""], "notificationTargets": [""],
        "policies": [""], "deviations": [""], "checkPolicy": ['text: ""'], "draftPolicy": ['name: "p"'], "carriedTags": [""],
        "retention": [""],
        "checkContract": [f'contract: {{apiVersion: "v3.1.0", kind: "DataContract", id: "c", schema: [{{name: {data}}}]}}'],
        "erasures": [""],
        "service": [""], "registrations": [""], "replays": [""], "recaptures": [""], "culpritSearches": [""], "admin": [""], "audit": [""],
        "auditVerification": [""], "triggers": [""], "workflows": [""], "workflow": ['name: "a"'], "trigger": ['name: "a"'],
        "testTrigger": ['name: "a", since: "2026-01-01T00:00:00Z"'], "replayDryRun": [f'dataset: {data}, where: "true"'],
        "datasetReaders": [f'dataset: {data}, since: "2026-01-01T00:00:00Z"'],
        "tags": ["first: 100"], "types": ["first: 100"], "actors": ["first: 100"], "data": ["first: 100"],
        "jobs": ["first: 100", f"first: 100, namespace: {json.dumps(side.jobs)}"],
        "datasets": ["first: 100", f"first: 100, namespace: {json.dumps(side.data)}"],
        "search": ['text: "", first: 200', f'text: "{CANARY}"', 'text: "re"'],
        "find": ['text: "", first: 200', f'text: "{CANARY}"', 'text: "re"', "kinds: [RUN, COLUMN, TAG, OWNER], first: 200"],
        "lakeMap": ["lens: NAMESPACE", "lens: NAMESPACE, first: 1", f"lens: NAMESPACE, include: [{nodes[8]}, {nodes[9]}]"],
        "memberFlows": [f"members: [{data}, {job}]", f"members: [{', '.join(nodes)}]"],
        "node": [f"id: {node}" for node in nodes],
        "lineage": [f"focus: [{node}], direction: {way}" for node in nodes for way in ("UPSTREAM", "BOTH")]
        + [f"focus: [{column}], kinds: [DERIVES]", f"focus: [{data}], kinds: [{_ALL_KINDS}]"],
        "dataflow": [f"container: {nodes[5]}", f'container: "system:{encoded(side.jobs)}"'],
        "quality": [f"node: {data}", f"node: {column}"],
        "rows": [f"dataset: {data}"],
        "suspects": [f"name: {job}", f"name: {nodes[5]}", f'name: "run:{side.run}"', f'name: "{CANARY}"'],
        "suspectInstances": [f'dataset: {data}, bad: "true"'],
        "rankInputs": [f'dataset: {data}, column: "a", where: "true"'],
        "explain": [f'dataset: {data}, bad: "true"', f'dataset: {data}, rows: [{{file: "x", row: 0}}]'],
        "trace": [f'dataset: {data}, rows: [{{file: "x", row: 0}}]', f'dataset: {data}, where: "true"'],
        "subjectAccess": [f'dataset: {data}, rows: [{{file: "x", row: 0}}]', f'dataset: {data}, where: "true"'],
        "traceJob": [f'id: "{empty}"'], "replay": [f'id: "{empty}"'], "recapture": [f'id: "{empty}"'], "culpritSearch": [f'id: "{empty}"'],
        "view": [f"view: {view}" for view in views],
        "viewLink": [f"view: {view}, src: {data}, dst: {data}" for view in views]
        + [
            f'view: {{focus: [{data}], masks: [{{by: KIND, values: ["job"]}}]}}, src: "dataset:{encoded(OURS, source)}", dst: {data}'
            for source in ("orders", "second")
        ],
        "viewDifference": [f'view: {view}, before: "2001-01-01", after: "2030-01-01"' for view in views],
        "impact": [f"focus: [{node}], direction: {way}" for node in nodes[:5] for way in _WAYS]
        + [f'records: {{dataset: {data}, where: "true"}}'],
        "fieldAccess": [f"column: {column}"],
        "fieldLineage": [f"column: {column}, detailed: {deep}, direction: {way}" for deep in ("true", "false") for way in _WAYS],
        "runs": [f"job: {job}", f"job: {nodes[5]}"],
        "versions": [f"dataset: {data}"],
        "blocks": [f"dataset: {data}"],
        "diff": [f'dataset: {data}, before: "1"', f'dataset: {data}, before: "run:{side.run}", after: "now"'],
        "consumers": [f"dataset: {data}"],
    }  # fmt: skip


def _selection(kind: Any, deep: int) -> str:
    """Everything that can be asked of a type without arguments."""
    named = get_named_type(kind)
    if not isinstance(named, GraphQLObjectType | GraphQLInterfaceType):
        assert not isinstance(named, GraphQLUnionType)
        return ""
    parts = []
    for name, field in named.fields.items():
        if any(is_required_argument(argument) for argument in field.args.values()):
            continue
        inner = get_named_type(field.type)
        if not isinstance(inner, GraphQLObjectType):
            parts.append(name)
        elif deep:
            parts.append(f"{name} {_selection(inner, deep - 1)}")
    return f"{{ {' '.join(parts)} }}"


def questions_about(side: Side) -> Iterator[tuple[str, str]]:
    """The name of each question with a document that asks it for everything."""
    kind = schema._schema.query_type
    assert kind is not None
    fields = kind.fields
    stated = _arguments(side)
    assert set(fields) == set(stated), "a question of the schema that this matrix does not ask"
    for name, variants in stated.items():
        for arguments in variants:
            yield name, f"{{ {name}{f'({arguments})' if arguments else ''} {_selection(fields[name].type, 2)} }}"


def path_about(path: str, side: Side) -> str:
    """A path of the table with names of a side."""
    is_job = "/jobs" in path
    names = {
        "namespace": side.jobs if is_job else side.data, "source": side.data, "job": side.job, "dataset": side.table, "run": side.run,
        "version": job_version(side.jobs, side.job) if is_job else side.run, "field": side.column, "tag": f"{CANARY}tag",
        "capture": "0" * 32, "name": "x",
    }  # fmt: skip
    return re.sub(r"\{(\w+)\}", lambda found: quote(names.get(found[1], "x"), safe=""), path)


def _queries(side: Side) -> list[list[tuple[str, str]]]:
    """Parameters of all routes at once: each takes what it knows."""
    common = [("start", "0"), ("end", "now"), ("period", "WEEK"), ("depth", "20"), ("limit", "100"), ("q", CANARY), ("runId", side.run)]
    common.append(("query", f"{CANARY}* re*"))
    columns = [("column", side.column_id), ("node", side.dataset_id), ("nodeId", f"dataset:{side.data}:{side.table}")]
    targets = (side.dataset_id, side.column_id, side.job_id, f"run:{side.run}", side.version_id)
    found = [[*common, *columns, ("target", target), ("focus", target)] for target in targets]
    field = f"datasetField:{side.data}:{side.table}:{side.column}"
    found.append([*common, ("q", "re"), ("column", side.column_id), ("node", side.job_id), ("nodeId", f"job:{side.jobs}:{side.job}")])
    found.append([*common, ("nodeId", field), ("withDownstream", "true"), ("target", side.job_id), ("type", "run")])
    found.append([*common, ("records", side.dataset_id), ("where", "true"), ("target", side.dataset_id), ("direction", "upstream")])
    found += [[*common, ("direction", way), ("nodeId", field), ("type", "job")] for way in ("incoming", "outgoing", "both")]
    return found


def route_answers(
    client: Any, headers: Mapping[str, str], side: Side, change: Callable[[str], str] = str, *, few: bool = True
) -> Iterator[tuple[str, Any, list[tuple[str, str]]]]:
    """The answers of all routes that read: path, response and parameters. `change` is applied to what is sent."""
    for (method, path), rule in RULES.items():
        if method != "GET" or rule.scope is None or rule.scope in (Scope.OPERATE, Scope.AUDIT) or path == "/graphql":
            continue
        for query in _queries(side)[:: 3 if few else 1]:
            for accept in ("application/json", "text/turtle") if path.endswith("/prov") else ("*/*",):
                stated = [(name, change(value)) for name, value in query]
                yield path, client.get(change(path_about(path, side)), params=stated, headers={**headers, "Accept": accept}), query
