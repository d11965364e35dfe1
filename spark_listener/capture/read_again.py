"""Detects changes to files that the same Spark application reads twice, because lineage of changed data would be false."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from headwater.errors import SourceChangedError
from headwater.spark_listener.capture.bridge import java_context, java_object

_ENTRY = "headwater.shell.SourceCheck"
_CHANGED = re.compile(r"(?<=IllegalStateException: )[^\n]* has changed since the run read it: [^\n]*")  # ReadAgain.java


class ReadAgain:
    """Files by path, each with its length in bytes and its modification time in ms at the first read."""

    def __init__(self, context: Any, files: Mapping[str, tuple[int, int]]) -> None:
        self._java = java_object(context, _ENTRY, java_context(context), states_of(files), in_executors=True)

    def changed(self) -> list[str]:
        found: list[str] = json.loads(self._java.changed())
        return found

    def check(self) -> None:
        """Check that no file has changed.

        Raises:
            SourceChangedError: a file has changed.
        """
        refuse(self.changed())

    def guard(self, rdd: Any) -> None:
        """Make the tasks of a Python RDD that is not computed yet check the files that they read."""
        rdd._prev_jrdd = self._java.checked(rdd._prev_jrdd.rdd())  # noqa: SLF001  # PySpark has no public way to the JVM's RDD


def refuse(changed: Sequence[str]) -> None:
    """Raise `SourceChangedError` if there is a message about a changed file."""
    if changed:
        more = f" So have {len(changed) - 1} more files." if len(changed) > 1 else ""
        raise SourceChangedError(changed[0] + more, hint="Its records are not those that the run read. Run the program again.")


def states_of(files: Mapping[str, tuple[int, int]]) -> str:
    return json.dumps(files)


@contextmanager
def changes_named() -> Iterator[None]:
    """Raise `SourceChangedError` in place of a job's failure about a changed file."""
    from py4j.protocol import Py4JJavaError  # comes with PySpark

    try:
        yield
    except Py4JJavaError as error:
        if (found := _CHANGED.search(str(error.java_exception))) is None:
            raise
        raise SourceChangedError(found[0], hint="Its records are not those that the run read. Run the program again.") from error
