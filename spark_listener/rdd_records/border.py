"""The border between DataFrames and RDDs: records keep their references in both directions.

A row that leaves Spark SQL reaches Python in a pair with its references, which the first function of the stage removes. A record that
becomes a row of a DataFrame reaches Spark SQL in such a pair, and its references follow the row's columns, where only captured queries read
them. Loaded with the first RDD or DataFrame that crosses the border.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.spark_listener.rdd_records.calls import call_site
from headwater.spark_listener.rdd_records.known import Refused, TrackedRdd
from headwater.spark_listener.rdd_records.operators import rows_made
from headwater.spark_listener.rdd_records.program import VALUE, Program, inner, pipelined, tapped
from headwater.spark_listener.rdd_records.starts import Carried
from headwater.spark_listener.rdd_records.taps import Carrying
from headwater.spark_listener.recording import FIRST
from headwater.spark_listener.settings import Mode


@dataclass(frozen=True, slots=True)
class FrameHandover:
    """The RDD of a DataFrame for the program. If `rdd` is None, the program gets its own RDD, and `refused` has the reason.

    `plan` is the JVM's plan of the DataFrame, if it was planned here.
    """

    rdd: Any | None
    plan: Any | None
    refused: Refused | None


def rdd_of(program: Program, bridge: Any, frame: Any) -> FrameHandover | None:
    """Return the RDD of a DataFrame with the references of its rows. None if records of DataFrames are not captured.

    Spark runs shuffles when the RDD is requested, and so does this.
    """
    if program.sparing is not None:
        return FrameHandover(None, None, Refused(str(Mode.AUTO), "rows are not followed from DataFrames to RDDs; mode active does it"))
    program.frames_run()
    java = bridge.handed_over(frame._jdf)  # noqa: SLF001  # there is no public way to the JVM's object
    if java is None:
        return None
    rows = java.rows()
    if rows is None:
        return FrameHandover(None, None, Refused("DataFrame.rdd", str(java.reason())))
    base = program.recording.plan(lambda base, capture: json.loads(bridge.parts(java, base, capture)))
    if base is None:
        return FrameHandover(None, None, Refused("DataFrame.rdd", "too many DataFrames became RDDs"))
    from pyspark import RDD
    from pyspark.serializers import BatchedSerializer, CPickleSerializer

    pairs: Any = RDD(rows, frame.sparkSession.sparkContext, BatchedSerializer(CPickleSerializer()))  # type: ignore[no-untyped-call]  # untyped in PySpark
    columns = [{"fn": "attr", **dict(column)} for column in java.columns()]
    made = {**VALUE, "expr": {"fn": "user_function", "name": "rdd", "args": columns}}
    top = program.recording.operator("RDD", _text("rdd"), [base], behaviour="defines", defines=[made])
    operators = tuple(number if number >= FIRST else base + number for number in map(int, java.operators()))
    start = Carried("record", [len(operators)])
    return FrameHandover(program.mark(pipelined(pairs, start), TrackedRdd(operators, start, reads=False, top=top)), java.optimized(), None)


def frame_of(program: Program, bridge: Any, rows: Any, frame: Any) -> Any:
    """Return a DataFrame with the references of its rows, in place of PySpark's `frame`. Return `frame` if there are no references.

    `rows` is the RDD of the frame's rows: tuples of values in Spark SQL's form.
    """
    known = program.known([rows])
    if isinstance(known, Refused) or program.sparing is not None:
        return frame
    about = known[0]
    pairs = tapped(rows, Carrying(about.start, inner(rows), reads=about.reads, shape="record"))
    with rows_made():  # no job runs yet
        of_pairs = pairs._to_java_object_rdd().rdd()  # noqa: SLF001  # as above
    java = bridge.recorded(frame._jdf, of_pairs, about.top, list(about.operators))  # noqa: SLF001  # as above
    if java is None:
        return frame
    program.will_run(rows, about)
    made = type(frame)(java, frame.sparkSession)
    made._schema = frame._schema  # noqa: SLF001  # PySpark notes there what the program stated
    return made


def _text(name: str) -> str:
    _, file, line = call_site()
    return f"{name} at {Path(file).name}:{line}"
