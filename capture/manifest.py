"""The captures of one commit: for each written dataset, the segments of its associations and the manifest that lists them.

An output of several inputs has one row in the sink for each. The plan is a union: each row comes from one of the inputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from headwater.capture.data import Container, Data, Stated, Table
from headwater.capture.encode import segment
from headwater.capture.parts import Part
from headwater.graph.associations.references import NONE, POSITION_BITS, POSITION_MASK

_COLUMNS = {
    "bytes": [("bytes", "binary")], "stream": [("position", "bigint")], "table": [("key", "string")], "text": [("value", "string")],
}  # fmt: skip
_SINK, _EXTENTS = 0, 1  # boundaries: the sink, then the scans of ranges
_WRITE, _ACTOR, _SCANS = 0, 1, 2  # operators: the write, the actor, then the scans


@dataclass(frozen=True, slots=True)
class Committed:
    """The facts about a session that a capture needs. `stated` returns the state of a container at the commit."""

    folder: Path  # parent of the capture's folder of segments
    label: str
    output: Part
    inputs: Sequence[Part]
    stated: Callable[[Container], Stated]
    batches: Iterable[tuple[pa.Array, pa.Array]]


def capture_of(made: Committed) -> dict[str, Any]:
    """Return the parts of a manifest that describe the capture, and write its segments.

    Raises:
        OSError: a segment cannot be written.
    """
    capture = str(uuid4())
    folder = made.folder / capture
    folder.mkdir(mode=0o700, parents=True)
    sources = made.inputs
    ranged = made.output.data.lengths is not None
    columns = [{"role": "place"}, *({"role": "ref", "operator": _SCANS + place} for place in range(len(sources)))]
    boundaries: list[dict[str, Any]] = [{
        "boundary": _SINK, "kind": "sink", "operator": _ACTOR, "columns": [*columns, *([{"role": "length"}] if ranged else [])],
    }]  # fmt: skip
    segments = []
    ranges: dict[int, list[pa.Array]] = {place: [] for place, source in enumerate(sources) if source.data.lengths is not None}
    for number, (inputs, outputs) in enumerate(_batches_of(made)):
        segments.append(_keep(folder, capture, _SINK, number, *_sink(made, sources, inputs, outputs)))
        for place, read in ranges.items():
            of_source = pc.is_in(pc.shift_right(inputs, POSITION_BITS), value_set=_ordinals(sources[place]))
            read.append(pc.unique(inputs.filter(of_source)))
    for place, read in ranges.items():
        number = _EXTENTS + place
        described = {"boundary": number, "kind": "extent", "operator": _SCANS + place}
        boundaries.append({**described, "columns": [{"role": "place"}, {"role": "length"}]})
        segments += [_keep(folder, capture, number, 0, _extents(sources[place].data, read), {})]
    return {
        "format": 3,
        "capture": capture,
        "sources": [_source(place, source, made.stated) for place, source in enumerate(sources)],
        "operators": [
            {"id": _WRITE, "op": "Write", "behaviour": "passes", "children": [_ACTOR], "text": "Write"},
            {"id": _ACTOR, "op": "Actor", "behaviour": "union", "text": made.label,
             "children": [_SCANS + place for place in range(len(sources))]},
            *({"id": _SCANS + place, "op": "Scan", "behaviour": "source", "source": place, "children": [], "columns": [],
               "text": f"Scan {source.data.name}"} for place, source in enumerate(sources)),
        ],
        "boundaries": boundaries,
        "sink": {**_described(made.output), "boundary": _SINK, "mode": "append", **_reasons(made.output.data)},
        "segments": segments,
        "cost": {"bytes": sum(entry["bytes"] for entry in segments), "rows": sum(entry["rows"] for entry in segments)},
    }  # fmt: skip


def ordinals_of(references: pa.Array) -> list[int]:
    """Return the distinct containers of references."""
    found: list[int] = pc.unique(pc.shift_right(references, POSITION_BITS)).to_pylist()
    return found


def _batches_of(made: Committed) -> Iterable[tuple[pa.Array, pa.Array]]:
    """Yield the pairs with an output in the dataset of this capture."""
    own = _ordinals(made.output)
    for inputs, outputs in made.batches:
        kept = pc.is_in(pc.shift_right(outputs, POSITION_BITS), value_set=own)
        if not pc.all(kept).as_py():
            inputs, outputs = inputs.filter(kept), outputs.filter(kept)  # noqa: PLW2901
        if len(inputs):
            yield inputs, outputs


def _sink(made: Committed, sources: Sequence[Part], inputs: pa.Array, outputs: pa.Array) -> tuple[list[pa.Array], dict[str, Any]]:
    """Return the columns of a segment of the sink, and the rows of each file."""
    ordinals = pc.shift_right(outputs, POSITION_BITS)
    if len(made.output.containers) > 1:
        order = pc.sort_indices(ordinals)
        inputs, outputs, ordinals = inputs.take(order), outputs.take(order), ordinals.take(order)
    counts = {entry["values"].as_py(): entry["counts"].as_py() for entry in pc.value_counts(ordinals)}
    by_ordinal = {container.ordinal: container for container in made.output.containers}
    files = [dict(zip(("path", "length", "modified"), made.stated(by_ordinal[ordinal]), strict=True)) for ordinal in sorted(counts)]
    runs = [[place, counts[ordinal]] for place, ordinal in enumerate(sorted(counts))]
    columns = [pc.bit_wise_and(outputs, POSITION_MASK)]
    if len(sources) == 1:
        columns.append(inputs)
    else:
        read = pc.shift_right(inputs, POSITION_BITS)
        for source in sources:
            own = _ordinals(source)
            columns.append(pc.if_else(pc.is_in(read, value_set=own), inputs, NONE))
    if (lengths := made.output.data.lengths) is not None:
        columns.append(pa.array([lengths[reference] for reference in outputs.to_pylist()], pa.int64()))
    return columns, {"files": files, "runs": runs}


def _ordinals(part: Part) -> pa.Array:
    return pa.array([container.ordinal for container in part.containers], pa.int64())


def _extents(source: Data, read: Sequence[pa.Array]) -> list[pa.Array]:
    """Return the distinct ranges of a source that were read."""
    lengths = source.lengths or {}
    references = pc.unique(pa.chunked_array(read, pa.int64()))
    return [references, pa.array([lengths[reference] for reference in references.to_pylist()], pa.int64())]


def _keep(folder: Path, capture: str, boundary: int, number: int, columns: list[pa.Array], more: Mapping[str, Any]) -> dict[str, Any]:
    """Write a segment, and return its entry in the manifest."""
    about = {"boundary": boundary, "stage": 0, "stage_attempt": 0, "partition": number, "attempt": number}
    data = segment(columns, {"capture": capture, **about, "columns": len(columns), **more})
    name = f"b{boundary}-s0.0-p{number}-a{number}.seg"
    (folder / name).write_bytes(data)
    return {**about, "name": name, "rows": len(columns[0]), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _source(place: int, source: Part, stated: Callable[[Container], Stated]) -> dict[str, Any]:
    files = []
    for container in source.containers:
        path, length, modified = stated(container)
        files.append({"ordinal": container.ordinal, "path": path, "length": length, "modified": modified})
    return {**_described(source), "source": place, "files": files}


def _reasons(data: Data) -> dict[str, Any]:
    """Return the reasons of failed inputs. Names contain no part of a reason, because more callers see names than values."""
    return {"failureReasons": dict(data.reasons)} if isinstance(data, Table) and data.reasons else {}


def _described(part: Part) -> dict[str, Any]:
    data = part.data
    return {
        "dataset": {"namespace": data.namespace, "name": data.name}, "path": data.path, "format": data.format,
        "options": dict(data.options),
        "columns": [{"name": name, "type": kind, "attr": 0} for name, kind in part.columns or _COLUMNS.get(data.format, ())],
    }  # fmt: skip
