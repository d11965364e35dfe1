"""The rights of callers: the key, the names of the service, the origin of a page, the link to the page."""

from __future__ import annotations

import re
import socket
from urllib.parse import urlsplit

import httpx
import pytest

from headwater.backend.api.credentials import Credentials
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

_OPEN = {"/healthz", "/readyz"}
_QUERY = {"query": "{ service { version } }"}


def test_every_route_needs_the_key_but_those_that_say_nothing(client: httpx.Client, stranger: httpx.Client) -> None:
    """Read off the application itself, so that a route that is added later is asked too."""
    specification = client.get("/openapi.json").json()
    tried = {"/graphql"}
    for path, methods in specification["paths"].items():
        if path in _OPEN:
            continue
        concrete = re.sub(r"\{\w+\}", "x", path)
        for method in methods:
            assert stranger.request(method, concrete).status_code == 401, (method, path)
        tried.add(path)
    assert stranger.post("/graphql", json=_QUERY).status_code == 401
    assert {"/api/v1/lineage", "/api/v1/captures", "/api/v1/captures/{capture}/segments/{name}", "/api/v1/tickets", "/graphql"} <= tried


@pytest.mark.parametrize(
    "path", ["/api/v1/lineage", "/api/v1/lineage/", "//api/v1/lineage", "/api/../api/v1/lineage", "/%61pi/v1/lineage", "/API/v1/lineage"]
)
def test_no_spelling_of_a_path_gets_round_the_key(stranger: httpx.Client, path: str) -> None:
    host, port = urlsplit(str(stranger.base_url)).netloc.split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
        status = int(connection.makefile("rb").readline().split()[1])
    assert status in (401, 404, 405), status


def test_open_routes_answer_without_a_key(stranger: httpx.Client) -> None:
    assert stranger.get("/healthz").json()["status"] == "ok"
    assert stranger.get("/readyz").json()["status"] == "ready"
    assert stranger.get("/docs").status_code == 401


def test_measures_and_the_specification_need_the_key(client: httpx.Client, stranger: httpx.Client) -> None:
    for path in ("/metrics", "/openapi.json"):
        assert stranger.get(path).status_code == 401
    assert "headwater_events_total" in client.get("/metrics").text
    assert "/api/v1/lineage" in client.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize("header", ["Authorization: Bearer {key}", "authorization: bearer {key}", "X-Api-Key: {key}"])
def test_the_key_may_come_in_two_headers(service: ServiceProcess, stranger: httpx.Client, header: str) -> None:
    name, _, value = header.format(key=service.home.key()).partition(": ")
    assert stranger.post("/api/v1/lineage", json=run_event(1), headers={name: value}).status_code == 201


@pytest.mark.parametrize(
    "headers", [{"Authorization": "Bearer wrong"}, {"Authorization": "Basic a2V5"}, {"X-Api-Key": ""}, {"Authorization": ""}]
)
def test_a_wrong_key_is_refused(stranger: httpx.Client, headers: dict[str, str]) -> None:
    response = stranger.post("/api/v1/lineage", json=run_event(1), headers=headers)
    assert response.status_code == 401
    assert response.json()["error"] == "KeyRequired"
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "169.254.169.254"])
def test_a_foreign_name_is_refused_even_with_the_key(client: httpx.Client, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 403
    assert client.post("/api/v1/lineage", json=run_event(1), headers={"Host": host}).status_code == 403


def test_every_loopback_name_is_taken(client: httpx.Client) -> None:
    port = client.base_url.port
    for name in ("127.0.0.1", "localhost", "[::1]", "LOCALHOST"):
        assert client.get("/healthz", headers={"Host": f"{name}:{port}"}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_a_foreign_page_is_refused_even_with_the_key(client: httpx.Client, origin: str) -> None:
    response = client.post("/graphql", json=_QUERY, headers={"Origin": origin})
    assert response.status_code == 403
    assert "Access-Control-Allow-Origin" not in response.headers


def test_a_foreign_page_gets_no_permission_in_advance(client: httpx.Client) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    response = client.options("/graphql", headers=headers)
    assert response.status_code == 403
    assert not [name for name in response.headers if name.startswith("access-control")]


def test_a_request_of_another_site_is_refused_by_what_the_browser_says_of_it(client: httpx.Client) -> None:
    for site in ("cross-site", "same-site"):
        assert client.post("/graphql", json=_QUERY, headers={"Sec-Fetch-Site": site}).status_code == 403


def _link(client: httpx.Client) -> httpx.URL:
    return httpx.URL(client.post("/api/v1/tickets").raise_for_status().json()["url"])


def test_the_link_opens_the_page_once(client: httpx.Client, stranger: httpx.Client) -> None:
    link = _link(client)
    opened = stranger.get(link)
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    cookie = opened.headers["set-cookie"]
    assert all(mark in cookie for mark in ("HttpOnly", "SameSite=Strict", "Path=/"))
    assert client.headers["authorization"].removeprefix("Bearer ") not in cookie

    own = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    asked = stranger.post("/graphql", json=_QUERY, headers=own)
    assert asked.status_code == 200, asked.text
    assert "version" in asked.text
    assert stranger.get("/").status_code == 200

    stranger.cookies.clear()
    again = stranger.get(link)
    assert again.status_code == 401
    assert "headwater serve" in again.text
    assert "set-cookie" not in again.headers


def test_the_link_keeps_the_rest_of_its_address_and_leads_nowhere_else(client: httpx.Client, stranger: httpx.Client) -> None:
    ticket = _link(client).params["ticket"]
    opened = stranger.get(f"http://127.0.0.1:{stranger.base_url.port}//evil.example/dataset/x?focus=a%26b&ticket={ticket}")
    assert opened.headers["location"] == "/evil.example/dataset/x?focus=a%26b"


def test_looking_at_the_link_does_not_use_it_up(client: httpx.Client, stranger: httpx.Client) -> None:
    link = _link(client)
    assert stranger.head(link).status_code == 401
    assert stranger.get(link).status_code == 303


def test_the_cookie_of_another_service_is_worth_nothing(client: httpx.Client, stranger: httpx.Client) -> None:
    stranger.get(_link(client))
    (name,) = stranger.cookies.keys()
    foreign = Credentials("another key of another home", tenant="default")
    stated = str(foreign.redeem(foreign.ticket())).partition(";")[0].partition("=")[2]
    for forged in (stated, "", "x", "9999999999.abc.", "9999999999.abc.0", "é"):
        stranger.cookies.clear()
        headers = {b"Cookie": f"{name}={forged}".encode()}
        assert stranger.post("/graphql", json=_QUERY, headers=headers).status_code == 401, forged


def test_tickets_and_sessions_end() -> None:
    now = 1_000_000.0
    credentials = Credentials("0123456789abcdef", tenant="t", clock=lambda: now)
    early, late = credentials.ticket(), credentials.ticket()
    cookie = credentials.redeem(early)
    assert cookie is not None
    headers = {"cookie": cookie.partition(";")[0]}
    assert credentials.principal(headers) is not None
    now += 25 * 3600
    assert credentials.redeem(late) is None
    assert credentials.principal(headers) is not None
    now += 7 * 24 * 3600
    assert credentials.principal(headers) is None


def test_answers_carry_headers_that_keep_others_out(client: httpx.Client, stranger: httpx.Client) -> None:
    for response in (client.get("/"), stranger.get("/"), stranger.get("/graphql"), client.get("/healthz")):
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert "server" not in response.headers


def test_requests_have_ids(client: httpx.Client, service: ServiceProcess) -> None:
    assert client.get("/healthz", headers={"X-Request-Id": "abc-1"}).headers["X-Request-Id"] == "abc-1"
    assert re.fullmatch(r"[0-9a-f]{32}", client.get("/healthz", headers={"X-Request-Id": "a b\tc"}).headers["X-Request-Id"])
    assert client.get("/api/v1/nothing", headers={"X-Request-Id": "lost-1"}).status_code == 404
    service.logged("lost-1")


def test_logs_hold_no_secret(client: httpx.Client, stranger: httpx.Client, service: ServiceProcess) -> None:
    link = _link(client)
    stranger.get(link, headers={"X-Request-Id": "opened-1"})
    text = service.logged("opened-1")
    assert service.home.key() not in text
    assert link.params["ticket"] not in text


def test_the_service_binds_to_loopback_alone(service: ServiceProcess) -> None:
    assert urlsplit(service.url).hostname == "127.0.0.1"
    port = urlsplit(service.url).port
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)} - {"127.0.0.1", "127.0.1.1"}
    for address in addresses:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection((address, port), timeout=2).close()


def test_a_route_that_nobody_named_is_closed(stranger: httpx.Client) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert stranger.request(method, "/some/new/route").status_code == 401
