"""Replay inside Spark: runs an unchanged program again, next to the real data and without some of its records.

The replay runner starts the program under `headwater run`; `HEADWATER_REPLAY` names a replay order. Every written path is redirected to a
shadow root, and so is a path that is read after this replay has written it. The scans filter out excluded records (through the capture
bridge). A program that tries to write outside of the shadow root is stopped: a replay must never touch the real data.

Plain Python file access, JDBC and other services are not redirected; the guide says so.

A replay whose result may be committed captures records, too, into a home of its own. A recapture is a replay that excludes nothing and
captures records. `headwater recapture` then compares the files.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from headwater.errors import ConfigurationError, UnsupportedError
from headwater.spark_listener.hooks import Watcher
from headwater.spark_listener.shadow_paths import ShadowPaths

VARIABLE = "HEADWATER_REPLAY"
_ENTRY = "headwater.replay.ReplayBridge"
_WAREHOUSE = re.compile(r"(spark\.sql\.catalog\.[^.]+)\.warehouse")
_ICEBERG = "org.apache.iceberg.spark."
Range = tuple[int, int]
RDD_READS = (
    "textFile", "wholeTextFiles", "binaryFiles", "binaryRecords", "pickleFile", "sequenceFile", "hadoopFile", "newAPIHadoopFile",
)  # fmt: skip
_RDD_WRITES = ("saveAsTextFile", "saveAsPickleFile", "saveAsSequenceFile", "saveAsHadoopFile", "saveAsNewAPIHadoopFile")


@dataclass(frozen=True, slots=True)
class ReplayOrder:
    """The order for one replayed program. `exclude` maps a file to the 0-based numbers of the records to exclude.

    Only the records in `keep` are read from files at the places in `restrict`. `edits` maps a file to new values by row (as text) and
    column. Spark casts a value from its text; None is NULL. Files are named as in answers: `file:/a/b`, `s3://b/k`. `script_sha256` is the
    hash of the only script that may run. `captures`: capture is on, and delivers nothing. `partials` is a folder of partial results of
    aggregates over the datasets at the places `changed`. If it is empty, none are stored or used. `marks` is a folder for places of lines
    in text files, so that the next replay does not count the lines before them again. `watch` is a folder for notes on the
    records that each task read, and, if the order `shows` them, for the values of kept records. An entry of `keep` may also be a
    range: its first row, and the row after its last. If there are `files`, all of their records are read, and no others of the places in
    `restrict`.
    """

    replay: str
    shadow: str
    exclude: Mapping[str, Sequence[int]]
    script_sha256: str
    captures: bool = False
    keep: Mapping[str, Sequence[int] | Sequence[Range]] = field(default_factory=dict)
    restrict: Sequence[str] = ()
    edits: Mapping[str, Mapping[str, Mapping[str, str | None]]] = field(default_factory=dict)
    partials: str = ""
    marks: str = ""
    changed: Sequence[str] = ()
    watch: str = ""
    shows: bool = False
    files: Sequence[str] = ()

    @classmethod
    def load(cls, path: str | Path) -> ReplayOrder:
        """Read an order from a file.

        Raises:
            ConfigurationError: the file is missing, or is not a replay order.
        """
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
            captures = raw.get("captures", False) is True
            return cls(
                replay=raw["replay"], shadow=raw["shadow"], exclude=raw["exclude"], script_sha256=raw["script_sha256"], captures=captures,
                keep=raw.get("keep", {}), restrict=tuple(raw.get("restrict", ())), edits=raw.get("edits", {}),
                partials=raw.get("partials", {}).get("folder", ""), changed=tuple(raw.get("partials", {}).get("changed", ())),
                marks=raw.get("marks", ""),
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"{path} is not a replay order: {error!r}.", hint="Start replays with `headwater replay`.") from error

    @classmethod
    def from_environment(cls) -> ReplayOrder | None:
        path = os.environ.get(VARIABLE)
        return cls.load(path) if path else None

    def save(self, path: Path) -> None:
        order = {"replay": self.replay, "shadow": self.shadow, "exclude": dict(self.exclude), "script_sha256": self.script_sha256}
        path.write_text(json.dumps({**order, "captures": self.captures, **self._changes()}), encoding="utf-8")

    def records(self) -> str:
        """Return the records to exclude, keep and edit, as JSON for the JVM."""
        return json.dumps({"exclude": {file: list(rows) for file, rows in self.exclude.items()}, **self._changes()})

    def changed_places(self) -> list[str]:
        """Return the files and datasets of which the program must not read all records unchanged."""
        return [*self.exclude, *self.keep, *self.restrict, *self.edits]

    def _changes(self) -> dict[str, object]:
        keep = {file: list(rows) for file, rows in self.keep.items()}
        partials = {"folder": self.partials, "changed": list(self.changed)} if self.partials else {}
        edits = {file: dict(rows) for file, rows in self.edits.items()}
        watch = {"watch": self.watch, "shows": self.shows} if self.watch else {}
        marks = {"marks": self.marks} if self.marks else {}
        files = {"files": list(self.files)} if self.files else {}
        return {"keep": keep, "restrict": list(self.restrict), "edits": edits, "partials": partials, **files, **marks, **watch}

    def note_met(self, file: str) -> None:
        """Note that records of a file were excluded. The replay runner checks that this happened for all files in the order."""
        with met_file(self.shadow).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(file) + "\n")

    def check(self, script: str, content: bytes) -> None:
        """Check that a script is the allowed script. `content` is the text that will run.

        Raises:
            UnsupportedError: the script differs.
        """
        if (found := hashlib.sha256(content).hexdigest()) != self.script_sha256:
            raise UnsupportedError(
                f"{script} is not the script that was registered: its SHA-256 is {found}, not {self.script_sha256}.",
                hint="Run it once with `headwater run`, or register it with `headwater jobs register`.",
            )


def met_file(shadow: str) -> Path:
    """Return the path of a file next to the shadow root.

    There, programs of a replay note from which files they excluded records (JSON lines).
    """
    return Path(f"{shadow}.met")


def lead_paths(order: ReplayOrder, paths: ShadowPaths | None = None) -> None:
    """Redirect PySpark's readers and writers in this process to the shadow root. Call it once, before the program starts."""
    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrameReader, DataFrameWriter
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    paths = paths or ShadowPaths(order.shadow)
    for method in ("load", "parquet", "csv", "json", "text", "orc", "xml"):
        _lead(DataFrameReader, method, paths.read)
    for method in ("save", "parquet", "csv", "json", "text", "orc", "xml"):
        _lead(DataFrameWriter, method, paths.write)
    for method in RDD_READS:
        _lead(SparkContext, method, functools.partial(_read_text, order, paths))
    for method in _RDD_WRITES:
        _lead(RDD, method, paths.write)
    for method in ("saveAsHadoopDataset", "saveAsNewAPIHadoopDataset"):
        _refuse(RDD, method)
    for method in ("saveAsTable", "insertInto", "jdbc"):
        _refuse(DataFrameWriter, method)
    for method in ("start", "toTable"):
        _refuse(DataStreamWriter, method)


def lead_catalogs(session: Any, paths: ShadowPaths) -> None:
    """Lead the Hadoop catalogs of Iceberg in a session to the shadows of their warehouses. Call it before a catalog is used.

    A catalog that the program configures later is not led. The rule of the replay refuses to write its tables.
    """
    settings = dict(session.conf.getAll)
    for name, warehouse in settings.items():
        match = _WAREHOUSE.fullmatch(name)
        if match and settings.get(f"{match[1]}.type", "").lower() == "hadoop" and str(settings.get(match[1], "")).startswith(_ICEBERG):
            with suppress(UnsupportedError):  # a storage that has no shadow
                session.conf.set(name, f"file:{paths.folder(warehouse)}")


class Replayer(Watcher):
    """Excludes records in each new session, through the JVM. A fault of the replayer ends the program."""

    watching = True

    def __init__(self, order: ReplayOrder) -> None:
        self._order = order
        self._context: Any = None
        self._bridge: Any = None

    def session_made(self, session: Any) -> None:
        """Install the rule of the replay in this session."""
        from headwater.spark_listener.capture.bridge import java_object

        if self._context is not session.sparkContext:
            self._context = session.sparkContext
            self._bridge = java_object(self._context, _ENTRY, self._order.shadow, self._order.records(), in_executors=True)
        self._bridge.adopt(session._jsparkSession)  # noqa: SLF001  # PySpark has no public name for it
        if not self._order.captures:  # a recapture compares files, and lays no shadow tables
            lead_catalogs(session, ShadowPaths(self._order.shadow))


class CapturingReplayer:
    """Passes each session to a replayer and everything to an agent. Every session has the replay's rule, even if capture fails."""

    watching = True

    def __init__(self, order: ReplayOrder, agent: Watcher) -> None:
        self._replayer = Replayer(order)
        self._agent = agent
        self._nobody = Watcher()

    def session_made(self, session: Any) -> None:
        """Capture, and install the rule of the replay in this session.

        The rule of the capture comes first: it numbers the records of a scan, and changes them as the rule of the replay says.
        """
        try:
            self._told.session_made(session)
        finally:
            self._replayer.session_made(session)

    @property
    def _told(self) -> Watcher:
        return self._agent if self._agent.watching else self._nobody

    def __getattr__(self, name: str) -> Any:
        return getattr(self._told, name)


def watcher_of(order: ReplayOrder, agent: Watcher) -> Watcher:
    return cast("Watcher", CapturingReplayer(order, agent)) if order.captures else Replayer(order)


def _read_text(order: ReplayOrder, paths: ShadowPaths, path: str) -> str:
    """Refuse or redirect a path of an RDD reader. It has no scan that could filter, so files with excluded records are refused."""
    if "," in path and "{" in path:
        raise UnsupportedError(f"Replay cannot tell which files {path} names.", hint="Read the folder.")
    parts = path.split(",")
    for file in order.changed_places():
        excluded = file.removeprefix("file:") if file.startswith("file:") else file
        if any(paths.reaches(part, excluded) for part in parts):
            raise UnsupportedError(f"An RDD program reads {path}; replay with other records needs DataFrames.")
    return ",".join(map(paths.read, parts))


def _lead(owner: type, method: str, route: Callable[[str], str]) -> None:
    original = getattr(owner, method, None)
    if original is None:  # a method of another PySpark version
        return

    @functools.wraps(original)
    def led(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args:
            args = (_route(args[0], route), *(_route(arg, route) if _takes_many(owner, method) else arg for arg in args[1:]))
        for name in ("path", "paths"):
            if name in kwargs:
                kwargs[name] = _route(kwargs[name], route)
        return original(self, *args, **kwargs)

    setattr(owner, method, led)


def _takes_many(owner: type, method: str) -> bool:
    return owner.__name__ == "DataFrameReader" and method in ("parquet", "orc")


def _route(value: Any, route: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return route(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return type(value)(route(item) for item in value)
    return value


def _refuse(owner: type, method: str) -> None:
    if not hasattr(owner, method):
        return

    def refused(*_: Any, **__: Any) -> Any:
        raise UnsupportedError(f"{owner.__name__}.{method} cannot be led to a shadow.", hint="Replay covers programs that write to paths.")

    setattr(owner, method, refused)
