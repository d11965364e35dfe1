"""Follows a capture from output rows to source records, in plain Python, for comparison with what a test computes by itself."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from tests.spark_listener.capture.segments import decode

NONE = -(1 << 63)


class Record(NamedTuple):
    """A source record: file, start of the split where it is not the whole file, and rank (or row index)."""

    path: str
    start: int
    row: int


class Written(NamedTuple):
    """An output row by its place, and the records that had influence on it."""

    path: str
    row: int
    records: frozenset[Record]


class Lineage:
    """The lineage of one capture, whose segments lie under `folder`."""

    def __init__(self, capture: dict[str, Any], folder: Path) -> None:
        self.capture = capture
        self._operators = {operator["id"]: operator for operator in capture["operators"]}
        self._boundaries = {
            boundary["operator"]: boundary for boundary in capture["boundaries"] if boundary["kind"] not in ("semi", "check", "chosen")
        }
        self._segments = defaultdict(list)
        for segment in capture["segments"]:
            footer, rows = decode(folder / capture["capture"] / segment["name"])
            assert (footer["rows"], footer["attempt"]) == (segment["rows"], segment["attempt"])
            self._segments[segment["boundary"]].append((footer, rows))
        self._groups: dict[int, dict[int, list[tuple[int, ...]]]] = {}
        self._windows: dict[int, dict[int, tuple[list[tuple[int, ...]], int]]] = {}
        self._known: dict[tuple[int, int], frozenset[Record]] = {}

    def rows(self, operator: int) -> list[tuple[int, ...]]:
        """All rows that were recorded at an operator."""
        return [row for _, rows in self._segments[self._boundaries[operator]["boundary"]] for row in rows]

    def written(self) -> list[Written]:
        """Every output row."""
        columns = self._boundaries[0]["columns"]
        result = []
        for footer, rows in self._segments[0]:
            places: dict[int, int] = defaultdict(int)
            at = 0
            for file, count in footer["runs"]:
                path = footer["files"][file]["path"]
                for row in rows[at : at + count]:
                    result.append(Written(path, places[file], self._union(columns, row)))
                    places[file] += 1
                at += count
            assert at == len(rows)
        return result

    def _union(self, columns: list[dict[str, Any]], row: tuple[int, ...]) -> frozenset[Record]:
        refs = [self.of(column["operator"], value) for column, value in zip(columns, row, strict=True) if column["role"] == "ref"]
        return frozenset().union(*refs)

    def of(self, operator: int, ref: int) -> frozenset[Record]:
        """The records behind a reference."""
        if ref == NONE:
            return frozenset()
        if (operator, ref) not in self._known:
            kind = self._operators[operator]["op"]
            follow = {"Scan": self._scan, "Window": self._window, "InMemoryRelation": self._cached, "Checkpoint": self._cached}.get(
                kind, self._group
            )
            self._known[operator, ref] = follow(operator, ref)
        return self._known[operator, ref]

    def _scan(self, operator: int, ref: int) -> frozenset[Record]:
        source = next(s for s in self.capture["sources"] if s["source"] == self._operators[operator]["source"])
        ordinal, row = ref >> 40, ref & ((1 << 40) - 1)
        for split in source["splits"]:
            if split["ordinal"] == ordinal:
                return frozenset({Record(split["path"], split["start"], row)})
        (path,) = [f["path"] for f in source["files"] if f["ordinal"] <= ordinal < f["ordinal"] + f["ordinals"]]
        return frozenset({Record(path, 0, row)})

    def _cached(self, operator: int, ref: int) -> frozenset[Record]:
        boundary = self._boundaries[operator]
        rows = next(rows for footer, rows in self._segments[boundary["boundary"]] if footer["attempt"] & 0x7FFFFF == ref >> 40)
        return self._union(boundary["columns"], rows[ref & ((1 << 40) - 1)])

    def _group(self, operator: int, ref: int) -> frozenset[Record]:
        if operator not in self._groups:
            groups = self._groups[operator] = defaultdict(list)
            for row in self.rows(operator):
                groups[row[0]].append(row)
        columns = self._boundaries[operator]["columns"]
        return frozenset().union(*(self._union(columns, row) for row in self._groups[operator].get(ref, ())))

    def _window(self, operator: int, ref: int) -> frozenset[Record]:
        boundary = self._boundaries[operator]
        columns = boundary["columns"]
        if operator not in self._windows:
            self._windows[operator] = self._partitions(boundary["boundary"])
        partition, place = self._windows[operator][ref]
        own = partition[place]
        needed = {place}
        for definition in self._operators[operator]["defines"]:
            needed |= self._reach(definition, self._operators[operator], columns, own, place, len(partition))
        limited = [self.of(c["operator"], value) for c, value in zip(columns, own, strict=True) if c["role"] == "partition"]
        return frozenset().union(*(self._union(columns, partition[i]) for i in needed), *limited)

    @staticmethod
    def _reach(
        definition: dict[str, Any], operator: dict[str, Any], columns: list[dict[str, Any]], own: tuple[int, ...], place: int, size: int
    ) -> set[int]:
        function = definition["expr"]["fn"]
        if function in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"):
            return set(range(size))
        number = definition["frame"]
        frame = operator["frames"][number]
        if frame["unit"] == "range":
            at = {(c["role"], c.get("frame")): value for c, value in zip(columns, own, strict=True)}
            end = at["frame_end", number]
            count = at.get(("frame_size", number), end)
            return set(range(end - count, end))
        start = 0 if frame["start"] is None else place + frame["start"]
        end = size - 1 if frame["end"] is None else place + frame["end"]
        if function in ("lag", "lead"):
            if not 0 <= end < size:
                return set()
            start, end = min(place, start), max(place, end)
        return set(range(max(start, 0), min(end, size - 1) + 1))

    def _partitions(self, boundary: int) -> dict[int, tuple[list[tuple[int, ...]], int]]:
        result = {}
        for footer, rows in self._segments[boundary]:
            begin = 0
            while begin < len(rows):
                end = begin
                while end < len(rows) and rows[end][0] == rows[begin][0]:
                    end += 1
                partition = rows[begin:end]
                for place in range(begin, end):
                    result[(footer["attempt"] & 0x7FFFFF) << 40 | place] = (partition, place - begin)
                begin = end
        return result
