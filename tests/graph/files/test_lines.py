"""Where records of text files lie, against readers that go byte by byte as Hadoop's and Spark's do."""

import bz2
import gzip
import os
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import UnsupportedError
from headwater.graph.files import marks
from headwater.graph.files.formats.csv import Csv
from headwater.graph.files.formats.json import JsonLines
from headwater.graph.files.lines import LineCache, LineRules, find_lines
from headwater.graph.files.marks import mark_lines
from headwater.graph.records import block_of
from tests.graph.trace.local import local

TEXTS = st.lists(st.sampled_from(["a,b", "", " ", "\t", "#c", "é", "\n", "\r", "\r\n", "x"]), max_size=25).map(
    lambda parts: "".join(parts).encode()
)
PLAIN = LineRules(blank=True, header=False)


def hadoop_lines(data: bytes) -> list[tuple[int, bytes]]:
    """Begin and content of each line: LF, CR or CRLF ends one."""
    lines, begin, at = [], 0, 0
    while at < len(data):
        if data[at] in b"\r\n":
            width = 2 if data[at : at + 2] == b"\r\n" else 1
            lines.append((begin, data[begin:at]))
            at += width
            begin = at
        else:
            at += 1
    if begin < len(data):
        lines.append((begin, data[begin:]))
    return lines


def hadoop_split(data: bytes, start: int, end: int) -> list[bytes]:
    """LineRecordReader: skip to after the first line end at or after `start`, then read while the position is not past `end`."""
    lines = hadoop_lines(data)
    if start:
        skipped = next((begin for begin, _ in reversed(lines) if begin <= start), None)
        lines = [(begin, text) for begin, text in lines if skipped is None or begin > skipped]
    return [text for begin, text in lines if begin <= end]


@given(TEXTS)
def test_lines_are_hadoops(data) -> None:
    found = find_lines(data, PLAIN)
    assert [data[begin:end] for begin, end in zip(found.begins.tolist(), found.ends.tolist(), strict=True)] == [
        t for _, t in hadoop_lines(data)
    ]
    assert found.numbers.tolist() == list(range(1, len(found) + 1))


@given(TEXTS, st.lists(st.integers(1, 40), max_size=4))
def test_a_split_begins_after_the_records_of_those_before_it(data, cuts) -> None:
    starts = sorted({0, *(cut for cut in cuts if cut < len(data))})
    found = find_lines(data, PLAIN)
    counted = 0
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        assert found.count_before(start) == counted
        counted += len(hadoop_split(data, start, end))
    assert counted == len(found)


@given(TEXTS, st.lists(st.integers(0, 60), max_size=8), st.integers(1, 9))
def test_lines_by_marks_are_those_of_the_whole_file(data, picks, part) -> None:
    lines = [text for _, text in hadoop_lines(data)]
    with patch.object(marks, "_PART", part):
        found = mark_lines(data)
        if b"\r" in data:
            assert found is None
            return
        assert found is not None
        rows = np.array([pick % len(lines) for pick in picks] if lines else [], np.int64)
        assert found.read(rows) == [lines[row] for row in rows]
        assert found.find_line_numbers(rows).tolist() == [row + 1 for row in rows]
        assert len(found) == len(lines)
        begins = [begin for begin, _ in hadoop_lines(data)]
        assert [found.count_before(start) for start in range(1, len(data) + 1)] == [
            sum(begin <= start for begin in begins) for start in range(1, len(data) + 1)
        ]


def test_a_line_that_is_not_there_is_not_read() -> None:
    found = mark_lines(b"a\nb")
    assert found is not None
    for row in (-1, 2):
        with pytest.raises(IndexError, match="the file has 2 lines"):
            found.read(np.array([row]))


def test_what_is_kept_of_a_long_file_is_little() -> None:
    found = find_lines(b"a line of text\n" * 200_000, PLAIN)
    assert found.size - 3_000_000 < 1_000


@given(TEXTS, st.booleans())
def test_records_of_csv_are_the_lines_that_spark_parses(data, header) -> None:
    found = find_lines(data, LineRules(blank=False, header=header, comment=b"#"))
    parsed = [(n, text) for n, (_, text) in enumerate(hadoop_lines(data), 1) if any(b > 0x20 for b in text) and not text.startswith(b"#")]
    parsed = parsed[1:] if header else parsed
    assert list(zip(found.numbers.tolist(), found.read(slice(None)), strict=True)) == parsed  # type: ignore[arg-type]


def test_a_byte_order_mark_is_no_part_of_the_first_record() -> None:
    found = find_lines(b"\xef\xbb\xbfa\nb\n", PLAIN)
    assert found.read(slice(None)) == [b"a", b"b"]  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"multiLine": "true"}, {"lineSep": ";"}, {"mode": "DROPMALFORMED"}, {"wholetext": "true"}])
def test_records_that_lines_do_not_tell_are_refused(options) -> None:
    with pytest.raises(UnsupportedError, match="cannot be located"):
        Csv("csv").get_rules(options)


@pytest.mark.parametrize("line", [b'[{"a": 1}, {"a": 2}]', b" \t[]", b"\x01"])
def test_lines_of_json_that_are_not_one_record_each_are_refused(line) -> None:
    rules = JsonLines("json").get_rules({})
    assert len(find_lines(b'{"a": 1}\n \n {"a": 2}\nbad\n', rules)) == 3
    with pytest.raises(UnsupportedError, match="records"):
        find_lines(b'{"a": 1}\n' + line + b'\n{"a": 2}\n', rules)


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_text_is_read_too(tmp_path, suffix, pack) -> None:
    path = tmp_path / f"a.csv{suffix}"
    path.write_bytes(pack(b"h\n1\n2\n"))
    found = LineCache().get(local(path), block_of(path), Csv("csv").get_rules({"header": "true"}))
    assert found.read(slice(None)) == [b"1", b"2"]  # type: ignore[arg-type]


def test_a_file_that_changed_is_looked_at_again(tmp_path) -> None:
    path, cache = tmp_path / "a.txt", LineCache()
    path.write_bytes(b"1\n")
    assert len(cache.get(local(path), block_of(path), PLAIN)) == 1
    path.write_bytes(b"1\n2\n")
    os.utime(path, (1, 1))
    assert len(cache.get(local(path), block_of(path), PLAIN)) == 2
