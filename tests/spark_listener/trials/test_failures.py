"""The failure of a program is found in its messages, and failures are compared without values and numbers of tasks."""

from __future__ import annotations

import pytest

from headwater.spark_listener.trials.failures import TrialFailure, failure_of_text

WORKER = """PythonException:
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/jobs/ages.py", line 5, in <lambda>
    age = F.udf(lambda text: int(text), "int")
                             ^^^^^^^^^
ValueError: invalid literal for int() with base 10: 'x17'

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:581)
"""
CAST = """NumberFormatException: [CAST_INVALID_INPUT] The value 'x17' of the type "STRING" cannot be cast to "INT". SQLSTATE: 22018"""
WRITE = """SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/out. SQLSTATE: 58030
Caused by: org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"""
JAVA = """Py4JJavaError: An error occurred while calling o31.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 3.0 failed 1 times
Caused by: java.lang.IllegalStateException: no such thing"""


@pytest.mark.parametrize(
    ("text", "kind", "message", "function"),
    [
        (WORKER, "ValueError", "invalid literal for int() with base 10: 'x17'", "/jobs/ages.py:5 in <lambda>"),
        (CAST, "CAST_INVALID_INPUT", 'The value \'x17\' of the type "STRING" cannot be cast to "INT". SQLSTATE: 22018', ""),
        (WRITE, "DIVIDE_BY_ZERO", "Division by zero. SQLSTATE: 22012", ""),
        (JAVA, "IllegalStateException", "no such thing", ""),
        ("KeyError: 'day'", "KeyError", "'day'", ""),
    ],
)
def test_the_innermost_error_is_found(text: str, kind: str, message: str, function: str) -> None:
    assert failure_of_text(text) == TrialFailure(kind, message, function=function)


def test_failures_with_other_values_are_of_the_same_kind() -> None:
    one, other = (TrialFailure("ValueError", f"invalid literal: {value}") for value in ("'x17'", "'y 9'"))
    assert one.is_same_kind(other)
    assert one.exact != other.exact


def test_numbers_of_tasks_do_not_count() -> None:
    one, other = (TrialFailure("E", f"Task {n} in stage {n}.0 (TID {n}) failed") for n in (3, 14))
    assert one.exact == other.exact


@pytest.mark.parametrize(
    "other", [TrialFailure("KeyError", "m"), TrialFailure("ValueError", "n"), TrialFailure("ValueError", "m", "b.py:2")]
)
def test_another_error_or_place_is_another_failure(other: TrialFailure) -> None:
    assert not TrialFailure("ValueError", "m", "a.py:1").is_same_kind(other)
