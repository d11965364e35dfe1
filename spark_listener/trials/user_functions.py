"""Wraps the functions of the program that Spark SQL calls, so that a failed call is noted with the number of its row."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def hook_functions(watch: Callable[[], str]) -> None:
    """Wrap functions of rows and of batches when PySpark makes them. `watch` returns the folder of the notes. Call it once in a process."""
    from pyspark import cloudpickle
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    from headwater.spark_listener.trials import worker_calls

    cloudpickle.register_pickle_by_value(worker_calls)  # type: ignore[no-untyped-call]  # untyped in PySpark
    wrappers = {
        getattr(PythonEvalType, name, None): wrap
        for name, wrap in (
            ("SQL_BATCHED_UDF", worker_calls.count_calls),
            ("SQL_ARROW_BATCHED_UDF", worker_calls.count_calls),
            ("SQL_SCALAR_PANDAS_UDF", worker_calls.count_rows),
            ("SQL_SCALAR_ARROW_UDF", worker_calls.count_rows),
        )
    }
    make = UserDefinedFunction._create_judf  # noqa: SLF001  # PySpark has no public name for it

    @functools.wraps(make)
    def make_wrapped(self: Any, function: Callable[..., Any]) -> Any:
        wrap = wrappers.get(self.evalType)
        return make(self, wrap(function, watch()) if wrap is not None and watch() else function)

    setattr(UserDefinedFunction, "_create_judf", make_wrapped)  # noqa: B010  # mypy refuses an assignment to a method
