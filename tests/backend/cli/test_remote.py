"""The same commands against a service: answers through GraphQL equal those of the home."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.lineage import app as lineage
from headwater.backend.exports import CatalogRequest, System
from headwater.errors import HeadwaterError, KeyRequiredError, NotFoundError, UnavailableError
from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.prov import ProvFormat
from headwater.graph.prov.read import read
from headwater.graph.stores import Direction
from headwater.graph.trace import TraceRequest
from tests.backend.service import ServiceProcess

CLEANED = "dataset:file:/data/out/clean"
CATALOG = CatalogRequest.of(["file", "local"], ["file=disk"], "DEV")


@pytest.fixture(scope="module")
def running(lived_in):
    with ServiceProcess(lived_in) as process:
        yield process


@pytest.fixture
def service(running, monkeypatch):
    """A service on the home, named by the environment."""
    monkeypatch.setenv("HEADWATER_URL", running.url)
    monkeypatch.setenv("HEADWATER_API_KEY", running.home.key())
    return running


async def statements(answers, request):
    """The statements in the bundle of an export."""
    written = b"".join([chunk async for chunk in answers.provenance(request, ProvFormat.N)])
    (bundle,) = read(written).bundles.values()
    return sorted(repr(statement._replace(line=0)) for statement in bundle)


def both(home, question):
    """The answer of the service, and that of the home."""

    async def ask(where):
        async with open_answers(where) as answers:
            return await question(answers)

    return asyncio.run(ask(None)), asyncio.run(ask(home))


@pytest.mark.slow
def test_every_question_has_the_same_answer_from_both(service, lived_in):
    async def question(answers):
        graph, tenant = answers.graph, answers.tenant
        reached = await graph.reach(
            tenant, [CLEANED], direction=Direction.UPSTREAM, kinds=[EdgeKind.READS, EdgeKind.WRITES], depth=9, limit=99
        )
        page = await graph.children(tenant, "platform:file", kinds=[NodeKind.DATASET], first=2)
        rest = await graph.children(tenant, "platform:file", kinds=[NodeKind.DATASET], first=2, after=page.cursor)
        runs = [node.id for node in (await graph.search(tenant, "", kinds=[NodeKind.RUN])).nodes]
        return {
            "get": await graph.get(tenant, [CLEANED, "dataset:file:/nowhere"]),
            "reach": (sorted(node.id for node in reached.nodes), sorted(map(str, reached.edges)), reached.distance, reached.truncated),
            "children": ([*page.nodes, *rest.nodes], page.total),
            "ancestors": await graph.ancestors(tenant, runs),
            "view": await answers.ask(
                f'{{ view(view: {{focus: ["{CLEANED}"]}}) {{ nodes {{ node {{ id }} }} edges {{ src dst via }} }} }}'
            ),
            "found": await answers.find("/data/out/report", NodeKind.DATASET),
            "prov": await statements(answers, TraceRequest(dataset=CLEANED)),
            "catalogs": [b"".join([chunk async for chunk in answers.catalog(system, CATALOG)]) for system in System],
        }

    asked, own = both(lived_in, question)
    assert asked == own


def test_a_command_asks_the_service_that_the_environment_names(service):
    result = CliRunner().invoke(lineage, ["clean", "--format", "json"], catch_exceptions=False)
    assert {node["name"] for node in json.loads(result.stdout)["nodes"]} >= {"/data/out/clean", "report"}


def test_a_home_that_is_named_goes_before_the_environment(service, tmp_path_factory):
    with pytest.raises(NotFoundError, match="Nothing is known of clean"):
        CliRunner().invoke(lineage, ["clean", "--home", str(tmp_path_factory.mktemp("empty"))], catch_exceptions=False)


def test_an_error_of_the_service_is_the_error_of_the_home(service, lived_in):
    async def question(answers):
        try:
            await answers.trace(TraceRequest(dataset="/data/out/reprt", where="true"))
        except HeadwaterError as error:
            return type(error), error.message, error.hint
        return None

    asked, own = both(lived_in, question)
    assert asked == own
    assert asked is not None


def test_a_service_that_is_down_is_said_so(monkeypatch):
    monkeypatch.setenv("HEADWATER_URL", "http://127.0.0.1:9")
    with pytest.raises(UnavailableError, match=r"does not answer: Connection refused\. Start it"):
        CliRunner().invoke(lineage, ["clean"], catch_exceptions=False)


def test_a_wrong_key_is_said_so(service, monkeypatch):
    monkeypatch.setenv("HEADWATER_API_KEY", "hw_this-is-not-the-key-of-it")
    with pytest.raises(KeyRequiredError) as raised:
        CliRunner().invoke(lineage, ["clean"], catch_exceptions=False)
    assert "HEADWATER_API_KEY" in str(raised.value.hint)
