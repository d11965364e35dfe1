"""`headwater.lineage`: asks for the lineage of a DataFrame or RDD in a shell, or declares that of a function's results. Light.

A program declares where only the light install is; to ask needs the service's packages.
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
    """Ask where the rows of a DataFrame or the records of an RDD came from; or, with `of`, declare it for a function of the program's own.

    To ask, give a DataFrame (it is computed with record capture) or an RDD of a program whose records are captured. `folder` is where what
    is captured of a DataFrame is kept meanwhile (a new folder in it); on a cluster one that executors and driver share. A question that is
    expected to look at more than `large` kept rows is answered by jobs of the session's Spark, every other in this process.

    To declare, decorate a function that the program gives to `mapPartitions` or `mapPartitionsWithIndex` of an RDD. `of` is called in the
    worker, for each result before the program has it: with the number of the result in its partition, from 0, and the result, which it
    must not change. It gives the places of the records that the result is made of: numbers, from 0, in the order in which the function
    pulled the records of the partition. Where it fails, or gives a place of a record that was not pulled yet, all results of the partition
    are taken for made of all records that were pulled, and answers say that they are supersets.

    Args:
        frame: A DataFrame or an RDD.
        of: What declares the places of a result.
        check: Verify one of so many results, and with it the first of each partition, by calling the function again for its records alone.
            Where the result is not among what that gives, nothing is captured of the records, and the run's summary says so. Results that
            are made of records more than 4,096 before the last one are not verified.
        **options: `folder` and `large`, where a DataFrame is asked about.

    Raises:
        UnsupportedError: an operator of the frame or RDD cannot be followed (the message names it), or a cluster's folder is missing.
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
