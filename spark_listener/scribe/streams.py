"""Streaming queries: one job for each query, one run from start to end, with any number of micro-batches.

A stream is reported at its start, when its first batch has shown inputs and outputs, then at growing intervals, and at its end. The report
combines all batches: all columns, the sums of rows and files, and the offset of each source as its version. The batches, and the writes of
`foreachBatch` in them, are counted instead of reported. Memory does not grow with the number of batches.

The rows of a `foreachBatch` function name no source. The plan of the batch has it, and is known at the end of the batch. So queries within
the first batch wait for its end (`hold`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.spark_listener.lineage.column_facets import merge_column_facets
from headwater.spark_listener.lineage.datasets import Dataset, inputs_of, output_of, source_datasets, unknown_datasets
from headwater.spark_listener.lineage.facets import facet
from headwater.spark_listener.lineage.kept import UNKNOWN, KeptColumns, RowSources, merged
from headwater.spark_listener.lineage.names import JobNames, job_name
from headwater.spark_listener.lineage.naming import dataset_at
from headwater.spark_listener.lineage.parents import new_run_id
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.redact import redact
from headwater.spark_listener.scribe.stream_places import bare, datasets_of, folder_named, has_name, table_format, with_folders, with_topics

_MOST = 1000
_MOST_DATASETS = 200
_MOST_HELD = 1000
_MOST_PLANS = 64
_MOST_PROBLEMS = 20
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 3600.0
_IDENTIFY = ("path", "paths", "name", "table", "kafka", "jdbc")  # members of a source
_RUN = re.compile(r"^runId = ([0-9a-f-]{36})$", re.MULTILINE)
_NO_PLACE = re.compile(r"^ForeachBatchSink|^ForeachWriterTable|Console|Noop|noop|Memory|memory")


@dataclass(slots=True)
class Stream:
    """A running stream. `ends`: its trigger ends it. `reads` and `writes` are by namespace and name.

    Datasets without a name are in `problems`.
    """

    run: str  # Spark's own id of the run
    run_id: str
    started: str
    job: str
    ends: bool
    sink: str = ""
    table: Mapping[str, Any] | None = None  # the output of a connector: a topic, a table
    plan: Mapping[str, Any] = field(default_factory=dict)  # plan of the last batch
    given: Sequence[int] = ()  # the attributes of a batch's rows for the sink
    made: RowSources | None = None  # their sources in all batches: a batch's plan lacks a source without new rows
    followed: set[str] = field(default_factory=set)  # the sources of each kind of plan in `made`
    held: list[tuple[Mapping[str, Any], Any]] = field(default_factory=list)  # ended queries that wait for the sources of their rows
    offsets: dict[str, Any] = field(default_factory=dict)  # the offset of each source
    nested_read: dict[tuple[str, str], Dataset] = field(default_factory=dict)  # reads of functions in its batches
    nested: dict[tuple[str, str], Dataset] = field(default_factory=dict)  # writes of functions in its batches
    problems: list[str] = field(default_factory=list)
    rows_read: int = 0
    rows_known: bool = True  # Spark does not count the rows that a DStream reads from files
    failure: str | None = None  # plan of the last batch, where the stream goes on all the same
    rows_written: int = 0
    batches: int = 0
    interrupted: bool = False  # its last batch was cancelled
    due: float = 0.0
    pause: float = _FIRST_PAUSE

    def inputs(self) -> list[Dataset]:
        found = {(dataset.namespace, dataset.name): dataset for dataset in inputs_of({**self._placed(), "sink": {}})}
        for dataset in found.values():
            dataset.part.pop("inputStatistics", None)  # statistics of one batch
        of_sources = [datasets_of(source, offset, found) for source, offset in self.offsets.items()]
        if len(of_sources) == len(found) == 1 and of_sources[0] and self.rows_known:
            next(iter(found.values())).part["inputStatistics"] = facet("inputStatistics", rowCount=self.rows_read)
        for key, dataset in self.nested_read.items():
            found.setdefault(key, dataset)
        return list(found.values())

    def outputs(self) -> list[Dataset]:
        folder = folder_named(self.sink)
        sink = {**(self.table or {}), **({"path": folder} if folder else {})}
        if format_ := table_format(self.sink):
            sink.setdefault("format", format_)
        if not sink:
            return list(self.nested.values())
        output = output_of({**self._written(sink), "sink": {"mode": "append", **sink}}, None)
        if output is None:
            return list(self.nested.values())
        if self.rows_written > 0:
            output.part["outputStatistics"] = facet("outputStatistics", rowCount=self.rows_written)
        return [output, *self.nested.values()]

    def unknown(self) -> list[str]:
        """Return a text for each source or sink without a name that others can use."""
        plan = self._placed()
        sources = [f"what the stream reads of {redact(bare(source))} has no name" for source in self.offsets if not has_name(source, plan)]
        known = not self.sink or self.table or folder_named(self.sink) or _NO_PLACE.search(self.sink)
        sink = [] if known else [f"what the stream writes to {redact(bare(self.sink))} has no name"]
        if plan.get("left_out"):
            sink.append("the plan is too large for its columns to be followed")
        return [*sources, *sink, *(problem["reason"] for problem in unknown_datasets({**plan, "sink": self.table})), *self.problems]

    def _written(self, sink: dict[str, Any]) -> Mapping[str, Any]:
        columns = self.plan.get("output") or sink.get("columns") or ()
        placed = self._placed()
        if self.made is None or len(self.made.columns) != len(columns):
            sink["columns"] = columns
            return placed
        sink["columns"] = [{**column, "attr": place} for place, column in enumerate(columns)]
        rows = {"id": 0, "op": "Batches", "kept": dict(enumerate(self.made.columns)), "kept_rows": self.made.rows}
        return {**placed, "operators": [rows], "left_out": any(UNKNOWN in made for made in self.made.columns)}

    def hold(self, event: Mapping[str, Any], query: Any) -> bool:
        """Store the end of a query until its batch ends. Return false if there is no room."""
        if len(self.held) >= _MOST_HELD:
            return False
        self.held.append((event, query))
        return True

    def learn(self, kept: KeptColumns) -> None:
        """Add the lineage of the rows of an ended batch. Plans of the same sources have the same columns, and are followed once."""
        plan = self._placed()
        sources = str([[source.get(name) for name in _IDENTIFY] for source in plan.get("sources") or ()])
        if not plan or sources in self.followed or len(self.followed) >= _MOST_PLANS:
            return
        self.followed.add(sources)
        made = kept.of_plan(plan)
        if self.made is not None and len(self.made.columns) == len(made.columns):
            columns = [merged(both) for both in zip(self.made.columns, made.columns, strict=True)]
            made = RowSources(columns, merged([self.made.rows, made.rows]))
        self.made = made
        kept.keep(self.given, made.columns, made.rows)

    def _placed(self) -> Mapping[str, Any]:
        """Return the plan of the last batch, with the stream's inputs in place of the batch's."""
        return with_folders(with_topics(self.plan, self.offsets), self.offsets)


class Streams:
    """The running streams, by Spark's run ids."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}

    def begin(self, event: Mapping[str, Any], started: str, prefix: str, names: JobNames) -> Stream | None:
        if len(self._streams) >= _MOST:
            return None
        sink, table, name = str(event.get("sink") or ""), event.get("table"), event.get("name")
        folder = folder_named(sink)
        written = [dataset_at(folder, {"format": table_format(sink)})] if folder else source_datasets(table) if table else []
        if name or not written:
            job = job_name(prefix, "stream", redact(str(name or _word(sink))))
        else:
            job = names.of(prefix, "stream", written[0])
        stream = Stream(str(event["run"]), new_run_id(), started, job, bool(event.get("ends")), sink, table)
        self._streams[stream.run] = stream
        _read(stream, event)
        return stream

    def of_batch(self, description: str) -> Stream | None:
        """Return the running stream to which a batch's query belongs, by the query's description. None without one."""
        run = _RUN.search(description) if self._streams else None
        return self._streams.get(run.group(1)) if run else None

    def by_run(self, run: Any) -> Stream | None:
        return self._streams.get(str(run)) if run else None

    def progress(self, event: Mapping[str, Any]) -> Stream | None:
        """Add the progress of a batch that ended. Return the stream if it is due for a report."""
        stream = self._streams.get(str(event["run"]))
        if stream is None:
            return None
        stream.sink = str(event.get("sink") or stream.sink)
        stream.batches += 1
        stream.rows_written += max(0, int(event.get("written") or 0))
        stream.failure = event.get("failed")
        _read(stream, event)
        if time.monotonic() < stream.due:
            return None
        stream.due = time.monotonic() + stream.pause
        stream.pause = min(stream.pause * 2, _LONGEST_PAUSE)
        return stream

    def end(self, run: Any) -> Stream | None:
        return self._streams.pop(str(run), None)

    def left(self) -> Iterator[Stream]:
        """Yield the streams that had not ended when their application did."""
        while self._streams:
            yield self._streams.popitem()[1]


def _read(stream: Stream, event: Mapping[str, Any]) -> None:
    for source in event.get("sources") or ():
        stream.rows_read += max(0, int(source.get("rows") or 0))
        stream.rows_known &= source.get("rows", 0) is not None
        if len(stream.offsets) < _MOST_DATASETS or source["source"] in stream.offsets:
            stream.offsets[str(source["source"])] = source.get("offset")


def did(stream: Stream, inputs: Iterable[Dataset], outputs: Iterable[Dataset], problems: Iterable[Mapping[str, Any]] = ()) -> None:
    """Add the reads and writes of a query in a batch. `problems` state what is missing."""
    for known, datasets in ((stream.nested_read, inputs), (stream.nested, outputs)):
        for dataset in datasets:
            at = dataset.namespace, dataset.name
            if at in known or len(known) < _MOST_DATASETS:
                dataset.part.clear()  # facets of one batch
                dataset.facets.pop("lifecycleStateChange", None)
                earlier = known[at].facets.get("columnLineage") if at in known else None
                if (columns := merge_column_facets(earlier, dataset.facets.get("columnLineage"))) is not None:
                    dataset.facets["columnLineage"] = columns
                known[at] = dataset
            else:
                _state(stream, f"its batches use more than {_MOST_DATASETS} datasets; the others are not listed")
    for problem in problems:
        _state(stream, str(problem["reason"]))


def _state(stream: Stream, problem: str) -> None:
    if problem not in stream.problems and len(stream.problems) < _MOST_PROBLEMS:
        stream.problems.append(problem)


def failed_batch(stream: Stream) -> Outcome | None:
    return Outcome(error=stream.failure, language="JAVA") if stream.failure else None


def outcome_of(stream: Stream, failure: Outcome | None) -> Outcome:
    """Return the outcome of a stream.

    Without a failure, it ended by itself if its trigger ends it and no batch was interrupted; otherwise it was stopped.
    """
    if failure is not None:
        return failure
    return Outcome() if stream.ends and not stream.interrupted else Outcome(error="The stream was stopped.", cancelled=True)


def _word(sink: str) -> str:
    return re.sub(r"\W+", "_", bare(sink).rpartition(".")[2]).strip("_") or "stream"
