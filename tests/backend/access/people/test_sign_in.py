"""People sign in at a real issuer and come back with a session; programs show a token of it."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from html import unescape
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from tests.backend.service import ServiceProcess
from tests.lake import issuer

pytestmark = [pytest.mark.lake, pytest.mark.timeout(600)]

_VERSION = {"query": "{ service { version } }"}
_PASSWORD = "very secure"


def _user(name: str, *, verified: bool = True) -> dict[str, object]:
    return {
        "ID": f"id-{name}", "Username": name, "Password": _PASSWORD, "FirstName": name, "LastName": "<b>Smith</b>",
        "Email": f"{name}@example.com", "EmailVerified": verified, "PreferredLanguage": "en",
    }  # fmt: skip


@dataclass(frozen=True)
class _Place:
    service: ServiceProcess
    issuer: str

    def rules(self, *, client: str = "native", audiences: str = "", secret: bool = False) -> None:
        stated = f'issuer = "{self.issuer}"\nclient = "{client}"\n{audiences}\n'
        if secret:
            (self.service.home.path / "oidc-secret").write_text("secret\n")
            stated += 'secret_file = "oidc-secret"\n'
        for claim, value, role, tenant in (
            ("email", "ann@example.com", "analyst", "default"), ("email", "eve@example.com", "engineer", "default"),
            ("sub", "id-bob", "auditor", "sales"),
        ):  # fmt: skip
            stated += f'[[grant]]\nclaim = "{claim}"\nvalue = "{value}"\nroles = ["{role}"]\ntenant = "{tenant}"\n'
        self.service.home.people.write_text(stated)

    def browser(self) -> httpx.Client:
        return httpx.Client(timeout=60, trust_env=False)

    def begin(self, browser: httpx.Client, name: str, wanted: str = "/?dataset=report") -> str:
        """Where the issuer sends a browser back to, in which somebody signs in."""
        sent = browser.get(f"{self.service.url}/login", params={"next": wanted}, headers={"Sec-Fetch-Site": "none"})
        assert sent.status_code == 303, sent.text
        return self.sign_in(browser, sent.headers["Location"], name)

    def sign_in(self, browser: httpx.Client, address: str, name: str) -> str:
        """Fill in the issuer's form; where it sends the browser."""
        asked = browser.get(address, follow_redirects=True)
        found = re.search(r'name="id" value="([^"]+)"', asked.text)
        assert found, asked.text
        answer = browser.post(str(asked.url), data={"id": unescape(found[1]), "username": name, "password": _PASSWORD})
        while not answer.headers["Location"].startswith(self.service.url):
            answer = browser.get(str(answer.url.join(answer.headers["Location"])))
        back: str = answer.headers["Location"]
        return back

    def back(self, browser: httpx.Client, address: str) -> httpx.Response:
        return browser.get(address, headers={"Sec-Fetch-Site": "cross-site"})  # as a browser calls it after a redirect


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Place]:
    folder = tmp_path_factory.mktemp("people")
    users = {f"id-{name}": _user(name, verified=name != "eve") for name in ("ann", "bob", "eve", "nobody")}
    with ServiceProcess(folder / "home") as service:
        back = f"{service.url}/login/callback"
        with issuer(folder, users=json.dumps(users), redirects=[back]) as address:
            yield _Place(service, address)


@pytest.mark.parametrize(("client", "secret"), [("native", False), ("web", True)])
def test_somebody_signs_in_and_has_what_is_granted(place: _Place, client: str, secret: bool) -> None:
    place.rules(client=client, secret=secret)
    with place.browser() as browser:
        stranger = browser.get(place.service.url)
        assert (stranger.status_code, "/login?next=%2F" in stranger.text) == (401, True)
        done = place.back(browser, place.begin(browser, "ann"))
        assert done.status_code == 200, done.text
        assert 'content="0;url=/?dataset=report"' in done.text
        session = next(cookie for cookie in done.headers.get_list("Set-Cookie") if "_login" not in cookie)
        assert {"HttpOnly", "SameSite=Strict", "Max-Age=28800"} <= set(session.split("; "))
        may = browser.get(f"{place.service.url}/api/v1/session").json()
        assert may["scopes"] == ["export", "read", "records"]
        assert "errors" not in browser.post(f"{place.service.url}/graphql", json=_VERSION).json()
        assert browser.post(f"{place.service.url}/api/v1/declarations", json={}).status_code == 403
        lines = [json.loads(line) for line in place.service.home.audit.read_text().splitlines()]
        opened = [line for line in lines if line["what"] == "session.open"][-1]
        assert opened["who"].startswith("session:person:ann@example.com:")
        if secret:
            (place.service.home.path / "oidc-secret").write_text("another\n")
        else:
            place.service.home.people.write_text(place.service.home.people.read_text() + "# changed\n")
        assert browser.post(f"{place.service.url}/graphql", json=_VERSION).status_code == 401, "sessions end with the rules"


def test_who_signs_out_is_known_no_more_with_any_copy_of_his_session(place: _Place) -> None:
    place.rules()
    with place.browser() as browser, place.browser() as thief, place.browser() as other:
        for one in (browser, other):
            assert place.back(one, place.begin(one, "ann")).status_code == 200
        thief.cookies = httpx.Cookies(dict(browser.cookies.items()))
        assert "errors" not in thief.post(f"{place.service.url}/graphql", json=_VERSION).json()
        done = browser.delete(f"{place.service.url}/api/v1/session")
        assert done.status_code == 200, done.text
        away = done.json()["next"]
        assert away.startswith(place.issuer)
        assert "client_id=native" in away
        assert not [name for name in browser.cookies if not name.endswith("_login")], "the browser forgets it"
        assert thief.post(f"{place.service.url}/graphql", json=_VERSION).status_code == 401
        assert "errors" not in other.post(f"{place.service.url}/graphql", json=_VERSION).json(), "another session of hers lives on"
        assert browser.get(away).status_code < 400, "the issuer knows the address and the client"
        lines = [json.loads(line) for line in place.service.home.audit.read_text().splitlines()]
        closed = [line for line in lines if line["what"] == "session.close"][-1]
        assert closed["who"].startswith("session:person:ann@example.com:")


@pytest.mark.parametrize("name", ["nobody", "eve"])
def test_who_has_no_grant_gets_no_session(place: _Place, name: str) -> None:
    place.rules()
    with place.browser() as browser:
        done = place.back(browser, place.begin(browser, name))
        assert (done.status_code, "may nothing here" in done.text) == (403, True)
        assert "<b>Smith" not in done.text
        assert browser.post(f"{place.service.url}/graphql", json=_VERSION).status_code == 401


def test_a_sign_in_ends_once_and_in_the_browser_where_it_began(place: _Place) -> None:
    place.rules()
    with place.browser() as ours, place.browser() as theirs:
        address = place.begin(ours, "ann")
        assert place.back(theirs, address).status_code == 400, "a link of an attacker's own sign-in"
        place.begin(theirs, "bob")
        assert place.back(theirs, address).status_code == 400
        query = parse_qs(urlsplit(address).query)
        base = f"{place.service.url}/login/callback"
        assert ours.get(base, params={"code": query["code"][0], "state": "x"}).status_code == 400
        assert ours.get(base, params={"code": "made up", "state": query["state"][0]}).status_code == 401
        assert ours.get(base, params={"error": "<script>", "state": query["state"][0]}).text.count("<script>") == 0
        assert place.back(ours, address).status_code == 200
        assert place.back(ours, address).status_code == 400, "the cookie of the sign-in is gone"


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\evil.example", "/\tx", "/" + "x" * 3000, '/"><script>'])
def test_nobody_is_led_to_another_site(place: _Place, wanted: str) -> None:
    place.rules()
    with place.browser() as browser:
        done = place.back(browser, place.begin(browser, "ann", wanted))
        assert re.findall(r"url=([^\"]*)", done.text) == ["/&quot;&gt;&lt;script&gt;" if "script" in wanted else "/"]


def test_a_program_shows_a_token(place: _Place) -> None:
    place.rules(client="web", audiences='audiences = ["native"]', secret=True)
    token = _token(place, "bob")
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=place.service.url, headers=headers, timeout=60, trust_env=False) as client:
        assert "errors" not in client.post("/graphql", json=_VERSION).json()
        lines = [json.loads(line) for line in client.get("/api/v1/audit").raise_for_status().text.splitlines()]
        assert {line["tenant"] for line in lines} <= {"sales"}
        assert client.post("/api/v1/lineage", json={}).status_code == 403
        assert client.post("/api/v1/tickets", json={}).status_code == 403
        place.rules(client="web", secret=True)
        refused = client.post("/graphql", json=_VERSION)
        assert (refused.status_code, "Audience" in refused.text or "audience" in refused.text) == (401, True)
        place.service.home.people.write_text("issuer = 7")
        broken = client.post("/graphql", json=_VERSION)
        assert (broken.status_code, "people.toml" in broken.text) == (503, False), "the file is the operator's affair"
        place.service.home.people.unlink()
        assert client.post("/graphql", json=_VERSION).status_code == 401


def _token(place: _Place, name: str) -> str:
    """An id token that the issuer gave to the client `native`, as a program would get one."""
    verifier = "v" * 60
    back = f"{place.service.url}/login/callback"
    query = {
        "response_type": "code", "client_id": "native", "redirect_uri": back, "scope": "openid", "state": "s", "nonce": "n",
        "code_challenge": urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("="), "code_challenge_method": "S256",
    }  # fmt: skip
    with place.browser() as browser:
        known = browser.get(f"{place.issuer}.well-known/openid-configuration").json()
        address = place.sign_in(browser, f"{known['authorization_endpoint']}?{urlencode(query)}", name)
        code = parse_qs(urlsplit(address).query)["code"][0]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": verifier, "client_id": "native"}
        token: str = browser.post(known["token_endpoint"], data=form).raise_for_status().json()["id_token"]
        return token
