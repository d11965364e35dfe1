"""Reading a document opens nothing else: no address and no file that the document names."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from rdflib import Graph

from headwater.errors import InvalidProvenanceError
from headwater.graph.prov import ProvFormat
from headwater.graph.prov.canonical import canonical_json
from headwater.graph.prov.read import read

_CANARY = "canary-of-a-file"
_NAMES = {"prov": "http://www.w3.org/ns/prov#", "ex": "http://example.org/"}
# rdflib's own parsers, and the package's, use what rdflib means to remove.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class _Server:
    """A server on this machine that counts who comes."""

    def __init__(self) -> None:
        asked: list[str] = []

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                body = json.dumps({"@context": _NAMES}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/ld+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 — the base class's own name
                pass

        self.asked = asked
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[_Server]:
    server = _Server()
    yield server
    server.stop()


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    file = tmp_path / "canary.jsonld"
    file.write_text(json.dumps({"@context": _NAMES | {_CANARY: f"http://example.org/{_CANARY}#"}}), encoding="utf-8")
    return file


def _jsonld(context: object) -> str:
    return json.dumps({"@context": context, "@graph": [{"@type": "Entity", "@id": "ex:e"}]})


def _documents(url: str, file: Path) -> dict[str, tuple[ProvFormat | None, str]]:
    local = file.as_uri()
    jsonld: dict[str, object] = {
        "remote": f"{url}/context.jsonld",
        "file": local,
        "path": str(file),
        "both": [_NAMES, f"{url}/context.jsonld", local],
        "import": {"@version": 1.1, "@import": f"{url}/import.jsonld", **_NAMES},
        "import of a file": {"@version": 1.1, "@import": local, **_NAMES},
        "base": [_NAMES, {"@base": f"{url}/"}, "context.jsonld"],
        "term": _NAMES | {"Entity": {"@id": "prov:Entity", "@context": f"{url}/scoped.jsonld"}},
    }
    xml = (
        '<?xml version="1.0"?>{}<prov:document xmlns:prov="http://www.w3.org/ns/prov#" xmlns:ex="http://example.org/"{}>{}</prov:document>'
    )
    entity = '<prov:entity prov:id="ex:e"><prov:label>{}</prov:label></prov:entity>'
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" parse="text" href="{}"/>'
    schema = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.w3.org/ns/prov# {}/prov.xsd"'
    turtle = (
        "@prefix prov: <http://www.w3.org/ns/prov#> . @prefix ex: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> ."
        " @base <{0}/> . <> owl:imports <{0}/ontology.ttl>, <{1}> . ex:e a prov:Entity ."
    )
    named: dict[str, tuple[ProvFormat | None, str]] = {
        f"JSON-LD, {name}": (ProvFormat.JSONLD, _jsonld(context)) for name, context in jsonld.items()
    }
    return (
        named
        | {f"JSON-LD as it looks, {name}": (None, _jsonld(context)) for name, context in jsonld.items()}
        | {
            "XML, schema": (ProvFormat.XML, xml.format("", schema.format(url), entity.format("a"))),
            "XML, include": (ProvFormat.XML, xml.format("", "", entity.format(include.format(f"{url}/text") + include.format(local)))),
            "XML, style sheet": (ProvFormat.XML, xml.format(f'<?xml-stylesheet href="{url}/style.xsl"?>', "", entity.format("a"))),
            "XML, entity": (ProvFormat.XML, xml.format(f'<!DOCTYPE d [<!ENTITY e SYSTEM "{local}">]>', "", entity.format("&e;"))),
            "XML, DTD": (ProvFormat.XML, xml.format(f'<!DOCTYPE d SYSTEM "{url}/d.dtd">', "", entity.format("a"))),
            "Turtle": (ProvFormat.TURTLE, turtle.format(url, local)),
            "TriG": (ProvFormat.TRIG, turtle.format(url, local)),
        }
    )


_KINDS = sorted(_documents("", Path("/x")))


@pytest.mark.parametrize("kind", _KINDS)
def test_reading_fetches_nothing_that_a_document_names(kind: str, server: _Server, canary: Path) -> None:
    notation, text = _documents(server.url, canary)[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that cannot be resolved
        try:
            told = canonical_json(read(text.encode(), notation), lambda _name, value: value)
        except InvalidProvenanceError as error:
            told = str(error)
    assert server.asked == []
    assert f"{_CANARY}#" not in told


def test_a_reader_that_fetches_would_be_seen(server: _Server, canary: Path) -> None:
    """rdflib's own reader of JSON-LD follows the same documents to the server, and to the file."""
    documents = _documents(server.url, canary)
    Graph().parse(data=documents["JSON-LD, remote"][1], format="json-ld")
    assert server.asked == ["/context.jsonld"]
    read_in = Graph().parse(data=documents["JSON-LD, file"][1], format="json-ld")
    assert any("example.org" in str(subject) for subject in read_in.subjects())
