"""A record trace as PROV: which record derives from which, within the runs that the trace went through.

Identity and place of records alone: an export must never carry their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.graph.model import Node, NodeKind, node_id, parse_id
from headwater.graph.prov.lineage import Flows, describe_dataset
from headwater.graph.prov.statements import Statements
from headwater.graph.prov.terms import instant
from headwater.graph.trace.answer import Grain, TraceAnswer, TracedRecord


def record_id(record: TracedRecord) -> str:
    """The id of a traced entry: `record:…` by dataset, file and row; at a coarser grain that of the file or dataset."""
    _, parts = parse_id(record.dataset)
    if record.file is None:
        return record.dataset
    if record.row is None or record.grain is not Grain.RECORD:
        return node_id("file", *parts, record.file)
    return node_id("record", *parts, record.file, str(record.row))


def describe_answer(statements: Statements, answer: TraceAnswer, flows: Flows, *, forward: bool) -> None:
    """Say that the selected records derive from those reached; forward, the other way round.

    The activity is named where one run alone lies between. Across several runs the derivation stands without one, as PROV has it
    for steps that are not given; the runs are described beside it.
    """
    partitions = _by_path(flows)
    between = {hop.run for hop in answer.path}
    # A hop that is known by datasets only names no run.
    run = next(iter(between)) or None if len(between) == 1 else None
    for entry in (*answer.selected, *answer.records):
        _describe_entry(statements, entry, partitions, flows)
    for selected in answer.selected:
        for reached in answer.records:
            product, source = (record_id(reached), record_id(selected)) if forward else (record_id(selected), record_id(reached))
            if run is not None and product != source:
                statements.used(run, source)
            statements.derived(product, source, run)


def _describe_entry(statements: Statements, entry: TracedRecord, partitions: Mapping[str, Sequence[str]], flows: Flows) -> None:
    identifier = record_id(entry)
    describe_dataset(statements, entry.dataset)
    if identifier == entry.dataset:
        return
    file = entry.file or ""
    is_record = entry.row is not None and entry.grain is Grain.RECORD
    about = {"file": file, "row": entry.row, "line": entry.line}
    statements.entity(identifier, "Record" if is_record else "File", f"{file}#{entry.row}" if is_record else file, about)
    held = partitions.get(_plain(file), ())
    if len(held) != 1:  # Unknown to the graph, or several states of one path: the dataset is all that can be said.
        statements.member(entry.dataset, identifier)
        return
    statements.member(held[0], identifier)
    writer = flows.writer.get(held[0])
    if writer is not None:
        statements.generated(identifier, writer, instant(flows.runs[writer].properties.get("endedAt")))


def _by_path(flows: Flows) -> dict[str, list[str]]:
    """Partitions of the flows by the path of their file, without its scheme where it is local."""
    found: dict[str, list[str]] = {}
    for node in flows.nodes.values():
        if node.kind is NodeKind.PARTITION:
            found.setdefault(_plain(_path(node)), []).append(node.id)
    return found


def _path(partition: Node) -> str:
    return str(partition.properties.get("path") or parse_id(partition.id)[1][0])


def _plain(path: str) -> str:
    """`file:/a/b`, `file:///a/b` and `/a/b` name one file."""
    if not path.startswith("file:"):
        return path
    return "/" + path.removeprefix("file:").lstrip("/")
