"""Checks the result of a merge before it takes the place of the dataset: complete, of the same types, and captured record by record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.backend.rerun.recapture.spool_captures import Captured, captured_in
from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.records import FileBlock

_UNIT = re.compile(r"timestamp\[[^\]]*\]")
_ELEMENT = re.compile(r"list<\w+:")


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Facts from the footers of the files to merge: rows, types of columns by name, codec, and whether timestamps have 96 bits."""

    rows: int
    columns: dict[str, str]
    codec: str
    has_int96: bool


def read_facts(paths: Iterable[Path]) -> SourceFacts:
    """Read the footers of Parquet files. If a column has several types, the schema merge of Spark decides.

    Raises:
        UnsupportedError: a file is no readable Parquet file.
    """
    rows, columns, codec, has_int96 = 0, dict[str, str](), "", False
    for path in paths:
        try:
            file = pq.ParquetFile(path)
            metadata = file.metadata
            schema = file.schema_arrow
        except (OSError, pa.ArrowException) as error:
            raise UnsupportedError(f"{path} cannot be read as Parquet: {error}.") from error
        rows += metadata.num_rows
        for field in schema:
            columns[field.name] = _plain_type(field.type)
        has_int96 = has_int96 or any(metadata.schema.column(number).physical_type == "INT96" for number in range(metadata.num_columns))
        if not codec and metadata.num_row_groups and metadata.num_columns:
            codec = metadata.row_group(0).column(0).compression.lower()
    return SourceFacts(rows, columns, codec, has_int96)


def check_merge(merged: Path, source: Path, files: Sequence[FileBlock], spool: Path) -> tuple[str, str]:
    """Check the merged files, and return the id of the capture and of the run.

    Raises:
        UnsupportedError: records, types, partitions or lineage would be lost.
        SourceChangedError: the program read other files than the plan names.
    """
    with captured_in(spool) as captures:
        capture = _find_capture(captures, merged)
    _check_sources(capture, files)
    before = [Path(_local(file.path)) for file in files]
    after = [path for path in sorted(merged.rglob("*")) if path.is_file() and not path.name.startswith((".", "_"))]
    stated = {_local(str(file["path"])): (file["length"], file["modified"]) for file in capture.files}
    present = {str(path): (path.stat().st_size, path.stat().st_mtime_ns // 1_000_000) for path in after}
    if stated != {path: state for path, state in present.items() if path in stated} or not present.keys() == stated.keys():
        raise UnsupportedError("The merged files are not the captured ones, so nothing was replaced.")
    old, new = read_facts(before), read_facts(after)
    if old.rows != new.rows:
        raise UnsupportedError(f"The merged files have {new.rows:,} records instead of {old.rows:,}, so nothing was replaced.")
    if old.columns != new.columns:
        name = next(name for name in {**old.columns, **new.columns} if old.columns.get(name) != new.columns.get(name))
        raise UnsupportedError(
            f"Spark would write the column {name} as {new.columns.get(name)} instead of {old.columns.get(name)}, so nothing was replaced."
        )
    if _partitions(before, source) != _partitions(after, merged):
        raise UnsupportedError("The merged files would lie in other partition folders, so nothing was replaced.")
    return str(capture.manifest["capture"]), str(capture.manifest["run"]["runId"])


def _find_capture(captures: Sequence[Captured], merged: Path) -> Captured:
    found = [one for one in captures if (sink := one.manifest.get("sink")) and _local(str(sink["path"])) == str(merged)]
    if len(found) != 1 or found[0].manifest["status"] != "complete":
        problems = [f"{each['operator']}: {each['reason']}" for one in found for each in one.manifest["problems"]]
        raise UnsupportedError(
            f"The records of the merge were not captured ({'; '.join(problems[:3]) or 'no capture'}), so nothing was replaced."
        )
    return found[0]


def _check_sources(capture: Captured, files: Sequence[FileBlock]) -> None:
    read = {
        (_local(str(file["path"])), file["length"], file["modified"])
        for source in capture.manifest["sources"]
        for file in source.get("files") or ()
    }
    if read != {(_local(file.path), file.length, file.modified) for file in files}:
        raise SourceChangedError("The data changed while it was merged, so nothing was replaced.", hint="Run the command again.")


def _partitions(files: Iterable[Path], folder: Path) -> set[Path]:
    return {path.parent.relative_to(folder) for path in files}


def _plain_type(kind: pa.DataType) -> str:
    """Return a type without units of time, nullability and names of list elements, which differ between writers."""
    return _ELEMENT.sub("list<", _UNIT.sub("timestamp", str(kind))).replace(" not null", "")


def _local(path: str) -> str:
    return "/" + path.removeprefix("file:").lstrip("/")
