"""A record trace as PROV: the derivations between records, within the runs of the trace.

Only identity and place of records are exported, never their values. Records come out of the trace one after the other, and none is kept, so
their number does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headwater.graph.model import Node, NodeKind, node_id, parse_id
from headwater.graph.prov.circles import on_circles
from headwater.graph.prov.describe import describe_dataset, describe_partition
from headwater.graph.prov.lineage import Flows
from headwater.graph.prov.model import Kind, Name, Statement
from headwater.graph.prov.statements import Statements
from headwater.graph.prov.terms import LABEL, TYPE, instant, iri, term
from headwater.graph.records import uri_of
from headwater.graph.trace.record_pairs import TracedPairs

_RECORD = (TYPE, Name(term("Record")))
_FILE, _ROW, _LINE = term("file"), term("row"), term("line")


@dataclass(frozen=True, slots=True)
class _File:
    """The common parts of all records of a file: the beginning of their names, and the run that wrote them, if it is known."""

    partition: str
    path: str
    prefix: str
    generation: tuple[str, str | None] | None
    writer: str | None


class RecordStatements:
    """The statements about the records of one trace. Call `describe_files` first, because records refer to files."""

    def __init__(self, traced: TracedPairs, flows: Flows, *, forward: bool) -> None:
        self._traced = traced
        self._flows = flows
        self._forward = forward
        self._files: dict[int, _File] = {}
        between = {hop.run for hop in traced.path}
        # The activity is named where one run alone lies between. A hop that is known by datasets only names no run.
        self._run = next(iter(between)) or None if len(between) == 1 else None
        self._circular: frozenset[tuple[int, int, int, int]] = frozenset()

    @property
    def weakened(self) -> int:
        """Return the number of derivations that close a circle and became influences."""
        return len(self._circular)

    def describe_files(self, statements: Statements) -> None:
        """State the files and datasets of the records, and find circles among the records."""
        known = _by_block(self._flows)
        for file in self._traced.files:
            key = (_plain(file.block.path), file.block.length, file.block.modified)
            node = known.get(key)
            if node is None:
                identifier = node_id(NodeKind.PARTITION, file.block.path, str(file.block.length), str(file.block.modified))
                about = {"path": file.block.path, "length": file.block.length, "modified": file.block.modified}
                node = Node(identifier, NodeKind.PARTITION, file.block.path.rsplit("/", 1)[-1], about)
            containers = self._flows.containers.get(node.id) or [Node(file.dataset, NodeKind.DATASET, parse_id(file.dataset)[1][1])]
            describe_partition(statements, node, containers)
            self._files[file.number] = self._file(node.id, file.block)
        for dataset in (self._traced.dataset, *self._traced.datasets):
            describe_dataset(statements, dataset)
        directed = [(pair[:2], pair[2:]) for pair in self._traced.read_selected_pairs()]
        self._circular = frozenset((*first, *second) for first, second in on_circles(directed))

    def items(self) -> Iterator[Statement]:
        """Yield each record and its derivations."""
        traced = self._traced
        yield from self._entities(traced.read_selected())
        yield from self._entities(traced.read_reached())
        for pair in traced.read_pairs():
            yield self._derivation(pair)
        for file, row, vague in traced.uncertain_pairs():
            yield self._was_derived(self._name(file, row), iri(self._files[vague].partition), file)
        for dataset in traced.datasets:
            for file, row in traced.read_selected():
                yield self._was_derived(self._name(file, row), iri(dataset), file)

    def _entities(self, places: Iterator[tuple[int, int]]) -> Iterator[Statement]:
        at, file, lines = -1, None, None
        for number, row in places:
            if number != at or file is None:
                at, file, lines = number, self._files[number], self._traced.line_numbers(number)
            name = f"{file.prefix}{row}"
            place = ((_FILE, file.path), (_ROW, row))
            line: tuple[tuple[str, int], ...] = () if lines is None else ((_LINE, int(lines[row])),)
            yield Statement(Kind.ENTITY, name, (), (_RECORD, (LABEL, f"{file.path}#{row}"), *place, *line))
            yield Statement(Kind.MEMBERSHIP, None, (iri(file.partition), name))
            if file.generation is not None:
                yield Statement(Kind.GENERATION, None, (name, *file.generation))

    def _derivation(self, pair: tuple[int, int, int, int]) -> Statement:
        selected, reached = self._name(*pair[:2]), self._name(*pair[2:])
        if pair in self._circular:
            return Statement(Kind.INFLUENCE, None, (reached, selected) if self._forward else (selected, reached))
        return self._was_derived(selected, reached, pair[2] if self._forward else pair[0])

    def _was_derived(self, selected: str, reached: str, product: int) -> Statement:
        run = iri(self._run) if self._run is not None and self._files[product].writer == self._run else None
        ends = (reached, selected) if self._forward else (selected, reached)
        return Statement(Kind.DERIVATION, None, (*ends, run, None, None))

    def _name(self, file: int, row: int) -> str:
        return f"{self._files[file].prefix}{row}"

    def _file(self, partition: str, block: Sequence[object]) -> _File:
        path, length, modified = map(str, block)
        writer = self._flows.writer.get(partition)
        ended = instant(self._flows.runs[writer].properties.get("endedAt")) if writer is not None else None
        prefix = iri(node_id("record", path, length, modified)) + ":"
        return _File(partition, path, prefix, None if writer is None else (iri(writer), ended), writer)


def _by_block(flows: Flows) -> Mapping[tuple[str, object, object], Node]:
    found: dict[tuple[str, object, object], Node] = {}
    for node in flows.nodes.values():
        if node.kind is NodeKind.PARTITION:
            path, length, modified = parse_id(node.id)[1]
            found[_plain(path), _number(length), _number(modified)] = node
    return found


def _number(text: str) -> object:
    return int(text) if text.isdigit() else text


def _plain(path: str) -> str:
    """`file:/a/b`, `file:///a/b` and `/a/b` name one file, and so do `s3a://b/k` and `s3://b/k`."""
    return uri_of(path).removeprefix("file:")
