"""Accepted and refused tokens. Keys and tokens are made here; a server of two files serves the issuer's documents over HTTP."""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from headwater.backend.access.people.grants import Rules
from headwater.backend.access.people.issuer import Issuer, TokenError, together
from headwater.errors import UnavailableError

OURS = ("headwater",)


class Documents:
    """The issuer's documents, with a count of requests for its keys."""

    def __init__(self) -> None:
        self.asked = 0
        self.keys: dict[str, Any] = {}
        documents = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/keys":
                    documents.asked += 1
                found = {"/keys": documents.public, "/.well-known/openid-configuration": documents.document}.get(self.path)
                content = json.dumps(found() if found else {}).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.stated: dict[str, Any] = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def document(self) -> dict[str, Any]:
        return self.stated

    def public(self) -> dict[str, Any]:
        listed = []
        for name, key in self.keys.items():
            algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
            listed.append({**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": name, "use": "sig"})
        return {"keys": listed}


@pytest.fixture(scope="module")
def keys() -> dict[str, Any]:
    return {"r": rsa.generate_private_key(65537, 2048), "e": ec.generate_private_key(ec.SECP256R1())}


@pytest.fixture
def documents(keys: dict[str, Any]) -> Iterator[Documents]:
    served = Documents()
    served.keys = dict(keys)
    yield served
    served.server.shutdown()
    served.server.server_close()


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def issuer(documents: Documents, clock: Clock) -> Issuer:
    return Issuer(Rules(documents.url, "headwater", OURS, (), "d"), clock=clock)


def token(documents: Documents, key: Any, *, kid: str = "r", alg: str = "RS256", head: dict[str, Any] | None = None, **claims: Any) -> str:
    now = int(time.time())
    stated = {"iss": documents.url, "aud": "headwater", "sub": "ann", "iat": now, "exp": now + 300, **claims}
    stated = {name: value for name, value in stated.items() if value is not ...}
    return jwt.encode(stated, key, algorithm=alg, headers={"kid": kid, **(head or {})})


def test_tokens_of_its_keys_are_believed(issuer: Issuer, documents: Documents, keys: dict[str, Any]) -> None:
    for shown in (
        token(documents, keys["r"]), token(documents, keys["r"], alg="PS384"), token(documents, keys["e"], kid="e", alg="ES256"),
        token(documents, keys["r"], aud=["other", "headwater"]), token(documents, keys["r"], exp=int(time.time()) - 30),
    ):  # fmt: skip
        if issuer.wants_keys(shown):
            issuer.learn()
        assert issuer.claims(shown, audiences=OURS)["sub"] == "ann"
    assert documents.asked == 1


_BAD: dict[str, Callable[[Documents, dict[str, Any]], str]] = {
    "expired": lambda d, k: token(d, k["r"], exp=int(time.time()) - 120),
    "without an end": lambda d, k: token(d, k["r"], exp=...),
    "without a beginning": lambda d, k: token(d, k["r"], iat=...),
    "not yet": lambda d, k: token(d, k["r"], nbf=int(time.time()) + 120),
    "of tomorrow": lambda d, k: token(d, k["r"], iat=int(time.time()) + 86400),
    "for another": lambda d, k: token(d, k["r"], aud="grafana"),
    "for nobody": lambda d, k: token(d, k["r"], aud=...),
    "of another issuer": lambda d, k: token(d, k["r"], iss="https://login.example.com"),
    "of the issuer with a slash": lambda d, k: token(d, k["r"], iss=d.url + "/"),
    "of no subject": lambda d, k: token(d, k["r"], sub=...),
    "of an empty subject": lambda d, k: token(d, k["r"], sub=""),
    "of another key": lambda d, k: token(d, rsa.generate_private_key(65537, 2048)),
    "of a key unknown": lambda d, k: token(d, k["r"], kid="other"),
    "of a key of another kind": lambda d, k: token(d, k["e"], kid="r", alg="ES256"),
    "with a condition": lambda d, k: token(d, k["r"], head={"crit": ["exp"], "exp": 1}),
    "not signed": lambda d, k: token(d, None, alg="none"),
    "signed with the public key as a secret": lambda d, k: _confused(d, k["r"]),
    "with its own key": lambda d, k: token(d, k["e"], kid="x", alg="ES256", head={"jku": f"{d.url}/keys"}),
    "cut": lambda d, k: token(d, k["r"])[:-10],
    "no token": lambda d, k: "eyJ.x.y",
    "nested": lambda d, k: jwt.utils.base64url_encode(b'{"a":' * 20_000).decode() + ".x.y",
}


def _confused(documents: Documents, key: rsa.RSAPrivateKey) -> str:
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head, body, _ = token(documents, key).split(".")
    head = jwt.utils.base64url_encode(json.dumps({"alg": "HS256", "kid": "r", "typ": "JWT"}).encode()).decode()
    return f"{head}.{body}.{jwt.utils.base64url_encode(hmac.digest(public, f'{head}.{body}'.encode(), sha256)).decode()}"


@pytest.mark.parametrize("kind", _BAD)
def test_others_are_not(issuer: Issuer, documents: Documents, keys: dict[str, Any], kind: str) -> None:
    issuer.learn()
    with pytest.raises(TokenError):
        issuer.claims(_BAD[kind](documents, keys), audiences=OURS)


def test_a_new_key_is_asked_for_and_made_up_ones_are_not_often(
    issuer: Issuer, documents: Documents, keys: dict[str, Any], clock: Clock
) -> None:
    issuer.learn()
    made_up = token(documents, keys["r"], kid="made-up")
    for _ in range(100):
        if issuer.wants_keys(made_up):
            issuer.learn()
    assert documents.asked == 1
    clock.now += 31
    documents.keys["new"] = documents.keys.pop("r")
    shown = token(documents, keys["r"], kid="new")
    assert issuer.wants_keys(shown)
    issuer.learn()
    assert issuer.claims(shown, audiences=OURS)["sub"] == "ann"
    with pytest.raises(TokenError):
        issuer.claims(token(documents, keys["r"]), audiences=OURS)  # of the key that was withdrawn


def test_an_issuer_that_is_away_is_borne_for_a_day(issuer: Issuer, documents: Documents, keys: dict[str, Any], clock: Clock) -> None:
    with pytest.raises(UnavailableError, match="was not asked yet"):
        issuer.claims(token(documents, keys["r"]), audiences=OURS)
    issuer.learn()
    documents.server.shutdown()
    documents.server.server_close()
    clock.now += 3600
    issuer.learn()
    assert issuer.claims(token(documents, keys["r"]), audiences=OURS)["sub"] == "ann"
    clock.now += 24 * 3600
    issuer.learn()
    with pytest.raises(UnavailableError, match="cannot be asked"):
        issuer.claims(token(documents, keys["r"]), audiences=OURS)


@pytest.mark.parametrize(
    ("claims", "more", "verified"),
    [
        ({"email": "a@x"}, {"email": "a@x", "email_verified": True}, None),
        ({"email": "a@x", "email_verified": True}, {"email_verified": False}, True),
        ({}, {"email": "a@x", "email_verified": True}, True),
        ({"email_verified": True}, {"email": "a@x"}, None),
    ],
)
def test_an_address_is_verified_by_who_tells_it(claims: dict[str, Any], more: dict[str, Any], verified: bool | None) -> None:
    assert together({"sub": "1", **claims}, {"sub": "1", **more})["email_verified"] is verified


@pytest.mark.parametrize(
    "stated",
    [{"issuer": "https://other"}, {"jwks_uri": "http://keys.example.com/"}, {"jwks_uri": 7}, {"jwks_uri": "file:///etc/passwd"}],
)
def test_an_issuer_that_says_odd_things_is_not_believed(
    issuer: Issuer, documents: Documents, keys: dict[str, Any], stated: dict[str, Any]
) -> None:
    documents.stated |= stated
    issuer.learn()
    with pytest.raises(UnavailableError):
        issuer.claims(token(documents, keys["r"]), audiences=OURS)


@pytest.mark.parametrize(
    ("stated", "signed_out", "address"),
    [
        ({}, None, None),
        ({"end_session_endpoint": "https://login/end"}, None, "https://login/end?client_id=headwater"),
        (
            {"end_session_endpoint": "https://login/end?a=b"}, "https://here/?c=d&e",
            "https://login/end?a=b&client_id=headwater&post_logout_redirect_uri=https%3A%2F%2Fhere%2F%3Fc%3Dd%26e",
        ),
    ],
)  # fmt: skip
def test_a_browser_signs_out_where_the_issuer_says(
    documents: Documents, stated: dict[str, Any], signed_out: str | None, address: str | None
) -> None:
    documents.stated |= {"authorization_endpoint": "https://login/auth", **stated}
    assert Issuer(Rules(documents.url, "headwater", OURS, (), "d", signed_out=signed_out)).sign_out_address() == address


def test_nobody_is_sent_to_sign_out_at_an_odd_place(documents: Documents) -> None:
    documents.stated |= {"authorization_endpoint": "https://login/auth", "end_session_endpoint": "javascript:alert(1)"}
    with pytest.raises(UnavailableError):
        Issuer(Rules(documents.url, "headwater", OURS, (), "d")).sign_out_address()
