"""Replay, the side inside Spark: run an unchanged program again, beside the real data and without some of its records.

For the replay runner, which starts the program under `headwater run` with `HEADWATER_REPLAY` naming a replay order. Every path
that the program writes is led to a shadow root; a path that it reads is led there too once this replay has written it. Records
to leave out are filtered at the scans (by the capture bridge). A program that tries to write past the shadow root is stopped: a
replay must never touch the data it repeats.

What a program does through plain Python files, JDBC or other services is not led anywhere; the guide says so.

A recapture is a replay that leaves nothing out and captures what the program does: `headwater recapture` compares what it wrote.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.errors import ConfigurationError, UnsupportedError
from headwater.spark_listener.hooks import Unmoved, Watcher
from headwater.spark_listener.shadow_paths import ShadowPaths

VARIABLE = "HEADWATER_REPLAY"
_ENTRY = "headwater.replay.ReplayBridge"
_RDD_READS = (
    "textFile", "wholeTextFiles", "binaryFiles", "binaryRecords", "pickleFile", "sequenceFile", "hadoopFile", "newAPIHadoopFile",
)  # fmt: skip
_RDD_WRITES = ("saveAsTextFile", "saveAsPickleFile", "saveAsSequenceFile", "saveAsHadoopFile", "saveAsNewAPIHadoopFile")


@dataclass(frozen=True, slots=True)
class ReplayOrder:
    """What one replayed program is told. `exclude` maps a file to the 0-based numbers of the records to leave out.

    Only the records in `keep` are read from files at the places in `restrict`. `edits` maps a file to new values by row (as text) and
    column. Spark casts a value from its text; None is NULL. A file is called as an answer calls it: `file:/a/b`, `s3://b/k`.
    `script_sha256` is the hash of the only script that may run. `captures`: capture is on, and delivers nothing.
    """

    replay: str
    shadow: str
    exclude: Mapping[str, Sequence[int]]
    script_sha256: str
    captures: bool = False
    keep: Mapping[str, Sequence[int]] = field(default_factory=dict)
    restrict: Sequence[str] = ()
    edits: Mapping[str, Mapping[str, Mapping[str, str | None]]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> ReplayOrder:
        """Read an order.

        Raises:
            ConfigurationError: the file is missing or is no replay order.
        """
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
            captures = raw.get("captures", False) is True
            return cls(
                replay=raw["replay"], shadow=raw["shadow"], exclude=raw["exclude"], script_sha256=raw["script_sha256"], captures=captures,
                keep=raw.get("keep", {}), restrict=tuple(raw.get("restrict", ())), edits=raw.get("edits", {}),
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"{path} is not a replay order: {error!r}.", hint="Start replays with `headwater replay`.") from error

    @classmethod
    def from_environment(cls) -> ReplayOrder | None:
        """The order that this process was started with, if it was."""
        path = os.environ.get(VARIABLE)
        return cls.load(path) if path else None

    def save(self, path: Path) -> None:
        """Write the order where `load` finds it."""
        order = {"replay": self.replay, "shadow": self.shadow, "exclude": dict(self.exclude), "script_sha256": self.script_sha256}
        path.write_text(json.dumps({**order, "captures": self.captures, **self._changes()}), encoding="utf-8")

    def records(self) -> str:
        """The records to exclude, keep and edit, as the JVM reads them."""
        return json.dumps({"exclude": {file: list(rows) for file, rows in self.exclude.items()}, **self._changes()})

    def changed_places(self) -> list[str]:
        """Files and datasets of which a program must not read all records as they are."""
        return [*self.exclude, *self.keep, *self.restrict, *self.edits]

    def _changes(self) -> dict[str, object]:
        keep = {file: list(rows) for file, rows in self.keep.items()}
        return {"keep": keep, "restrict": list(self.restrict), "edits": {file: dict(rows) for file, rows in self.edits.items()}}

    def note_met(self, file: str) -> None:
        """Say that records of a file are left out: who started the replay looks whether those of all files were."""
        with met_file(self.shadow).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(file) + "\n")

    def check(self, script: str, content: bytes) -> None:
        """See that a script is the one that may run; `content` is what would be run.

        Raises:
            UnsupportedError: it is another.
        """
        if (found := hashlib.sha256(content).hexdigest()) != self.script_sha256:
            raise UnsupportedError(
                f"{script} is not the script that was registered: its SHA-256 is {found}, not {self.script_sha256}.",
                hint="Run it once with `headwater run`, or register it with `headwater jobs register`.",
            )


def met_file(shadow: str) -> Path:
    """Where programs of a replay say of which files they leave records out, a line of JSON each; beside the shadow root."""
    return Path(f"{shadow}.met")


def lead_paths(order: ReplayOrder) -> None:
    """Make PySpark's readers and writers in this process use the shadow (design: replay). Called once, before the program starts."""
    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrameReader, DataFrameWriter
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    paths = ShadowPaths(order.shadow)
    for method in ("load", "parquet", "csv", "json", "text", "orc", "xml"):
        _lead(DataFrameReader, method, paths.read)
    for method in ("save", "parquet", "csv", "json", "text", "orc", "xml"):
        _lead(DataFrameWriter, method, paths.write)
    for method in _RDD_READS:
        _lead(SparkContext, method, functools.partial(_read_text, order, paths))
    for method in _RDD_WRITES:
        _lead(RDD, method, paths.write)
    for method in ("saveAsHadoopDataset", "saveAsNewAPIHadoopDataset"):
        _refuse(RDD, method)
    for method in ("saveAsTable", "insertInto", "jdbc"):
        _refuse(DataFrameWriter, method)
    for method in ("start", "toTable"):
        _refuse(DataStreamWriter, method)


class Replayer(Unmoved):
    """Told by the hooks of each session that the program makes; has the JVM leave records out there. A fault of it ends the program.

    It watches nothing else.
    """

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


class CapturingReplayer:
    """Tells a replayer of each session, and an agent of everything. Whatever becomes of capture, each session has the replay's rule."""

    watching = True

    def __init__(self, order: ReplayOrder, agent: Watcher) -> None:
        self._replayer = Replayer(order)
        self._agent = agent
        self._nobody = Unmoved()

    def session_made(self, session: Any) -> None:
        """Install the rule of the replay in this session, then capture."""
        self._replayer.session_made(session)
        self._told.session_made(session)

    @property
    def _told(self) -> Watcher:
        return self._agent if self._agent.watching else self._nobody

    def __getattr__(self, name: str) -> Any:
        return getattr(self._told, name)


def _read_text(order: ReplayOrder, paths: ShadowPaths, path: str) -> str:
    """RDD readers have no scan to filter at, so a file with records to leave out cannot be read that way."""
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
    if original is None:  # a method of a later or an earlier PySpark
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
    """`parquet` and `orc` of a reader take any number of paths as arguments."""
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
