"""The jar of Headwater's Java classes for a version of Spark. It is part of the package (scripts/compile_java.py)."""

from __future__ import annotations

import atexit
import functools
from contextlib import ExitStack
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

from headwater.errors import CaptureUnavailableError

_PACKAGE = "headwater.spark_listener"
_NO_CLASSES = "this installation of Headwater has no Java classes"
_PLAIN = "plain"  # the jar for every other line


def untried(spark_version: str) -> str | None:
    """Return the reason why neither records nor columns are captured on a version of Spark. None if they are."""
    if _line(spark_version) in lines():
        return None
    lack = f"records and columns are followed on Spark {' and '.join(lines())} alone" if lines() else _NO_CLASSES
    return f"{lack}; this is Spark {spark_version}"


@functools.cache
def lines() -> tuple[str, ...]:
    """Return the lines of Spark, such as 4.1, with a jar of their own. Records are captured on these only."""
    try:
        names = [entry.name.removeprefix("headwater-").removesuffix(".jar") for entry in _folder().iterdir() if entry.name.endswith(".jar")]
    except OSError:
        names = []
    return tuple(sorted(name for name in names if name != _PLAIN))


@functools.cache
def jar_for(spark_version: str) -> Path:
    """Return the jar for a version of Spark. The file stays until the process ends, because executors fetch it.

    Raises:
        CaptureUnavailableError: the package was built without the jar.
    """
    jar = _folder() / f"headwater-{_PLAIN if untried(spark_version) else _line(spark_version)}.jar"
    if not jar.is_file():
        raise CaptureUnavailableError(
            f"{_NO_CLASSES[0].upper()}{_NO_CLASSES[1:]}.", hint="Install a wheel of Headwater, or run `make bootstrap` in a clone."
        )
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(as_file(jar))  # a copy, if the package is in a zip file


def _folder() -> Traversable:
    return files(_PACKAGE) / "jars"


def _line(spark_version: str) -> str:
    return ".".join(spark_version.split(".")[:2])
