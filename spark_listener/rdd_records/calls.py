"""Finds the PySpark method that the program called, and the place of the call."""

from __future__ import annotations

import sys
from typing import Any


def call_site() -> tuple[str, str, int]:
    """Return the PySpark method that the program called, with file and line of the call."""
    frame: Any = sys._getframe(1)  # noqa: SLF001  # traceback reads every source on the way
    name = "RDD"
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("pyspark."):
            name = frame.f_code.co_name
        elif not module.startswith(("headwater.spark_listener", "functools", "contextlib")):
            break
        elif module.endswith(".operators") and "original" in frame.f_locals:  # the hook around a method
            name = frame.f_locals.get("name", frame.f_code.co_name)
        frame = frame.f_back
    return (name, frame.f_code.co_filename, frame.f_lineno) if frame is not None else (name, "?", 0)
