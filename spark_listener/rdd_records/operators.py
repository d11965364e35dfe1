"""Wraps the methods of PySpark's RDD and SparkContext while records are captured.

Each wrapper calls the original with the same arguments, on RDDs with taps if possible. RDDs of methods that are not listed here are not
followed. A fault of Headwater leaves the call unchanged; exceptions of the program pass.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.declared import MadeOf, declared
from headwater.spark_listener.rdd_records import sources
from headwater.spark_listener.rdd_records.calls import call_site
from headwater.spark_listener.rdd_records.known import NotListedError, Refused, Step, raw_records

if TYPE_CHECKING:
    from headwater.spark_listener.rdd_records.program import Program

# One or more results for each record in turn.
_ROW_WISE = ("map", "flatMap", "filter", "sample", "sampleByKey", "zipWithIndex", "zipWithUniqueId")
_GROUPS = ("combineByKey", "groupByKey")
_COGROUPS = ("cogroup", "groupWith")
_JOINS = ("join", "leftOuterJoin", "rightOuterJoin", "fullOuterJoin")
_HANDS_ON = {"partitionBy": "pair", "repartitionAndSortWithinPartitions": "pair", "coalesce": "record", "repartition": "record"}
_SHUFFLES = (*_GROUPS, *_COGROUPS, *_JOINS, "partitionBy", "repartitionAndSortWithinPartitions", "sortByKey", "subtractByKey")
_PERSISTS = ("persist", "cache", "checkpoint", "localCheckpoint")
# All methods that run jobs, directly or for other actions; for `_to_java_object_rdd`, the JVM does.
_RUNS = ("collect", "collectWithJobGroup", "toLocalIterator")
_inside = threading.local()

Begin = Callable[["Program", Sequence[Any], tuple[Any, ...]], Step | Refused]
ProgramOf = Callable[[Any], "Program | None"]
Fault = Callable[[str, Exception], None]
Called = Callable[[Sequence[Any], Mapping[str, Any]], Any]


class Hooks:
    """Installs the wrappers. `program_of` returns the program of a context, or None while nothing is captured."""

    def __init__(self, program_of: ProgramOf, fault: Fault) -> None:
        self._program_of = program_of
        self._fault = fault

    def install_rdd(self, rdd: type) -> None:
        for name in _ROW_WISE:
            self._result(rdd, name, lambda program, of, made: program.row_wise(of, made))
        self._result(rdd, "randomSplit", lambda program, of, made: [program.row_wise(of, one) for one in made])
        for name in _GROUPS:
            self._step(rdd, name, lambda program, rdds, _args: program.grouped(rdds), sides=1)
        for name in _COGROUPS:
            self._step(rdd, name, lambda program, rdds, _args: program.grouped(rdds))
        for name in _JOINS:
            self._step(rdd, name, lambda program, rdds, _args: program.carried(rdds, "join"))
        for name, shape in _HANDS_ON.items():
            self._step(rdd, name, functools.partial(_handed_on, shape), sides=1)
        self._step(rdd, "sortByKey", _sorted, sides=1)
        self._step(rdd, "subtractByKey", lambda program, rdds, _args: program.carried(rdds, "loose"), sides=1)
        self._step(rdd, "union", lambda program, rdds, _args: program.carried(rdds, "union"))
        for name, shape in (("cartesian", "pairs"), ("zip", "both")):
            self._step(rdd, name, functools.partial(_handed_on, shape))
        for name in ("mapPartitions", "mapPartitionsWithIndex"):
            self._step(rdd, name, functools.partial(_over_partitions, name), sides=1, by_program_only=True)
        self._step(rdd, "pipe", lambda program, rdds, _args: program.whole_partition(rdds[0]), sides=1)
        self._step(rdd, "glom", lambda program, rdds, _args: program.whole_partition(rdds[0], exact=True), sides=1)
        for name in _PERSISTS:
            self._before(rdd, name, lambda program, of: program.persists(of))
        self._after(rdd, "unpersist", lambda program, of: program.unpersisted(of))
        self._rows_of_frames(rdd)
        for name in _RUNS:
            self._runs(rdd, name)
        self._barriers(rdd)

    def _barriers(self, rdd: type) -> None:
        barrier = getattr(sys.modules[rdd.__module__], "RDDBarrier", None)
        for name in ("mapPartitions", "mapPartitionsWithIndex"):
            self._together(barrier, name)

    def install_context(self, context: type) -> None:
        for name in sources.NAMES:
            self._made(context, name, functools.partial(_of_files, name))
        self._made(context, "parallelize", lambda program, made, args, _: program.local_rows(made, int(made.getNumPartitions()), *args[:1]))
        self._made(context, "emptyRDD", lambda program, made, _args, _named: program.local_rows(made, 0))
        self._union(context)
        self._run_job(context)

    def _begun(self, rdd: Any) -> Program | None:
        """Return the program, if this call comes from the program and not from PySpark."""
        return None if getattr(_inside, "depth", 0) else self._program_of(rdd.ctx)

    def _rows_of_frames(self, rdd: type) -> None:
        """Wrap the method from which PySpark makes the rows of a DataFrame, to note its RDD."""
        name = "_to_java_object_rdd"
        original = getattr(rdd, name)

        @functools.wraps(original)
        def hooked(self: Any) -> Any:
            if getattr(_inside, "rows", None) is not None:
                _inside.rows.append(self)
            else:  # a query computes the rows of a DataFrame
                hooks._about_to_run(self, name)
            return original(self)

        hooks = self
        setattr(rdd, name, hooked)

    def _runs(self, owner: type, name: str) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
            hooks._about_to_run(self, name)
            with nullcontext() if _calls_itself() else _called_from(self.ctx):
                return original(self, *args, **kwargs)

        hooks = self
        setattr(owner, name, hooked)

    def _run_job(self, context: Any) -> None:
        original = context.runJob

        @functools.wraps(original)
        def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
            rdd = args[0] if args else kwargs.get("rdd")
            if hasattr(rdd, "ctx"):
                hooks._about_to_run(rdd, "runJob")
            return original(self, *args, **kwargs)

        hooks = self
        context.runJob = hooked

    def _about_to_run(self, rdd: Any, name: str) -> None:
        program = self._program_of(rdd.ctx)
        if program is not None:
            self._guarded(name, lambda: program.files.reads(rdd), None)

    def _result(self, owner: type, name: str, note: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
            program = hooks._begun(self)
            if program is None:
                return original(self, *args, **kwargs)
            with _nested():
                made = original(self, *args, **kwargs)
            return hooks._guarded(name, lambda: note(program, self, made), made)

        hooks = self
        setattr(owner, name, hooked)

    def _step(self, owner: type, name: str, begin: Begin, *, sides: int = 0, by_program_only: bool = False) -> None:
        """Wrap a method to replace RDDs: the first `sides` arguments, or all RDDs if `sides` is 0.

        With `by_program_only`, a call from PySpark is left alone: its actions are such calls, and record nothing.
        """
        shuffles = name in _SHUFFLES
        original = getattr(owner, name)

        @functools.wraps(original)
        def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
            args = tuple(map(raw_records, args))
            kwargs = {name: raw_records(value) for name, value in kwargs.items()}
            program = hooks._begun(self)
            if program is None or (by_program_only and _calls_itself()):
                return original(self, *args, **kwargs)
            if "other" in kwargs:
                args = (kwargs.pop("other"), *args)
            rdds = [self, *(arg for arg in args if isinstance(arg, owner))][: sides or None]
            step: Step | Refused = hooks._guarded(name, lambda: begin(program, rdds, (args, kwargs)), _FAULT)
            others = args[len(rdds) - 1 :]

            def called(given: Sequence[Any], more: Mapping[str, Any]) -> Any:
                with _nested(), _called_from(self.ctx) if shuffles else nullcontext():
                    return original(*given, **more) if more else original(*given, *others, **kwargs)

            return hooks._stepped(program, name, step, rdds, called)

        hooks = self
        setattr(owner, name, hooked)

    def _together(self, barrier: Any, name: str) -> None:
        """Wrap a method of RDDBarrier, whose functions may exchange data between partitions."""
        original = getattr(barrier, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
            program = hooks._begun(self.rdd)
            if program is None:
                return original(self, *args, **kwargs)
            step: Step | Refused = hooks._guarded(name, lambda: program.whole_partition(self.rdd, together=True), _FAULT)

            def called(given: Sequence[Any], _more: Mapping[str, Any]) -> Any:
                with _nested():
                    return original(type(self)(given[0]), *args, **kwargs)

            return hooks._stepped(program, name, step, [self.rdd], called)

        hooks = self
        setattr(barrier, name, hooked)

    def _before(self, owner: type, name: str, note: Callable[[Program, Any], None]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
            program = hooks._begun(self)
            if program is not None:
                hooks._guarded(name, lambda: note(program, self), None)
            with _nested():
                return original(self, *args, **kwargs)

        hooks = self
        setattr(owner, name, hooked)

    def _after(self, owner: type, name: str, note: Callable[[Program, Any], None]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            program = hooks._begun(self)
            if program is not None:
                hooks._guarded(name, lambda: note(program, self), None)
            return result

        hooks = self
        setattr(owner, name, hooked)

    def _made(self, owner: type, name: str, note: Callable[..., Any]) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
            program = None if getattr(_inside, "depth", 0) else hooks._program_of(self)
            if program is None:
                return original(self, *args, **kwargs)
            with _nested():
                made = original(self, *args, **kwargs)
            return hooks._guarded(name, lambda: note(program, made, args, kwargs), made)

        hooks = self
        setattr(owner, name, hooked)

    def _union(self, context: type) -> None:
        original = context.union  # type: ignore[attr-defined]

        @functools.wraps(original)
        def union(self: Any, rdds: Any) -> Any:
            rdds = [*map(raw_records, rdds)] if isinstance(rdds, (list, tuple)) else rdds
            program = None if getattr(_inside, "depth", 0) else hooks._program_of(self)
            if program is None or not rdds:
                return original(self, rdds)
            step: Step | Refused = hooks._guarded("union", lambda: program.carried(rdds, "union"), _FAULT)

            def called(given: Sequence[Any], _more: Mapping[str, Any]) -> Any:
                with _nested():
                    return original(self, given)

            return hooks._stepped(program, "union", step, rdds, called)

        hooks = self
        context.union = union  # type: ignore[attr-defined]

    def _stepped(self, program: Program, name: str, step: Step | Refused, rdds: Sequence[Any], called: Called) -> Any:
        """Return the result of a step. If the step is refused or fails, call the method with the program's own RDDs."""
        refused = step if isinstance(step, Refused) else _FAULT
        if isinstance(step, Step):
            tapped = called(step.sides, step.more)
            finished = self._guarded(name, lambda: step.finish(tapped), _FAULT)
            if finished is not _FAULT:
                return finished
        made = called(rdds, {})
        return self._guarded(name, lambda: program.mark(made, refused), made)

    def _guarded(self, doing: str, part: Callable[[], Any], otherwise: Any) -> Any:
        try:
            with _nested():
                return part()
        except NotListedError:  # the program's own job reports it
            return otherwise
        except Exception as error:  # noqa: BLE001  # the promise of this module; the reason is kept for the ledger
            self._fault(f"following the records of {doing}", error)
            return otherwise


_FAULT = Refused("capture", "its records could not be followed")


def _calls_itself() -> bool:
    caller = sys._getframe(2)  # noqa: SLF001  # traceback reads every source on the way
    return str(caller.f_globals.get("__name__", "")).startswith("pyspark.")


def _called_from(context: Any) -> AbstractContextManager[None]:
    """Let Spark name the stages of a shuffle after the program's call, and not after Headwater's."""
    from pyspark.traceback_utils import SCCallSiteSync

    named: Any = object.__new__(SCCallSiteSync)  # its constructor cannot find the call
    named._context = context  # noqa: SLF001  # as it has it
    named._call_site = "{} at {}:{}".format(*call_site())  # noqa: SLF001  # as it words it
    found: AbstractContextManager[None] = named
    return found


@contextmanager
def _nested() -> Iterator[None]:
    _inside.depth = getattr(_inside, "depth", 0) + 1
    try:
        yield
    finally:
        _inside.depth -= 1


@contextmanager
def rows_made() -> Iterator[list[Any]]:
    """Yield the list of RDDs that PySpark passes to the JVM on this thread. The last one has the rows of the DataFrame."""
    before = getattr(_inside, "rows", None)
    _inside.rows = []
    try:
        yield _inside.rows
    finally:
        _inside.rows = before


@contextmanager
def unseen() -> Iterator[None]:
    """Mark the calls of a block as calls of Headwater, so that the wrappers ignore them."""
    with _nested():
        yield


def _of_files(name: str, program: Program, made: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    return program.of_files(made, sources.source_of(name, args, named))


def _over_partitions(name: str, program: Program, rdds: Sequence[Any], given: tuple[Any, ...]) -> Step | Refused:
    """Return the step for a function over partitions. Without a declaration, a result may depend on all records of the partition."""
    args, named = given
    called = {**dict(zip(("f", "preservesPartitioning"), args, strict=False)), **named}
    found = declared(called.get("f"))
    if found is None or len(called) < len(args) + len(named):
        return program.whole_partition(rdds[0])
    if isinstance(found, MadeOf):
        return program.placed(rdds[0], found, called["f"], indexed=name == "mapPartitionsWithIndex")
    return program.declared(rdds[0], found, called)


def _handed_on(shape: str, program: Program, rdds: Sequence[Any], _args: Any) -> Step | Refused:
    return program.carried(rdds, shape)


def _sorted(program: Program, rdds: Sequence[Any], given: tuple[Any, ...]) -> Step | Refused:
    """Return the step for `sortByKey`. PySpark sorts a single partition as whole records, several partitions as pairs."""
    args, kwargs = given
    asked = {**dict(zip(("ascending", "numPartitions", "keyfunc"), args, strict=False)), **kwargs}
    if len(asked) < len(args) + len(kwargs):
        return Refused("sortByKey", "it is called with arguments that it has not")
    partitions = asked.get("numPartitions")
    if partitions is None:
        partitions = rdds[0]._defaultReducePartitions()  # noqa: SLF001  # what sortByKey itself asks
    if partitions != 1:
        return program.carried(rdds, "pair")
    from headwater.spark_listener.rdd_records.taps import KeyFunction

    step = program.carried(rdds, "record")
    key = KeyFunction(asked["keyfunc"]) if "keyfunc" in asked else itemgetter(0)
    return replace(step, more={**asked, "keyfunc": key}) if isinstance(step, Step) else step
