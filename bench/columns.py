"""`python -m bench.columns [tpch|tpcds] [q1,q6]`: column lineage of TPC-H and TPC-DS, Headwater's against that of sqlglot.

Nothing runs: Spark plans each query, its plan is described as at the end of a run, and sqlglot (`sqlglot.lineage`) reads the same SQL. Both
give the columns of tables that an output column is made of. sqlglot has one kind; of ours, those that decide about the column alone
(CONDITIONAL, WINDOW) are put to those that flow into it. Each difference has a reason in `bench.column_reasons`, or the command fails.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.data.dialect import for_spark
from bench.data.tpc import benchmark

_SCALES = {"tpch": 0.01, "tpcds": 0.01}


@dataclass(frozen=True)
class Difference:
    """An output column of which the two say otherwise: what each has that the other has not, as `table.column`."""

    suite: str
    query: int
    column: str
    ours: frozenset[str]
    theirs: frozenset[str]


def main() -> None:
    """Compare, print what differs and what has no reason."""
    suites = [word for word in sys.argv[1:] if word in _SCALES] or list(_SCALES)
    chosen = {int(word.strip("q")) for argument in sys.argv[1:] if argument not in _SCALES for word in argument.split(",")}
    from bench.column_reasons import reason

    unexplained = 0
    for suite in suites:
        compared, found = compare(suite, chosen)
        for difference in found:
            why = reason(difference)
            unexplained += why is None
            parts = f"+{sorted(difference.ours)} -{sorted(difference.theirs)}"
            print(f"{suite} q{difference.query} {difference.column}: {parts}: {why or 'NO REASON'}")
        print(f"{suite}: {compared} output columns, {len(found)} differ")
    sys.exit(bool(unexplained))


def compare(suite: str, chosen: set[int] | None = None) -> tuple[int, list[Difference]]:
    """How many output columns were compared, and those that differ."""
    made = benchmark(suite, _SCALES[suite])
    with tempfile.TemporaryDirectory() as scratch:
        from bench.spark.session import start
        from headwater.spark_listener.capture import Bridge

        spark = start(Path(scratch), memory="1g", tables=made.tables)
        bridge = Bridge.listen(spark.sparkContext, mode="coarse", segments=scratch)
        schema = {name: {field.name: field.dataType.simpleString() for field in spark.table(name).schema} for name in made.tables}
        compared, found = 0, []
        for number, text in made.queries.items():
            if chosen and number not in chosen:
                continue
            sql = for_spark(text)
            ours = list(_ours(bridge.described(spark.sql(sql)._jdf.queryExecution().optimizedPlan())))  # noqa: SLF001  # the frame of the JVM
            theirs = list(_theirs(sql, schema))
            named = zip(ours, theirs, strict=True)
            odd = [(mine, other) for (mine, _), (other, _) in named if mine.lower() != other.lower() and not other.startswith("_col_")]
            assert not odd, (suite, number, odd)  # noqa: S101
            compared += len(ours)
            for (column, mine), (_, other) in zip(ours, theirs, strict=True):
                if mine != other:
                    found.append(Difference(suite, number, column, frozenset(mine - other), frozenset(other - mine)))
        spark.stop()
    return compared, found


def _ours(plan: Mapping[str, Any]) -> Iterator[tuple[str, set[str]]]:
    from headwater.spark_listener.lineage.columns import column_lineage
    from headwater.spark_listener.lineage.datasets import sources_of

    output = plan["output"]
    numbered = [{"name": place, "attr": column["attr"]} for place, column in enumerate(output)]
    found = column_lineage({**plan, "sink": {"columns": numbered}}, sources_of(plan))
    for place, column in enumerate(output):
        yield column["name"], {f"{Path(name).name}.{field}" for _, name, field in found.columns[place]}


def _theirs(sql: str, schema: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, set[str]]]:
    import sqlglot
    from sqlglot import exp
    from sqlglot.lineage import to_node
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope
    from sqlglot.schema import ensure_schema

    known = ensure_schema(schema, dialect="spark")
    tree = qualify(sqlglot.parse_one(sql, dialect="spark"), schema=known, dialect="spark", identify=False, validate_qualify_columns=False)
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
    main()
