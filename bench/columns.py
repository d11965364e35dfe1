"""`python -m bench.columns`: column lineage of the queries of TPC-H and TPC-DS by Headwater, and by sqlglot from the same SQL.

No query runs. Spark plans each, and its plan is described as at the end of a run; sqlglot reads the text. Both give the source columns of
an output column. sqlglot has one kind of dependency. Headwater's dependencies that decide about the column alone (CONDITIONAL, WINDOW)
are merged with those whose values flow into it. Those that decide about rows (JOIN, FILTER, SORT, GROUP_BY) have no counterpart. Each
difference needs a reason (`REASONS`), or the command exits with 1. The results are in bench/results/columns.json.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import results
from bench.data.dialect import for_spark
from bench.data.tpc import benchmark

SUITES = ("tpch", "tpcds")
REASONS = {
    "grouping": "`grouping(x)` tells which grouping set made the row; no value of x flows into it. sqlglot lists x all the same.",
}
_SCALE = 0.01
_GROUPING = re.compile(r"\bgrouping\s*\(\s*(?:\w+\.)?(\w+)\s*\)", re.IGNORECASE)


@dataclass(frozen=True)
class Difference:
    """An output column with different answers. `ours` and `theirs` are sources that only one side has, as `table.column`.

    `reason` is a key of `REASONS`.
    """

    query: int
    column: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    reason: str | None


def main() -> int:
    found = compare(SUITES)
    content: dict[str, Any] = results.head("columns") | {"reasons": REASONS, "suites": {}}
    for suite, (compared, differences) in found.items():
        print(f"{suite}: {compared} output columns, {compared - len(differences)} alike")
        for each in differences:
            print(f"  q{each.query} {each.column}: ours +{list(each.ours)}, sqlglot +{list(each.theirs)}: {each.reason or 'NO REASON'}")
        content["suites"][suite] = {"columns": compared, "differences": [asdict(each) for each in differences]}
    print(f"written: {results.write(content)}")
    return int(any(each.reason is None for _, differences in found.values() for each in differences))


def compare(suites: Collection[str]) -> dict[str, tuple[int, list[Difference]]]:
    """Return for each suite the number of compared output columns, and the differences.

    Raises:
        ValueError: the two sides disagree about the number or the names of a query's columns.
    """
    with tempfile.TemporaryDirectory() as scratch:
        from bench.spark.session import BRIEFLY, register, start
        from headwater.spark_listener.capture import Bridge

        spark = start(Path(scratch), memory="1g", java=BRIEFLY)
        bridge = Bridge.listen(spark.sparkContext, mode="coarse", segments=scratch)
        found = {}
        for suite in suites:
            made = benchmark(suite, _SCALE)
            register(spark, made.tables)
            schema = {name: {field.name: field.dataType.simpleString() for field in spark.table(name).schema} for name in made.tables}
            compared = 0
            differences: list[Difference] = []
            for number, text in made.queries.items():
                sql = for_spark(text)
                plan = bridge.described(spark.sql(sql)._jdf.queryExecution().optimizedPlan())  # noqa: SLF001  # the frame of the JVM
                ours, theirs = list(_ours(plan)), list(_theirs(sql, schema))
                _check_names(f"{suite} q{number}", ours, theirs)
                compared += len(ours)
                differences += _differences(number, sql, ours, theirs)
            found[suite] = compared, differences
        spark.stop()
    return found


def reason_of(sql: str, ours: Collection[str], theirs: Collection[str]) -> str | None:
    """Return the reason why sqlglot has other columns than Headwater, a key of `REASONS`."""
    in_grouping = {name.lower() for name in _GROUPING.findall(sql)}
    if not ours and {name.partition(".")[2] for name in theirs} <= in_grouping:
        return "grouping"
    return None


_Columns = list[tuple[str, set[str]]]  # name and sources of each column, by position


def _differences(number: int, sql: str, ours: _Columns, theirs: _Columns) -> Iterator[Difference]:
    for (column, mine), (_, other) in zip(ours, theirs, strict=True):
        if mine != other:
            more, less = tuple(sorted(mine - other)), tuple(sorted(other - mine))
            yield Difference(number, column, more, less, reason_of(sql, more, less))


def _check_names(query: str, ours: _Columns, theirs: _Columns) -> None:
    named = [(mine.lower(), other.lower()) for (mine, _), (other, _) in zip(ours, theirs, strict=True)]
    if odd := [(mine, other) for mine, other in named if mine != other and not other.startswith("_col_")]:
        raise ValueError(f"{query}: {odd}")


def _ours(plan: Mapping[str, Any]) -> Iterator[tuple[str, set[str]]]:
    from headwater.spark_listener.lineage.columns import column_lineage
    from headwater.spark_listener.lineage.datasets import sources_of

    output = plan["output"]
    by_place = [{"name": str(place), "attr": column["attr"]} for place, column in enumerate(output)]  # two columns may have the same name
    found = column_lineage({**plan, "sink": {"columns": by_place}}, sources_of(plan))
    for place, column in enumerate(output):
        yield column["name"], {f"{Path(name).name}.{field}" for _, name, field in found.columns[str(place)]}


def _theirs(sql: str, schema: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, set[str]]]:
    import sqlglot
    from sqlglot import exp
    from sqlglot.lineage import to_node
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope
    from sqlglot.schema import ensure_schema

    known = ensure_schema(dict(schema), dialect="spark")
    tree: Any = qualify(
        sqlglot.parse_one(sql, dialect="spark"), schema=known, dialect="spark", identify=False, validate_qualify_columns=False
    )
    scope = build_scope(tree)
    assert scope is not None  # noqa: S101  # it is a query
    cache: dict[Any, Any] = {}
    selects: dict[Any, Any] = {}
    for place, column in enumerate(tree.selects):
        node = to_node(place, scope, "spark", known, trim_selects=False, _cache=cache, _scope_meta=selects)
        leaves = {
            f"{leaf.expression.name}.{leaf.name.rpartition('.')[2].strip('`')}".lower()
            for leaf in node.walk()
            if not leaf.downstream and isinstance(leaf.expression, exp.Table)
        }
        yield column.alias_or_name, leaves


if __name__ == "__main__":
    sys.exit(main())
