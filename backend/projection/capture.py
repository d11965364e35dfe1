"""Projects a capture's manifest (docs/reference/capture-format.md): the block that a run wrote, its files, input files and plan.

A file is a partition node with path, length and modification time as its id. A file that one capture wrote and another read is therefore
one node, which links the captures without comparing times or names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from posixpath import basename
from typing import Any

from headwater.backend.projection.dataset_names import stated_dataset
from headwater.backend.projection.facets import block_mode, given, mapping, objects, required, text
from headwater.backend.projection.statement import Statement
from headwater.backend.projection.tasks import state_tasks
from headwater.errors import InvalidCaptureError, InvalidInputError
from headwater.graph.model import EdgeKind, GraphBatch, NodeKind, Stamp, node_id, run_key
from headwater.graph.records import block_at
from headwater.graph.storage.addresses import is_remote
from headwater.paths import within_dataset

_LEDGER = ("capture", "mode", "status", "problems", "cost", "started", "ended", "recaptured")
_BLOCKS = {"overwrite": "base", "append": "delta"}


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file of a capture's sink, from the footers of its segments. `modified` is in milliseconds since the epoch."""

    path: str
    length: int
    modified: int
    rows: int
    attempt: int | None = None  # the task attempt that wrote it, if known


def capture_stamp(manifest: Mapping[str, Any], key: str) -> Stamp:
    """Return the time and key for the statements of a manifest: the end of the capture, and its key in the log.

    Raises:
        InvalidCaptureError: the time is missing.
    """
    with _refusing():
        return Stamp.at(required(manifest, "ended", "$"), key)


def project_capture(manifest: Mapping[str, Any], stamp: Stamp, files: Sequence[WrittenFile] = ()) -> GraphBatch:
    """Project a manifest. `files` are the files in the segments of its sink, which the manifest does not list.

    Raises:
        InvalidCaptureError: the manifest lacks a required part.
    """
    statement = Statement(stamp)
    with _refusing():
        _state(statement, manifest, files)
    return statement.batch()


def _state(statement: Statement, manifest: Mapping[str, Any], files: Sequence[WrittenFile]) -> None:
    run_id = run_key(required(manifest.get("run"), "runId", "$.run"))
    statement.by = run_id
    job = statement.job(required(manifest["run"], "namespace", "$.run"), required(manifest["run"], "job", "$.run"))
    run = statement.run(job, run_id)
    capture = required(manifest, "capture", "$")
    reads = {
        _state_source(statement, source, f"$.sources[{index}]", job, run)
        for index, source in enumerate(objects(manifest.get("sources")))
        # rows that the program made itself, and outputs of a replay that were not committed, are not datasets for other jobs
        if source.get("format") != "local" and source.get("uncommitted") is not True
    }
    ledger = {name: manifest[name] for name in _LEDGER if name in manifest}
    # Rank −1: an event may have more facts about the same input.
    inputs: dict[str, Any] = {f"input:{dataset}": {} for dataset in reads}
    statement.describe(run, {"capture": ledger, **inputs}, ranks={**dict.fromkeys(inputs, -1), **_rank(manifest)})
    _state_operators(statement, manifest, run, capture)
    state_tasks(statement, manifest, run, capture, _made(files))
    if manifest.get("sink") and mapping(manifest["sink"]).get("uncommitted") is not True:
        _state_sink(statement, manifest, job, run, run_id, capture, files)


def _state_source(statement: Statement, source: Mapping[str, Any], path: str, job: str, run: str) -> str:
    dataset = statement.dataset(*stated_dataset(source, path))
    statement.link(dataset, job, EdgeKind.READS)
    for index, file in enumerate(objects(source.get("files"))):
        partition = _partition(required(file, "path", f"{path}.files[{index}]"), file.get("length"), file.get("modified"))
        values = given(length=file.get("length"), modified=file.get("modified"), values=file.get("partition") or None)
        _state_partition(statement, dataset, partition, file["path"], values)
        statement.link(partition, run, EdgeKind.READS)
    return dataset


def _state_sink(
    statement: Statement, manifest: Mapping[str, Any], job: str, run: str, run_id: str, capture: str, files: Sequence[WrittenFile]
) -> None:
    sink = mapping(manifest["sink"])
    namespace, name = stated_dataset(sink, "$.sink")
    version = statement.version(namespace, name, run_id)
    statement.link(job, statement.dataset(namespace, name), EdgeKind.WRITES)
    statement.link(run, version, EdgeKind.WRITES)
    # A write of some partitions replaces only these partitions.
    is_part = bool(sink.get("dynamic")) or bool(within_dataset(str(sink.get("path") or ""), namespace, name))
    block = _BLOCKS.get(str(sink.get("mode")).lower())
    about = given(
        block=block_mode(sink.get("block"), "delta" if block and is_part else block),
        merges=sink.get("merges") is True or None,
        replaces=text(sink.get("replaces")),
        path=sink.get("path"),
        format=sink.get("format"),
        partition_columns=sink.get("partition_columns"),
        capture=capture,
        writtenAt=Stamp.at(required(manifest, "ended", "$"), "").time,
    )
    if files:
        about |= {"files": len(files), "bytes": sum(file.length for file in files), "rows": sum(file.rows for file in files)}
    statement.describe(version, about, ranks=_rank(manifest))
    for file in files:
        partition = _partition(file.path, file.length, file.modified)
        _state_partition(statement, version, partition, file.path, {"length": file.length, "modified": file.modified, "rows": file.rows})
        statement.link(run, partition, EdgeKind.WRITES)


def _rank(manifest: Mapping[str, Any]) -> dict[str, int]:
    """Return the ranks of statements about a capture. A recapture has precedence over the missing capture of the first run."""
    return {"capture": 1} if "recaptured" in manifest else {}


def _state_partition(statement: Statement, container: str, partition: str, path: str, properties: dict[str, Any]) -> None:
    statement.describe(statement.contain(container, partition), {"path": path, **properties}, name=basename(path) or path)


def _state_operators(statement: Statement, manifest: Mapping[str, Any], run: str, capture: str) -> None:
    named = {source.get("source"): source for source in objects(manifest.get("sources"))}
    for index, operator in enumerate(objects(manifest.get("operators"))):
        op = required(operator, "op", f"$.operators[{index}]")
        identifier = statement.contain(run, node_id(NodeKind.OPERATOR, capture, str(operator.get("id"))))
        children = [node_id(NodeKind.OPERATOR, capture, str(child)) for child in operator.get("children") or ()]
        about = given(op=op, text=operator.get("text"), boundary=operator.get("boundary"), source=operator.get("source"))
        if (source := named.get(operator.get("source"))) is not None:
            about["dataset"] = node_id(NodeKind.DATASET, *stated_dataset(source, "$.sources"))
        statement.describe(identifier, {**about, "children": children, "ordinal": index}, name=op)


def _made(files: Sequence[WrittenFile]) -> dict[int, list[str]]:
    made: dict[int, list[str]] = {}
    for file in files:
        if file.attempt is not None:
            made.setdefault(file.attempt, []).append(_partition(file.path, file.length, file.modified))
    return made


def _partition(path: str, length: Any, modified: Any) -> str:
    """Return the node id of a file. URIs of object stores are normalized, and times are in whole seconds, as in record traces."""
    if is_remote(path) and isinstance(length, int) and isinstance(modified, int):
        path, length, modified = block_at(path, length, modified)
    return node_id(NodeKind.PARTITION, path, str(length), str(modified))


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except InvalidInputError as error:
        raise InvalidCaptureError(error.message, field=error.field, hint=error.hint) from error
