"""Columns of a query that a database runs: each is followed to its table, by the text or by the tables' columns, or named as unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headwater.spark_listener.lineage.asked_tables import AskedTables
from headwater.spark_listener.lineage.connected import Connected, connected
from headwater.spark_listener.lineage.datasets import unknown_datasets

URLS = {
    "postgres": "jdbc:postgresql://db/shop", "sqlite": "jdbc:sqlite:/data/shop.db", "mysql": "jdbc:mysql://db/shop",
    "tsql": "jdbc:sqlserver://db;databaseName=shop", "other": "jdbc:h2:mem:shop",
}  # fmt: skip
SCHEMAS = {"users": ["id", "name"], "orders": ["oid", "user_id", "total"], "names": ["id", "nick"]}

QUERIES = [
    ("SELECT name, total FROM users JOIN orders ON users.id = orders.user_id", {"name": "users.name", "total": "orders.total"}),
    ("SELECT u.*, total FROM users u JOIN orders o ON id = user_id", {"id": "users.id", "name": "users.name", "total": "orders.total"}),
    (
        "SELECT * FROM users, orders",
        {"id": "users.id", "name": "users.name", "oid": "orders.oid", "user_id": "orders.user_id", "total": "orders.total"},
    ),
    (
        "SELECT name, (SELECT sum(total) FROM orders WHERE user_id = id) AS spent FROM users",
        {"name": "users.name", "spent": "orders.total AGGREGATION"},
    ),
    (
        "SELECT name, x.* FROM users u CROSS JOIN LATERAL (SELECT total FROM orders WHERE user_id = u.id) x",
        {"name": "users.name", "total": "orders.total"},
    ),
    (
        "WITH a(i, n) AS (SELECT * FROM users), B AS (SELECT * FROM a) SELECT n, total FROM b, orders WHERE i = user_id",
        {"n": "users.name", "total": "orders.total"},
    ),
    (
        "WITH RECURSIVE r(a, b) AS (SELECT oid, user_id FROM orders UNION ALL SELECT b, a FROM r) SELECT a, b FROM r",
        {"a": "orders.oid, orders.user_id", "b": "orders.oid, orders.user_id"},
    ),
    ("SELECT * FROM users UNION SELECT user_id, total FROM orders", {"id": "users.id, orders.user_id", "name": "users.name, orders.total"}),
    ("SELECT * FROM users JOIN names USING (id)", {"id": "users.id, names.id", "name": "users.name", "nick": "names.nick"}),
    ("SELECT id, nick FROM users NATURAL LEFT JOIN names", {"id": "users.id, names.id", "nick": "names.nick"}),
    ("SELECT n, total FROM users AS u(i, n) JOIN orders ON i = user_id", {"n": "users.name", "total": "orders.total"}),
    ("SELECT x, y FROM (SELECT name, total FROM users, orders) AS d(x, y)", {"x": "users.name", "y": "orders.total"}),
    (
        "SELECT CASE WHEN name > 'm' THEN total END AS c, total IN (SELECT id FROM names) AS i FROM users, orders",
        {"c": "users.name CONDITIONAL, orders.total TRANSFORMATION", "i": "orders.total TRANSFORMATION, names.id CONDITIONAL"},
    ),
    (
        "SELECT sum(total) OVER w AS s, rank() OVER (ORDER BY name) AS r FROM users, orders WINDOW w AS (PARTITION BY id)",
        {"s": "orders.total AGGREGATION, users.id WINDOW", "r": "users.name WINDOW"},
    ),
    ("SELECT EXISTS (SELECT 1 FROM orders WHERE user_id = id) AS buys, count(*) AS n FROM users", {"buys": "", "n": ""}),
    ('SELECT "U"."name" /* the name */ FROM public.users "U" -- all\n, shop.public.orders', {"name": "users.name"}),
    ("SELECT to_json(u) AS u FROM users u, orders", {"u": "users.id TRANSFORMATION, users.name TRANSFORMATION"}),
    (
        "SELECT json_agg(u.*) AS j, count(u.*) AS n, count(*) AS m FROM users u, orders",
        {"j": "users.id AGGREGATION, users.name AGGREGATION", "n": "", "m": ""},
    ),
    ("SELECT ctid AS place, name FROM users", {"place": "", "name": "users.name"}),
    ("SELECT g, name FROM users, generate_series(1, id) g", {"g": "users.id TRANSFORMATION", "name": "users.name"}),
    ("(SELECT name FROM users, orders ORDER BY total) LIMIT 3", {"name": "users.name"}),
]  # fmt: skip


@pytest.mark.parametrize(("query", "right"), QUERIES)
def test_columns_are_followed_by_the_columns_of_the_tables(query: str, right: dict[str, str]) -> None:
    found = read(query, right, SCHEMAS | {"public.users": SCHEMAS["users"], "shop.public.orders": SCHEMAS["orders"]})
    assert (columns(found), found.by_query and found.by_query.unknown) == ({name: stated(made) for name, made in right.items()}, ())


@pytest.mark.parametrize(("query", "right"), QUERIES)
def test_what_is_not_right_without_the_columns_of_the_tables_is_said(query: str, right: dict[str, str]) -> None:
    found = read(query, right, {})
    assert found.by_query is not None
    for name, made in columns(found).items():
        assert made == stated(right[name]) or name in found.by_query.unknown
    assert bool(found.by_query.unknown or found.by_query.are_rows_unknown) == bool(found.by_query.asks)


@pytest.mark.parametrize(
    ("dialect", "told", "right"),
    [
        ("sqlite", {"dbtable": "users AS u"}, None),
        ("sqlite", {"dbtable": "[users] u /* all */"}, None),
        ("mysql", {"dbtable": "shop.`users` u"}, None),
        ("tsql", {"dbtable": "dbo.[users] AS [u]"}, None),
        ("other", {"dbtable": 'users "u"'}, None),
        ("sqlite", {"dbtable": "users u JOIN orders o ON u.id = o.user_id"}, {"name": "users.name", "total": "orders.total"}),
        (
            "other", {"dbtable": "(SELECT id, name FROM users) a JOIN (SELECT user_id, total FROM orders) b ON (a.id = b.user_id)"},
            {"name": "users.name", "total": "orders.total"},
        ),
        ("tsql", {"query": "SELECT name, x.total FROM users u OUTER APPLY (SELECT TOP 1 total FROM orders WHERE user_id = u.id) x"},
         {"name": "users.name", "total": "orders.total"}),
        ("mysql", {"query": "SELECT `name`, total FROM `users` u, orders # both"}, {"name": "users.name", "total": "orders.total"}),
        ("sqlite", {"query": "SELECT [name], total FROM [users] u, `orders`"}, {"name": "users.name", "total": "orders.total"}),
        ("postgres", {"query": "SELECT * FROM t", "prepare": "WITH t AS (SELECT name, total FROM users, orders)"},
         {"name": "users.name", "total": "orders.total"}),
        ("postgres", {"dbtable": "t", "prepare": "WITH t AS (SELECT name FROM users)"}, {"name": "users.name"}),
        ("tsql", {"query": "SELECT * FROM #t", "prepare": "(SELECT * INTO #t FROM (SELECT name FROM users) x)"}, {"name": "users.name"}),
    ],
)  # fmt: skip
def test_every_dialect_and_form_of_a_read_is_followed(dialect: str, told: dict[str, str], right: dict[str, str] | None) -> None:
    schemas = {form: SCHEMAS[table] for table in ("users", "orders") for form in (table, f"`{table}`", f"[{table}]", f'"{table}"')}
    found = read(
        told.get("query"),
        right or {"id": "", "name": ""},
        schemas,
        url=URLS[dialect],
        **{name: text for name, text in told.items() if name != "query"},
    )
    assert found.problem is None
    assert {name.rpartition(".")[2] for _, name in found.datasets} == (
        {"users"} if right is None else {made.split(".")[0] for made in right.values()}
    )
    assert (found.by_query is None) == (right is None)
    if right is not None:
        assert columns(found) == {name: stated(made) for name, made in right.items()}


@pytest.mark.parametrize("prepare", ["SET search_path = other", "CALL build()", "DROP TABLE users"])
def test_a_statement_before_the_query_that_may_change_what_it_means_is_said(prepare: str) -> None:
    found = read("SELECT name FROM users", {"name": ""}, {}, prepare=prepare)
    assert "prepareQuery" in (found.problem or "")


def test_tables_are_asked_once_for_a_text_and_only_where_the_text_leaves_a_column_open() -> None:
    asked: list[Sequence[str]] = []

    def ask(jdbc: Mapping[str, Any], tables: Sequence[str], _: int) -> Mapping[str, Sequence[str]]:
        asked.append(tables)
        return SCHEMAS

    tables = AskedTables()
    for query in (QUERIES[0][0], QUERIES[0][0], "SELECT users.name, orders.total FROM users, orders"):
        event = {"event": "query_end", "plan": {"sources": [source(query, ["name", "total"], {})]}}
        plan = tables.completed(event, ask)["plan"]
        assert unknown_datasets(plan) == []
    assert asked == [("users", "orders")]


@pytest.mark.parametrize(("is_ending", "allowed"), [(False, [5000, 3000, 1000]), (True, [1000])])
def test_all_questions_of_an_application_have_a_few_seconds_and_its_end_has_one(is_ending: bool, allowed: list[int]) -> None:
    now, asked = 100.0, []

    def ask(jdbc: Mapping[str, Any], tables: Sequence[str], milliseconds: int) -> Mapping[str, Sequence[str]]:
        nonlocal now
        asked.append(milliseconds)
        now += min(milliseconds / 1000, 2.0)
        return {}

    tables = AskedTables(lambda: now)
    for number in range(16):
        plan = {"sources": [source(f"{QUERIES[0][0]} WHERE {number} = {number}", ["name", "total"], {})]}
        tables.completed({"event": "query_end", "plan": plan}, ask, is_ending=is_ending)
    assert asked == allowed


def test_a_question_without_an_answer_is_asked_again_after_a_while() -> None:
    now, answers = 0.0, [{"users": SCHEMAS["users"]}, SCHEMAS]

    def ask(jdbc: Mapping[str, Any], tables: Sequence[str], milliseconds: int) -> Mapping[str, Sequence[str]]:
        return answers.pop(0)

    tables = AskedTables(lambda: now)

    def unknown() -> list[Any]:
        plan = {"sources": [source(QUERIES[0][0], ["name", "total"], {})]}
        return list(unknown_datasets(tables.completed({"event": "query_end", "plan": plan}, ask)["plan"]))

    unknown()
    now = 59.0
    unknown()
    assert len(answers) == 1
    now = 61.0
    assert unknown() == []
    now = 1000.0
    assert unknown() == []


def test_columns_of_a_database_that_does_not_answer_are_a_problem_of_the_ledger() -> None:
    def fail(jdbc: Mapping[str, Any], tables: Sequence[str], _: int) -> Mapping[str, Sequence[str]]:
        raise OSError("no database")

    event = {"event": "query_end", "plan": {"sources": [source(QUERIES[0][0], ["name", "total"], {})]}}
    (problem,) = unknown_datasets(AskedTables().completed(event, fail)["plan"])
    assert (problem["kind"], "name, total" in problem["reason"]) == ("missing", True)
    assert "shop.public.users, shop.public.orders" in problem["reason"]


def source(query: str | None, names: Sequence[str], schemas: Mapping[str, Sequence[str]], **told: str) -> dict[str, Any]:
    jdbc = {"url": URLS["postgres"], "query": query, "schemas": schemas, **told}
    return {"source": 0, "format": "jdbc", "jdbc": jdbc, "columns": [{"name": name} for name in names]}


def read(query: str | None, right: Mapping[str, str], schemas: Mapping[str, Sequence[str]], **told: str) -> Connected:
    found = connected(source(query, list(right), schemas, **told))
    assert found is not None
    return found


def columns(found: Connected) -> dict[str, set[tuple[str, str, str]]]:
    assert found.by_query is not None
    return {
        name: {(table[1].rpartition(".")[2], column, how) for table, column, how in reads} for name, reads in found.by_query.columns.items()
    }


def stated(made: str) -> set[tuple[str, str, str]]:
    """`users.name, orders.total AGGREGATION`, as a column's reads."""
    parts = [part.split() for part in made.split(", ") if part]
    return {(*part[0].split("."), part[1] if len(part) > 1 else "IDENTITY") for part in parts}  # type: ignore[misc]
