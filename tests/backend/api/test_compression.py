"""Answers are compressed for clients that accept it, unless they hold a secret."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from headwater.backend.api.compression import accepts
from headwater.backend.app import create_app
from headwater.backend.home.settings import load_settings

_SCHEMA = "{ __schema { types { name fields { name description } } } }"
_KEY = (
    'mutation { createKey(name: "a", roles: ["viewer"]) { text: secret key { name '
    + " ".join(f"name{number}: name" for number in range(90))
    + " } } }"
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("compressed")
    page = folder / "page"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text("the page")
    (page / "assets" / "a.js").write_text("script " * 1_000)
    (page / "assets" / "a.js.gz").write_bytes(gzip.compress(b"packed as gzip"))
    (page / "assets" / "b.js").write_text("other " * 1_000)
    settings = load_settings(home=folder / "home")
    with TestClient(create_app(settings, built_page=page), base_url="http://127.0.0.1:8765") as opened:
        opened.headers["authorization"] = f"Bearer {settings.key()}"
        yield opened


def asked(client: TestClient, document: str, encoding: str) -> tuple[str | None, int, str]:
    """The encoding of an answer, its length as sent, and its text."""
    answer = client.post("/graphql", json={"query": document}, headers={"accept-encoding": encoding})
    assert answer.status_code == 200
    return answer.headers.get("content-encoding"), int(answer.headers["content-length"]), answer.text


def test_a_large_answer_is_a_fraction_of_its_size_and_the_same(client: TestClient) -> None:
    plain, size, text = asked(client, _SCHEMA, "identity")
    packed, less, same = asked(client, _SCHEMA, "gzip, br")
    assert (plain, packed) == (None, "gzip")
    assert json.loads(text) == json.loads(same)
    assert less < size / 4


@pytest.mark.parametrize("encoding", ["", "br", "gzip;q=0", "gzip; q=0.0", "notgzip"])
def test_a_client_that_does_not_accept_gzip_gets_none(client: TestClient, encoding: str) -> None:
    assert asked(client, _SCHEMA, encoding)[0] is None


def test_a_small_answer_is_sent_as_it_is(client: TestClient) -> None:
    assert asked(client, "{ service { version } }", "gzip")[0] is None


def test_an_answer_with_a_new_key_is_never_compressed(client: TestClient) -> None:
    encoding, size, text = asked(client, _KEY, "gzip")
    assert json.loads(text)["data"]["createKey"]["text"]
    assert size > 1_000
    assert encoding is None


def test_a_file_of_the_page_is_sent_as_the_build_has_packed_it(client: TestClient) -> None:
    packed = client.get("/assets/a.js", headers={"accept-encoding": "br, gzip"})
    assert (packed.text, packed.headers["content-encoding"]) == ("packed as gzip", "gzip")
    assert packed.headers["content-type"].startswith("text/javascript")
    assert (packed.headers["vary"].lower(), "immutable" in packed.headers["cache-control"]) == ("accept-encoding", True)
    plain = client.get("/assets/a.js", headers={"accept-encoding": "identity"})
    assert (plain.text[:6], plain.headers.get("content-encoding")) == ("script", None)
    other = client.get("/assets/b.js", headers={"accept-encoding": "gzip"})
    assert (other.text[:5], other.headers["content-encoding"]) == ("other", "gzip")


def test_an_encoding_is_accepted_by_its_name_and_weight() -> None:
    for stated, is_so in (("gzip", True), ("br;q=1.0, GZIP;q=0.5", True), ("gzip;q=0", False), ("x-gzip", False), ("*", False)):
        assert accepts({"accept-encoding": stated}, "gzip") is is_so
