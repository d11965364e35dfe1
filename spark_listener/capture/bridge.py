"""The bridge to Headwater's classes in the JVM of the user's application: installs them, and returns their events.

Only the listener's daemon thread reads events. Python is never called for a task or a row; installing costs the program's thread a few py4j
calls. A fault in the JVM becomes an event, and never an exception in a query.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from headwater.errors import CaptureUnavailableError
from headwater.spark_listener.capture.jar import jar_for, untried
from headwater.spark_listener.python_functions.commands import enclosing_pickles
from headwater.spark_listener.settings import Mode

_log = logging.getLogger("headwater.capture")
_FLUSH_MS = 5_000
_ENTRY = "headwater.listen.CaptureBridge"
PLAIN = "headwater.plain."  # the package for every Spark


class Bridge:
    """The bridge of a SparkContext. Made by `install` or `listen`.

    `spark_seconds` is the time that Spark took in these calls to create objects that the program needs anyway: file systems, session state.
    """

    def __init__(self, java: Any, context: Any, *, records: bool, spark_seconds: float = 0.0) -> None:
        self.spark_seconds = spark_seconds
        self._java = java
        self._context = context
        self._records = records
        # Whether tasks have the classes, or need none. Local tasks use the driver's class loader.
        self._in_executors = not records or str(context.master).partition("[")[0] == "local"

    @classmethod
    def install(
        cls,
        spark: Any,
        *,
        mode: str,
        segments: str,
        budget: float = 0.0,
        readable: Sequence[str] = (),
        overwritten: Sequence[str] = (),
        keys: Mapping[str, str] = MappingProxyType({}),
        look: float = 2.0,
    ) -> Bridge:
        """Listen to a session's context, and capture the session's queries (`listen`, then `adopt`)."""
        bridge = cls.listen(
            spark.sparkContext,
            mode=mode,
            segments=segments,
            budget=budget,
            readable=readable,
            overwritten=overwritten,
            keys=keys,
            look=look,
        )
        bridge.adopt(spark)
        return bridge

    @classmethod
    def listen(
        cls,
        context: Any,
        *,
        mode: str,
        segments: str,
        budget: float = 0.0,
        readable: Sequence[str] = (),
        overwritten: Sequence[str] = (),
        keys: Mapping[str, str] = MappingProxyType({}),
        look: float = 2.0,
    ) -> Bridge:
        """Listen to a context, which need not have a session.

        `segments` is a path or Hadoop URI that driver and executors reach; each capture makes a folder there. `budget` is the number of
        seconds that a trace may take to compute the records of a group again. The job writes the records if a trace would take longer, if
        the source is neither on a local disk nor below a `readable` URI, or if it is in an `overwritten` folder. `keys` are key columns of
        tables (as the program names them) without a primary key in the database. `look` is the number of seconds that a query waits for the
        answer of a database or broker about a table or topic. If it is 0, none is asked.

        Raises:
            CaptureUnavailableError: capture cannot be installed in this JVM; the message says why.
        """
        try:
            return cls._listen(context, mode, segments, budget, readable, overwritten, keys, look)
        except CaptureUnavailableError:
            raise
        except Exception as error:
            raise CaptureUnavailableError(f"Capture cannot be installed in this Spark: {first_line(error)}.") from error

    @classmethod
    def _listen(
        cls,
        context: Any,
        mode: str,
        segments: str,
        budget: float,
        readable: Sequence[str],
        overwritten: Sequence[str],
        keys: Mapping[str, str],
        look: float,
    ) -> Bridge:
        jvm = _java_machine(context)
        location = jvm.org.apache.hadoop.fs.Path(segments)
        began = time.perf_counter()
        file_system = location.getFileSystem(java_context(context).hadoopConfiguration())
        is_local = str(file_system.getScheme()) == "file"  # any session needs this file system for its warehouse
        spark_seconds = time.perf_counter() - began if is_local else 0.0
        place = file_system.makeQualified(location).toString()
        records = Mode(mode).records
        roots = java_list(jvm, readable)
        declared = jvm.java.util.HashMap()
        for table, column in keys.items():
            declared.put(table, column)
        settings = (roots, java_list(jvm, overwritten), declared)
        java = java_object(
            context, _ENTRY, java_context(context).sc(), records, place, float(budget), *settings, float(look), in_executors=False
        )
        if records:
            enclosing = jvm.java.util.HashMap()
            for kind, pickled in enclosing_pickles().items():
                enclosing.put(kind, pickled)
            java.functions(enclosing, str(context.pythonVer))
        return cls(java, context, records=records, spark_seconds=spark_seconds)

    def adopt(self, spark: Any) -> None:
        if not self._in_executors:
            self._in_executors = True
            java_context(self._context).sc().addJar(str(jar_for(str(self._context.version))))
        session = _java_session(spark)
        if self._records:
            began = time.perf_counter()
            session.sessionState()  # Spark makes it at the first query otherwise
            self.spark_seconds += time.perf_counter() - began
        self._java.adopt(session)

    def set_aside(self, pickles: Mapping[int, bytes]) -> None:
        """Set rows aside at which functions fail, in the sessions that are adopted from now on (`SetAsideRule.java`)."""
        guarding = _java_machine(self._context).java.util.HashMap()
        for kind, pickled in pickles.items():
            guarding.put(kind, pickled)
        self._java.setAside(guarding, str(self._context.pythonVer))

    def not_set_aside(self) -> list[str]:
        """Return the operators whose failing rows are not set aside, each with the reason."""
        refused: list[str] = json.loads(self._java.notSetAside())
        return refused

    def checkpoint(self, frame: Any) -> Any | None:
        """Return the replacement for a JVM frame in a checkpoint. None if there is none.

        It has `frame()`, which may be null, and `made(frame)`.
        """
        return self._java.checkpoint(frame)

    def handed_over(self, frame: Any) -> Any | None:
        """Return the replacement for the RDD of a JVM frame (`HandedOver.java`). None if there is none."""
        return self._java.handedOver(frame)

    def parts(self, handed: Any, base: int, capture: str) -> str:
        """Return the recording of a frame that became an RDD, as JSON (`HandedParts.java`)."""
        return str(self._java.parts(handed, base, capture))

    def recorded(self, frame: Any, pairs: Any, top: int, operators: Sequence[int]) -> Any | None:
        """Return a JVM frame made of `pairs` of a row and its references, in place of a frame of the rows. None if there is none."""
        return self._java.recorded(frame, pairs, top, operators)

    def described(self, plan: Any) -> dict[str, Any]:
        """Return the description of a JVM plan, in the form of the event at the end of a query."""
        description: dict[str, Any] = json.loads(self._java.described(plan))
        return description

    def files_read(self, rdd: Any, lines: bool) -> dict[str, Any]:  # the JVM passes them in this way
        """Return the files and splits that a JVM RDD reads, as `lines` or otherwise (`HadoopFiles.java`)."""
        found: dict[str, Any] = json.loads(self._java.read(rdd, lines))
        return found

    def bytes_read(self, rdd: Any, most: int) -> int | None:
        """Return the size of a JVM RDD's files in bytes, at most `most` + 1. None if unknown."""
        size = int(self._java.bytes(rdd, most))
        return None if size < 0 else size

    def files_written(self, folder: str) -> list[tuple[str, int, int]]:
        return [tuple(file) for file in json.loads(self._java.written(folder))]

    def drain(self, timeout_ms: int) -> list[dict[str, Any]]:
        """Return events in order. Wait at most `timeout_ms` for the first one. `events` documents their form."""
        events: list[dict[str, Any]] = json.loads(self._java.drain(timeout_ms))
        return events

    def table_columns(self, jdbc: Mapping[str, Any], tables: Sequence[str], milliseconds: int) -> dict[str, list[str]]:
        """Return the columns of tables in a JDBC read, as the database states them in time."""
        asked = java_list(_java_machine(self._context), tables)
        texts = [jdbc.get(member) for member in ("url", "dbtable", "query", "prepare")]
        found: dict[str, list[str]] = json.loads(self._java.columns(*texts, asked, milliseconds))
        return found

    def running(self, execution: int) -> dict[str, Any] | None:
        """Return the `plan` (None: unknown) and `stages` of a running query. None once it has ended."""
        description = self._java.running(execution)
        return None if description is None else json.loads(description)

    def describing_seconds(self) -> float:
        """Return the processor time that the JVM took to describe the events returned so far."""
        return float(self._java.describingNanos()) / 1e9

    def flush(self, milliseconds: int = _FLUSH_MS) -> bool:
        """Wait, within limits, until Spark has delivered all its events. Return false if it has not."""
        delivered: bool = self._java.flush(milliseconds)
        return delivered

    def wake(self) -> None:
        self._java.wake()

    def close(self) -> None:
        self._java.close()


def java_object(context: Any, name: str, *arguments: Any, in_executors: bool) -> Any:
    """Return a new object of one of Headwater's Java classes. `in_executors` states that tasks need the classes too.

    Raises:
        CaptureUnavailableError: the classes are not for this Spark, are missing, or cannot be loaded in this JVM.
    """
    jvm = _java_machine(context)
    refusal = untried(str(context.version))
    if refusal and not name.startswith(PLAIN):
        raise CaptureUnavailableError(f"{refusal[0].upper()}{refusal[1:]}.")
    jar = jar_for(str(context.version))
    _load(jvm, jar.as_uri())
    if in_executors:
        java_context(context).sc().addJar(str(jar))
    entry = jvm.java.lang.Class.forName(name, True, jvm.java.lang.Thread.currentThread().getContextClassLoader())
    return entry.getConstructors()[0].newInstance(java_list(jvm, arguments).toArray())


def java_list(jvm: Any, values: Sequence[Any]) -> Any:
    made = jvm.java.util.ArrayList()
    for value in values:
        made.add(value)
    return made


def _java_machine(context: Any) -> Any:
    jvm = getattr(context, "_jvm", None)
    if jvm is None:
        raise CaptureUnavailableError("This session has no JVM of its own (Spark Connect).", hint="Capture runs in classic sessions.")
    return jvm


def _java_session(spark: Any) -> Any:
    return spark._jsparkSession  # noqa: SLF001  # PySpark has no public way to the JVM's session


def java_context(context: Any) -> Any:
    return context._jsc  # noqa: SLF001  # nor to its context


def _load(jvm: Any, uri: str) -> None:
    """Add the jar's classes to the driver.

    The jar goes into the class loader with which PySpark's JVM started. That loader is the parent of all loaders of sessions and local
    tasks, so each class is loaded only once. `ADD JAR` would bind the classes to one session.
    """
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    known = loader.getClass().getName()
    if not hasattr(loader, "addURL") or "MutableURLClassLoader" not in known:
        raise CaptureUnavailableError(
            f"Spark's class loader cannot take further classes ({known}).", hint="Start the program with spark-submit or python."
        )
    loader.addURL(jvm.java.net.URI(uri).toURL())


def first_line(error: BaseException) -> str:
    """Return the first line of an error. An error of the JVM has the JVM's message."""
    java = getattr(error, "java_exception", None)
    text = str(java) if java is not None else f"{type(error).__name__}: {error}"
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__
