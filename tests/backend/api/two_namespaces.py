"""A service whose graph holds two teams' namespaces. The first team must learn nothing of the other, whose names all hold `canary`.

The teams touch each other wherever they can: a job of the first reads an output of the other, a job of the other writes to a dataset of
the first, facets name tables of the other, runs have parents there, tags and owners are shared.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from headwater.backend.app import create_app
from headwater.backend.home.settings import load_settings
from headwater.graph.access.patterns import Namespaces
from headwater.graph.access.rights import Rights
from headwater.graph.access.scopes import Scope
from tests.backend.events import facet, run_event

CANARY = "canary"
OURS, THEIRS = "s3://sales", "s3://canaryhr"
OUR_JOBS, THEIR_JOBS = "airflow-sales", "airflow-canaryhr"
OUR_RUN, THEIR_RUN, MIXED_RUN = (f"0000000{number}-0000-4000-8000-000000000000" for number in (1, 2, 3))
PATTERNS = Namespaces.of(["s3://sales*", "airflow-sales*"])
_SQL = facet(query="SELECT canary_ssn FROM canaryhr.canarysecret")


def dataset(namespace: str, name: str, *columns: str, **facets: Any) -> dict[str, Any]:
    schema = {"schema": facet(fields=[{"name": column, "type": "string"} for column in columns])} if columns else {}
    return {"namespace": namespace, "name": name, "facets": schema | facets}


def lineage(**fields: list[tuple[str, str, str]]) -> dict[str, Any]:
    """The facet `columnLineage`."""
    return facet(fields={
        column: {
            "inputFields": [
                {"namespace": namespace, "name": name, "field": field, "transformations": [{"type": "DIRECT", "description": "canary_ssn"}]}
                for namespace, name, field in sources
            ]
        }
        for column, sources in fields.items()
    })  # fmt: skip


def events() -> list[dict[str, Any]]:
    secret = dataset(THEIRS, "canarysecret", "canaryssn", ownership=facet(owners=[{"name": "canaryowner"}, {"name": "ann"}]))
    orders = dataset(OURS, "orders", "amount", tags=facet(tags=[{"key": "monthly"}]))
    symlinks = facet(identifiers=[{"namespace": THEIRS, "name": "canarylink", "type": "TABLE"}])
    parent = facet(run={"runId": THEIR_RUN}, job={"namespace": THEIR_JOBS, "name": "canarydag"})
    ours = run_event(
        1, run={"runId": OUR_RUN, "facets": {"parent": parent, "odd": facet(what="canary"), "errorMessage": facet(message="canary")}},
        job={"namespace": OUR_JOBS, "name": "load", "facets": {"sql": _SQL}},
        inputs=[orders, secret],
        outputs=[dataset(
            OURS, "report", "total", symlinks=symlinks, tasks=facet(what="canary"), odd=facet(what="canary"),
            columnLineage=lineage(total=[(OURS, "orders", "amount"), (THEIRS, "canarysecret", "canaryssn")]),
        )],
    )  # fmt: skip
    theirs = run_event(
        2, run={"runId": THEIR_RUN}, job={"namespace": THEIR_JOBS, "name": "canaryjob", "facets": {"sql": _SQL}},
        inputs=[dataset(OURS, "report", "total"), secret],
        outputs=[
            dataset(
                THEIRS, "canaryout", "canarytotal", tags=facet(tags=[{"key": "canarytag"}]),
                columnLineage=lineage(canarytotal=[(OURS, "report", "total")]),
                dataQualityAssertions=facet(assertions=[{"assertion": "canarycheck", "success": True}]),
            ),
            dataset(OURS, "second", "copied", columnLineage=lineage(copied=[(OURS, "orders", "amount")])),
        ],
    )  # fmt: skip
    more = run_event(
        3, run={"runId": MIXED_RUN}, job={"namespace": OUR_JOBS, "name": "again"}, inputs=[dataset(OURS, "second", "copied")],
        outputs=[dataset(OURS, "third", "last", columnLineage=lineage(last=[(OURS, "second", "copied")]))],
    )  # fmt: skip
    starred = run_event(4, job={"namespace": "airflow-*canary", "name": "x"}, inputs=[dataset("S3://SALES", "canaryupper")], outputs=[])
    return [ours, theirs, more, starred]


DECLARED = {
    "types": [{"name": "canarytype", "axis": "actor"}],
    "instances": [{"id": "actor:canarytype:canaryactor", "properties": {}}],
    "descriptions": [{"id": f"dataset:{THEIRS.replace(':', '%3A')}:canaryout", "aspect": "tag", "value": "canarydeclared"}],
}


class Teams:
    """The service, and callers of it."""

    def __init__(self, client: TestClient, key: str) -> None:
        self.client = client
        self.home = {"X-Api-Key": key}

    def key(self, name: str, rights: Rights) -> dict[str, str]:
        """The header of a new key."""
        ring = self.client.app.state.service.credentials.named  # type: ignore[attr-defined]  # the type of `app` is any ASGI callable
        return {"X-Api-Key": ring.create(name, rights, tenant="default")[1]}

    def ask(self, headers: dict[str, str], query: str, **variables: Any) -> Any:
        """The body of an answer."""
        return self.client.post("/graphql", json={"query": query, "variables": variables}, headers=headers).json()

    def settle(self) -> None:
        """Wait until the graph has all that was sent."""
        end = time.monotonic() + 120
        while self.client.get("/readyz").json()["pending"]:
            assert time.monotonic() < end
            time.sleep(0.02)


def restricted(*scopes: Scope, patterns: Namespaces = PATTERNS) -> Rights:
    """Rights in our namespaces alone."""
    return Rights(frozenset(scopes), dict.fromkeys(scopes, patterns))


@contextmanager
def teams(home: Path) -> Iterator[Teams]:
    app = create_app(load_settings(home=home))
    with TestClient(app, base_url="http://localhost", follow_redirects=False) as client:
        found = Teams(client, app.state.service.settings.key())
        client.post("/api/v1/lineage", json=events(), headers=found.home).raise_for_status()
        found.settle()
        declared = client.post("/api/v1/declarations", json=DECLARED, headers=found.home)
        assert declared.status_code == 201, declared.text
        found.settle()
        yield found
