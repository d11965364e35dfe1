"""Names in a query that are no columns of its tables, and clauses that decide about rows: none becomes a column that does not exist."""

from __future__ import annotations

import pytest

from tests.spark_listener.lineage.test_sql_columns import URLS, columns, read, stated

_URLS = {
    **URLS, "oracle": "jdbc:oracle:thin:@//db:1521/shop", "snowflake": "jdbc:snowflake://a.snowflakecomputing.com/?db=S&schema=P",
    "redshift": "jdbc:redshift://db:5439/shop", "duckdb": "jdbc:duckdb:/data/x.db", "clickhouse": "jdbc:clickhouse://db:8123/shop",
    "teradata": "jdbc:teradata://db/DATABASE=shop", "databricks": "jdbc:databricks://db:443/default",
}  # fmt: skip
_LATERAL = ["snowflake", "redshift", "duckdb", "clickhouse", "teradata", "databricks", "other"]
_PIVOTS = {
    "SELECT * FROM sales PIVOT (SUM(amount) FOR m IN ('JAN', 'FEB')) AS p": ["id", "JAN"],
    "SELECT p.JAN, id FROM sales PIVOT (SUM(amount) FOR m IN ('JAN', 'FEB')) p": ["JAN", "id"],
    "SELECT p.v, p.k FROM (SELECT id, a, b FROM sales) s UNPIVOT (v FOR k IN (a, b)) p": ["v", "k"],
    "SELECT id, v, k FROM sales UNPIVOT (v FOR k IN (a, b)) u": ["id", "v", "k"],
}


@pytest.mark.parametrize("dialect", ["oracle", "tsql", "snowflake", "duckdb", "databricks"])
@pytest.mark.parametrize("query", _PIVOTS)
@pytest.mark.parametrize("schemas", [{}, {"sales": ["id", "m", "amount", "a", "b"]}])
def test_no_column_of_a_pivot_is_guessed(dialect: str, query: str, schemas: dict[str, list[str]]) -> None:
    names = _PIVOTS[query]
    found = read(query, dict.fromkeys(names, ""), schemas, url=_URLS[dialect])
    assert found.by_query is not None
    assert found.by_query.are_rows_unknown
    assert columns(found) == {name: set() for name in names}
    assert found.by_query.unknown == tuple(names)


@pytest.mark.parametrize("dialect", _LATERAL)
def test_an_alias_of_the_same_select_is_open_until_the_table_is_known(dialect: str) -> None:
    query, names = "SELECT a AS b, b + 1 AS c FROM t", {"b": "", "c": ""}
    found = read(query, names, {}, url=_URLS[dialect])
    assert found.by_query is not None
    assert (found.by_query.unknown, found.by_query.asks) == (("c",), ("t",))
    known = read(query, names, {"t": ["a"]}, url=_URLS[dialect])
    assert columns(known)["c"] == {(_name(known, "b"), "a", "TRANSFORMATION")}
    both = read(query, names, {"t": ["a", "b"]}, url=_URLS[dialect])
    assert both.by_query is not None
    is_open = dialect == "clickhouse"
    assert both.by_query.unknown == (("c",) if is_open else ())
    assert columns(both)["c"] == (set() if is_open else {(_name(both, "b"), "b", "TRANSFORMATION")})


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "tsql", "oracle", "sqlite"])
def test_an_alias_is_no_column_where_a_select_cannot_name_it(dialect: str) -> None:
    found = read("SELECT a AS b, b + 1 AS c FROM t", {"b": "", "c": ""}, {}, url=_URLS[dialect])
    assert found.by_query is not None
    assert found.by_query.unknown == ()
    assert {column.lower() for _, column, _ in columns(found)["c"]} == {"b"}


@pytest.mark.parametrize(
    ("dialect", "expression", "without", "known"),
    [
        ("oracle", "ROWNUM", "", ""), ("oracle", "LEVEL", "", ""), ("oracle", "USER", "", ""), ("oracle", "UID", "", ""),
        ("oracle", "t.ROWID", "", ""), ("oracle", "numbers.NEXTVAL", "", ""), ("oracle", "ORA_ROWSCN", "?", ""),
        ("postgres", "user", "", ""), ("postgres", "t.user", "t.user", "?"), ("postgres", "ctid", "?", ""), ("postgres", "t.ctid", "?", ""),
        ("postgres", "level", "t.level", "?"), ("sqlite", '"hello"', "?", ""), ("sqlite", '"name"', "?", "t.name"),
        ("sqlite", "rowid", "?", ""), ("tsql", "SYSTEM_USER", "", ""), ("clickhouse", "_part", "?", ""), ("duckdb", "rowid", "?", ""),
        ("teradata", "USER", "", ""),
    ],
)  # fmt: skip
def test_a_word_that_is_no_column_is_none(dialect: str, expression: str, without: str, known: str) -> None:
    for right, schemas in ((without, {}), (known, {"t": ["id", "name"]})):
        found = read(f"SELECT {expression} AS x FROM t", {"x": ""}, schemas, url=_URLS[dialect])
        assert found.by_query is not None
        assert (found.by_query.unknown, columns(found)["x"]) == (("x",), set()) if right == "?" else ((), stated(right))


@pytest.mark.parametrize(("dialect", "name"), [("oracle", "LEVEL"), ("postgres", "user"), ("sqlite", "rowid")])
def test_a_column_that_a_table_is_known_to_have_is_one(dialect: str, name: str) -> None:
    found = read(f"SELECT {name} AS x FROM t", {"x": ""}, {"t": [name]}, url=_URLS[dialect])
    assert [column for _, column, _ in columns(found)["x"]] == [name]


@pytest.mark.parametrize(
    ("dialect", "query", "rows"),
    [
        ("clickhouse", "SELECT name FROM t PREWHERE age > 1", {("age", "FILTER")}),
        ("clickhouse", "SELECT name FROM t LIMIT 1 BY city", {("city", "FILTER")}),
        ("clickhouse", "SELECT name FROM t FINAL", None),
        ("clickhouse", "SELECT name FROM t ARRAY JOIN prices AS price", None),
        ("databricks", "SELECT name FROM t DISTRIBUTE BY city SORT BY age", {("city", "SORT"), ("age", "SORT")}),
        ("snowflake", "SELECT a FROM t MATCH_RECOGNIZE (ORDER BY b MEASURES FIRST(c) AS a PATTERN (x+) DEFINE x AS c > 1)", None),
        ("postgres", "SELECT name FROM t ORDER BY age LIMIT 3 OFFSET 1", {("age", "SORT")}),
    ],
)
def test_a_clause_that_decides_about_rows_is_followed_or_said(dialect: str, query: str, rows: set[tuple[str, str]] | None) -> None:
    found = read(query, {"name": ""}, {}, url=_URLS[dialect])
    assert found.by_query is not None
    assert found.by_query.are_rows_unknown == (rows is None)
    if rows is not None:
        assert {(column, how) for _, column, how in found.by_query.rows} == rows


def _name(found: object, column: str) -> str:
    """The name of the one table that a column is of, as its database writes it."""
    ((table, _, _),) = columns(found)[column]  # type: ignore[arg-type]
    return table
