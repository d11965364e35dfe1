"""Segments that Python workers write are those that the service reads, whatever encodes them."""

from __future__ import annotations

import random
from array import array
from pathlib import Path

import pytest

from headwater.graph.associations.segment import Segment
from headwater.graph.records.decode import decode
from headwater.spark_listener.rdd_records.blocks import SegmentWriter
from tests.spark_listener.capture.segments import decode as written

pytestmark = pytest.mark.usefixtures("loops")
NONE = -(2**63)
ROLES = [{"role": "key"}, {"role": "ref", "operator": 1}]


@pytest.mark.parametrize("rows", [1, 7, 5_000, 70_000, 200_000])
@pytest.mark.parametrize("kind", ["hashes", "few hashes", "many hashes", "ascending", "none", "narrow", "extremes"])
def test_rows_come_back_as_they_were(tmp_path: Path, rows: int, kind: str) -> None:
    rnd = random.Random(rows)
    made = {
        "hashes": lambda _: rnd.getrandbits(64) - 2**63,
        "few hashes": lambda _: hash(f"few {rnd.randrange(200)}"),
        "many hashes": lambda _: hash(f"many {rnd.randrange(9_000)}"),
        "ascending": lambda n: (3 << 40) + n * 3,
        "none": lambda _: NONE,
        "narrow": lambda _: rnd.randint(-2, 200),
        "extremes": lambda n: (NONE, 2**63 - 1, 0, -1)[n % 4],
    }[kind]
    columns = [array("q", map(made, range(rows))), array("q", range(rows))]
    writer = SegmentWriter("capture", str(tmp_path / "pool"), 3, ROLES, (1, 2, 40))
    for begin in range(0, rows, 1_000):
        writer.add([column[begin : begin + 1_000] for column in columns])
    told = writer.finish()
    file = tmp_path / "pool" / "b3-s1.0-p2-a40.seg"
    segment = Segment.open(file.name, file.read_bytes())
    assert (told[0], told[1]) == (rows, file.stat().st_size)
    assert [column.tolist() for column in decode(segment)] == [column.tolist() for column in columns]
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("values", [200, 60_000, 90_000, 300_000])
def test_columns_whose_values_come_again_in_other_blocks(tmp_path: Path, values: int) -> None:
    """The list of a column is short, nearly full, over two bytes, or has no room for all."""
    rnd = random.Random(values)
    drawn = [hash(f"drawn {int(values * rnd.random() ** 3)}") for _ in range(450_000)]
    columns = [array("q", drawn), array("q", reversed(drawn))]
    writer = SegmentWriter("capture", str(tmp_path / "pool"), 3, ROLES, (1, 2, 40))
    writer.add(columns)
    writer.finish()
    (file,) = (tmp_path / "pool").iterdir()
    assert [column.tolist() for column in decode(Segment.open(file.name, file.read_bytes()))] == [column.tolist() for column in columns]
    assert written(file)[1] == list(zip(*columns, strict=True))


def test_loops_in_c_write_each_value_of_a_segment_once(tmp_path: Path, loops: str) -> None:
    writer = SegmentWriter("capture", str(tmp_path / "pool"), 3, ROLES, (1, 2, 40))
    rows, values, rnd = 8 * 65_536, 8_000, random.Random(8)
    hashes = [rnd.getrandbits(64) - 2**63 for _ in range(values)]
    for _ in range(8):
        writer.add([array("q", rnd.choices(hashes, k=65_536)), array("q", range(65_536))])
    _, size, _ = writer.finish()
    assert size < rows * 2 + values * 8 * (8 if loops == "python" else 1) + 10_000


@pytest.mark.parametrize("values", [100, 5_000])
def test_values_that_come_again_are_written_once(tmp_path: Path, values: int) -> None:
    writer = SegmentWriter("capture", str(tmp_path / "pool"), 3, ROLES, (1, 2, 40))
    rows, rnd = 65_536, random.Random(values)
    hashes = [rnd.getrandbits(64) - 2**63 for _ in range(values)]
    writer.add([array("q", rnd.choices(hashes, k=rows)), array("q", range(rows))])
    _, size, _ = writer.finish()
    assert size < rows * (1 if values < 256 else 2) + values * 8 + 1_000


def test_a_segment_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    writer = SegmentWriter("capture", str(tmp_path / "pool"), 3, ROLES, (1, 2, 40))
    writer.add([array("q", range(70_000)), array("q", range(70_000))])
    writer.abandon()
    assert list((tmp_path / "pool").iterdir()) == []
