"""The protocol under the client: its manifests fulfil the schema, hostile ones are refused with the field, and none leads to a file."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

from headwater.capture import Session
from headwater.capture.encode import segment
from headwater.errors import InvalidCaptureError
from headwater.graph.associations import Manifest
from headwater.graph.associations.segment import Segment
from headwater.graph.associations.writer import segment as plain_segment
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.records.decode import decode
from tests.capture.captured import places, spooled, traced


@pytest.fixture
def manifest(tmp_path: Path) -> dict[str, Any]:
    """A manifest of a copy between ranges, with the spool's folder of its segments as `folder`."""
    with Session("etl", home=tmp_path / "home") as session:
        (tmp_path / "in").write_bytes(b"0123456789")
        source, target = session.bytes(tmp_path / "in"), session.bytes(tmp_path / "out")
        actor = session.register("copy", "copier")
        for offset in range(0, 10, 5):
            actor.capture(source.at(offset, 5), target.at(offset, 5))
        (tmp_path / "out").write_bytes(b"0123456789")
        actor.commit()
    (found,) = spooled(tmp_path / "home").manifests
    return found


def test_what_the_client_sends_fulfils_the_schema(root: Path, tmp_path: Path, manifest: dict[str, Any]):
    schema = json.loads((root / "docs" / "reference" / "actor-capture.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(manifest)] == []
    with Session("other", home=tmp_path / "other") as session:
        actor = session.register("many", "many")
        table = session.table("keys")
        for place in range(3):
            actor.capture(session.stream("in")[place], table[f"k{place}"])
            actor.capture(table[place], session.stream("out")[place])
        actor.commit()
    found = spooled(tmp_path / "other").manifests
    assert len(found) == 2
    assert [error.message for each in found for error in validator.iter_errors(each)] == []
    assert [error.validator for error in validator.iter_errors({**manifest, "format": 9})] == ["const"]


@pytest.mark.parametrize(
    ("place", "length", "says"),
    [(-1, 1, "place below 0"), (1 << 40, 1, "place below 0 or above"), (0, -5, "length below 0"), (0, 1 << 62, "length below 0 or above")],
)
@pytest.mark.parametrize("kind", ["sink", "extent"])
def test_places_and_lengths_that_cannot_be_are_refused(
    tmp_path: Path, manifest: dict[str, Any], kind: str, place: int, length: int, says: str
):
    boundary = next(entry["boundary"] for entry in manifest["boundaries"] if entry["kind"] == kind)
    if kind == "extent" and place > 0:
        place = -(1 << 62)
    with pytest.raises(InvalidCaptureError, match=says):
        _publish(tmp_path, manifest, boundary, place, length)


def _publish(folder: Path, manifest: dict[str, Any], boundary: int, place: int, length: int) -> None:
    """Keep a capture in which the first row of a boundary was replaced."""
    store = AssociationStore(folder / "store", sources=DataRoots.of([]))
    entries = []
    for entry in manifest["segments"]:
        data = (next((folder / "home" / "spool").glob("*/segments")) / manifest["capture"] / entry["name"]).read_bytes()
        if entry["boundary"] == boundary:
            opened = Segment.open(entry["name"], data)
            columns = [column.tolist() for column in decode(opened)]
            columns[0][0], columns[-1][0] = place, length
            data = plain_segment(columns, opened.footer.to_json())
        entries.append({**entry, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
        store.stage_segment("default", manifest["capture"], entry["name"], data)
    store.publish("default", Manifest.from_json({**manifest, "segments": entries}))


def test_a_path_that_a_stranger_names_is_not_read(tmp_path: Path, manifest: dict[str, Any]):
    """A client may name any file of the service's machine; nothing of it is in an answer, not even whether it is there."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the password\n")
    home = tmp_path / "stranger"
    status = secret.stat()
    foreign = json.loads(json.dumps(manifest))
    foreign["sink"] |= {"path": "stream:out", "format": "stream", "dataset": {"namespace": "stream", "name": "out"}}
    foreign["sources"][0] |= {
        "path": f"file:{secret}", "format": "text", "dataset": {"namespace": "file", "name": str(secret)}, "columns": [],
        "files": [{"ordinal": 0, "path": f"file:{secret}", "length": status.st_size, "modified": status.st_mtime_ns // 1_000_000}],
    }  # fmt: skip
    foreign["capture"] = str(uuid4())
    foreign["boundaries"] = [{"boundary": 0, "kind": "sink", "operator": 1, "columns": [{"role": "place"}, {"role": "ref", "operator": 2}]}]
    footer = {
        "capture": foreign["capture"], "boundary": 0, "stage": 0, "stage_attempt": 0, "partition": 0, "attempt": 0, "columns": 2,
        "files": [{"path": "stream:out", "length": 0, "modified": 0}], "runs": [[0, 1]],
    }  # fmt: skip
    data = plain_segment([[0], [0]], footer)
    name = "b0-s0.0-p0-a0.seg"
    foreign["segments"] = [
        {"name": name, "boundary": 0, "stage": 0, "stage_attempt": 0, "partition": 0, "attempt": 0, "rows": 1, "bytes": len(data),
         "sha256": hashlib.sha256(data).hexdigest()}
    ]  # fmt: skip
    home.mkdir()
    store = AssociationStore(home / "associations", sources=DataRoots.of([]))
    store.stage_segment("default", foreign["capture"], name, data)
    store.publish("default", Manifest.from_json(foreign))
    store.close()
    answer = traced(home, "out", [("stream:out", 0)], values=True)
    assert places(answer) == {("secret.txt", 0)}
    assert "password" not in repr(answer)
    assert any("outside of the data roots" in one.reason for one in answer.incomplete)


def test_the_quick_encoder_writes_what_the_plain_one_reads():
    columns = [
        [0, 1, 2, 3], [5, 5, 5, 5], [-(2**63), 7, -(2**63), 9], [2**62, -(2**62), 0, 1], [10, 8, 300, 70_000], [1, 2**40, 3, 2**39],
    ]  # fmt: skip
    footer = {"capture": str(uuid4()), "boundary": 0, "stage": 0, "stage_attempt": 0, "partition": 0, "attempt": 0, "columns": 6}
    data = segment([pa.array(column, pa.int64()) for column in columns], footer)
    assert [column.tolist() for column in decode(Segment.open("x", data))] == columns
    long = [place * 3 for place in range(200_000)]
    sliced = pa.array([0, 0, *long], pa.int64()).slice(2)
    data = segment([sliced], {**footer, "columns": 1})
    assert decode(Segment.open("x", data))[0].tolist() == long
    assert len(data) < 10_000
    assert struct.unpack("<I", data[-12:-8])[0] > 0
