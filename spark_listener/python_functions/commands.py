"""The pickles that the JVM puts around pickled functions of the program.

A worker that loads one calls `grouped.enclosed` with the kind of the function, the types of its key, whether columns are found by name, and
the function's own pickle. The JVM only appends the last three arguments: everything before them is made here, once.
"""

from __future__ import annotations

from collections.abc import Mapping


def enclosing_pickles() -> Mapping[int, bytes]:
    """Return the beginnings of the pickles, without their last three arguments and their end, by PySpark's eval type."""
    from pyspark import cloudpickle
    from pyspark.util import PythonEvalType

    from headwater.spark_listener.python_functions import grouped, key_hash

    for module in (grouped, key_hash):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # untyped in PySpark
    loads = b"\x80\x04cpickle\nloads\n" + _bytes(cloudpickle.dumps(grouped.enclosed)) + b"\x85R("  # type: ignore[no-untyped-call]
    known = {name: getattr(PythonEvalType, name, None) for name in grouped.KINDS}
    return {number: loads + _text(name) for name, number in known.items() if number is not None}


def _bytes(value: bytes) -> bytes:
    return b"\x8e" + len(value).to_bytes(8, "little") + value


def _text(value: str) -> bytes:
    encoded = value.encode()
    return b"\x8c" + bytes([len(encoded)]) + encoded
