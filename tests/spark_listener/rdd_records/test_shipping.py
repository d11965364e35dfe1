"""Code for workers arrives without Headwater. Its classes are pickled once and loaded once."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from headwater.spark_listener.rdd_records import shipping, starts
from headwater.spark_listener.rdd_records.keys import Hashed
from headwater.spark_listener.rdd_records.starts import Keyed, Numbered
from headwater.spark_listener.rdd_records.taps import Grouping, Report, Written

_WORKER = """
import pickle, sys
found = [pickle.loads(open(path, "rb").read()) for path in sys.argv[1:]]
print([type(tap).__name__ for tap in found], type(found[0]._start) is type(found[2]._start), found[1]._report.boundary)
print(sorted(name for name in sys.modules if name.startswith("headwater")))
print(sum(name.startswith("_headwater_shipped") for name in sys.modules))
"""


def _taps() -> list[Any]:
    shipping.ship_by_value()
    report = Report("capture", "/nowhere", 7, [], None)
    function = lambda _split, records: records  # noqa: E731  # of the program, which a worker cannot import
    return [Written(Numbered(), function, report, reads=True), Grouping(Keyed(report), function, report, reads=False)]


def _dumped(value: Any) -> bytes:
    dumps: Any = cloudpickle.dumps
    return bytes(dumps(value))


def test_a_worker_needs_no_headwater_and_loads_the_classes_once(tmp_path: Path) -> None:
    (written, grouping), paths = _taps(), []
    for number, tap in enumerate((written, grouping, written)):
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(_dumped(tap))
    command = [sys.executable, "-c", _WORKER, *map(str, paths)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.splitlines() == ["['Written', 'Grouping', 'Written'] True 7", "[]", "1"]


def test_classes_are_taken_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (written, grouping) = _taps()
    _dumped(written)
    taken: list[type] = []
    whole: Any = cloudpickle.cloudpickle._class_reduce

    def noted(kind: type) -> Any:
        taken.append(kind)
        return whole(kind)

    monkeypatch.setattr(cloudpickle.cloudpickle, "_class_reduce", noted)
    _dumped(grouping)
    assert [kind for kind in taken if kind.__module__.startswith("headwater")] == []


def test_a_changed_constant_is_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    shipping.ship_by_value()
    before = shipping._opening()
    monkeypatch.setattr(starts, "COMPILED", not starts.COMPILED)
    assert shipping._opening() != before


def test_what_is_shipped_can_be_copied_here() -> None:
    (written, _), hashed = _taps(), Hashed(5)
    assert type(copy.copy(written)) is Written
    assert copy.deepcopy(hashed) == hashed
    assert pickle.loads(_dumped(hashed)) == hashed
