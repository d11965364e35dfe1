"""Files that an actor writes for the first time: each record has its number, its line and its values, in all formats."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from headwater.capture import Session
from headwater.graph.trace import TraceAnswer, TraceRequest
from tests.capture.captured import places, spooled, taken, traced

Row = Mapping[str, Any]
TABLE = pa.table({"id": [10, 11, 12], "name": ["ann", "bob", "cy"]})
ROWS = TABLE.to_pylist()
TEXTS = [{"id": str(row["id"]), "name": row["name"]} for row in ROWS]
LINES = ["10,ann", "11,bob", "12,cy"]
OBJECTS = [f'{{"id": {row["id"]}, "name": "{row["name"]}"}}' for row in ROWS]


def _snappy(content: bytes) -> bytes:
    """As Hadoop writes it: the length of a block, the length of its one chunk, the chunk."""
    chunk = pa.Codec("snappy").compress(content, asbytes=True)
    return len(content).to_bytes(4, "big") + len(chunk).to_bytes(4, "big") + chunk


_PACKED: Mapping[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "deflate": zlib.compress, "snappy": _snappy,
    "zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A file with three records, how it is named to a session, and the values that a trace shows of each."""

    name: str
    write: Callable[[Path], Any]
    values: Sequence[Row]
    options: Mapping[str, Any] = field(default_factory=dict)
    format: str | None = None
    first_line: int | None = None  # of the first record, where each of them is a line

    def __str__(self) -> str:
        return f"{self.name} {self.format or ''} {dict(self.options) or ''}".strip()


def _text(name: str, content: str, values: Sequence[Row], *, encoding: str = "utf-8", **about: Any) -> Case:
    pack = _PACKED.get(name.rpartition(".")[2], bytes)
    return Case(name, lambda path: path.write_bytes(pack(content.encode(encoding))), values, **about)


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


HEADED = {"header": True}
BARE = [{"_c0": row["id"], "_c1": row["name"]} for row in TEXTS]
VALUES = [{"value": line} for line in LINES]
USUAL = [
    _text("a.csv", _lines("id,name", *LINES), TEXTS, options=HEADED, first_line=2),
    _text("a.csv", _lines(*LINES), BARE, first_line=1),
    _text("a.csv", _lines("", "#x", "id;name", "", *(line.replace(",", ";") for line in LINES)), TEXTS,
          options={"HEADER": "true", "sep": ";", "comment": "#"}, first_line=5),
    _text("a.csv.gz", _lines("id,name", *LINES), TEXTS, options=HEADED, first_line=2),
    _text("a.data", _lines("id\tname", *(line.replace(",", "\t") for line in LINES)), TEXTS,
          options={"header": True, "delimiter": "\\t"}, first_line=2),
    _text("a.json", _lines(*OBJECTS[:1], "", *OBJECTS[1:]), TEXTS),
    _text("a.txt", _lines(*LINES), VALUES, first_line=1),
    Case("a.parquet", lambda path: parquet.write_table(TABLE, path), ROWS),
    Case("a.orc", lambda path: orc.write_table(TABLE, path), ROWS),
]  # fmt: skip
RARE = [
    *(_text(f"a.csv.{end}", _lines("id,name", *LINES), [{}] * 3 if end == "snappy" else TEXTS, options=HEADED, first_line=2)
      for end in _PACKED if end != "gz"),
    *(_text(f"a.jsonl.{end}", _lines(*OBJECTS), [{}] * 3 if end == "snappy" else TEXTS, first_line=1) for end in _PACKED),
    *(_text(f"a.txt.{end}", _lines(*LINES), VALUES, first_line=1) for end in _PACKED),
    _text("A.CSV", _lines("id,name", *LINES), TEXTS, options=HEADED, first_line=2),
    _text("a.txt", _lines("id,name", *LINES), TEXTS, options=HEADED, format="CSV", first_line=2),
    _text("a.csv", _lines(*LINES), VALUES, format="text", first_line=1),
    _text("a.csv", "\ufeff" + _lines("id,name", *LINES), TEXTS, options=HEADED, first_line=2),
    _text("a.csv", _lines("id,name", *LINES).replace("\n", "\r\n"), TEXTS, options=HEADED, first_line=2),
    _text("a.csv", _lines("id,größe", *LINES), [{"id": row["id"], "größe": row["name"]} for row in TEXTS], encoding="latin-1",
          options={"header": True, "encoding": "ISO-8859-1"}, first_line=2),
    _text("a.csv", _lines('id,"na\nme"', *LINES), [{"id": row["id"], "na\nme": row["name"]} for row in TEXTS],
          options={"header": True, "multiLine": True}, first_line=3),
    _text("a.csv", _lines("id,", *LINES), [{"id": row["id"], "_c1": row["name"]} for row in TEXTS], options=HEADED, first_line=2),
    _text("a.csv", _lines("n,N", *LINES), [{"n0": row["id"], "N1": row["name"]} for row in TEXTS], options=HEADED, first_line=2),
    _text("a.csv", _lines("'id'||name", *(line.replace(",", "||") for line in LINES)),
          [{"'id'": row["id"], "name": row["name"]} for row in TEXTS], options={"header": True, "sep": "||"}, first_line=2),
    _text("a.json", f"[{','.join(OBJECTS)}]", TEXTS, options={"multiLine": True}),
]  # fmt: skip
CASES = [*(pytest.param(case, id=str(case)) for case in USUAL),
         *(pytest.param(case, id=str(case), marks=pytest.mark.torture) for case in RARE)]  # fmt: skip


def _asked(home: Path, *requests: TraceRequest) -> list[TraceAnswer]:
    async def ask() -> list[TraceAnswer]:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            return [await workspace.trace("default", request) for request in requests]

    taken(home)
    return asyncio.run(ask())


@pytest.mark.parametrize("case", CASES)
def test_a_file_that_is_written_after_it_is_named_has_the_records_of_its_writer(tmp_path: Path, case: Case):
    home, path = tmp_path / "home", tmp_path / case.name
    with Session("write", home=home) as session:
        source, target = session.stream("in"), session.rows(path, format=case.format, options=case.options)
        actor = session.register("write", "writer")
        for row in range(3):
            actor.capture(source[row], target[row])
        case.write(path)
        actor.commit()
        assert not actor.problems
    every, *answers = _asked(
        home,
        TraceRequest(dataset=str(path), where="true"),
        *(TraceRequest(dataset=str(path), rows=[(str(path), row)]) for row in range(3)),
        *(TraceRequest(dataset="in", rows=[("stream:in", row)], forward=True) for row in range(3)),
    )
    assert (places(every), every.exact, len(every.selected)) == ({("stream:in", row) for row in range(3)}, True, 3)
    for row, (back, forth) in enumerate(zip(answers[:3], answers[3:], strict=True)):
        assert (places(back), back.exact) == ({("stream:in", row)}, True)
        assert (places(forth), forth.exact) == ({(case.name, row)}, True)
        line = None if case.first_line is None else case.first_line + row
        for shown in (every.selected[row], *back.selected, *forth.records):
            assert {name: str(value) for name, value in shown.values.items()} == {
                name: str(value) for name, value in case.values[row].items()
            }
            assert line is None or shown.line == line


def test_a_file_that_is_read_in_the_session_that_writes_it_is_described_as_it_is_then(tmp_path: Path):
    home, path = tmp_path / "home", tmp_path / "made.csv"
    with Session("etl", home=home) as session:
        data = session.rows(path, options=HEADED)
        actor = session.register("both", "mapper")
        path.write_text("id,name\n1,a\n2,b\n")
        for row in range(2):
            actor.capture(session.stream("in")[row], data[row])
            actor.capture(data[row], session.stream("out")[row])
        actor.commit()
        actor.capture(data[1], session.stream("late")[0])
        actor.commit()
        assert not actor.problems
    for manifest in spooled(home).manifests:
        for described in [*manifest["sources"], manifest["sink"]]:
            if described["format"] == "csv":
                assert [column["name"] for column in described["columns"]] == ["id", "name"]
    answer = traced(home, "late", [("stream:late", 0)])
    assert (places(answer), answer.exact) == ({("stream:in", 1)}, True)


def test_a_file_that_is_rewritten_with_another_header_is_described_anew(tmp_path: Path):
    home, path = tmp_path / "home", tmp_path / "made.csv"
    with Session("etl", home=home) as session:
        data, source = session.rows(path, options=HEADED), session.stream("in")
        actor = session.register("write", "writer")
        for number, header in enumerate(("id,name", "key")):
            path.write_text(f"{header}\n{number},x\n1,y\n")
            actor.capture(source[number], data[1])
            actor.commit()
    headers = [[column["name"] for column in manifest["sink"]["columns"]] for manifest in spooled(home).manifests]
    assert headers == [["id", "name"], ["key"]]
    answer = traced(home, path, [(path, 1)], values=True)
    assert (places(answer), answer.exact) == ({("stream:in", 1)}, True)
    assert [record.values for record in answer.selected] == [{"key": "1"}]


def test_files_of_one_dataset_are_counted_each_as_it_was_written(tmp_path: Path):
    home, folder = tmp_path / "home", tmp_path / "parts"
    folder.mkdir()
    contents = {"a.csv": ("id,name\n", HEADED), "b.csv": ("", {}), "c.csv": ("key\n", HEADED), "d.csv": ("id,name\n", HEADED)}
    with Session("etl", home=home) as session:
        actor, source = session.register("write", "writer"), session.stream("in")
        for number, (name, (header, options)) in enumerate(contents.items()):
            target = session.rows(folder / name, options=options, dataset=folder)
            for row in range(3):
                actor.capture(source[10 * number + row], target[row])
            (folder / name).write_text(header + "1,x\n2,y\n3,z\n")
        actor.commit()
        assert not actor.problems
    columns = sorted(tuple(column["name"] for column in manifest["sink"]["columns"]) for manifest in spooled(home).manifests)
    assert columns == [("_c0", "_c1"), ("id", "name"), ("key",)]
    asked = [(number, name, row) for number, name in enumerate(contents) for row in range(3)]
    requests = [TraceRequest(dataset=str(folder), rows=[(str(folder / name), row)]) for _, name, row in asked]
    for (number, _, row), answer in zip(asked, _asked(home, *requests), strict=True):
        assert (places(answer), answer.exact) == ({("stream:in", 10 * number + row)}, True)


def test_parts_of_json_are_one_source_with_the_columns_of_all(tmp_path: Path):
    home, folder = tmp_path / "home", tmp_path / "parts"
    folder.mkdir()
    with Session("etl", home=home) as session:
        actor = session.register("read", "reader")
        for number in range(3):
            path = folder / f"{number}.json"
            path.write_text(f'{{"k{number}": 1}}\n' if number else "")
            actor.capture(session.rows(path, dataset=folder)[0], session.stream("out")[number])
        actor.commit()
    (manifest,) = spooled(home).manifests
    assert [sorted(column["name"] for column in source["columns"]) for source in manifest["sources"]] == [["k1", "k2"]]


@pytest.mark.parametrize("gone", [False, True])
def test_a_file_without_columns_or_without_a_file_keeps_its_format(tmp_path: Path, gone: bool):
    home, path = tmp_path / "home", tmp_path / "made.csv"
    with Session("etl", home=home) as session:
        data, actor = session.rows(path, options=HEADED), session.register("write", "writer")
        actor.capture(session.stream("in")[0], data[0])
        path.write_text("" if not gone else "id\n1\n")
        if gone:
            path.unlink()
        actor.commit()
        assert bool(actor.problems) is gone
    (manifest,) = spooled(home).manifests
    assert (manifest["sink"]["format"], manifest["sink"]["options"], manifest["sink"]["columns"]) == ("csv", {"header": "true"}, [])
    if gone:
        path.write_text("id\n1\n")  # by whom is not known
        answer = traced(home, path, [(path, 0)])
        assert ("stream:in", 0) not in places(answer)
        assert not answer.exact


def test_columns_that_a_program_states_are_its_own(tmp_path: Path):
    with Session("etl", home=tmp_path / "home") as session:
        (tmp_path / "a.csv").write_text("id\n1\n")
        data = session.rows(tmp_path / "a.csv", options=HEADED, columns=[("key", "int")])
        actor = session.register("read", "reader")
        actor.capture(data[0], session.stream("out")[0])
        actor.commit()
    (manifest,) = spooled(tmp_path / "home").manifests
    assert [(column["name"], column["type"]) for column in manifest["sources"][0]["columns"]] == [("key", "int")]


def test_what_files_hold_fails_no_program(tmp_path: Path):
    contents = [b"", b"\xff\xfe\x00", b'"' * 100_000, b"a" * 3_000_000, b"{" * 10_000, b"[1, [2]]\n3\nnull\n"]
    names = ["a.csv", "a.json", "b.csv.gz", "b.json.zst", "b.csv.deflate", "b.csv.xz", "a.parquet", "a.orc"]
    with Session("etl", home=tmp_path / "home") as session:
        actor = session.register("read", "reader")
        for number, content in enumerate(contents):
            for name in names:
                (tmp_path / f"{number}{name}").write_bytes(content)
                actor.capture(session.rows(tmp_path / f"{number}{name}", options=HEADED)[0], session.stream("out")[number])
        assert actor.commit() == len(contents) * len(names)
        assert not actor.problems
