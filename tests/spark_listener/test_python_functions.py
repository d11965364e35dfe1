"""A worker runs an enclosed function of groups as it would without Headwater, and adds the reference of the group to each row.

Without Spark: PySpark's own functions of the worker call the program's function, as they do there.
"""

from __future__ import annotations

import datetime as dt
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark import cloudpickle, worker
from pyspark.sql.pandas import serializers
from pyspark.sql.types import LongType, StringType, StructField, StructType
from pyspark.util import PythonEvalType

from headwater.spark_listener.python_functions.commands import enclosing_pickles
from headwater.spark_listener.python_functions.grouped import HIDDEN
from headwater.spark_listener.python_functions.key_hash import reference_of

WORKER: Any = worker  # PySpark states no types here
SERIALIZERS: Any = serializers
PICKLES: Any = cloudpickle
TYPE = StructType([StructField("a", LongType()), StructField("b", StringType())])
LONGS = [3, 1, 2]
TEXTS = ["x", None, "z"]
REFERENCE = -(1 << 60) - 7
OF_KEY = LONGS[0] ^ 0x3C6EF37200000000  # the reference of a group whose key is in its first row


def loaded(function: Any, kind: str, *, by_name: bool, returned: StructType = TYPE, told: bool = False) -> tuple[Any, Any]:
    """The function and its type, as the worker has them of the pickle that the JVM makes."""
    command = PICKLES.dumps((function, returned))
    ends = (b"N", b"\x8c\x01n")[told] + (b"\x89", b"\x88")[by_name] + b"\x8e" + len(command).to_bytes(8, "little") + command + b"tR."
    result: tuple[Any, Any] = pickle.loads(enclosing_pickles()[getattr(PythonEvalType, kind)] + ends)
    return result


def in_pandas(function: Any, returned: Any, series: list[pd.Series], *, by_name: bool) -> list[dict[str, Any]]:
    """The rows that the worker sends."""
    conf = {"spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName": str(by_name)}
    wrapped = WORKER.wrap_grouped_map_pandas_udf(function, returned, inspect.getfullargspec(function), conf)
    batch = SERIALIZERS.GroupPandasUDFSerializer("UTC", True, by_name, False)._create_batch(wrapped([series[0]], series))
    rows: list[dict[str, Any]] = batch.column(0).to_pylist()
    return rows


def both(function: Any, *, by_name: bool, told: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows without us, and with us."""
    series = [pd.Series(LONGS, name="a"), pd.Series(TEXTS, name="b")]
    hidden = [] if told else [pd.Series([REFERENCE] * 3, name=HIDDEN)]
    plain = in_pandas(function, TYPE, series, by_name=by_name)
    ours = loaded(function, "SQL_GROUPED_MAP_PANDAS_UDF", by_name=by_name, told=told)
    return plain, in_pandas(*ours, [*series, *hidden], by_name=by_name)


RESULTS = {
    "the group": lambda group: group,
    "with its key": lambda key, group: group.assign(a=group["a"] + key[0]),
    "written into": lambda group: group.__setitem__("a", 0) or group,
    "columns by number": lambda group: pd.DataFrame([(1, "p"), (2, "q")]),
    "columns by odd numbers": lambda group: pd.DataFrame({7: [1, 2], 2: ["p", "q"]}),
    "of several levels": lambda group: pd.DataFrame([(1, "p")], columns=pd.MultiIndex.from_tuples([("u", 1), ("u", 2)])),
    "another order": lambda group: group[["b", "a"]],
    "no rows": lambda group: group.head(0),
    "nothing": lambda group: pd.DataFrame(),
    "rows of nothing": lambda group: pd.DataFrame(index=[4, 4]),
    "an odd index": lambda group: group.set_axis(["i", "i", "j"]),
    "categories": lambda group: group.astype({"b": "category"}),
}


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("name", "by_name"), [(name, way) for name in RESULTS for way in (True, False) if way or name != "another order"])
def test_rows_are_those_without_us_with_the_reference(name: str, by_name: bool, told: bool) -> None:
    plain, ours = both(RESULTS[name], by_name=by_name, told=told)
    assert [{**row, HIDDEN: OF_KEY if told else REFERENCE} for row in plain] == ours


NULL = 0x5DEECE66D1CE4E5B ^ 0x3C6EF37200000000
DAY = dt.date(1969, 12, 30)


ARROW_TYPES = {"n": pa.int64(), "l": pa.int64(), "i": pa.int32(), "b": pa.bool_(), "d": pa.date32(), "s": pa.string()}
SPARKS = [
    ("s", ("abc",), 1423657621850124518),
    ("s", (None,), 42),
    ("s", ("Grüße an alle, die das lesen, von hier",), 2083526212385299639),
    ("d", (DAY,), 6162728026222640212),
    ("b", (True,), -6698625589789238999),
    ("ls", (5, "x"), 2808442177665771267),
    ("sl", (None, -1), -1789330099838240384),
    ("id", (-3, None), 7137285002343045222),
    ("si", ("", 7), -6840905643485024379),
]


@pytest.mark.parametrize("in_arrow", [True, False])
@pytest.mark.parametrize(
    ("kinds", "key", "reference"),  # of texts and pairs: what Spark's xxhash64 says of these values, and of flags of nulls behind them
    [("", (), 0), ("n", (-7,), -7 ^ 0x3C6EF37200000000), ("n", (None,), NULL), *SPARKS],
)
def test_a_key_tells_the_reference_as_the_jvm_has_it(kinds: str, key: tuple[Any, ...], reference: int, in_arrow: bool) -> None:
    if in_arrow:
        assert reference_of(kinds, tuple(pa.scalar(value, ARROW_TYPES[kind]) for kind, value in zip(kinds, key, strict=True))) == reference
    else:
        shown = [pa.array([value], ARROW_TYPES[kind]).to_pandas(date_as_object=True)[0] for kind, value in zip(kinds, key, strict=True)]
        assert reference_of(kinds, tuple(shown)) == reference
        assert reference_of(kinds, key) == reference


def test_a_key_that_cannot_be_told_has_no_reference() -> None:
    assert reference_of("d", ("no date",)) is None
    assert reference_of("n", ()) is None


FAULTS = {
    "too few": lambda group: pd.DataFrame([(1,)]),
    "too many": lambda group: pd.DataFrame([(1, "x", 2)]),
    "other names": lambda group: pd.DataFrame({"a": [1], "c": ["x"]}),
    "a column called as the hidden one": lambda group: pd.DataFrame({"a": [1], "b": ["x"], HIDDEN: [2]}),
    "no frame": lambda group: 7,
    "of the program": lambda group: group["missing"],
    "three arguments": lambda key, group, more: group,
}


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("name", "by_name"), [(name, way) for name in FAULTS for way in (True, False) if way or name != "other names"])
def test_faults_are_those_without_us(name: str, by_name: bool, told: bool) -> None:
    series = [pd.Series(LONGS, name="a"), pd.Series(TEXTS, name="b")]
    hidden = [] if told else [pd.Series([REFERENCE] * 3, name=HIDDEN)]
    with pytest.raises(Exception) as plain:  # of whichever kind
        in_pandas(FAULTS[name], TYPE, series, by_name=by_name)
    enclosed = loaded(FAULTS[name], "SQL_GROUPED_MAP_PANDAS_UDF", by_name=by_name, told=told)
    with pytest.raises(plain.type) as ours:
        in_pandas(*enclosed, [*series, *hidden], by_name=by_name)
    assert str(ours.value) == str(plain.value)


NAMED = StructType([StructField("a", LongType()), StructField(HIDDEN, StringType())])


@pytest.mark.parametrize("by_name", [True, False])
def test_a_column_of_the_program_may_be_called_as_the_hidden_one(by_name: bool) -> None:
    series = [pd.Series(LONGS, name="a"), pd.Series(TEXTS, name=HIDDEN), pd.Series([REFERENCE] * 3, name=HIDDEN)]
    rows = in_pandas(*loaded(lambda group: group, "SQL_GROUPED_MAP_PANDAS_UDF", by_name=by_name, returned=NAMED), series, by_name=by_name)
    assert [tuple(row.values()) for row in rows] == [(a, b, REFERENCE) for a, b in zip(LONGS, TEXTS, strict=True)]

    conf = {"spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName": str(by_name)}
    function, returned = loaded(lambda group: group, "SQL_GROUPED_MAP_ARROW_UDF", by_name=by_name, returned=NAMED)
    table = pa.Table.from_arrays([pa.array(LONGS), pa.array(TEXTS), pa.array([REFERENCE] * 3)], names=["a", HIDDEN, HIDDEN])
    wrapped = WORKER.wrap_grouped_map_arrow_udf(function, returned, inspect.getfullargspec(function), conf)
    batches, _ = wrapped(table.to_batches()[0].select([0]), table.to_batches())
    assert [list(batch.to_pydict().values()) for batch in batches] == [[LONGS, TEXTS, [REFERENCE] * 3]]


def test_a_frame_that_the_program_keeps_stays_as_it_is() -> None:
    kept = pd.DataFrame({"a": [1], "b": ["x"]})
    function, _ = loaded(lambda group: kept, "SQL_GROUPED_MAP_PANDAS_UDF", by_name=True)
    inner = [cell.cell_contents for cell in function.__closure__ if callable(cell.cell_contents)]
    group = pd.DataFrame({"a": LONGS, "b": TEXTS, HIDDEN: REFERENCE})
    first, second = function(group), function(group)
    (own,) = [one(group) for one in inner if one.__name__ == "<lambda>"]
    assert (list(first.columns), list(second.columns)) == (["a", "b", HIDDEN], ["a", "b", HIDDEN])
    assert list(own.columns) == ["a", "b"]


ARROW = pa.table({"a": LONGS, "b": TEXTS})
TABLES = {
    "the group": lambda group: group,
    "with its key": lambda key, group: group.filter(pa.compute.greater(group["a"], key[0].as_py() - 2)),
    "in parts": lambda group: pa.concat_tables([group, group.slice(1)]),
    "no rows": lambda group: group.slice(0, 0),
    "nothing": lambda group: pa.table({}),
    "another order": lambda group: group.select(["b", "a"]),
    "too few": lambda group: group.select(["a"]),
    "no table": lambda group: group.to_batches()[0],
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("told", [True, False])
def test_tables_are_those_without_us_with_the_reference(name: str, by_name: bool, told: bool) -> None:
    conf = {"spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName": str(by_name)}

    def sent(function: Any, returned: Any, table: pa.Table) -> Any:
        wrapped = WORKER.wrap_grouped_map_arrow_udf(function, returned, inspect.getfullargspec(function), conf)
        try:
            batches, _ = wrapped(table.to_batches()[0].select(["a"]), table.to_batches())
            return [batch.to_pydict() for batch in batches]
        except Exception as fault:  # noqa: BLE001  # compared below
            return f"{type(fault).__name__}: {fault}"

    plain = sent(TABLES[name], TYPE, ARROW)
    extended = ARROW if told else ARROW.append_column(HIDDEN, pa.array([REFERENCE] * 3))
    ours = sent(*loaded(TABLES[name], "SQL_GROUPED_MAP_ARROW_UDF", by_name=by_name, told=told), extended)
    if isinstance(plain, str) or (name == "too few" and not by_name):
        assert ours == plain
    else:
        assert ours == [{**batch, HIDDEN: [OF_KEY if told else REFERENCE] * len(batch["a"])} for batch in plain]


def test_a_worker_without_headwater_loads_what_stands_around_a_function(tmp_path: Path) -> None:
    command = PICKLES.dumps((len, TYPE))
    ends = b"N\x88\x8e" + len(command).to_bytes(8, "little") + command + b"tR."
    for number, pickled in enclosing_pickles().items():
        (tmp_path / str(number)).write_bytes(pickled + ends)
    program = (
        "import pathlib, pickle, sys; sys.modules['headwater'] = None\n"
        "for path in pathlib.Path(sys.argv[1]).iterdir(): print(pickle.loads(path.read_bytes())[1].names[-1])"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [HIDDEN] * len(enclosing_pickles())
