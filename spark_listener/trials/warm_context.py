"""Keeps one SparkContext for all trials. Each trial gets a session of its own, without views, caches or settings of the trial before.

A program that stops its context, or makes one itself, gets the warm one. The start of a context takes a second, and that of a JVM five.
"""

from __future__ import annotations

import contextlib
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession, SQLContext


class WarmContext:
    """The context that the trials share."""

    def __init__(self) -> None:
        self._context: Any = None
        self._make = SparkContext.__init__
        self._stop = SparkContext.stop
        warm = self

        def make(self: Any, *args: Any, **kwargs: Any) -> None:
            if warm.is_usable():
                self.__dict__ = warm.state()
                SparkContext._active_spark_context = self  # noqa: SLF001  # PySpark has no public name for it
                return
            warm._make(self, *args, **kwargs)
            warm._context = self

        setattr(SparkContext, "__init__", make)  # noqa: B010  # mypy refuses an assignment to a method
        setattr(SparkContext, "stop", lambda _self: None)  # noqa: B010

    def is_usable(self) -> bool:
        try:
            return self._context is not None and self._context._jsc is not None and not self._context._jsc.sc().isStopped()  # noqa: SLF001
        except Exception:  # noqa: BLE001  # the JVM is gone
            return False

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._context.__dict__
        return state

    def clear(self) -> None:
        """End what a trial left: its jobs, its caches and its session."""
        if not self.is_usable():
            self._context = None
            SparkContext._active_spark_context = None  # noqa: SLF001
        session = SparkSession._instantiatedSession  # noqa: SLF001
        if self._context is not None:
            with contextlib.suppress(Exception):
                self._context.cancelAllJobs()
                for persisted in list(self._context._jsc.getPersistentRDDs().values()):  # noqa: SLF001
                    persisted.unpersist()
        if session is not None:
            with contextlib.suppress(Exception):
                session.catalog.clearCache()
            with contextlib.suppress(Exception):
                sessions = SparkSession._get_j_spark_session_class(session._jvm)  # noqa: SLF001
                sessions.clearDefaultSession()
                sessions.clearActiveSession()
        SparkSession._instantiatedSession = None  # noqa: SLF001
        SparkSession._activeSession = None  # noqa: SLF001
        SQLContext._instantiatedContext = None  # noqa: SLF001
