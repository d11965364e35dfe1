"""Starts to set failing records aside in an application, and tells the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headwater.errors import ConfigurationError
from headwater.spark_listener.set_aside.functions import ship_by_value
from headwater.spark_listener.set_aside.rdd_methods import guard_methods
from headwater.spark_listener.set_aside.register import Register
from headwater.spark_listener.telling import tell

if TYPE_CHECKING:
    from headwater.spark_listener.rdd_records.program import Program
    from headwater.spark_listener.settings import Settings


def open_register(
    context: Any, settings: Settings, place: Path, program: Callable[[], Program | None], splits: Callable[[Any], Mapping[str, Any]]
) -> Register:
    """Return the register of an application. `place` is its file of claims, which all tasks reach.

    Raises:
        ConfigurationError: tasks on other machines may not reach the file.
    """
    is_local = str(context.master).partition("[")[0] in ("local", "local-cluster")
    if urlsplit(settings.segments or "").scheme not in ("", "file") or not (is_local or settings.segments):
        raise ConfigurationError(f"executors of {context.master} may not share a folder with the driver; set HEADWATER_SEGMENTS to one")
    from pyspark import RDD

    ship_by_value()
    register = Register(context, place, settings.skip_failing, program, lambda rdd: splits(rdd._jrdd.rdd()))  # noqa: SLF001  # PySpark has no public way to the JVM's RDD
    guard_methods(RDD, lambda other: register if other is context else None)
    limit = f"{settings.skip_failing:,} failing record{'s' if settings.skip_failing > 1 else ''}"
    tell(
        f"skipFailing is ON: up to {limit} of Python functions are set aside, and results lack them. Expressions of Spark SQL, such as "
        "casts, and functions over many rows still fail the job"
    )
    return register
