"""The files that an RDD program's sources read are listed once, whoever asks first."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from uuid import UUID

from headwater.spark_listener.rdd_records.known import KNOWN, TrackedRdd
from headwater.spark_listener.rdd_records.source_files import SourceFiles
from headwater.spark_listener.rdd_records.sources import LINES
from headwater.spark_listener.rdd_records.starts import Numbered
from headwater.spark_listener.recording import Recording


class _Rows:
    """As much of an RDD as the listing looks at."""

    def __init__(self) -> None:
        self._jrdd = self

    def rdd(self) -> _Rows:
        return self


def test_who_comes_second_waits_until_what_the_first_lists_is_stated(tmp_path: Path) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def files_read(_rdd: Any, _lines: bool) -> dict[str, Any]:
        asked.set()
        assert may_answer.wait(60)
        return {"path": "file:/in", "files": [["file:/in/a", 3, 1]], "splits": [[0, 0, 3]]}

    recording = Recording(tmp_path, 1 << 20)
    files = SourceFiles(recording, files_read, lambda _rdd, _most: None, None)
    scan = recording.operator("Scan", "textFile", (), behaviour="source", columns=[])
    rows = _Rows()
    start = Numbered()
    setattr(rows, KNOWN, TrackedRdd((scan,), start, reads=True, top=scan))
    files.add(scan, rows, LINES, start)
    first = threading.Thread(target=files.reads, args=(rows,))
    first.start()
    assert asked.wait(60)
    second = threading.Thread(target=files.reads, args=(rows,))
    second.start()
    second.join(0.2)
    assert second.is_alive()
    may_answer.set()
    first.join(60)
    second.join(60)
    assert not second.is_alive()


def test_what_was_never_listed_is_refused_and_names_no_source(tmp_path: Path) -> None:
    recording = Recording(tmp_path, 1 << 20)
    scan = recording.operator("Scan", "textFile", (), behaviour="source", columns=[])
    above = {"id": 1, "op": "RDD", "behaviour": "passes", "children": [], "recorded": scan}
    query: dict[str, Any] = {name: [] for name in ("sources", "problems", "boundaries", "segments")}
    parts = recording.completed({**query, "capture": str(UUID(int=1)), "status": "complete", "operators": [above]})
    assert parts["status"] == "refused"
    assert [(operator["behaviour"], operator.get("source")) for operator in parts["operators"]] == [("passes", None), ("opaque", None)]
