"""Guards around functions of the program: they catch the exception of a record, claim the record, and go on without it.

Shipped by value to workers: standard library, PySpark, and pandas or pyarrow where the worker has loaded them. If a record may not be
claimed, the function's own exception passes. Only subclasses of Exception are caught, without MemoryError.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from headwater.spark_listener.set_aside.claims import Claims, error_facts

Function = Callable[..., Any]
_ROOM = "_headwater_set_aside"  # a module of the worker that holds the rows of functions that are being loaded


# --- functions of RDDs


class Position:
    """Counts the records that enter a stage. The guards of the stage share it, and name a failing record by it."""

    def __init__(self, rdd: int) -> None:
        self.rdd = rdd
        self.split = self.number = -1

    def __call__(self, split: int, records: Iterable[Any]) -> Iterator[Any]:  # for `mapPartitionsWithIndex`
        self.split = split
        for self.number, record in enumerate(records):
            yield record


class RecordGuard:
    """A function of `map`, `flatMap`, `filter` or `foreach`. As `map`, it returns a sequence of no or one result.

    `step` names the method and the line of the program. `number` differs for two calls on one line.
    """

    def __init__(self, function: Function, method: str, step: str, number: int, position: Position, claims: Claims) -> None:
        self._function, self._method, self._step, self._number = function, method, step, number
        self._position, self._claims = position, claims

    def __call__(self, record: Any) -> Any:
        try:
            result = self._function(record)
            if self._method == "map":
                return (result,)
            if self._method == "flatMap":
                return list(result)  # a generator may fail after its first result
            return bool(result) if self._method == "filter" else None
        except MemoryError:
            raise
        except Exception as error:
            at = self._position
            facts = {"step": self._step, "rdd": at.rdd, "split": at.split, "number": at.number, **error_facts(error)}
            if not self._claims.claim(f"{self._number} {at.rdd} {at.split} {at.number}", facts):
                raise
            return False if self._method == "filter" else ()


# --- functions of Spark SQL


class Rows:
    """The failed rows of one operator in one task, by their numbers, until the operator's last function has seen them."""

    def __init__(self) -> None:
        self.failed: dict[int, Exception] = {}


class RowFunction:
    """A function of single rows. The result for a failing row is None, even if another function failed at the row."""

    def __init__(self, function: Function, rows: Rows) -> None:
        self._function, self._rows = function, rows
        self._next = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        number, self._next = self._next, self._next + 1
        if number in self._rows.failed:
            return None
        try:
            return self._function(*args, **kwargs)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  # `KeepRow` sets the row aside, or raises the error
            self._rows.failed[number] = error
            return None


class BatchFunction:
    """A function of batches. A batch that fails is run again in halves, until the rows that fail alone are found.

    By Spark's contract such a function works row by row, so that its results for parts are its results for the batch. If no row fails
    alone, the error of the batch passes.
    """

    def __init__(self, function: Function, rows: Rows, returned: Any, limit: int) -> None:
        self._function, self._rows, self._returned, self._limit = function, rows, returned, limit
        self._next = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        size = len([*args, *kwargs.values()][0])
        first, self._next = self._next, self._next + size
        try:
            return self._function(*args, **kwargs)
        except MemoryError:
            raise
        except Exception as error:
            parts: dict[int, Any] = {}
            failed: dict[int, Exception] = {}
            self._divide(args, kwargs, (0, size), parts, failed)
            if not failed or len(failed) > self._limit:
                raise error from None
            for number, one in failed.items():
                self._rows.failed.setdefault(first + number, one)
            return self._join(parts, failed, args, kwargs)

    def _divide(self, args: Any, kwargs: Any, extent: tuple[int, int], parts: dict[int, Any], failed: dict[int, Exception]) -> None:
        first, end = extent
        try:
            result = self._function(
                *(_cut(one, first, end) for one in args), **{name: _cut(one, first, end) for name, one in kwargs.items()}
            )
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  # the caller raises the error of the batch
            if end - first <= 1:
                failed[first] = error
                return
            middle = (first + end) // 2
            for half in ((first, middle), (middle, end)):
                if len(failed) <= self._limit:
                    self._divide(args, kwargs, half, parts, failed)
        else:
            parts[first] = result  # Spark compares the number of rows

    def _join(self, parts: dict[int, Any], failed: dict[int, Exception], args: Any, kwargs: Any) -> Any:
        """Return the results in order. A failed row gets the result of another row, because Spark drops it afterwards."""
        column = [*args, *kwargs.values()][0]
        filler = _cut(next(iter(parts.values())), 0, 1) if parts else self._nulls(column)
        pieces = [parts.get(place, filler) for place in sorted([*parts, *failed])]
        if hasattr(pieces[0], "iloc"):
            return sys.modules["pandas"].concat(pieces, ignore_index=True)
        import pyarrow as pa

        return pa.concat_arrays([piece.combine_chunks() if hasattr(piece, "combine_chunks") else piece for piece in pieces])

    def _nulls(self, column: Any) -> Any:
        if hasattr(column, "iloc"):
            pandas = sys.modules["pandas"]
            if hasattr(self._returned, "names"):
                return pandas.DataFrame({name: [None] for name in self._returned.names}, dtype=object)
            return pandas.Series([None], dtype=object)
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_type

        return pa.nulls(1, to_arrow_type(self._returned))


def _cut(column: Any, first: int, end: int) -> Any:
    return column.iloc[first:end] if hasattr(column, "iloc") else column.slice(first, end - first)


class KeepRow:
    """The last function of an operator: whether a row stays. `sources` names what its arguments refer to."""

    def __init__(self, rows: Rows, claims: Claims, node: str, sources: str) -> None:
        self._rows, self._claims, self._node, self._sources = rows, claims, node, sources
        self._next = 0

    def __call__(self, *references: Any) -> Any:
        if hasattr(references[0], "iloc") or hasattr(references[0], "slice"):
            return self._batch(references)
        return self._keeps([int(one) for one in references])

    def _batch(self, columns: Any) -> Any:
        size = len(columns[0])
        kept = [True] * size
        if self._rows.failed:
            for place in range(size):
                kept[place] = self._keeps([int(_value(column, place)) for column in columns])
        else:
            self._next += size
        if hasattr(columns[0], "iloc"):
            return sys.modules["pandas"].Series(kept, dtype=bool)
        import pyarrow as pa

        return pa.array(kept, pa.bool_())

    def _keeps(self, references: list[int]) -> bool:
        number, self._next = self._next, self._next + 1
        error = self._rows.failed.pop(number, None)
        if error is None:
            return True
        facts: dict[str, Any] = {"node": self._node, "number": number, **error_facts(error)}
        if self._sources:
            facts |= {"sources": self._sources, "references": references}
            key = f"{self._node} {references}"
        else:
            from pyspark import TaskContext

            task: Any = TaskContext.get()
            key = f"{self._node} {task.stageId()} {task.partitionId()} {number}"
        if self._claims.claim(key, facts):
            return False
        raise error


def _value(column: Any, place: int) -> Any:
    return column.iloc[place] if hasattr(column, "iloc") else column[place].as_py()


class Loader:
    """Unpickles a function of the program, guarded. The JVM makes a pickle that calls it (`functions.guarding_pickles`).

    The worker loads all functions of an operator one after another, and `KeepRow`, which has no command, at last. They have one `Rows`.
    """

    def __init__(self, claims: Claims, *, batches: bool) -> None:
        self._claims, self._batches = claims, batches

    def __call__(self, node: str, sources: str, command: bytes | None) -> tuple[Function, Any]:
        room = sys.modules.setdefault(_ROOM, ModuleType(_ROOM)).__dict__
        if command is None:
            from pyspark.sql.types import BooleanType

            return KeepRow(room.pop(node, None) or Rows(), self._claims, node, sources), BooleanType()
        from pyspark import Broadcast

        loaded = pickle.loads(command)  # noqa: S301  # as the worker would have done
        if isinstance(loaded, Broadcast):  # a large function
            loaded = pickle.loads(loaded.value)  # noqa: S301
        function, returned = loaded
        rows = room.setdefault(node, Rows())
        guarded = BatchFunction(function, rows, returned, self._claims.limit) if self._batches else RowFunction(function, rows)
        return guarded, returned
