"""Events from a prefix of a real S3 server: each object once, and once more where it is replaced."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from obstore import put
from obstore.store import S3Store

from tests.azure_server import azure
from tests.backend.events import run_event
from tests.backend.intakes.fetched import Fetching
from tests.graph.storage.faulty import way_to
from tests.lake import KEY, SECRET, S3Server, s3

pytestmark = pytest.mark.lake


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder = tmp_path_factory.mktemp("lake") / "s3"
    with s3(folder) as running:
        (folder / "lake").mkdir()
        yield running


class Prefix:
    def __init__(self, server: S3Server, name: str) -> None:
        self._store = S3Store(
            "lake", endpoint=server.endpoint, access_key_id=KEY, secret_access_key=SECRET, client_options={"allow_http": True},
            virtual_hosted_style_request=False, region="us-east-1",
        )  # fmt: skip
        self._name = name

    def put(self, name: str, content: str | bytes) -> None:
        put(self._store, f"{self._name}/{name}", content.encode() if isinstance(content, str) else content)


def lines(*numbers: int) -> str:
    return "\n".join(json.dumps(run_event(number)) for number in numbers)


def ids(*numbers: int) -> list[str]:
    return [run_event(number)["run"]["runId"] for number in numbers]


def fetching(server: S3Server, home: Path, prefix: str) -> Fetching:
    home.mkdir()
    (home / "storage.toml").write_text(server.root("s3://lake", seconds=5))
    stated = f'[[intake]]\nkind = "s3"\nname = "drop"\nurl = "s3a://lake/{prefix}"\nseconds = 0.2\n'
    return Fetching(home, stated, max_body_bytes=20_000)


def test_objects_of_every_form_are_read_once_and_bad_ones_stop_nothing(server: S3Server, tmp_path: Path) -> None:
    prefix = Prefix(server, "forms")
    prefix.put("a/1.jsonl", lines(1, 2) + "\nno JSON\n" + lines(3))
    prefix.put("a/2.ndjson.gz", gzip.compress((lines(4) + "\n").encode()) + gzip.compress(lines(5).encode()))
    prefix.put("3.json", json.dumps([run_event(6), run_event(7)], indent=2))
    prefix.put("4.json.gz", gzip.compress(json.dumps(run_event(8), indent=2).encode()))
    prefix.put("5.gz", gzip.compress(lines(9, 10).encode())[:-20])
    prefix.put("6.gz", b"no gzip")
    prefix.put("7.jsonl", b"")
    prefix.put("8.gz", gzip.compress(b" " * 30_000_000 + b"\n" + lines(11).encode()))  # unpacks to a line that is too long
    prefix.put("9.json", "x" * 40_000)
    with fetching(server, tmp_path / "home", "forms") as fetched:
        fetched.until(lambda: set(ids(*range(1, 9), 11)) <= set(fetched.runs()), fetched.runs)
        fetched.until(lambda: fetched.measured('headwater_intake_lag{intake="drop"}') == 0)
        assert set(fetched.runs()) <= set(ids(*range(1, 12)))
        assert len(fetched.reasons()) >= 5
        assert sum("unpacked" in reason for reason in fetched.reasons()) == 2
        assert fetched.intakes.state == "ok"
        prefix.put("3.json", json.dumps(run_event(20)))
        prefix.put("later.jsonl", lines(21))
        fetched.until(lambda: set(ids(20, 21)) <= set(fetched.runs()))
        read = fetched.measured('headwater_intake_documents_total{intake="drop",outcome="accepted"}')
    with fetched:
        prefix.put("last.jsonl", lines(22))
        fetched.until(lambda: ids(22)[0] in fetched.runs())
        assert fetched.measured('headwater_intake_documents_total{intake="drop",outcome="accepted"}') == read + 1


def test_objects_of_azure_are_read_too(tmp_path: Path) -> None:
    with azure(tmp_path / "azure") as server:
        home = tmp_path / "home"
        home.mkdir()
        (home / "storage.toml").write_text(server.root(seconds=5))
        stated = f'[[intake]]\nkind = "s3"\nname = "drop"\nurl = "{server.url}/events"\nseconds = 0.2\n'
        container = server.container()
        put(container, "events/1.jsonl", lines(1, 2).encode())
        with Fetching(home, stated, max_body_bytes=20_000) as fetched:
            fetched.await_runs(ids(1, 2))
            put(container, "events/2.jsonl.gz", gzip.compress(lines(3).encode()))
            fetched.await_runs(ids(1, 2, 3))
            assert fetched.intakes.state == "ok"


def test_a_prefix_below_no_root_is_told(server: S3Server, tmp_path: Path) -> None:
    with fetching(server, tmp_path / "home", "../other") as fetched:
        fetched.until(lambda: fetched.intakes.state != "ok")


def test_an_object_that_cannot_be_read_holds_up_none_behind_it(server: S3Server, tmp_path: Path) -> None:
    prefix = Prefix(server, "refused")
    prefix.put("0.jsonl", lines(1))
    time.sleep(1.1)  # objects are read by the second in which they were put
    prefix.put("1.jsonl", lines(2))
    with way_to(server.endpoint) as (endpoint, way):
        way.refused = "/refused/0.jsonl"
        with fetching(replace(server, endpoint=endpoint), tmp_path / "home", "refused") as fetched:
            fetched.await_runs(ids(2))
            fetched.until(lambda: "0.jsonl" in fetched.intakes.state)
            assert "jsonl" not in fetched.intakes.waiting, "anybody may ask /readyz"
            way.refused = None
            fetched.await_runs(ids(1, 2))
            fetched.until(lambda: fetched.intakes.state == "ok")


def test_a_name_that_no_request_can_bear_is_told_and_hides_no_other(server: S3Server, tmp_path: Path) -> None:
    prefix, folder = Prefix(server, "named"), server.folder / "lake" / "named"
    prefix.put("0.jsonl", lines(1))
    with fetching(server, tmp_path / "home", "named") as fetched:
        fetched.await_runs(ids(1))
        for name in ("a\x7fb.jsonl", "c\nd.jsonl", "e\x01f.jsonl"):
            (folder / name).write_text(lines(2))
        prefix.put("deep/z.jsonl", lines(3))
        fetched.await_runs(ids(1, 3))
        fetched.until(lambda: "control character" in fetched.intakes.state, lambda: fetched.intakes.state)
        assert "control" not in fetched.intakes.waiting, "anybody may ask /readyz"
        prefix.put("0.jsonl", lines(1, 4))  # one that is replaced is read again
        fetched.await_runs(ids(1, 3, 4))
        assert fetched.measured('headwater_intake_documents_total{intake="drop",outcome="duplicate"}') == 1
        for path in folder.glob("[ace]*"):
            path.unlink()
        fetched.until(lambda: fetched.intakes.state == "ok", lambda: fetched.intakes.state)
