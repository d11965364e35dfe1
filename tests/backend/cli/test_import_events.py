"""`headwater import openlineage`: files of events, as transports and other backends write them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.cli import event_files
from headwater.errors import InvalidInputError
from tests.backend.cli.command import headwater
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess


def _report(*arguments: str, code: int = 0, **environment: str) -> dict[str, Any]:
    return dict(json.loads(headwater("import", "openlineage", *arguments, code=code, **environment).stdout))


def _events(count: int) -> list[dict[str, Any]]:
    return [run_event(number) for number in range(count)]


def _written(path: Path, text: str) -> str:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lines.jsonl", "\n\n".join(json.dumps(event) for event in _events(3)) + "\n"),
        ("lines.jsonl.gz", "\n".join(json.dumps(event) for event in _events(3))),
        ("array.json", json.dumps(_events(3), indent=2)),
        ("beneath.json", "\n".join(json.dumps(event, indent=2) for event in _events(3))),
    ],
)
def test_events_are_taken_once_whatever_the_file_looks_like(tmp_path: Path, name: str, text: str) -> None:
    home = ("--home", str(tmp_path / "home"))
    file = _written(tmp_path / name, text)
    assert _report(file, *home) == {"accepted": 3, "duplicates": 0, "rejected": 0}
    assert _report(file, *home) == {"accepted": 3, "duplicates": 3, "rejected": 0}
    shown = headwater("lineage", "/out/1", *home).stdout
    assert "/in/1" in shown


def test_one_event_over_many_lines_is_one_event(tmp_path: Path) -> None:
    file = _written(tmp_path / "one.json", json.dumps(run_event(1), indent=4))
    assert _report(file, "--home", str(tmp_path / "home")) == {"accepted": 1, "duplicates": 0, "rejected": 0}


def test_what_is_refused_is_named_by_its_line_and_the_rest_is_taken(tmp_path: Path) -> None:
    lines = [json.dumps(run_event(1)), "{torn", json.dumps({"run": 1}), json.dumps(run_event(2))]
    file = _written(tmp_path / "some.jsonl", "\n".join(lines))
    result = headwater("import", "openlineage", file, "--home", str(tmp_path / "home"), code=1)
    assert json.loads(result.stdout) == {"accepted": 2, "duplicates": 0, "rejected": 2}
    told = result.stderr.replace("\n", "")
    assert "some.jsonl:2" in told
    assert "some.jsonl:3" in told


def test_a_long_file_goes_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "_EVENTS", 7)
    path = Path(_written(tmp_path / "many.jsonl", "\n".join(json.dumps(event) for event in _events(20))))
    batches = list(event_files.event_batches(path))
    assert [len(json.loads(batch.body)) for batch in batches] == [7, 7, 6]
    assert [place for batch in batches for place in batch.places] == [f"{path}:{number}" for number in range(1, 21)]


def test_a_large_array_goes_in_batches_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "_EVENTS", 7)
    events = [f'{{"n": {number}, "exact": 1.{"0" * 30}, "text": "ü\\u00fc ] , ["}}' for number in range(20)]
    path = Path(_written(tmp_path / "many.json", "\n[\n" + ",\n ".join(events) + "\n]\n"))
    batches = list(event_files.event_batches(path))
    assert b",".join(batch.body[1:-1] for batch in batches).decode() == ",".join(events)
    assert [place for batch in batches for place in batch.places] == [f"{path}:{number}" for number in range(3, 23)]


@pytest.mark.parametrize("text", ["[1, 2", "[1 2]", "[1, 2] 3", "[,]", '{"a": 1} {"b"'])
def test_what_is_no_json_throughout_is_read_by_lines(tmp_path: Path, text: str) -> None:
    path = Path(_written(tmp_path / "odd.json", text))
    assert [(batch.body, list(batch.places)) for batch in event_files.event_batches(path)] == [(text.encode(), [f"{path}:1"])]


@pytest.mark.slow
def test_a_service_is_asked_where_one_is_named(tmp_path: Path) -> None:
    file = _written(tmp_path / "events.jsonl", "\n".join([*(json.dumps(event) for event in _events(3)), "{}"]))
    with ServiceProcess(tmp_path / "home") as service:
        environment = {"HEADWATER_URL": service.url, "HEADWATER_API_KEY": service.home.key()}
        assert _report(file, code=1, **environment) == {"accepted": 3, "duplicates": 0, "rejected": 1}
        with service.client() as client:
            answer = client.post("/api/v1/lineage/batch", json=_events(4))
            assert (answer.status_code, answer.json()["accepted"], answer.json()["duplicates"]) == (201, 4, 3)


@pytest.mark.parametrize(
    ("name", "content"),
    [("torn.jsonl.gz", gzip.compress(b"{}" * 1000, mtime=0)[:-9]), ("no.gz", b"{}"), ("long", b"x" * 200)],
    ids=["torn", "not-gzip", "long"],  # never the bytes: gzip's hold the time, and each worker must collect the same names
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes) -> None:
    monkeypatch.setattr(event_files, "_MOST", 100)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=name):
        list(event_files.event_batches(tmp_path / name))
    with pytest.raises(InvalidInputError, match="nowhere"):
        list(event_files.event_batches(tmp_path / "nowhere"))
