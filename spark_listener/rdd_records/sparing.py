"""Decides for mode `auto` whether following the records of RDDs costs a job little.

A job over little data is always followed. A job over more data is followed if the workers have the loops in C, up to the first operator
that would send references through a shuffle or union. Such an operator is followed over a quarter of the data.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable
from operator import length_hint
from typing import Any

from headwater.spark_listener.rdd_records.known import Refused
from headwater.spark_listener.settings import Mode

# Bytes of the sources. Over 16 MB of text, loops in Python add 1.1 s of processor time to a word count (1.9 s without capture) and 0.1 s
# to a grep (0.6 s); those in C add 0.2 s and less than 0.1 s.
LITTLE = 16 * 1024 * 1024
# A quarter of that if references are sent along: partitionBy of each word of 4 MB of text takes 1.8 s more (2.6 s without capture),
# a sort of its lines 0.3 s more (1.8 s).
SENT = 4
_OF_A_ROW = 64  # assumed bytes of a row of the program itself


class Sparing:
    """The decisions for one application. `compiled`: its workers have the loops in C."""

    def __init__(self, *, compiled: bool) -> None:
        self._compiled = compiled
        self._bytes: dict[int, int] = {}

    def knows(self, scan: int) -> bool:
        return scan in self._bytes

    def reads(self, scan: int, size: int | None) -> None:
        """Store the size of a source in bytes, up to a limit. None is an unknown size, which counts as large."""
        self._bytes[scan] = LITTLE + 1 if size is None else size

    def rows(self, scan: int, data: Any) -> None:
        """Estimate the size of a source that is data of the program itself."""
        with contextlib.suppress(Exception):  # data of unknown size counts as little
            self._bytes[scan] = length_hint(data) * _OF_A_ROW

    def limits(self, *, sends: bool) -> bool:
        """Return whether the size of sources matters. `sends`: references would be sent with the records."""
        return sends or not self._compiled

    def refuses(self, scans: Iterable[int], *, sends: bool) -> Refused | None:
        """Return the reason why records of some sources are not followed. None if they are.

        `sends`: references would be sent with the records.
        """
        if not self.limits(sends=sends):
            return None
        limit = LITTLE // SENT if sends else LITTLE
        if sum(self._bytes.get(scan, 0) for scan in scans) <= limit:
            return None
        costs = "to send what records are made of along with them" if sends else "to note what records are made of without compiled loops"
        return Refused(str(Mode.AUTO), f"{costs} costs too much for more than {limit >> 20} MB; mode active does it")


def workers_have_loops(context: Any) -> bool:
    """Return whether the workers of a context run this Python, with the loops in C."""
    try:
        from headwater.spark_listener.rdd_records import _taps  # noqa: F401
    except ImportError:
        return False
    python = shutil.which(str(context.pythonExec))
    return str(context.master).startswith("local") and python is not None and os.path.abspath(python) == os.path.abspath(sys.executable)
