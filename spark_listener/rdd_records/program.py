"""The facts about the RDDs of an application: the sources of their records, and the taps that find them.

The facts are an attribute of PySpark's RDD objects, and are dropped with them. An RDD without facts, or of an unsupported operator, is
`Refused`, and so are all RDDs made from it: their lineage is known by dataset only.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from headwater.spark_listener.declared import MadeOf, RowWise
from headwater.spark_listener.rdd_records.calls import call_site
from headwater.spark_listener.rdd_records.checked import Checked
from headwater.spark_listener.rdd_records.chosen import Chosen, Wanted
from headwater.spark_listener.rdd_records.known import KNOWN as _KNOWN
from headwater.spark_listener.rdd_records.known import PERSISTED as _PERSISTED
from headwater.spark_listener.rdd_records.known import SIDES, NotListedError, Refused, Step, TrackedRdd
from headwater.spark_listener.rdd_records.placed import Placed, Pulling
from headwater.spark_listener.rdd_records.source_files import SourceFiles
from headwater.spark_listener.rdd_records.sources import FileSource
from headwater.spark_listener.rdd_records.sparing import Sparing
from headwater.spark_listener.rdd_records.starts import Carried, Keyed, Numbered, Parted, Start
from headwater.spark_listener.rdd_records.taps import Carrying, Gathering, Grouping, PersistedRows, Report, Tap, Written
from headwater.spark_listener.rdd_records.whole_files import WholeFiles
from headwater.spark_listener.recording import Recording, SegmentReport

_MOST_REFERENCES = 32  # relations in one record; more are refused
_SIDE = 10_000_000  # first partition number of each further side of a cogroup: more than a job has


ATTR = 1 << 50  # the only column of an RDD's record, for readers of columns (jvm/rewrite/families/RecordedFamily.java)
VALUE = {"attr": ATTR, "name": "value"}
_READ = {"fn": "attr", **VALUE}


def _group() -> dict[str, Any]:
    made = {**VALUE, "expr": {"fn": "user_function", "name": "function", "args": [_READ], "aggregate": True}}
    return {"behaviour": "group", "keys": [{"fn": "user_function", "name": "key", "args": [_READ]}], "defines": [made]}


def _moved(shape: str, sides: int) -> dict[str, Any]:
    if shape == "union":
        return {"behaviour": "union", "defines": [{**VALUE, "expr": {"fn": "union", "args": [_READ] * sides}}]}
    return {"behaviour": "passes"} if sides == 1 else {"behaviour": "join", "reads": [ATTR], "optional": [0, 1] if shape == "join" else []}


class Program:
    """The RDDs of one application. `files_read` returns the files of a JVM RDD, as lines or not; `sparing` decides what may be followed.

    `bytes_read` returns the size of a JVM RDD's input, up to a limit, without a long search.
    """

    def __init__(
        self, context: Any, folder: Path, limit: int, files_read: Callable[[Any, bool], dict[str, Any]],
        bytes_read: Callable[[Any, int], int | None], sparing: Sparing | None = None,
    ) -> None:  # fmt: skip
        from headwater.spark_listener.rdd_records.reports import reports_to
        from headwater.spark_listener.rdd_records.shipping import ship_by_value

        ship_by_value()
        self.recording = Recording(folder, limit)
        self.sparing = sparing
        self.files = SourceFiles(self.recording, files_read, bytes_read, sparing)
        self._awaited: dict[int, tuple[Any, TrackedRdd, list[Any]]] = {}  # facts about DataFrames that no query has read yet
        self._marked: weakref.WeakSet[Any] = weakref.WeakSet()  # of RDDs
        self._reports = reports_to(context, self._add_report)

    def _add_report(self, report: tuple[Any, ...]) -> None:
        self.recording.add_report(SegmentReport(*report))

    # facts about RDDs

    def of(self, rdd: Any) -> TrackedRdd | Refused:
        if (full := self._full()) is not None:
            return full
        if _is_pipelined(rdd) and not _pipelines(rdd):
            persisted: TrackedRdd | Refused | None = getattr(rdd, _PERSISTED, None)
            return persisted or Refused("persist", "it was computed before it was persisted, or has resources of its own")
        known: TrackedRdd | Refused | None = getattr(rdd, _KNOWN, None)
        if known is None:
            return Refused("RDD", "it is not known what made it")
        return known

    def _full(self) -> Refused | None:
        reached = self.recording.bound_reached
        return None if reached is None else Refused("capture", reached)

    def mark(self, rdd: Any, known: TrackedRdd | Refused) -> Any:
        if isinstance(known, TrackedRdd) and known.width > _MOST_REFERENCES:
            known = Refused(self._name(), f"its records are made of more than {_MOST_REFERENCES} relations")
        setattr(rdd, _KNOWN, known)
        self._marked.add(rdd)
        return rdd

    def marked(self) -> list[Any]:
        """Return the live RDDs with facts, in the order in which the program made them."""
        there = [(known.top, rdd) for rdd in list(self._marked) if isinstance(known := self.of(rdd), TrackedRdd)]
        return [rdd for _, rdd in sorted(there, key=lambda each: each[0])]

    def refuse(self, rdd: Any, reason: str, operator: str | None = None) -> Any:
        return self.mark(rdd, Refused(operator or self._name(), reason))

    # sources

    def of_files(self, rdd: Any, source: FileSource) -> Any:
        """Set the facts about an RDD whose records come from files, and return it."""
        if (full := self._full()) is not None:
            return self.mark(rdd, full)
        scan = self._scan()
        start = WholeFiles() if source.whole else Numbered()
        self.files.add(scan, rdd, source, start)
        return self.mark(rdd, TrackedRdd((scan,), start, reads=True, top=scan))

    def local_rows(self, rdd: Any, partitions: int, data: Any = ()) -> Any:
        """Set the facts about an RDD of the program's own rows, made by `parallelize` from `data`, and return it."""
        if (full := self._full()) is not None:
            return self.mark(rdd, full)
        scan = self._scan()
        if self.sparing is not None:
            self.sparing.rows(scan, data)
        path = f"local:{self.recording.pool}/{scan}"
        files = [
            {"ordinal": n, "ordinals": 1, "path": f"{path}/{n}", "length": 0, "modified": 0, "partition": {}} for n in range(partitions)
        ]
        self.recording.source(scan, path=path, format="local", options={}, columns=[], partition_columns=[], files=files, splits=[])
        start = Numbered()
        if not _is_pipelined(rdd):
            return self.mark(rdd, TrackedRdd((scan,), start, reads=True, top=scan))
        return self.mark(pipelined(rdd, start), TrackedRdd((scan,), start, reads=False, top=scan))

    def _scan(self) -> int:
        return self.recording.operator("Scan", self._text(), (), behaviour="source", columns=[{**VALUE, "type": "string"}])

    def runs(self, rdd: Any, known: TrackedRdd) -> None:
        """Prepare the recording of an RDD and everything below it, before it becomes a capture."""
        self.files.reads(rdd)
        self.recording.count([known.top])

    def will_run(self, rdd: Any, known: TrackedRdd) -> None:
        """Store an RDD whose recording a DataFrame's query will need. Spark lists its files only at the start of the query.

        `completed` finishes the preparation.
        """
        held = [rdds.alive() for rdds in self.recording.counts_below([known.top]) if isinstance(rdds, _Partitions)]
        self._awaited[known.top] = rdd, known, held

    def frames_run(self) -> None:
        """Prepare all stored RDDs, because a DataFrame is about to run and may read any of them."""
        for top in list(self._awaited):
            self._has_run(top)

    def completed(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the manifest parts of an ended Spark SQL query, with the recorded RDDs from which its rows came."""
        for operator in parts["operators"]:
            self._has_run(int(operator.get("recorded", 0)))
        return self.recording.completed(parts)

    def _has_run(self, top: int) -> None:
        awaited = self._awaited.get(top)
        if awaited is not None:
            with suppress(NotListedError):  # the query could not list it either: its source is refused by name
                self.runs(*awaited[:2])
                self._awaited.pop(top, None)

    # transformations

    def row_wise(self, rdd: Any, made: Any, operator: int | None = None) -> Any:
        """Set the facts about `made`, the result of a function over `rdd` with one input record for each result.

        `operator` is the operator of the function; None makes a new one.
        """
        known = self.of(rdd)
        if isinstance(known, Refused):
            return self.mark(made, known)
        top = operator or self.recording.operator("RDD", self._text(), [known.top], behaviour="generates", reads=[ATTR])
        return self.mark(made, TrackedRdd(known.operators, known.start, known.reads, top))

    def grouped(self, sides: Sequence[Any]) -> Step | Refused:
        """Return the step of RDDs of pairs that become groups: a record for each key, made from all pairs with the key."""
        known = self.known(sides)
        if isinstance(known, Refused):
            return known
        operator = self.recording.operator("RDD", self._text(), [side.top for side in known], **_group())
        columns: list[dict[str, Any]] = [{"role": "key"}, *({"role": "ref", "operator": one} for side in known for one in side.operators)]
        report = self._boundary("group", operator, columns, _Partitions(*sides))
        total = sum(side.width for side in known)
        taps, first = [], 0
        for number, (side, about) in enumerate(zip(sides, known, strict=True)):
            tap = Grouping(
                about.start, inner(side), report, reads=about.reads, before=first, after=total - first - about.width,
                offset=number * _SIDE,
            )  # fmt: skip
            taps.append(tapped(side, tap))
            first += about.width

        def finish(made: Any) -> Any:
            start = Keyed(self._boundary("check", operator, [{"role": "key"}, {"role": "check"}], _Partitions(made)))
            return self.mark(_made_of(sides, pipelined(made, start)), TrackedRdd((operator,), start, reads=False, top=operator))

        return Step(taps, finish)

    def carried(self, sides: Sequence[Any], shape: str) -> Step | Refused:
        """Return the step of RDDs whose records pass unchanged and carry references, in the place of `shape` (see `Carried`).

        `pairs` is `both` if the sizes of batches decide the order of results.
        """
        known = self.known(sides, sends=True)
        if isinstance(known, Refused):
            return known
        united = shape == "union"
        operator = self.recording.operator("RDD", self._text(), [side.top for side in known], **_moved(shape, len(known)))
        total = sum(side.width for side in known)
        within = {"join": "loose", "both": "record", "pairs": "record", "union": "record", "loose": "loose"}.get(shape, shape)
        taps, first = [], 0
        for side, about in zip(sides, known, strict=True):
            widths = {"before": first, "after": total - first - about.width} if united else {}
            tap = tapped(side, Carrying(about.start, inner(side), reads=about.reads, shape=within, **widths))
            taps.append(_batched_alike(side, tap) if shape == "pairs" else tap)
            first += about.width
        start = Carried(
            {"union": "record", "loose": "pair", "pairs": "both"}.get(shape, shape), [total] if united else [side.width for side in known]
        )
        operators = tuple(one for side in known for one in side.operators)

        def finish(made: Any) -> Any:
            for side, one in zip(sides, taps, strict=True):
                if made is one:  # a transformation without work returns its argument
                    return side
            return self.mark(_made_of(sides, pipelined(made, start)), TrackedRdd(operators, start, reads=False, top=operator))

        return Step(taps, finish)

    def whole_partition(self, rdd: Any, *, exact: bool = False, together: bool = False) -> Step | Refused:
        """Return the step of a function over whole partitions, whose results may depend on any record of the partition.

        With `together`, they may depend on other partitions, because the functions run at the same time and may exchange data.
        """
        known = self.known([rdd])
        if isinstance(known, Refused):
            return known
        about = known[0]
        does = _group() if exact else {"behaviour": "opaque"}
        operator = self.recording.operator("RDD", self._text(), [about.top], **does)
        if not exact:
            whose = "all" if together else "all of the partition's"
            reason = f"a function over a whole partition does not say which records a result is made of; {whose} that it pulled are given"
            self.recording.problem(operator, reason, "superset")
        columns: list[dict[str, Any]] = [{"role": "key"}, *({"role": "ref", "operator": one} for one in about.operators)]
        report = self._boundary("group", operator, columns, _Partitions(rdd))
        tap = tapped(rdd, Gathering(about.start, inner(rdd), report, reads=about.reads, together=together))

        def finish(made: Any) -> Any:
            start = Parted(together=together)
            return self.mark(pipelined(made, start), TrackedRdd((operator,), start, reads=False, top=operator))

        return Step([tap], finish)

    def declared(self, rdd: Any, declared: RowWise, called: Mapping[str, Any]) -> Step:
        def finish(made: Any) -> Any:
            return self.row_wise(rdd, made)

        known = self.of(rdd)
        if not declared.check or isinstance(known, Refused):
            return Step([rdd], finish)
        operator = self.recording.operator("RDD", self._text(), [known.top], behaviour="generates", reads=[ATTR])
        report = self._boundary("declared", operator, [{"role": "key"}], None)
        checked = Checked(called["f"], report, declared.check)
        return Step([rdd], lambda made: self.row_wise(rdd, made, operator), {**called, "f": checked})

    def placed(self, rdd: Any, declared: MadeOf, function: Any, *, indexed: bool) -> Step | Refused:
        known = self.known([rdd])
        if isinstance(known, Refused):
            return known
        about = known[0]
        operator = self.recording.operator("RDD", self._text(), [about.top], **_group())
        columns: list[dict[str, Any]] = [{"role": "key"}, *({"role": "ref", "operator": one} for one in about.operators)]
        report = self._boundary("group", operator, columns, _Partitions(rdd))
        start = Placed(declared.of, function, report, about.width, check=declared.check, indexed=indexed)
        tap = tapped(rdd, Pulling(about.start, inner(rdd), start, reads=about.reads))

        def finish(made: Any) -> Any:
            return self.mark(pipelined(made, start), TrackedRdd((operator,), start, reads=False, top=operator))

        return Step([tap], finish)

    def persists(self, rdd: Any) -> None:
        """Record the rows of an RDD that is about to be persisted or checkpointed, when they are made."""
        if not _is_pipelined(rdd) or getattr(rdd, _PERSISTED, None) is not None or not _pipelines(rdd):
            return
        if rdd._jrdd_val is not None:  # noqa: SLF001  # PySpark has no other way to ask
            setattr(rdd, _PERSISTED, Refused("persist", "it was computed before it was persisted"))
            return
        all_known = self.known([rdd])
        if isinstance(all_known, Refused):
            setattr(rdd, _PERSISTED, all_known)
            return
        known = all_known[0]
        if not isinstance(known.start, Numbered | WholeFiles) and _speculates(rdd.ctx):
            # A slower duplicate task may have put its rows into the cache, in the order of its shuffle read.
            reason = "with spark.speculation it is not known which of two tasks' rows a cache has"
            setattr(rdd, _PERSISTED, Refused("persist", reason))
            return
        operator = self.recording.operator("RDD", self._text(), [known.top], behaviour="kept")
        report = self._boundary("rows", operator, [{"role": "ref", "operator": one} for one in known.operators], _Partitions(rdd))
        rdd._headwater_plain = rdd.func  # noqa: SLF001  # ours
        rdd.func = PersistedRows(known.start, rdd.func, report, reads=known.reads)
        setattr(rdd, _PERSISTED, TrackedRdd((operator,), Numbered(), reads=True, top=operator))

    def unpersisted(self, rdd: Any) -> None:
        """Stop recording the rows of an RDD that is no longer persisted. Its functions compute later results."""
        plain = getattr(rdd, "_headwater_plain", None)
        if plain is not None and _pipelines(rdd):
            rdd.func = plain

    def saved(self, rdd: Any, written: type[Written | PersistedRows] = Written) -> tuple[Any, int] | Refused:
        """Return the RDD to write in place of another, and the sink's boundary.

        `written` decides how it is recorded: as text, or as one row for each record.
        """
        all_known = self.known([rdd])
        if isinstance(all_known, Refused):
            return all_known
        known = all_known[0]
        self.runs(rdd, known)
        operator = self.recording.operator("Write", self._text(), [known.top], behaviour="passes", columns=[])
        columns = [{"role": "ref", "operator": one} for one in known.operators]
        report = self._boundary("sink", operator, columns, _Partitions(rdd))
        return tapped(rdd, written(known.start, inner(rdd), report, reads=known.reads)), report.boundary

    def chosen(
        self, rdd: Any, known: TrackedRdd, wanted: Wanted | None, keep: Sequence[Callable[[Any], Any]], kind: type[Chosen] = Chosen
    ) -> Any:
        """Return the records of an RDD that come from `wanted` records and that `keep` accepts, or the sources of these records."""
        if known.reads and known.top in known.operators:  # its records have numbers
            return pipelined(rdd, kind(known.start, None, reads=True, wanted=wanted, keep=keep))
        return tapped(rdd, kind(known.start, inner(rdd), reads=known.reads, wanted=wanted, keep=keep))

    def close(self) -> None:
        self.recording.close()

    def known(self, rdds: Sequence[Any], *, sends: bool = False) -> list[TrackedRdd] | Refused:
        """Return the facts about RDDs with records to tap, or the reason to refuse them.

        With `sends`, the tap sends references with the records.
        """
        found: list[TrackedRdd] = []
        for rdd in rdds:
            known = self.of(rdd)
            if isinstance(known, Refused):
                return known
            found.append(known)
        sparing = self.sparing
        if sparing is not None and sparing.limits(sends=sends):
            scans = self.recording.scans_below(known.top for known in found)
            self.files.weigh(sparing, scans)
            if (refused := sparing.refuses(scans, sends=sends)) is not None:
                return refused
        for known in found:
            if isinstance(known.start, WholeFiles):  # it must have the files before it is shipped
                self.files.list_of(known.operators)
        return found

    def _boundary(self, kind: str, operator: int, columns: Sequence[dict[str, Any]], partitions: Callable[[], int | None] | None) -> Report:
        number = self.recording.boundary(kind, operator, columns, partitions)
        folder = str(self.recording.folder / self.recording.pool)
        return Report(self.recording.pool, folder, number, self.recording.roles(number), self._reports)

    @staticmethod
    def _name() -> str:
        return call_site()[0]

    @staticmethod
    def _text() -> str:
        name, file, line = call_site()
        return f"{name} at {Path(file).name}:{line}"


def _made_of(sides: Sequence[Any], rdd: Any) -> Any:
    """Keep the RDDs below an RDD alive as long as it lives, like their counterparts in the JVM."""
    setattr(rdd, SIDES, tuple(sides))
    return rdd


def _speculates(context: Any) -> bool:
    return str(context.getConf().get("spark.speculation", "false")).lower() == "true"


def _is_pipelined(rdd: Any) -> bool:
    return hasattr(rdd, "_is_pipelinable")


def _pipelines(rdd: Any) -> bool:
    return bool(rdd._is_pipelinable())  # noqa: SLF001  # what PySpark itself asks


def inner(rdd: Any) -> Any:
    """Return the functions of the stage that ends with an RDD. A function over the RDD runs together with them."""
    return rdd.func if _is_pipelined(rdd) and _pipelines(rdd) else None


def tapped(rdd: Any, tap: Tap) -> Any:
    made = pipelined(rdd, tap)
    made.func = tap
    return made


def _batched_alike(rdd: Any, tap: Any) -> Any:
    from pyspark.serializers import AutoBatchedSerializer, CartesianDeserializer

    from headwater.spark_listener.rdd_records.batches import AsIfBare, Noting, SourceBatches

    plain = rdd.prev if isinstance(inner(rdd), Start) else rdd  # if the only function in between removes references
    if inner(plain) is None and not isinstance(plain._jrdd_deserializer, CartesianDeserializer):  # noqa: SLF001  # its batches are large
        read = Noting(plain._jrdd_deserializer)  # noqa: SLF001  # PySpark has no other way to ask
        tap._prev_jrdd_deserializer, tap._jrdd_deserializer = read, SourceBatches(read)  # noqa: SLF001  # nor to say
    elif isinstance(rdd.ctx.serializer, AutoBatchedSerializer):  # otherwise batches have the same number of records with references
        tap._jrdd_deserializer = AsIfBare()  # noqa: SLF001
    return tap


def pipelined(rdd: Any, function: Any) -> Any:
    """Return the RDD of a function over the partitions of another, which keeps keys in their partition."""
    return sys.modules[type(rdd).__module__].PipelinedRDD(rdd, function, True)  # pyspark.rdd, from Spark 4 on pyspark.core.rdd


class _Partitions:
    """The numbers of partitions of RDDs. They are read after the computation, because Spark may not have listed files before."""

    def __init__(self, *rdds: Any) -> None:
        self._rdds: list[Callable[[], Any]] = [weakref.ref(rdd) for rdd in rdds]

    def alive(self) -> list[Any]:
        return [one() for one in self._rdds]

    def __call__(self) -> int | None:
        rdds = self.alive()
        try:
            return None if None in rdds else sum(int(rdd.getNumPartitions()) for rdd in rdds)
        except Exception:  # noqa: BLE001  # a folder that is not there: the program hears of it when it runs
            return None
