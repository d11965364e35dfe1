"""Small jobs, run by hand in plain Python, that capture as the taps do: values, references, boundaries, segments, a manifest.

The lineage that tests expect never comes from here: each test works it out by nested loops over the raw rows.
"""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.graph.associations import NONE, Manifest, pack
from headwater.graph.associations.behaviours import assumed
from headwater.graph.associations.references import ORDINAL_MASK
from headwater.graph.associations.writer import segment
from headwater.graph.records import AssociationStore, block_of

TENANT = "default"
ARROW = {"bigint": pa.int64(), "int": pa.int32(), "double": pa.float64(), "string": pa.string()}
PYTHON: dict[str, Callable[[str], Any]] = {"bigint": int, "int": int, "double": float, "string": str}


@dataclass
class Row:
    values: dict[str, Any]
    refs: dict[int, int]


@dataclass
class Relation:
    """`columns` maps a name to (attribute, Spark type); `refs` are the operators that rows refer to."""

    operator: int
    columns: dict[str, tuple[int, str]]
    rows: list[Row]
    refs: list[int]


@dataclass
class Job:
    """One captured query in the making. `clock` orders the captures."""

    format: ClassVar[int] = 1
    mode: ClassVar[str] = "active"
    states_behaviours: ClassVar[bool] = False  # of operators that have names of their own, which nobody knows
    second_hashes: ClassVar[bool] = False  # of groups, which are numbered anew where they have one
    store: AssociationStore
    name: str
    clock: int = 0
    run: str = field(default_factory=lambda: str(uuid4()))
    capture: str = field(default_factory=lambda: str(uuid4()))
    operators: dict[int, dict[str, Any]] = field(default_factory=dict)
    sources: list[dict[str, Any]] = field(default_factory=list)
    boundaries: list[dict[str, Any]] = field(default_factory=list)
    segments: list[tuple[dict[str, Any], list[list[int]], dict[str, Any]]] = field(default_factory=list)
    problems: list[dict[str, Any]] = field(default_factory=list)
    attrs: int = 0
    attempts: int = 40
    said: dict[str, Any] = field(default_factory=dict)  # of its sink, besides
    more: dict[str, Any] = field(default_factory=dict)  # of the manifest, besides
    status: str = "complete"
    part: str = "part"  # how the names of its files begin
    modified: int | None = None  # the time of its files, in seconds

    def scan(
        self,
        path: Path,
        format_: str,
        columns: Mapping[str, str],
        options: Mapping[str, str] | None = None,
        splits: Mapping[str, Sequence[int]] | None = None,
        partition_columns: Sequence[str] = (),
        only: Collection[str] | None = None,
    ) -> Relation:
        """Read the data files of a folder, all or `only` those of some names, or one file.

        `splits`: file name → the bytes at which its splits start.
        """
        paths = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith(("_", ".")))
        paths = [p for p in paths if only is None or p.name in only]
        operator = self._operator("Scan", (), source=len(self.sources), text=f"Scan {path.name}")
        names = {name: (self._attr(), kind) for name, kind in columns.items()}
        files, listed, rows, ordinal = [], [], [], 0
        for file in paths:
            block = block_of(file)
            partition = {k: v for k, _, v in (part.partition("=") for part in file.relative_to(path).parts[:-1])} if path.is_dir() else {}
            starts = list((splits or {}).get(file.name, [0]))
            files.append({
                "ordinal": ordinal, "ordinals": len(starts), "path": block.path, "length": block.length, "modified": block.modified,
                "partition": partition,
            })  # fmt: skip
            for values, begin, rank in _read(file, format_, columns, options or {}, starts):
                split = max(index for index, start in enumerate(starts) if start == 0 or start < begin) if format_ != "parquet" else 0
                rows.append(Row({**partition, **values}, {operator: pack(ordinal + split, rank)}))
            if len(starts) > 1:
                ends = [*starts[1:], block.length]
                listed += [
                    {"ordinal": ordinal + n, "path": block.path, "start": s, "length": e - s}
                    for n, (s, e) in enumerate(zip(starts, ends, strict=True))
                ]
            ordinal += len(starts)
        self.operators[operator]["columns"] = [{"attr": attr, "name": name, "type": kind} for name, (attr, kind) in names.items()]
        self.sources.append({
            "source": len(self.sources), "dataset": {"namespace": "file", "name": str(path)}, "path": f"file:{path}", "format": format_,
            "options": dict(options or {}), "columns": [{"name": name, "type": kind} for name, kind in columns.items()],
            "partition_columns": list(partition_columns), "files": files, "splits": listed,
        })  # fmt: skip
        return Relation(operator, names, rows, [operator])

    def project(self, of: Relation, defined: Mapping[str, tuple[Callable[[dict[str, Any]], Any], dict[str, Any], str]]) -> Relation:
        """`defined`: name → (function of the row's values, expression, type). Other columns pass."""
        columns, defines = dict(of.columns), []
        for name, (_, expr, kind) in defined.items():
            columns[name] = (self._attr(), kind)
            defines.append({"attr": columns[name][0], "name": name, "type": kind, "expr": expr})
        operator = self._operator("Project", (of.operator,), defines=defines, text=f"Project {', '.join(defined)}")
        rows = [Row({**row.values, **{name: f(row.values) for name, (f, _, _) in defined.items()}}, row.refs) for row in of.rows]
        return Relation(operator, columns, rows, of.refs)

    def filter(self, of: Relation, keep: Callable[[dict[str, Any]], bool], reads: Sequence[str]) -> Relation:
        operator = self._operator(
            "Filter", (of.operator,), reads=[of.columns[name][0] for name in reads], text=f"Filter on {', '.join(reads)}"
        )
        return Relation(operator, of.columns, [row for row in of.rows if keep(row.values)], of.refs)

    def join(self, left: Relation, right: Relation, on: Sequence[tuple[str, str]], how: str = "inner") -> Relation:
        operator = self._operator(
            "Join", (left.operator, right.operator), how=how, text=f"Join {how} on {on}",
            reads=[left.columns[a][0] for a, _ in on] + [right.columns[b][0] for _, b in on],
        )  # fmt: skip
        rows = []
        for row in left.rows:
            matches = [r for r in right.rows if all(row.values[a] is not None and row.values[a] == r.values[b] for a, b in on)]
            rows += [Row({**r.values, **row.values}, row.refs | r.refs) for r in matches]
            if not matches and how == "left":
                rows.append(Row({**dict.fromkeys(right.columns), **row.values}, row.refs | dict.fromkeys(right.refs, NONE)))
        return Relation(operator, {**right.columns, **left.columns}, rows, [*left.refs, *right.refs])

    def aggregate(
        self, of: Relation, keys: Sequence[str], functions: Mapping[str, tuple[dict[str, Any], Callable[[list[Row]], Any], str]]
    ) -> Relation:
        """`functions`: name → (expression, function of the group's rows, type)."""
        columns = {key: of.columns[key] for key in keys}
        defines = []
        for name, (expr, _, kind) in functions.items():
            columns[name] = (self._attr(), kind)
            defines.append({"attr": columns[name][0], "name": name, "type": kind, "expr": expr})
        operator = self._operator(
            "Aggregate", (of.operator,), keys=[self.attr(of, key) for key in keys], defines=defines, text=f"Aggregate by {', '.join(keys)}"
        )
        self._boundary("group", operator, [{"role": "key"}, *({"role": "ref", "operator": ref} for ref in of.refs)], of.operator)
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in of.rows:
            groups.setdefault(tuple(row.values[key] for key in keys), []).append(row)
        edges = [[_hash(key), *(row.refs[ref] for ref in of.refs)] for key, rows in groups.items() for row in rows]
        self._spill(len(self.boundaries) - 1, edges)
        if self.second_hashes:
            self._boundary("check", operator, [{"role": "key"}, {"role": "check"}], of.operator)
            self._spill(len(self.boundaries) - 1, [[_hash(key), _hash((key,))] for key in groups])
        rows = [
            Row(
                {**dict(zip(keys, key, strict=True)), **{name: f(members) for name, (_, f, _) in functions.items()}}, {operator: _hash(key)}
            )
            for key, members in groups.items()
        ]
        return Relation(operator, columns, rows, [operator])

    def window(
        self,
        of: Relation,
        partition: Sequence[str],
        order: Sequence[str],
        functions: Mapping[str, tuple[dict[str, Any], int | None, Callable[[list[Row], int], Any], str]],
        frames: Sequence[dict[str, Any]] = (),
        bounds: Callable[[int, list[Row], int], tuple[int, int]] | None = None,
    ) -> Relation:
        """`functions`: name → (expression, frame, function of (partition, index), type). `bounds`: a RANGE frame's first and last index."""
        columns, defines = dict(of.columns), []
        for name, (expr, frame, _, kind) in functions.items():
            columns[name] = (self._attr(), kind)
            defines.append({"attr": columns[name][0], "name": name, "type": kind, "expr": expr, "frame": frame})
        operator = self._operator(
            "Window", (of.operator,), partition=[self.attr(of, key) for key in partition], frames=list(frames), defines=defines,
            order=[{"expr": self.attr(of, key), "descending": False, "nulls_last": False} for key in order],
            text=f"Window by {', '.join(partition)}",
        )  # fmt: skip
        ranged = [
            index for index, frame in enumerate(frames) if frame["unit"] == "range" and (frame["start"], frame["end"]) != (None, None)
        ]
        extra = [{"role": role, "frame": index} for index in ranged for role in ("frame_end", "frame_size")]
        refs = [{"role": "ref", "operator": ref} for ref in of.refs]
        self._boundary("window", operator, [{"role": "key"}, *refs, *extra], operator)
        partitions: dict[tuple[Any, ...], list[Row]] = {}
        for row in of.rows:
            partitions.setdefault(tuple(row.values[key] for key in partition), []).append(row)
        tasks: list[list[tuple[Any, ...]]] = [[], []]
        for number, key in enumerate(partitions):
            tasks[number % 2].append(key)
        rows = []
        for task in tasks:
            attempt = self._attempt()
            edges: list[list[int]] = []
            for key in task:
                members = sorted(partitions[key], key=lambda row: tuple(row.values[name] for name in order))
                for index, row in enumerate(members):
                    own = pack(attempt & ORDINAL_MASK, len(edges))
                    ends = [v for f in ranged if bounds for lo, hi in [bounds(f, members, index)] for v in (hi + 1, hi - lo + 1)]
                    edges.append([_hash(key), *(row.refs[ref] for ref in of.refs), *ends])
                    values = {name: f(members, index) for name, (_, _, f, _) in functions.items()}
                    rows.append(Row({**row.values, **values}, {operator: own}))
            self._segment(len(self.boundaries) - 1, attempt, edges, {})
        return Relation(operator, columns, rows, [operator])

    def write(
        self, of: Relation, folder: Path, format_: str, columns: Sequence[str], *, files: int = 2, partition_by: str | None = None
    ) -> Manifest:
        """Write, and publish the capture. Rows go to the files in turn of contiguous parts (or by partition value)."""
        folder.mkdir(parents=True, exist_ok=True)
        operator = self._operator("Write", (of.operator,), columns=[of.columns[name][0] for name in columns], text=f"Write {folder.name}")
        self._boundary("sink", of.operator, [{"role": "ref", "operator": ref} for ref in of.refs], of.operator)
        size = -(-len(of.rows) // files) or 1
        for number in range(files):
            part = of.rows[number * size : (number + 1) * size]
            groups: dict[Any, list[int]] = {}
            for index, row in enumerate(part):
                groups.setdefault(row.values[partition_by] if partition_by else None, []).append(index)
            written = []
            place: dict[int, int] = {}
            for n, (value, indexes) in enumerate(groups.items()):
                file = (folder / f"{partition_by}={value}" if partition_by else folder) / f"{self.part}-{number:05d}.{format_}"
                file.parent.mkdir(exist_ok=True)
                _write(file, format_, [c for c in columns if c != partition_by], of, [part[i] for i in indexes])
                if self.modified is not None:
                    os.utime(file, (self.modified, self.modified))
                block = block_of(file)
                written.append({"path": block.path, "length": block.length, "modified": block.modified})
                place |= dict.fromkeys(indexes, n)
            runs = [[place[index], 1] for index in range(len(part))]
            self._segment(
                len(self.boundaries) - 1,
                self._attempt(),
                [[row.refs[ref] for ref in of.refs] for row in part],
                {"files": written, "runs": runs},
            )
        return self._publish(operator, folder, format_, columns, of, partition_by)

    def attr(self, of: Relation, name: str) -> dict[str, Any]:
        """The expression that reads a column."""
        return {"fn": "attr", "attr": of.columns[name][0], "type": of.columns[name][1], "name": name}

    def function(self, fn: str, *args: dict[str, Any], kind: str = "double", **more: Any) -> dict[str, Any]:
        """A call of a function."""
        return {"fn": fn, "args": list(args), "type": kind, "sql": f"{fn}({', '.join(arg.get('name', '…') for arg in args)})", **more}

    def literal(self, value: Any, kind: str) -> dict[str, Any]:
        return {"fn": "literal", "args": [], "type": kind, "value": None if value is None else str(value)}

    def aggregation(self, fn: str, *args: dict[str, Any], **more: Any) -> dict[str, Any]:
        return (
            self.function(fn, *args, aggregate=True, distinct=False, **more)
            if "distinct" not in more
            else self.function(fn, *args, aggregate=True, **more)
        )

    def _publish(self, root: int, folder: Path, format_: str, columns: Sequence[str], of: Relation, partition_by: str | None) -> Manifest:
        sink = len(self.boundaries) - 1
        entries = []
        for footer, table, more in self.segments:
            name = f"b{footer['boundary']}-s1.0-p{footer['partition']}-a{footer['attempt']}.seg"
            data = segment(table, {**footer, **more}, block_rows=5)
            digest = self.store.stage_segment(TENANT, self.capture, name, data)
            rows = len(table[0]) if table else 0
            known = {key: footer[key] for key in ("boundary", "stage", "stage_attempt", "partition", "attempt")}
            entries.append({**known, "name": name, "rows": rows,
                            "bytes": len(data), "sha256": digest})  # fmt: skip
        order = [root, *(identifier for identifier in self.operators if identifier != root)]
        manifest = Manifest.from_json({
            "format": self.format, "capture": self.capture, "run": {"namespace": "tests", "job": self.name, "runId": self.run},
            "application": {"id": "app", "name": self.name, "spark": "4.1.4"}, "execution": 1,
            "started": f"2026-01-01T00:{self.clock:02d}:00Z", "ended": f"2026-01-01T00:{self.clock:02d}:30Z",
            "mode": self.mode, "status": self.status, "problems": self.problems, "sources": self.sources,
            "operators": [self.operators[identifier] for identifier in order], "boundaries": self.boundaries,
            "sink": {
                "boundary": sink, "dataset": {"namespace": "file", "name": str(folder)}, "path": f"file:{folder}", "format": format_,
                "mode": "overwrite", "options": {"header": "true"} if format_ == "csv" else {},
                "columns": [{"name": name, "type": of.columns[name][1], "attr": of.columns[name][0]} for name in columns],
                "partition_columns": [partition_by] if partition_by else [], **self.said,
            },
            "segments": entries, **self.more,
        })  # fmt: skip
        self.store.publish(TENANT, manifest)
        return manifest

    def _boundary(self, kind: str, operator: int, columns: list[dict[str, Any]], at: int) -> None:
        self.boundaries.append(
            {"boundary": len(self.boundaries), "kind": kind, "operator": operator if kind != "sink" else at, "columns": columns}
        )
        if kind not in {"sink", "check"}:
            self.operators[operator]["boundary"] = len(self.boundaries) - 1

    def _spill(self, boundary: int, edges: list[list[int]]) -> None:
        """Over two tasks, as a shuffle would meet them."""
        for part in (edges[::2], edges[1::2]):
            self._segment(boundary, self._attempt(), part, {})

    def _segment(self, boundary: int, attempt: int, edges: list[list[int]], more: dict[str, Any]) -> None:
        width = len(self.boundaries[boundary]["columns"])
        footer = {"capture": self.capture, "boundary": boundary, "stage": 1, "stage_attempt": 0, "partition": attempt, "attempt": attempt,
                  "columns": self.boundaries[boundary]["columns"]}  # fmt: skip
        self.segments.append((footer, [[edge[index] for edge in edges] for index in range(width)], more))

    def _operator(self, op: str, children: Sequence[int], **more: Any) -> int:
        identifier = len(self.operators) + 1
        if self.states_behaviours:
            behaviour, optional = assumed(op, more.get("how"))
            op, more = f"Step{identifier}", {**more, "behaviour": str(behaviour), "optional": list(optional)}
        self.operators[identifier] = {"id": identifier, "op": op, "children": list(children), **more}
        return identifier

    def _attr(self) -> int:
        self.attrs += 1
        return self.attrs

    def _attempt(self) -> int:
        self.attempts += 1
        return self.attempts


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """A raw CSV file with a header; None is NA."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([["NA" if value is None else value for value in row] for row in rows])
    return path


def _read(path: Path, format_: str, columns: Mapping[str, str], options: Mapping[str, str], starts: Sequence[int]):
    """Values, first byte and rank in its split, of each record; the header is none."""
    if format_ == "parquet":
        for rank, values in enumerate(pq.ParquetFile(path).read().to_pylist()):
            yield values, 0, rank
        return
    ranks = [0] * len(starts)
    begin, first = 0, options.get("header") == "true"
    for line in path.read_bytes().splitlines(keepends=True):
        if not first:
            cells = next(csv.reader([line.decode()])) if format_ == "csv" else [line.decode().rstrip("\n")]
            null = options.get("nullvalue", "")
            values = {n: None if c == null else PYTHON[k](c) for (n, k), c in zip(columns.items(), cells, strict=True)}
            split = max(index for index, start in enumerate(starts) if start == 0 or start < begin)
            yield values, begin, ranks[split]
            ranks[split] += 1
        first = False
        begin += len(line)


def _write(path: Path, format_: str, columns: Sequence[str], of: Relation, rows: Sequence[Row]) -> None:
    if format_ == "parquet":
        schema = pa.schema([(name, ARROW[of.columns[name][1]]) for name in columns])
        pq.write_table(pa.Table.from_pylist([{name: row.values[name] for name in columns} for row in rows], schema), path)
        return
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([["" if row.values[name] is None else row.values[name] for name in columns] for row in rows])


def _hash(key: tuple[Any, ...]) -> int:
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "little", signed=True)
