"""Replay, the side inside Spark: run an unchanged program again, beside the real data and without some of its records.

For the replay runner, which starts the program under `headwater run` with `HEADWATER_REPLAY` naming a replay order. Every path
that the program writes is led to a shadow root; a path that it reads is led there too once this replay has written it. Records
to leave out are filtered at the scans (by the capture bridge). A program that tries to write past the shadow root is stopped: a
replay must never touch the data it repeats.

What a program does through plain Python files, JDBC or other services is not led anywhere; the guide says so.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from headwater.errors import ConfigurationError, UnsupportedError
from headwater.spark_listener.hooks import Unmoved

VARIABLE = "HEADWATER_REPLAY"
_ENTRY = "headwater.replay.ReplayBridge"
_PATTERN = re.compile(r"[*?\[{]")


@dataclass(frozen=True, slots=True)
class ReplayOrder:
    """What one replayed program is told. `exclude` maps a file (as `file:/a/b`) to the 0-based numbers of the records to leave out.

    `script_sha256` is the hash of the only script that may run.
    """

    replay: str
    shadow: str
    exclude: Mapping[str, Sequence[int]]
    script_sha256: str

    @classmethod
    def load(cls, path: str | Path) -> ReplayOrder:
        """Read an order.

        Raises:
            ConfigurationError: the file is missing or is no replay order.
        """
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls(replay=raw["replay"], shadow=raw["shadow"], exclude=raw["exclude"], script_sha256=raw["script_sha256"])
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
        path.write_text(json.dumps(order), encoding="utf-8")

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


class ShadowPaths:
    """Where a path of the program lies in the replay: `/a/b` written becomes `SHADOW/a/b`; read, too, if the replay wrote it."""

    def __init__(self, shadow: str) -> None:
        self.shadow = Path(shadow)

    def write(self, path: str) -> str:
        """The shadow of a path that is written."""
        return str(self._shadow_of(path))

    def read(self, path: str) -> str:
        """The shadow of a path that is read, or the path itself where this replay wrote nothing there.

        Raises:
            UnsupportedError: only a part of what is below the path was written again, so neither place is right.
        """
        if _PATTERN.search(path):
            fixed = os.path.dirname(_PATTERN.split(path, maxsplit=1)[0]) or "/"
            if self._shadow_of(fixed).exists():
                raise UnsupportedError(f"The pattern {path} reaches into data that this replay wrote again.", hint="Read the folder.")
            return path
        shadow = self._shadow_of(path)
        if self._is_dataset(shadow):
            return str(shadow)
        if not shadow.exists():
            return path
        raise UnsupportedError(
            f"{path} was written again only in part ({', '.join(sorted(p.name for p in shadow.iterdir())[:5])}).",
            hint="Read each written folder by its own path.",
        )

    def _shadow_of(self, path: str) -> Path:
        parts = urlsplit(path)
        if parts.scheme not in ("", "file"):
            raise UnsupportedError(f"Replay leads local paths to a shadow; {path} is on {parts.scheme}.")
        local = os.path.abspath(unquote(parts.path) if parts.scheme else path)
        if local == str(self.shadow) or local.startswith(f"{self.shadow}/"):
            return Path(local)
        return self.shadow / local.lstrip("/")

    @staticmethod
    def _is_dataset(folder: Path) -> bool:
        """Spark's committers leave `_SUCCESS` in what they wrote. A path inside belongs to it, also a partition that is no more."""
        if folder.is_file():
            return True
        return any((place / "_SUCCESS").exists() for place in (folder, *folder.parents))


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
    for method in ("textFile", "wholeTextFiles", "binaryFiles", "pickleFile"):
        _lead(SparkContext, method, functools.partial(_read_text, order, paths))
    for method in ("saveAsTextFile", "saveAsPickleFile"):
        _lead(RDD, method, paths.write)
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
            excluded = json.dumps({file: list(rows) for file, rows in self._order.exclude.items()})
            self._bridge = java_object(self._context, _ENTRY, self._order.shadow, excluded, in_executors=True)
        self._bridge.adopt(session._jsparkSession)  # noqa: SLF001  # PySpark has no public name for it


def _read_text(order: ReplayOrder, paths: ShadowPaths, path: str) -> str:
    """RDD readers have no scan to filter at, so a file with records to leave out cannot be read that way."""
    local = os.path.abspath(urlsplit(path).path)
    for file in order.exclude:
        excluded = urlsplit(file).path
        if excluded == local or excluded.startswith(f"{local}/"):
            raise UnsupportedError(f"An RDD program reads {path}; replay without records needs DataFrames.")
    return paths.read(path)


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
