"""The rights of a session of the page: to read, and the scopes of its link, with the token of the page itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.testclient import TestClient

from headwater.backend.api.access import PAGE, RULES, rule_of
from headwater.backend.api.credentials import READING, SESSION_SCOPES, WRITING, Credentials
from headwater.backend.app import create_app
from headwater.backend.home.settings import load_settings
from headwater.graph.access.scopes import Scope
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

_SHUT = {("GET", "/graphql")}  # a route of the GraphQL library that the table leaves out on purpose
_DECLARE = {"query": "mutation { declare(declaration: {}) }"}
_REPLAY = {"query": 'mutation { startReplay(dataset: "nothing", where: "true") { id } }'}


def _opened(client: httpx.Client, browser: httpx.Client, *scopes: str) -> httpx.Client:
    """A browser whose session was opened for `scopes`."""
    url = client.post("/api/v1/tickets", json={"scopes": list(scopes)}).raise_for_status().json()["url"]
    assert browser.get(url).status_code == 303
    return browser


def _token(browser: httpx.Client) -> dict[str, str]:
    return {"X-Headwater-Token": browser.get("/api/v1/session").raise_for_status().json()["token"]}


def _refusal(response: httpx.Response) -> str:
    """The code of what was refused, by an endpoint or by GraphQL."""
    body = response.json()
    return body["errors"][0]["extensions"]["code"] if "errors" in body else f"{body['error']}Error"


def _routes(found: Sequence[BaseRoute]) -> Iterator[Route]:
    for route in found:
        if isinstance(route, Route):
            yield route
        elif not isinstance(route, WebSocketRoute):  # the guard ends every handshake
            # A router that was included; anything else that takes requests fails here.
            yield from _routes(route.original_router.routes)  # type: ignore[attr-defined]  # FastAPI's own class for it is private


def test_every_route_has_a_rule(tmp_path: Path) -> None:
    """A route that is added fails here until `RULES` says who may call it; so does a rule without a route."""
    app = create_app(load_settings(home=tmp_path))
    routes = {(method, route.path) for route in _routes(app.routes) for method in route.methods or ()}
    page = {route for route in routes if route[1] == "/{path:path}"}
    extra = {("HEAD", "/openapi.json")}  # starlette adds HEAD; nobody named it, so it is closed
    assert {method for method, _ in page} == {"GET", "HEAD"}
    assert routes - page - _SHUT - extra == set(RULES)


def test_a_route_that_nobody_named_is_closed_even_to_the_key(tmp_path: Path) -> None:
    app = create_app(load_settings(home=tmp_path))
    for place in range(2):  # before the page's routes, which take every path

        async def added() -> str:
            return "open"

        app.router.routes.insert(place, APIRoute(("/api/v1/added", "/added")[place], added, methods=["GET", "POST"]))
    with TestClient(app, base_url="http://localhost") as caller:
        key = {"X-Api-Key": app.state.service.settings.key()}
        assert caller.get("/api/v1/added").status_code == 401
        assert caller.post("/added").status_code == 401
        for answer in (caller.get("/api/v1/added", headers=key), caller.post("/added", headers=key)):
            assert answer.status_code == 404, answer.text


def test_a_named_path_refuses_other_methods(client: httpx.Client) -> None:
    answer = client.get("/graphql")
    assert (answer.status_code, answer.json()["message"]) == (405, "/graphql takes POST, not GET.")


def test_a_reading_session_reads_and_changes_nothing(client: httpx.Client, stranger: httpx.Client) -> None:
    browser = _opened(client, stranger, "read")
    assert browser.get("/api/v1/session").json()["scopes"] == sorted(READING)
    assert "errors" not in browser.post("/graphql", json={"query": "{ service { version } replays { id } }"}).json()
    assert browser.get("/api/v1/descriptions", params={"node": "dataset:x:y"}).status_code == 404
    for headers in ({}, _token(browser)):
        assert _refusal(browser.post("/graphql", json=_DECLARE, headers=headers)) == "ForbiddenError"
        assert _refusal(browser.post("/graphql", json=_REPLAY, headers=headers)) == "ForbiddenError"
        assert browser.post("/api/v1/declarations", json={}, headers=headers).status_code == 403


@pytest.mark.parametrize("scopes", [["read"], ["read", "declare", "replay"]])
def test_no_session_may_do_what_is_the_keys_alone(client: httpx.Client, stranger: httpx.Client, scopes: list[str]) -> None:
    browser = _opened(client, stranger, *scopes)
    tried = 0
    for (method, path), rule in RULES.items():
        if rule.scope in (Scope.INTAKE, Scope.OPERATE):
            answer = browser.request(method, re.sub(r"\{\w+\}", "x", path), json=run_event(1), headers=_token(browser))
            assert (answer.status_code, _refusal(answer)) == (403, "ForbiddenError"), path
            tried += 1
    assert tried == 7


def test_a_session_that_was_opened_for_it_needs_the_token_of_the_page(client: httpx.Client, stranger: httpx.Client) -> None:
    browser = _opened(client, stranger, "declare", "replay")
    assert browser.get("/api/v1/session").json()["scopes"] == sorted(WRITING)
    token = _token(browser)
    for headers in ({}, {"X-Headwater-Token": ""}, {"X-Headwater-Token": token["X-Headwater-Token"][:-1] + "x"}, {"X-Headwater-Page": "1"}):
        for body in (_DECLARE, _REPLAY):
            answer = browser.post("/graphql", json=body, headers=headers)
            assert _refusal(answer) == "ForbiddenError", answer.text
        assert browser.post("/api/v1/declarations", json={}, headers=headers).status_code == 403
    assert "errors" not in browser.post("/graphql", json=_DECLARE, headers=token).json()
    assert _refusal(browser.post("/graphql", json=_REPLAY, headers=token)) == "NotFoundError"  # it got as far as the dataset
    assert browser.post("/api/v1/declarations", json={}, headers=token).status_code == 201


def test_the_token_of_one_session_is_worth_nothing_in_another(client: httpx.Client, service: ServiceProcess) -> None:
    with service.client(key=False) as first, service.client(key=False) as second:
        token = _token(_opened(client, first, "declare"))
        _opened(client, second, "declare")
        assert _refusal(second.post("/graphql", json=_DECLARE, headers=token)) == "ForbiddenError"


def test_scopes_cannot_be_written_into_a_cookie(client: httpx.Client, stranger: httpx.Client) -> None:
    _opened(client, stranger, "read")
    ((name, value),) = stranger.cookies.items()
    stranger.cookies.clear()
    scopes = f".{'-'.join(sorted(READING))}."
    assert scopes in value
    for instead in (f".{'-'.join(sorted(SESSION_SCOPES))}.", ".", ".."):
        forged = value.replace(scopes, instead)
        assert stranger.get("/api/v1/session", headers={"Cookie": f"{name}={forged}"}).status_code == 401


def test_a_ticket_gives_no_scope_of_the_key(client: httpx.Client) -> None:
    assert client.post("/api/v1/tickets", json={"scopes": ["intake"]}).status_code == 400
    credentials = Credentials("0123456789abcdef", tenant="t")
    cookie = credentials.redeem(credentials.ticket(frozenset(Scope)))
    assert cookie is not None
    session = credentials.principal({"cookie": cookie.partition(";")[0]})
    assert session is not None
    assert session.scopes == SESSION_SCOPES > READING


def test_a_session_that_was_ended_opens_nothing(client: httpx.Client, service: ServiceProcess) -> None:
    with service.client(key=False) as browser, service.client(key=False) as other:
        _opened(client, browser, "read")
        _opened(client, other, "read")
        ((name, value),) = browser.cookies.items()
        assert browser.delete("/api/v1/session", headers={"Origin": "https://evil.example"}).status_code == 403
        assert browser.delete("/api/v1/session", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert browser.delete("/api/v1/session").json() == {"next": None}
        assert not browser.cookies
        copied = {"Cookie": f"{name}={value}"}
        assert browser.get("/api/v1/session", headers=copied).status_code == 401
        assert other.get("/api/v1/session").status_code == 200
        assert service.home.ended_sessions.stat().st_mode & 0o077 == 0
        assert value.split(".")[1].encode() not in service.home.ended_sessions.read_bytes()
        assert client.delete("/api/v1/session").status_code == 400, "a key is no session"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_not_even_read(client: httpx.Client, stranger: httpx.Client, site: str) -> None:
    browser = _opened(client, stranger, "declare")
    for path in ("/api/v1/session", "/api/v1/prov?target=x", "/metrics"):
        assert browser.get(path, headers={"Sec-Fetch-Site": site}).status_code == 403
    assert browser.get("/", headers={"Sec-Fetch-Site": site}).status_code == 200


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(load_settings(home=tmp_path, open_endpoints=("/metrics",)))
    with TestClient(app, base_url="http://localhost:8765", follow_redirects=False) as client:
        yield client


def test_a_setting_opens_the_measures_and_nothing_else(bare: TestClient) -> None:
    assert bare.get("/metrics").status_code == 200
    assert bare.get("/openapi.json").status_code == 401
    assert bare.post("/metrics").status_code == 401


@pytest.mark.parametrize(
    ("address", "headers", "secure"),
    [
        ("http://localhost:8765", {}, False),
        ("https://localhost:8765", {}, True),
        ("http://localhost:8765", {"X-Forwarded-Proto": "https"}, True),
        ("http://localhost:8765", {"X-Forwarded-Proto": "https, http"}, False),
    ],
)
def test_the_cookie_is_for_tls_alone_where_the_browser_came_by_tls(
    bare: TestClient, address: str, headers: dict[str, str], secure: bool
) -> None:
    ticket = bare.app.state.service.credentials.ticket()  # type: ignore[attr-defined]  # the type of `app` is any ASGI callable
    cookie = bare.get(f"{address}/?ticket={ticket}", headers=headers).headers["set-cookie"]
    assert ("; Secure" in cookie) is secure


def test_the_page_is_no_endpoint() -> None:
    for path in ("/", "/assets/x.js", "/dataset/a", "/apis", "/graphqlx"):
        assert rule_of("GET", path) is PAGE
        assert rule_of("POST", path) is None
    for path in ("/api", "/api/", "/api/v1/nothing", "/graphql/x", "/api/v1/captures/a/segments/b/c"):
        assert rule_of("GET", path) is None
