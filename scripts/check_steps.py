"""The steps of `make test` and of `make test-more`, for check.py.

A step of pytest runs the tests of one area, which is selected by marks. `make test` runs the tests without the mark `slow`, and
`make test-more` runs the tests with it. Tests with the mark `torture` are in neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_AGAIN = "-n 0 --last-failed --last-failed-no-failures=none"
_AREAS = {
    "lake": "lake and not e2e",
    "spark": "spark and not (cluster or lake or e2e)",
    "unit": "not (spark or cluster or neo4j or lake or e2e)",
    "e2e": "e2e",
    "neo4j": "neo4j and not (spark or cluster or lake or e2e)",
    "cluster": "cluster and not (lake or e2e)",
}
_MORE_AREAS = {
    "lake": "lake and not e2e",
    "spark": "(spark or cluster) and not (lake or e2e)",
    "unit": "not (spark or cluster or lake or e2e)",
    "e2e": "e2e",
}
# Spark 4.0 has its own classes (spark_listener/jvm/shim/v40) and another PySpark worker. One or two capture tests cover each difference.
_TESTS_WITH_SPARK_4_0 = (
    "test_repartition.py::test_rows_come_to_the_partition_that_they_come_to_without_capture[placed-True]",
    "test_repartition.py::test_rows_come_to_the_partition_that_they_come_to_without_capture[placed-False]",
    "test_subqueries.py::test_correlated_ones",
    "test_subqueries.py::test_grouped_lateral_ones_whose_rows_have_a_subquery_of_their_own",
    "test_checkpoints.py::test_rows[checkpoint]",
    "test_python_sources.py::test_the_source_is_asked_as_often_as_without_capture",
    "test_group_functions.py::test_a_row_of_two_groups_is_made_of_all_rows_of_both[applyInArrow-_both_in_arrow-keys1]",
    "test_refusals.py::test_xml_by_spark_s_older_parser_which_takes_other_elements_for_records[session]",
)


@dataclass(frozen=True)
class Step:
    """A step. `after` names the steps that must have passed. The command writes its results to `{junit}`.

    A step with `waits` mostly waits for the network, and runs in addition to the others. `again` is appended to the command to
    repeat failed tests only.
    """

    name: str
    command: str
    after: tuple[str, ...] = ()
    waits: bool = False
    again: str = ""


def _tests(area: str, options: str = "", after: tuple[str, ...] = ()) -> Step:
    return _tests_with_marks(area, f"({_AREAS[area]}) and not (slow or torture)", options, after)


def _more_tests(area: str, options: str, after: tuple[str, ...], *, name: str = "") -> Step:
    return _tests_with_marks(name or f"{area}-more", f"({_MORE_AREAS[area]}) and slow and not torture", options, after)


def _tests_with_marks(name: str, marks: str, options: str, after: tuple[str, ...]) -> Step:
    command = f'. .tools/env && .venv/bin/python -m pytest -q -m "{marks}" {options} --junit-xml={{junit}} -o cache_dir={{junit}}.cache'
    return Step(name, command, after, again=_AGAIN)


def _tests_with_spark(line: str) -> Step:
    """Return the step with some capture tests and another line of Spark. `make torture ARGS="--modes spark-4.0"` runs all of them."""
    tests = " ".join(f"'tests/spark_listener/capture/{test}'" for test in _TESTS_WITH_SPARK_4_0)
    options = "-q --timeout=1200 --junit-xml={junit} -o cache_dir={junit}.cache"
    command = f". .tools/env && .venv/bin/python -m tests.other_sparks {line} -m pytest {options} {tests}"
    return Step(f"spark-{line}", command, after=("sparks-install",), again=_AGAIN)


_SPARK = Step("quick-spark", "make --no-print-directory .tools/spark.jsa")
_PAGE_INSTALL = Step("page-install", "make --no-print-directory ui/node_modules/.package-lock.json", waits=True)
_PAGE = Step("page-build", "make --no-print-directory backend/page/index.html", ("page-install",))
_NEO4J = Step("neo4j-install", '[ -n "${{NEO4J_URI:-}}" ] || .venv/bin/python -m tests.neo4j_server', waits=True)
_LAKE = Step(
    "lake-install",
    "for part in lake azure_server databases kafka_server; do .venv/bin/python -m tests.$part || exit 1; done",
    waits=True,
)

# Steps start in this order, one for each core: short steps first, then the longest, so that the last steps end at about the same time.
STEPS = (
    _SPARK,
    Step("lint", ".venv/bin/ruff check . && .venv/bin/ruff format --check ."),
    _PAGE_INSTALL,
    _NEO4J,
    _LAKE,
    Step("types", ".venv/bin/mypy"),
    _PAGE,
    _tests("lake", "--timeout=1200", ("lake-install", "neo4j-install", "quick-spark")),
    _tests("spark", "--timeout=1200", ("quick-spark",)),
    _tests("unit", "-n 2 --dist loadfile"),  # one worker runs all tests of a file, so that module fixtures are made once
    _tests("e2e", "--timeout=1800", ("page-build", "quick-spark")),
    _tests("neo4j", "", ("neo4j-install",)),
    _tests("cluster", "--timeout=1200", ("quick-spark",)),
    Step(
        "page-unit",
        "scripts/npm run --silent test -- --reporter=default --reporter=junit --outputFile.junit={junit}",
        ("page-install",),
    ),
    Step("page-lint", "scripts/npm run --silent lint && scripts/npm run --silent typecheck", ("page-install",)),
    Step("page-schema", "scripts/npm run --silent codegen:check", ("page-install",)),
)

MORE_STEPS = (
    _SPARK,
    _PAGE_INSTALL,
    _NEO4J,
    _LAKE,
    Step("sparks-install", ".venv/bin/python -m tests.other_sparks", waits=True),
    _PAGE,
    _more_tests("lake", "--timeout=1200", ("lake-install", "neo4j-install", "quick-spark")),
    # Benchmarks compare plans, which settings of other sessions in the same JVM would change.
    _more_tests("spark", "--timeout=1200 --ignore=tests/bench", ("quick-spark",)),
    _more_tests("spark", "--timeout=1200 tests/bench", ("quick-spark",), name="bench-more"),
    _more_tests("unit", "-n 2 --timeout=1200", ("neo4j-install",)),
    _more_tests("e2e", "--timeout=1800", ("page-build", "quick-spark")),
    _tests_with_spark("4.0"),
)
