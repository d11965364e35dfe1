"""Streaming queries: one job a query, one run from its start to its end, however many micro-batches it has.

For the scribe. A stream is told when it starts, when its first batch has shown what it reads and writes, then at growing intervals, and at
its end. What its batches read and wrote is put together: the columns are those of the last batch, rows and files are added up, and how far
each source was read is its version. The batches themselves, and what `foreachBatch` writes in them, are counted instead of told. Memory
does not grow with the number of batches.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.spark_listener.lineage.datasets import Dataset, bare_input, bare_output, inputs_of, output_of
from headwater.spark_listener.lineage.facets import facet
from headwater.spark_listener.lineage.names import JobNames, job_name
from headwater.spark_listener.lineage.naming import address_of, dataset_name, folder_of
from headwater.spark_listener.lineage.parents import new_run_id
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.redact import redact

_MOST = 1000
_MOST_DATASETS = 200
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 3600.0
_LONGEST_OFFSET = 2000
_RUN = re.compile(r"^runId = ([0-9a-f-]{36})$", re.MULTILINE)
_FILES = re.compile(r"^(?:FileStreamSource|FileSink)\[(.*)\]$", re.DOTALL)
_HAS_PLACE = re.compile(r"^FileStreamSource\[|^RateStream|^RatePerMicroBatchStream|^MemoryStream")  # or is nobody else's
_NO_PLACE = re.compile(r"^ForeachBatchSink|^ForeachWriterTable|Console|Noop|noop|Memory|memory")


@dataclass(slots=True)
class Stream:
    """`ends`: it has a trigger that ends it. `reads` and `writes` are by namespace and name; what has none is in `problems`."""

    run: str  # Spark's own id of the run
    run_id: str
    started: str
    job: str
    ends: bool
    sink: str = ""
    plan: Mapping[str, Any] = field(default_factory=dict)  # of the last batch
    offsets: dict[str, Any] = field(default_factory=dict)  # how far each source was read
    nested_read: dict[tuple[str, str], Dataset] = field(default_factory=dict)  # by its batches, in functions of the program's
    nested: dict[tuple[str, str], Dataset] = field(default_factory=dict)  # and written
    problems: list[str] = field(default_factory=list)
    rows_read: int = 0
    rows_written: int = 0
    batches: int = 0
    interrupted: bool = False  # its last batch was cancelled
    due: float = 0.0
    pause: float = _FIRST_PAUSE

    def inputs(self) -> list[Dataset]:
        """What was read, each with how far."""
        folders = {source: files.group(1) for source in self.offsets if (files := _FILES.match(source))}
        plan = _with_folders(self.plan, folders.values() if self.offsets else _folders_of(self.plan))
        found = {(dataset.namespace, dataset.name): dataset for dataset in inputs_of({**plan, "sink": {}})}
        for source, offset in self.offsets.items():
            if source in folders:
                named = bare_input(folders[source])
                dataset = found.setdefault((named.namespace, named.name), named)
                dataset.facets["version"] = facet("version", datasetVersion=redact(str(offset))[:_LONGEST_OFFSET])
        for key, dataset in self.nested_read.items():
            found.setdefault(key, dataset)
        for dataset in found.values():
            dataset.part.pop("inputStatistics", None)  # those of one batch
        if len(found) == len(self.offsets) == 1:
            next(iter(found.values())).part["inputStatistics"] = facet("inputStatistics", rowCount=self.rows_read)
        return list(found.values())

    def outputs(self) -> list[Dataset]:
        """What was written."""
        target = _FILES.match(self.sink)
        if target is None:
            return list(self.nested.values())
        folders = [files.group(1) for source in self.offsets if (files := _FILES.match(source))]
        sink = {"path": target.group(1), "mode": "append", "columns": self.plan.get("output") or ()}
        output = output_of({**_with_folders(self.plan, folders), "sink": sink}, None) or bare_output(target.group(1))
        if self.rows_written > 0:
            output.part["outputStatistics"] = facet("outputStatistics", rowCount=self.rows_written)
        return [output, *self.nested.values()]

    def unknown(self) -> list[str]:
        """What has no name that others know."""
        sources = [
            f"what the stream reads of {redact(_bare(source))} has no name" for source in self.offsets if not _HAS_PLACE.match(source)
        ]
        known = not self.sink or _FILES.match(self.sink) or _NO_PLACE.search(self.sink)
        return [*sources, *([] if known else [f"what the stream writes to {redact(_bare(self.sink))} has no name"]), *self.problems]


class Streams:
    """Those that run now, by Spark's ids of their runs."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}

    def begin(self, event: Mapping[str, Any], started: str, prefix: str, names: JobNames) -> Stream | None:
        """A stream started. Its job is called by the name that the program gave it, or by what it writes."""
        if len(self._streams) >= _MOST:
            return None
        sink, name = str(event.get("sink") or ""), event.get("name")
        target = _FILES.match(sink)
        if name or target is None:
            job = job_name(prefix, "stream", redact(str(name or _word(sink))))
        else:
            job = names.of(prefix, "stream", dataset_name(target.group(1)))
        stream = Stream(str(event["run"]), new_run_id(), started, job, bool(event.get("ends")), sink)
        self._streams[stream.run] = stream
        return stream

    def of_batch(self, description: str) -> Stream | None:
        """The stream that a query is a batch of, by what Spark writes into the query's description; None: of no stream that runs."""
        run = _RUN.search(description) if self._streams else None
        return self._streams.get(run.group(1)) if run else None

    def by_run(self, run: Any) -> Stream | None:
        """The stream of one of Spark's ids."""
        return self._streams.get(str(run)) if run else None

    def progress(self, event: Mapping[str, Any]) -> Stream | None:
        """A batch came to its end; gives the stream if it should be told now."""
        stream = self._streams.get(str(event["run"]))
        if stream is None:
            return None
        stream.sink = str(event.get("sink") or stream.sink)
        stream.batches += 1
        stream.rows_written += max(0, int(event.get("written") or 0))
        for source in event.get("sources") or ():
            stream.rows_read += max(0, int(source.get("rows") or 0))
            if len(stream.offsets) < _MOST_DATASETS or source["source"] in stream.offsets:
                stream.offsets[str(source["source"])] = source.get("offset")
        if time.monotonic() < stream.due:
            return None
        stream.due = time.monotonic() + stream.pause
        stream.pause = min(stream.pause * 2, _LONGEST_PAUSE)
        return stream

    def end(self, run: Any) -> Stream | None:
        """The stream that ended."""
        return self._streams.pop(str(run), None)

    def left(self) -> Iterator[Stream]:
        """Those that had not ended when their application did."""
        while self._streams:
            yield self._streams.popitem()[1]


def did(stream: Stream, inputs: Iterable[Dataset], outputs: Iterable[Dataset]) -> None:
    """A query in a batch of the stream read and wrote something."""
    for known, datasets in ((stream.nested_read, inputs), (stream.nested, outputs)):
        for dataset in datasets:
            if (dataset.namespace, dataset.name) in known or len(known) < _MOST_DATASETS:
                dataset.part.clear()  # that of one batch
                dataset.facets.pop("lifecycleStateChange", None)
                known[dataset.namespace, dataset.name] = dataset
            elif not stream.problems:
                stream.problems.append(f"its batches use more than {_MOST_DATASETS} datasets; the others are not listed")


def outcome_of(stream: Stream, failure: Outcome | None) -> Outcome:
    """How a stream ended: where nothing failed, by itself if its trigger ends it and nobody interrupted a batch; else it was stopped."""
    if failure is not None:
        return failure
    return Outcome() if stream.ends and not stream.interrupted else Outcome(error="The stream was stopped.", cancelled=True)


def _bare(description: str) -> str:
    """What Spark calls a source or sink, without the address of its object in memory."""
    return re.sub(r"\$?@[0-9a-f]+$", "", description)


def _word(sink: str) -> str:
    return re.sub(r"\W+", "_", _bare(sink).rpartition(".")[2]).strip("_") or "stream"


def _folders_of(plan: Mapping[str, Any]) -> list[str]:
    """The folders of the files that a batch read, where no batch came so far as to tell what its stream watches."""
    return [folder_of(str(source["path"])) for source in plan.get("sources") or () if source.get("path")]


def _with_folders(plan: Mapping[str, Any], folders: Iterable[str]) -> Mapping[str, Any]:
    """The plan of a batch, which reads single files, with the folders in their place that its stream watches."""
    named = [(folder, address_of(dataset_name(folder)).rstrip("/") + "/") for folder in folders]
    sources = []
    for source in plan.get("sources") or ():
        paths = source.get("paths") or ([source["path"]] if source.get("path") else [])
        under = [folder for folder, uri in named if paths and all(address_of(dataset_name(str(path))).startswith(uri) for path in paths)]
        sources.append({**source, "paths": under[:1], "path": under[0], "files": None} if under else source)
    return {**plan, "sources": sources}
