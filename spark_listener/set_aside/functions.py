"""The beginnings of the pickles that the JVM puts around functions of Spark SQL. The JVM appends the arguments of `guards.Loader`."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.spark_listener.set_aside import claims, guards

_KINDS = {"SQL_BATCHED_UDF": False, "SQL_ARROW_BATCHED_UDF": False, "SQL_SCALAR_PANDAS_UDF": True, "SQL_SCALAR_ARROW_UDF": True}


def guarding_pickles(known: claims.Claims) -> Mapping[int, bytes]:
    """Return the beginnings by PySpark's eval type, for the types whose functions work row by row."""
    from pyspark import cloudpickle
    from pyspark.util import PythonEvalType

    ship_by_value()
    pickles = {}
    for name, batches in _KINDS.items():
        number = getattr(PythonEvalType, name, None)
        if number is not None:
            loader = cloudpickle.dumps(guards.Loader(known, batches=batches))  # type: ignore[no-untyped-call]
            pickles[number] = b"\x80\x04cpickle\nloads\n\x8e" + len(loader).to_bytes(8, "little") + loader + b"\x85R("
    return pickles


def ship_by_value() -> None:
    from pyspark import cloudpickle

    for module in (claims, guards):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # untyped in PySpark
