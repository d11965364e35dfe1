"""`headwater.lineage`: shows the lineage of a DataFrame or RDD in a shell, or declares the lineage of a function's results.

A declaration needs the light install only. A query needs the service's packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from headwater.errors import MissingExtraError

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame

    from headwater.backend.cli.shell.frames import FrameLineage
    from headwater.backend.cli.shell.rdds import LineageRDD

_Function = TypeVar("_Function", bound=Callable[..., Any])


@overload
def lineage(frame: DataFrame, *, folder: str | Path | None = ..., large: int = ...) -> FrameLineage: ...


@overload
def lineage(frame: RDD[Any]) -> LineageRDD: ...


@overload
def lineage(*, of: Callable[[int, Any], Iterable[int]], check: int = ...) -> Callable[[_Function], _Function]: ...


def lineage(frame: Any = None, *, of: Any = None, check: int = 0, **options: Any) -> Any:
    """Return the sources of a DataFrame's rows or an RDD's records; or, with `of`, declare the sources of a function's results.

    To ask, pass a DataFrame (it is computed with record capture) or an RDD of a program with record capture. The capture of a DataFrame is
    kept in a new folder in `folder` meanwhile. On a cluster, executors and driver must share it. A question that probably reads more than
    `large` kept rows runs as jobs of the session's Spark, any other in this process.

    To declare, decorate a function that the program passes to `mapPartitions` or `mapPartitionsWithIndex` of an RDD. The worker calls `of`
    for each result before the program receives it. The arguments are the number of the result in its partition, from 0, and the result,
    which `of` must not change. It returns the places of the records behind the result: numbers from 0, in the order in which the function
    pulled the records of the partition. If `of` fails, or returns a record that was not pulled yet, every result of the partition gets all
    pulled records, and answers say that they are supersets.

    Args:
        frame: A DataFrame or an RDD.
        of: Returns the places of the records behind a result.
        check: Verify one result in so many, and the first of each partition, by calling the function again with its records alone. If the
            results of that call lack the result, nothing is captured of the records, and the run's summary says so. Results with a record
            more than 4,096 before the last one are not verified.
        **options: `folder` and `large`, for a question about a DataFrame.

    Raises:
        UnsupportedError: an operator of the frame or RDD is not supported (the message names it), or a cluster's folder is missing.
        CaptureUnavailableError: capture does not work in this session.
        MissingExtraError: the packages that answer questions are not installed.
    """
    if of is not None:
        if frame is not None or options:
            raise TypeError("headwater.lineage(of=…) declares, and takes nothing but check=… beside; it does not ask for a lineage.")
        from headwater.spark_listener.declared import made_of

        return made_of(of, check=check)
    if frame is None:
        raise TypeError("headwater.lineage needs a DataFrame, an RDD, or of=….")
    try:
        from headwater.backend.cli.shell.frames import lineage as asked
    except ModuleNotFoundError as error:
        raise MissingExtraError("headwater.lineage", extra="server") from error
    return asked(frame, **options)
