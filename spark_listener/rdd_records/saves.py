"""Captures a save of an RDD: chooses the RDD to write instead, and counts the records in each file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headwater.spark_listener.rdd import SavedRDD
from headwater.spark_listener.rdd_records.known import NotListedError, Refused
from headwater.spark_listener.rdd_records.program import ATTR, Program
from headwater.spark_listener.rdd_records.taps import PersistedRows, Written
from headwater.spark_listener.recording import Written as WrittenFile

_FORMATS = {"saveAsTextFile": "text", "saveAsPickleFile": "pickle", "saveAsSequenceFile": "sequence"}
_PART = re.compile(r"/part-(\d+)(\.\w+)?$")


def begin_save(program: Program, saved: SavedRDD, rdd: Any) -> SavedRDD:
    """Return the save with the RDD to write instead, or with the reason why its records are not captured."""
    if saved.operation not in _FORMATS:
        return replace(saved, refused={"operator": saved.operation, "reason": "records that it writes are not captured", "kind": "refused"})
    try:
        found = program.saved(rdd, Written if saved.operation == "saveAsTextFile" else PersistedRows)
    except NotListedError:
        found = Refused(saved.operation, "Spark could not list the files that it reads")
    if isinstance(found, Refused):
        return replace(saved, refused={"operator": found.operator, "reason": found.reason, "kind": "refused"})
    return replace(saved, rdd=found[0], sink=found[1])


def end_save(program: Program, saved: SavedRDD, files_written: Callable[[str], list[tuple[str, int, int]]]) -> dict[str, Any] | None:
    """Return the manifest parts of a successful save. None if its records are not captured."""
    if saved.sink is None:
        return None
    files = files_written(saved.outputs[0])
    written = [
        WrittenFile(partition=int(found[1]), path=path, length=length, modified=modified)
        for path, length, modified in files
        if (found := _PART.search(path))
    ]
    folder = files[0][0].rsplit("/", 1)[0] if files else saved.outputs[0]
    described = {
        "path": folder, "format": _FORMATS[saved.operation], "mode": "overwrite", "options": {},
        "columns": [{"name": "value", "type": "string", "attr": ATTR}], "partition_columns": [],
    }  # fmt: skip
    return program.recording.capture(saved.sink, written, described)
