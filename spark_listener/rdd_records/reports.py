"""The accumulator for the tasks' reports about their segments. Spark merges it exactly for the attempts that it counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def reports_to(context: Any, on_report: Callable[[tuple[Any, ...]], None]) -> Any:
    from pyspark.accumulators import AccumulatorParam, AddingAccumulatorParam

    class Reports(AccumulatorParam[tuple[Any, ...]]):
        """The accumulator in the driver. A task may lack Headwater's classes and uses Spark's own parameter, which joins tuples."""

        def zero(self, value: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: ARG002  # Spark's protocol
            return ()

        def addInPlace(self, value1: tuple[Any, ...], value2: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: N802, ARG002  # likewise
            for report in value2:
                on_report(report)
            return ()

        def __reduce__(self) -> tuple[Any, ...]:
            return AddingAccumulatorParam, ((),)

    return context.accumulator((), Reports())
