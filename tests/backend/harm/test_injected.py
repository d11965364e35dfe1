"""A service under texts made to be taken for more than text, by every way in: none has an effect.

No file is made, no forbidden file is read, no statement runs, no header is added, nobody is called, no markup is written as
markup, no formula of a spreadsheet begins a cell, and no printed or logged text controls a terminal.
"""

from __future__ import annotations

import csv
import io
import json
import os
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from xml.etree import ElementTree as ET

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from headwater.backend.cli.main import app
from tests.backend.events import run_event
from tests.backend.harm.bodies import Harm
from tests.backend.harm.injected import NAMESPACE, SOURCE, asking, writing
from tests.backend.harm.payloads import Targets, payloads
from tests.backend.service import ServiceProcess

_SECRET = "the-lines-of-a-file-that-nobody-may-read"
_TURNS = 1 if "HEADWATER_ROUNDS" in os.environ else 3  # how many of the ways of asking a text goes by: all, or every third
_PLANTED = 7  # a run that is there before, and must be there after


class _Listener(Thread):
    """Counts who calls."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.calls: list[bytes] = []
        self.start()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(1)
                try:
                    self.calls.append(connection.recv(200))
                except OSError:
                    self.calls.append(b"")

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a file appears only where a payload made it."""
    folder = tmp_path_factory.mktemp("around")
    (folder / "secret").write_text(_SECRET)
    return folder


@pytest.fixture(scope="module")
def listener() -> Iterator[_Listener]:
    with closing(_Listener()) as listener:
        yield listener


@pytest.fixture(scope="module")
def texts(around: Path, listener: _Listener) -> dict[str, str]:
    return payloads(Targets(str(around / "made"), str(around / "secret"), listener.address))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a dataset with a record."""
    folder = tmp_path_factory.mktemp("data")
    pq.write_table(pa.table({"origin": ["EWR"], "wind": [1.0]}), folder / "part-0.parquet")
    return str(folder)


@pytest.fixture(scope="module")
def service(dataset: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    environment = {"HEADWATER_DATA_ROOTS": json.dumps([dataset]), "HEADWATER_LOG_FORMAT": "console"}
    with ServiceProcess(tmp_path_factory.mktemp("home"), **environment) as service, service.client() as client:
        events = [run_event(_PLANTED), run_event(1, inputs=[], outputs=[{"namespace": "file", "name": dataset}])]
        assert client.post("/api/v1/lineage", json=events).status_code == 201
        service.settled()
        yield service


def _effect(response: httpx.Response) -> str:
    """The effect that an answer shows, or ""."""
    if response.status_code >= 500 and response.status_code != 503:
        return f"a fault: {response.status_code} {response.text[:200]}"
    if "InternalError" in response.text:
        return f"a fault: {response.text[:200]}"
    if _SECRET in response.text or _SECRET in str(response.headers):
        return "a file was read"
    if "x-injected" in response.headers or "injected=1" in str(response.headers):
        return f"a header was added: {response.headers}"
    kind = response.headers.get("content-type", "")
    if "html" in kind and any(mark in response.text for mark in ("<script>alert", "<img src=x", "<svg/onload")):
        return f"markup in a page: {response.text[:200]}"
    if response.is_redirect and httpx.URL(response.headers["location"]).host:
        return f"sent elsewhere: {response.headers['location']}"
    if "json" in kind and kind != "application/x-ndjson":
        json.loads(response.text)
    if "xml" in kind and any("}" not in element.tag for element in ET.fromstring(response.content).iter()):
        return "an element that is none of PROV's"
    return ""


def _send(client: httpx.Client, harm: Harm) -> httpx.Response:
    sent = {name.encode(): value.strip().encode("latin-1", "replace") for name, value in harm.headers.items()}
    headers = {name: value for name, value in sent.items() if not set(value) & set(b"\r\n\0")}  # no client sends others
    return client.request(harm.method, harm.path, content=harm.body or None, headers=headers)


@pytest.mark.slow
def test_no_text_is_taken_for_more_than_text(
    service: ServiceProcess, dataset: str, texts: dict[str, str], around: Path, listener: _Listener
) -> None:
    wrong, statuses = [], Counter[int]()
    with service.client() as client:
        for group in (writing(texts), asking(texts, dataset, turns=_TURNS)):
            for harm in group:
                response = _send(client, harm)
                statuses[response.status_code] += 1
                if effect := _effect(response):
                    wrong.append(f"{harm.name}: {effect}")
            service.settled()
        planted = client.get("/api/v1/descriptions", params={"node": "dataset:file:/out/0"})
        assert planted.status_code == 200, "a statement took it out of the graph"
    assert not wrong, f"{len(wrong)} of {statuses.total()}:\n" + "\n".join(wrong[:40])
    assert statuses.total() >= 1_000
    assert statuses[201] >= 2 * len(texts), f"few of the texts were taken at all: {statuses}"
    print(statuses)  # noqa: T201 - for whoever asks with -s
    assert listener.calls == []
    assert sorted(path.name for path in around.iterdir()) == ["secret"], "a file was made"
    forged = [line for line in service.log.read_text().splitlines() if line.startswith(("X-Injected", "Set-Cookie", "touch ", "HTTP/1.1"))]
    assert not forged, "a line of the log was made"
    assert not set(service.log.read_text()) & set("\x1b\x9b\x07"), "what is written to the log controls a terminal"


def _printed(service: ServiceProcess, monkeypatch: pytest.MonkeyPatch, *command: str) -> str:
    monkeypatch.setenv("HEADWATER_URL", service.url)
    monkeypatch.setenv("HEADWATER_API_KEY", service.home.key())
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def stated(service: ServiceProcess, texts: dict[str, str]) -> None:
    """Datasets and jobs that are called as the texts."""
    with service.client() as client:
        for harm in writing(texts):
            if harm.name.endswith("in events"):
                _send(client, harm)
    service.settled()


@pytest.mark.usefixtures("stated")
def test_no_cell_of_a_csv_begins_a_formula(service: ServiceProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("impact", "lineage"):
        printed = _printed(service, monkeypatch, command, f"dataset:{NAMESPACE}:{SOURCE}", "--format", "csv")
        cells = [cell for row in csv.reader(io.StringIO(printed, newline="")) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]
        assert "'=cmd|' /C calc'!A0" in cells


@pytest.mark.usefixtures("stated")
def test_no_name_controls_a_terminal_or_is_taken_for_a_style(service: ServiceProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    for command in (["impact"], ["lineage", "--format", "table"], ["lineage", "--format", "tree"]):
        printed = _printed(service, monkeypatch, command[0], f"dataset:{NAMESPACE}:{SOURCE}", *command[1:])
        assert not set(printed) & set("\x1b\x9b\x07\x08"), command
        assert "[bold]x[/nothing]" in printed
        assert "\\x1b]0;title" in printed
