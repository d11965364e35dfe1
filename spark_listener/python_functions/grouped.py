"""The wrapper around a function of groups in a Python worker. Shipped by value to workers without Headwater.

Each result row gets the reference of its group, in a hidden column after all others. The reference is computed from the group's key if
`key_hash` supports its types. Otherwise the JVM adds it as a hidden column to the rows of a group, and the wrapper removes the column
before the program's function runs. The function runs as often, on the same columns and rows, as without Headwater; its exceptions pass. An
unknown reference is null, which the JVM reports.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from headwater.spark_listener.python_functions.key_hash import reference_of

HIDDEN = "_headwater_group"

Function = Callable[..., Any]


def enclosed(kind: str, keys: str | None, by_name: bool, command: bytes) -> tuple[Function, Any]:  # called by a pickle that the JVM makes
    """Unpickle and wrap the program's function. Return it with its return type, which includes the hidden column.

    `kind` is a name of `KINDS`. `keys` are the types of the key for `key_hash`, or None if groups have a hidden column. `by_name` states
    that Spark finds the columns of a result by their names.
    """
    import inspect
    import pickle

    from pyspark import Broadcast
    from pyspark.sql.types import LongType, StructField, StructType

    loaded = pickle.loads(command)  # noqa: S301  # as the worker would have done
    if isinstance(loaded, Broadcast):  # a large function
        loaded = pickle.loads(loaded.value)  # noqa: S301
    function, returned = loaded
    result = _Result(returned, by_name)
    extended = StructType([*returned.fields, StructField(result.hidden, LongType(), nullable=True)])
    arguments = len(inspect.getfullargspec(function).args)  # tells the worker whether the function takes the key
    known = KINDS[kind]
    if arguments not in (known.frames, known.frames + 1):
        return function, extended  # the worker cannot call it
    if keys is not None:
        return _of_keys(known, function, arguments, result, keys), extended
    return _enclosing(known, function, arguments, result), extended


class _Result:
    """The result that Spark requires of the program's function."""

    def __init__(self, returned: Any, by_name: bool) -> None:  # see above
        self.type = returned
        self.names = [field.name for field in returned.fields]
        self.by_name = by_name
        self.hidden = _other_than(self.names)  # name of the hidden column; the JVM finds it by its position
        self._columns: Any = None

    @property
    def columns(self) -> Any:
        """Return the names of a pandas frame. Each process builds these types once, because building is slow."""
        if self._columns is None:
            self._columns = sys.modules["pandas"].Index([*self.names, self.hidden])
        return self._columns


def _other_than(names: Iterable[Any]) -> str:
    taken, name = set(names), HIDDEN
    while name in taken:
        name += "_"
    return name


def _of_keys(kind: _Kind, function: Function, arguments: int, result: _Result, keys: str) -> Function:
    """Return a function that takes the key, even if the program's does not, because the reference is computed from it."""
    wanted = arguments > kind.frames
    if kind.frames == 1:

        def of_group(key: Any, group: Any) -> Any:
            return kind.joined(function(key, group) if wanted else function(group), [reference_of(keys, key)], result)

        return of_group

    def of_groups(key: Any, left: Any, right: Any) -> Any:
        return kind.joined(function(key, left, right) if wanted else function(left, right), [reference_of(keys, key)], result)

    return of_groups


def _enclosing(kind: _Kind, function: Function, arguments: int, result: _Result) -> Function:
    """Return a function with as many arguments as the program's: frames only, or the key before them."""
    frames = kind.frames
    if frames == 1 and arguments == 2:  # key and frame

        def of_key_and_group(key: Any, group: Any) -> Any:
            visible, references = kind.split(group)
            return kind.joined(function(key, visible), references, result)

        return of_key_and_group
    if frames == 1:

        def of_group(group: Any) -> Any:
            visible, references = kind.split(group)
            return kind.joined(function(visible), references, result)

        return of_group
    if arguments == 3:  # key, left and right

        def of_key_and_groups(key: Any, left: Any, right: Any) -> Any:
            left, of_left = kind.split(left)
            right, of_right = kind.split(right)
            return kind.joined(function(key, left, right), [*of_left, *of_right], result)

        return of_key_and_groups

    def of_groups(left: Any, right: Any) -> Any:
        left, of_left = kind.split(left)
        right, of_right = kind.split(right)
        return kind.joined(function(left, right), [*of_left, *of_right], result)

    return of_groups


# --- frames of pandas


def _split_frame(frame: Any) -> tuple[Any, list[Any]]:
    last = frame.shape[1] - 1
    references = [int(frame.iat[0, last])] if len(frame) else []
    visible = frame.iloc[:, :last]
    if getattr(visible, "_is_copy", None) is not None:
        visible._is_copy = None  # noqa: SLF001  # pandas 2 would warn a program that writes into its own frame
    return visible, references


def _joined_frame(frame: Any, references: Sequence[Any], result: _Result) -> Any:
    """Return the function's result with the hidden column. The program may still use the frame, so it stays unchanged."""
    pd = sys.modules["pandas"]  # the worker has made the group with it
    if not isinstance(frame, pd.DataFrame):
        return frame  # the worker reports the error
    names = list(frame.columns)
    reference = references[0] if references else None
    if names == result.names:
        extended = frame.copy(deep=False)
        extended.columns = range(len(names))  # behind names, a column would have pandas make an index of texts for each group
        extended.insert(len(names), len(names), reference)
        extended.columns = result.columns
        return extended
    if not names:
        if not len(frame):
            return frame
        nulls = pd.DataFrame(None, index=frame.index, columns=result.names, dtype=object)  # rows without columns
        return _with_column(nulls, result.hidden, reference)
    if result.by_name and result.hidden in names:  # a column that the program did not state, but for its name ours
        _refuse(frame, result)
    if names != result.names and not (result.by_name and any(isinstance(name, str) for name in names)):
        if len(names) != len(result.names):
            _refuse(frame, result)
        number = len(names)
        while result.by_name and number in names:
            number += 1
        # by a text Spark would look for the others by name
        return _with_column(frame, number if result.by_name else _other_than(names), reference)
    return _with_column(frame, result.hidden, reference)


def _with_column(frame: Any, name: Any, reference: Any) -> Any:
    extended = frame.copy(deep=False)
    if frame.columns.nlevels > 1:
        name = (name, *[""] * (frame.columns.nlevels - 1))
    extended.insert(frame.shape[1], name, reference)
    return extended


def _refuse(frame: Any, result: _Result) -> None:
    """Raise Spark's own error for columns that do not fit, with the program's counts."""
    from pyspark.worker import verify_pandas_result

    verify: Callable[..., None] = verify_pandas_result
    verify(frame, result.type, result.by_name, truncate_return_schema=False)


# --- tables and batches of Arrow


def _split_table(table: Any) -> tuple[Any, list[Any]]:
    last = table.num_columns - 1
    references = [table.column(last)[0].as_py()] if table.num_rows else []
    if last == 0:  # without columns a table would forget how many rows it has
        return table.select([]), references
    return table.remove_column(last), references


def _joined_table(table: Any, references: Sequence[Any], result: _Result) -> Any:
    import pyarrow as pa

    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        return table  # the worker reports the error
    columns, place = table.num_columns, len(result.names)
    if (columns == 0 and table.num_rows == 0) or (columns < place and not result.by_name):
        return table  # empty; or Spark fails for the missing column
    reference = pa.scalar(references[0] if references else None, pa.int64())
    name = _other_than((*result.names, *table.schema.names))  # another than `result.hidden` only where Spark fails for a column too many
    return table.add_column(min(columns, place), pa.field(name, pa.int64()), pa.repeat(reference, table.num_rows))


# --- one after the other


def _split_each(split: Function) -> Function:
    """Return a split function for an iterator of parts. PySpark has already read the first part for the key, so reading it is harmless."""

    def parts(group: Iterable[Any]) -> tuple[Iterator[Any], list[Any]]:
        rest = iter(group)
        first, references = split(next(rest))
        return itertools.chain((first,), (split(part)[0] for part in rest)), references

    return parts


def _joined_each(joined: Function) -> Function:
    def parts(given: Iterable[Any], references: Sequence[Any], result: _Result) -> Iterator[Any]:
        for part in given:
            yield joined(part, references, result)

    return parts


class _Kind:
    """Splits a group of a kind into visible columns and references, and joins its result.

    `frames` is the number of frames for the function.
    """

    def __init__(self, split: Function, joined: Function, frames: int = 1) -> None:
        self.split, self.joined, self.frames = split, joined, frames


KINDS = {
    "SQL_GROUPED_MAP_PANDAS_UDF": _Kind(_split_frame, _joined_frame),
    "SQL_GROUPED_MAP_PANDAS_ITER_UDF": _Kind(_split_each(_split_frame), _joined_each(_joined_frame)),
    "SQL_GROUPED_MAP_ARROW_UDF": _Kind(_split_table, _joined_table),
    "SQL_GROUPED_MAP_ARROW_ITER_UDF": _Kind(_split_each(_split_table), _joined_each(_joined_table)),
    "SQL_COGROUPED_MAP_PANDAS_UDF": _Kind(_split_frame, _joined_frame, frames=2),
    "SQL_COGROUPED_MAP_ARROW_UDF": _Kind(_split_table, _joined_table, frames=2),
}
