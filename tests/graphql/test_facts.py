"""Standard facets as fields of the schema."""

from __future__ import annotations

from typing import Any

from headwater.backend.projection import event_stamp, fold, project_event
from tests.stated import TENANT

RUN = "11111111-1111-4111-8111-111111111111"
_FACTS = """query ($id: ID!) { node(id: $id) { facts { size { rows bytes files run } inputs { dataset size { rows bytes } }
  outputs { dataset size { rows files } } sql { query dialect cut } source { code language } sourcePlace { url stated path branch }
  error { message stackTrace language cut } quality { passed failed rows } } } }"""


def event(kind: str, at: str, run: str = RUN, **output: Any) -> dict[str, Any]:
    return {
        "eventType": kind,
        "eventTime": at,
        "producer": "https://example.org/dbt",
        "run": {"runId": run, "facets": {"errorMessage": {"message": "no space", "programmingLanguage": "SQL", "stackTrace": "at line 3"}}},
        "job": {
            "namespace": "dbt",
            "name": "model",
            "facets": {
                "sql": {"query": "SELECT * FROM raw", "dialect": "postgres"},
                "sourceCode": {"language": "jinja", "sourceCode": "{{ ref('raw') }}"},
                "sourceCodeLocation": {"type": "git", "url": "https://example.org/model.sql", "path": "model.sql", "branch": "main"},
            },
        },
        "inputs": [{"namespace": "pg", "name": "raw", "inputFacets": {"inputStatistics": {"rowCount": 4, "size": 40}}}],
        "outputs": [{"namespace": "pg", "name": "mart", **output}],
    }


async def test_facts_of_a_job_its_runs_and_its_datasets(ask, context):
    graph = context().graph
    statistics = {"outputFacets": {"outputStatistics": {"rowCount": 855_599, "size": 9, "fileCount": 2}}}
    checks = {"dataQualityAssertions": {"assertions": [{"assertion": "unique", "success": False}]}}
    failed = RUN.replace("1", "2")
    for one in (
        event("COMPLETE", "2026-01-01T00:00:00Z", **statistics, facets=checks),
        event("FAIL", "2026-01-02T00:00:00Z", failed),
    ):
        await fold(graph, TENANT, [project_event(one, event_stamp(one, one["run"]["runId"]))])
    dataset = (await ask(_FACTS, id="dataset:pg:mart"))["node"]["facts"]
    assert dataset["size"] == {"rows": 855_599, "bytes": 9, "files": 2, "run": f"run:{RUN}"}
    assert dataset["quality"] == {"passed": 0, "failed": 1, "rows": None}
    job = (await ask(_FACTS, id="job:dbt:model"))["node"]["facts"]
    assert job["sql"] == {"query": "SELECT * FROM raw", "dialect": "postgres", "cut": False}
    assert job["source"] == {"code": "{{ ref('raw') }}", "language": "jinja"}
    assert job["sourcePlace"]["url"] == job["sourcePlace"]["stated"] == "https://example.org/model.sql"
    assert job["error"] == {"message": "no space", "stackTrace": "at line 3", "language": "SQL", "cut": False}
    run = (await ask(_FACTS, id=f"run:{RUN}"))["node"]["facts"]
    assert run["inputs"] == [{"dataset": "dataset:pg:raw", "size": {"rows": 4, "bytes": 40}}]
    assert run["outputs"] == [{"dataset": "dataset:pg:mart", "size": {"rows": 855_599, "files": 2}}]
    version = (await ask(_FACTS, id=f"version:pg:mart:{RUN}"))["node"]["facts"]
    assert version["size"]["rows"] == 855_599


async def test_a_node_without_facets_has_no_facts(ask):
    facts = (await ask(_FACTS, id="job:local:clean"))["node"]["facts"]
    assert {name: value for name, value in facts.items() if value} == {}
