"""Ranges of bytes that one actor wrote and another read otherwise: the pairs of records that share bytes, against nested loops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.capture import Session
from tests.capture.captured import places, taken, traced

Range = tuple[int, int]  # offset, length


def _written_and_read(folder: Path, written: Sequence[Range], read: Sequence[Range]) -> Path:
    """A file that one actor wrote in some ranges, from positions of a stream, and another read in others, to another stream."""
    home, path = folder / "home", folder / "blob"
    size = max([offset + length for offset, length in (*written, *read)], default=0)
    with Session("ghosts", home=home) as session:
        data, source, target = session.bytes(path), session.stream("in"), session.stream("out")
        writer, reader = session.register("write", "writer"), session.register("read", "reader")
        for place, (offset, length) in enumerate(written):
            writer.capture(source[place], data.at(offset, length))
        path.write_bytes(b"x" * size)
        writer.commit()
    with Session("ghosts2", home=home) as session:  # knows nothing of the ranges of the other
        data, target = session.bytes(path), session.stream("out")
        reader = session.register("read", "reader")
        for place, (offset, length) in enumerate(read):
            reader.capture(data.at(offset, length), target[place])
        reader.commit()
    return home


def _overlap(one: Range, other: Range) -> bool:
    return one[0] < other[0] + other[1] and other[0] < one[0] + one[1]


@st.composite
def _apart(draw: st.DrawFn) -> list[Range]:
    """Ranges that begin at different bytes; they may overlap."""
    offsets = draw(st.lists(st.integers(0, 40), min_size=1, max_size=6, unique=True))
    return [(offset, draw(st.integers(1, 12))) for offset in offsets]


@pytest.mark.slow
@settings(max_examples=8)
@given(written=_apart(), read=_apart())
def test_records_that_share_bytes_are_the_pairs_of_nested_loops(written: list[Range], read: list[Range]):
    with TemporaryDirectory() as folder:
        home = _written_and_read(Path(folder), written, read)
        for place, ours in enumerate(read):
            expected = {("stream:in", number) for number, theirs in enumerate(written) if _overlap(ours, theirs)}
            answer = traced(home, "out", [("stream:out", place)])
            assert {found for found in places(answer) if found[0] == "stream:in"} == expected
            bytes_of = [set(range(offset, offset + length)) for offset, length in written if _overlap(ours, (offset, length))]
            mine = set(range(ours[0], sum(ours)))
            whole = all(theirs <= mine for theirs in bytes_of) and set().union(*bytes_of) >= mine
            assert answer.exact or not whole or sum(map(len, bytes_of)) > len(mine)
            assert not (answer.exact and not whole)
        for number, theirs in enumerate(written):
            expected = {("stream:out", place) for place, ours in enumerate(read) if _overlap(ours, theirs)}
            answer = traced(home, "in", [("stream:in", number)], forward=True)
            assert {found for found in places(answer) if found[0] == "stream:out"} == expected


def test_ranges_that_are_the_same_are_exact(tmp_path: Path):
    home = _written_and_read(tmp_path, [(0, 4), (4, 4)], [(0, 4), (4, 4)])
    answer = traced(home, "out", [("stream:out", 1)])
    assert (places(answer), answer.exact) == ({("stream:in", 1)}, True)


def test_a_range_of_whole_records_is_exact_and_one_that_cuts_is_a_superset(tmp_path: Path):
    home = _written_and_read(tmp_path, [(0, 4), (4, 4), (8, 4)], [(0, 8), (6, 6)])
    whole, cut = (traced(home, "out", [("stream:out", place)]) for place in (0, 1))
    assert (places(whole), whole.exact) == ({("stream:in", 0), ("stream:in", 1)}, True)
    assert (places(cut), cut.exact) == ({("stream:in", 1), ("stream:in", 2)}, False)
    assert [one.effect for one in cut.incomplete if "part of a record" in one.reason] == ["superset"]


def test_bytes_that_nobody_wrote_are_said(tmp_path: Path):
    home = _written_and_read(tmp_path, [(0, 4)], [(0, 9), (20, 1)])
    answer = traced(home, "out", [("stream:out", 0)])
    assert (places(answer), answer.exact) == ({("stream:in", 0)}, False)
    nothing = traced(home, "out", [("stream:out", 1)])
    assert (nothing.exact, [record.row for record in nothing.records]) == (False, [None])  # the dataset alone is known


@pytest.mark.parametrize("forward", [False, True])
def test_lines_that_one_wrote_are_ranges_to_another(tmp_path: Path, forward: bool):
    home, path = tmp_path / "home", tmp_path / "lines.txt"
    lines = ["alpha", "", "ccc", "d"]
    with Session("lines", home=home) as session:
        data, source = session.rows(path), session.stream("in")
        actor = session.register("write", "writer")
        for place in range(len(lines)):
            actor.capture(source[place], data[place])
        path.write_text("".join(f"{line}\n" for line in lines))
        actor.commit()
    with Session("ranges", home=home) as session:
        blob, target = session.bytes(path), session.stream("out")
        actor = session.register("read", "reader")
        for place, (offset, length) in enumerate([(0, 6), (6, 1), (8, 5)]):
            actor.capture(blob.at(offset, length), target[place])
        actor.commit()
    expected = {0: {0}, 1: {1}, 2: {2, 3}}
    if forward:
        for line in range(len(lines)):
            found = places(traced(home, "in", [("stream:in", line)], forward=True))
            assert found == {("stream:out", place) for place, of in expected.items() if line in of}
    else:
        for place, of in expected.items():
            assert places(traced(home, "out", [("stream:out", place)])) == {("stream:in", line) for line in of}


@pytest.mark.parametrize("by_bytes", [False, True])
def test_lines_of_which_their_writer_said_nothing_are_missing(tmp_path: Path, by_bytes: bool):
    home, path = tmp_path / "home", tmp_path / "lines.txt"
    with Session("lines", home=home) as session:
        actor = session.register("write", "writer")
        actor.capture(session.stream("in")[0], session.rows(path)[0])
        path.write_text("alpha\nbeta\n")
        actor.commit()
    with Session("ranges", home=home) as session:
        blob, lines, target = session.bytes(path), session.rows(path), session.stream("out")
        actor = session.register("read", "reader")
        actor.capture(blob.at(0, 6) if by_bytes else lines[0], target[0])
        actor.capture(blob.at(6, 5) if by_bytes else lines[1], target[1])
        actor.capture_all([blob.at(3, 8)] if by_bytes else [lines[0], lines[1]], target[2])
        actor.commit()
    said, unsaid, half = (traced(home, "out", [("stream:out", place)]) for place in range(3))
    assert (places(said), said.exact) == ({("stream:in", 0)}, True)
    assert ("stream:in", 0) not in places(unsaid)
    assert "missing" in [one.effect for one in unsaid.incomplete]
    assert ("stream:in", 0) in places(half)
    assert "missing" in [one.effect for one in half.incomplete]


def test_lines_with_a_header_and_without_are_the_same_bytes(tmp_path: Path):
    home, path = tmp_path / "home", tmp_path / "a.csv"
    with Session("write", home=home) as session:
        actor, target = session.register("write", "writer"), session.rows(path, options={"header": True})
        for row in range(3):
            actor.capture(session.stream("in")[row], target[row])
        path.write_text("id\n1\n2\n3\n")
        actor.commit()
    with Session("read", home=home) as session:
        actor, source = session.register("read", "reader"), session.rows(path, format="text")
        for row in range(4):
            actor.capture(source[row], session.stream("out")[row])
        actor.commit()
    answers = [traced(home, "out", [("stream:out", row)]) for row in range(4)]
    assert [places(answer) for answer in answers[1:]] == [{("stream:in", row)} for row in range(3)]
    assert [answer.exact for answer in answers] == [False, True, True, True]
    assert ("stream:in", 0) not in places(answers[0])


def test_ranges_that_one_wrote_are_lines_to_another(tmp_path: Path):
    home, path = tmp_path / "home", tmp_path / "lines.txt"
    with Session("ranges", home=home) as session:
        blob, source = session.bytes(path), session.stream("in")
        actor = session.register("write", "writer")
        for place, (offset, length) in enumerate([(0, 3), (3, 5), (8, 2)]):
            actor.capture(source[place], blob.at(offset, length))
        path.write_bytes(b"ab\ncd\nefg\n")  # the second range has the second line and the first byte of the third
        actor.commit()
    with Session("lines", home=home) as session:
        data, target = session.rows(path), session.stream("out")
        actor = session.register("read", "reader")
        for row in range(3):
            actor.capture(data[row], target[row])
        actor.commit()
    first, third = (traced(home, "out", [("stream:out", row)]) for row in (0, 2))
    assert (places(first), first.exact) == ({("stream:in", 0)}, True)
    assert (places(third), third.exact) == ({("stream:in", 1), ("stream:in", 2)}, False)
    assert places(traced(home, "in", [("stream:in", 1)], forward=True)) == {("stream:out", 1), ("stream:out", 2)}


def test_of_two_ranges_that_begin_alike_the_longer_is_given_and_said(tmp_path: Path):
    with Session("one", home=tmp_path / "home") as session:
        (tmp_path / "blob").write_bytes(b"x" * 20)
        blob, out = session.bytes(tmp_path / "blob"), session.stream("out")
        actor = session.register("read", "reader")
        actor.capture(blob.at(0, 4), out[0])
        actor.capture(blob.at(0, 9), out[1])
        actor.commit()
    taken(tmp_path / "home")
    answer = traced(tmp_path / "home", "out", [("stream:out", 0)])
    assert not answer.exact
    assert any("begin at the same byte" in one.reason for one in answer.incomplete)


def test_a_gap_is_said_though_other_bytes_were_written_twice(tmp_path: Path):
    home = _written_and_read(tmp_path, [(0, 5), (1, 5)], [(0, 10)])
    answer = traced(home, "out", [("stream:out", 0)])
    assert (places(answer), answer.exact) == ({("stream:in", 0), ("stream:in", 1)}, False)
    assert [one.effect for one in answer.incomplete if "in no record" in one.reason] == ["missing"]
