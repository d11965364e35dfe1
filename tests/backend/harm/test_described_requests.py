"""Requests made from the service's own descriptions, OpenAPI and GraphQL, for long: `make torture ARGS="--modes requests"`.

HEADWATER_ROUNDS=N is the least number of requests for each of the two. schemathesis is fetched when this runs, into an environment
of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backend.harm.sound import EVENT
from tests.backend.service import ServiceProcess
from tests.readers import environment

pytestmark = pytest.mark.torture

SCHEMATHESIS = "4.32.5"
_ROOT = Path(__file__).parents[3]
_REQUESTS = max(250, int(os.environ.get("HEADWATER_ROUNDS", "0")))
_SEED = os.environ.get("HEADWATER_SEED", "1")
_FEWEST = 25  # requests of an operation, or few of them are sound
_FIELDS = 36  # of Query and Mutation
_HOOKS = """
import schemathesis
from hypothesis import strategies as st
from schemathesis.graphql import nodes

schemathesis.graphql.scalar("JSON", st.one_of(st.text().map(nodes.String), st.integers().map(nodes.Int), st.booleans().map(nodes.Boolean)))
schemathesis.graphql.scalar("RowNumber", st.one_of(st.integers().map(nodes.Int), st.integers().map(str).map(nodes.String)))


@schemathesis.check
def no_fault(ctx, response, case):
    assert response.status_code < 500, response.text
    assert '"code":"InternalError"' not in response.text, response.text  # what a resolver did not expect
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with ServiceProcess(tmp_path_factory.mktemp("home")) as service, service.client() as client:
        assert client.post("/api/v1/lineage", json=EVENT).status_code == 201
        service.settled()
        yield service


def _counted(service: ServiceProcess) -> dict[int, int]:
    """Requests by the status that they were answered with."""
    with service.client() as client:
        text = client.get("/metrics").text
    found: dict[int, int] = {}
    for status, count in re.findall(r'^headwater_request_seconds_count\{[^}]*status="(\d+)"[^}]*\} ([\d.]+)', text, re.MULTILINE):
        found[int(status)] = found.get(int(status), 0) + int(float(count))
    return found


def _requested(service: ServiceProcess, folder: Path, described: str, *more: str, operations: int) -> dict[int, int]:
    program = environment("schemathesis", [f"schemathesis=={SCHEMATHESIS}"]).parent / "schemathesis"
    examples = max(_FEWEST, _REQUESTS * 21 // (20 * operations) + 1)  # some operations have fewer sound ones
    command = [
        str(program), "run", described, f"--header=Authorization: Bearer {service.home.key()}", f"--max-examples={examples}",
        f"--seed={_SEED}", "--checks=no_fault", "--generation-database=none", "--suppress-health-check=all", "--no-color",
        "--workers=1", "--request-timeout=60", *more,
    ]  # fmt: skip
    (folder / "hooks.py").write_text(_HOOKS)
    environ = os.environ | {"HOME": str(folder), "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(folder)}
    before = _counted(service)
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    after = _counted(service)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return {status: count - before.get(status, 0) for status, count in after.items() if count > before.get(status, 0)}


def test_no_request_that_openapi_describes_is_a_fault(service: ServiceProcess, tmp_path: Path) -> None:
    with service.client() as client:
        described = client.get("/openapi.json").json()
        assert client.get("/healthz").status_code == 200
    operations = sum(len(methods) for methods in described["paths"].values())
    statuses = _requested(service, tmp_path, f"{service.url}/openapi.json", operations=operations)
    assert not [status for status in statuses if status >= 500], statuses
    assert sum(statuses.values()) >= _REQUESTS, statuses
    print(statuses)  # noqa: T201 - for whoever asks with -s


def test_no_question_that_the_schema_describes_is_a_fault(service: ServiceProcess, tmp_path: Path) -> None:
    schema = _ROOT / "graphql" / "schema.graphql"
    statuses = _requested(service, tmp_path, str(schema), f"--url={service.url}/graphql", operations=_FIELDS)
    assert not [status for status in statuses if status >= 500], statuses
    assert sum(statuses.values()) >= _REQUESTS, statuses
    print(statuses)  # noqa: T201 - for whoever asks with -s
