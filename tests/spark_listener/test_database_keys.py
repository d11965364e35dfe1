"""Rows of a real PostgreSQL by keys of text, UUIDs, days, times, decimals, and of several columns: each is its own, and is found again."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from headwater.graph.trace import Semantics
from tests.databases import PASSWORD, postgres, postgres_driver
from tests.spark_listener.keyed import keyed_session
from tests.spark_listener.test_database_records import Shop

pytestmark = [
    pytest.mark.spark,
    pytest.mark.lake,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROWS = 40
WORDS = ("", "a", "A", "a ", "é", "e\u0301", "x'; DROP TABLE text_keys; --", "日本", "long " * 40, '"', "\\", "%41", "null")
# Names of tables, the types of their keys, and how a value is drawn for each.
KINDS = {
    "text": ["text"], "varchar": ["varchar(300)"], "uuid": ["uuid"], "date": ["date"], "instant": ["timestamptz"],
    "decimal": ["numeric(12,3)"], "wide": ["numeric(30,5)"], "pair": ["int", "bigint"], "flag": ["boolean", "smallint"],
    "mixed": ["uuid", "date", "text", "numeric(9,2)", "timestamptz(3)"],
}  # fmt: skip


def _drawn(kind: str, chance: random.Random) -> Any:
    match kind.partition("(")[0]:
        case "text" | "varchar":
            return chance.choice(WORDS) + str(chance.randrange(10 ** chance.randrange(9)))
        case "uuid":
            return str(UUID(int=chance.getrandbits(128)))
        case "date":
            return str(dt.date.fromordinal(chance.randrange(dt.date(1600, 1, 1).toordinal(), dt.date(9999, 12, 31).toordinal())))
        case "timestamptz":
            at = dt.datetime(1600, 1, 2, tzinfo=dt.UTC) + dt.timedelta(microseconds=chance.randrange(8000 * 365 * 86400 * 10**6))
            return str(at.replace(microsecond=at.microsecond // 1000 * 1000))
        case "numeric":
            whole, scale = map(int, kind[8:-1].split(","))
            return f"{chance.choice('-+')}{chance.randrange(10 ** (whole - scale))}.{chance.randrange(10**scale):0{scale}}"
        case "boolean":
            return chance.random() < 0.5
    return chance.choice((-1, 1)) * chance.randrange({"smallint": 2**15, "int": 2**31, "bigint": 2**63}[kind])


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    (jar,) = postgres_driver().glob("*.jar")
    folder = tmp_path_factory.mktemp("keys")
    chance = random.Random(11)
    with postgres() as server:
        for name, kinds in KINDS.items():
            columns = [f"k{place}" for place in range(len(kinds))]
            stated = ", ".join(f"{column} {kind}" for column, kind in zip(columns, kinds, strict=True))
            server.run(f"CREATE TABLE {name}_keys ({stated}, v int, g int, PRIMARY KEY ({', '.join(reversed(columns))}))")
            keys = dict.fromkeys(tuple(_drawn(kind, chance) for kind in kinds) for _ in range(ROWS))
            for number, key in enumerate(keys):
                given = ", ".join("'" + str(value).replace("'", "''") + "'" for value in key)
                server.run(f"INSERT INTO {name}_keys VALUES ({given}, {number}, {number % 5})")
        declared = {"declared": "a+b", "pair_view": "k0 + k1"}
        with keyed_session(folder, f"--jars {jar} --driver-class-path {jar}", keys=declared) as (spark, bridge):
            yield Shop(server, spark, bridge, folder)


@pytest.mark.parametrize("name", KINDS)
def test_each_row_is_its_own_and_is_found_again_both_ways(shop: Shop, name: str) -> None:
    table, uri = f"{name}_keys", f"{shop.server.namespace}/shop.public.{name}_keys"
    count = shop.server.run(f"SELECT count(*) FROM {table}")[0][0]
    single = shop.write(shop.table(table).where("v >= 0").selectExpr("v AS number"))
    for number in random.Random(name).sample(range(count), 4):
        (record,) = shop.exact(single, f"number = {number}").records
        assert record.values["v"] == number
        (back,) = shop.exact(uri, f"v = {number}", forward=True, to=str(single)).records
        assert back.values == {"number": number}
        assert record.row is not None
        (back,) = shop.traced(uri, rows=[(uri, record.row)], forward=True, to=str(single)).records
        assert back.values == {"number": number}
    grouped = shop.write(shop.table(table).groupBy("g").agg({"v": "max"}).toDF("g", "most"))
    records = shop.exact(grouped, "g = 3").records
    assert {record.values["v"] for record in records} == {number for number in range(count) if number % 5 == 3}
    (most,) = shop.exact(grouped, "g = 3", semantics=Semantics.WITNESS, column="most").records
    assert most.values["v"] == max(number for number in range(count) if number % 5 == 3)


def test_one_row_has_one_number_in_all_runs_and_scans(shop: Shop) -> None:
    pairs = shop.table("pair_keys")
    itself = shop.write(pairs.alias("a").join(pairs.alias("b"), ["k0", "k1"]).selectExpr("a.v", "b.g"))
    other = shop.write(shop.table("pair_keys", partitionColumn="v", lowerBound="0", upperBound="40", numPartitions="3").select("v"))
    both = shop.write(shop.spark.read.parquet(str(itself)).join(shop.spark.read.parquet(str(other)), "v"))
    (record,) = shop.exact(both, "v = 7").records
    assert record.values["v"] == 7
    assert len({shop.exact(out, "v = 7").records[0].row for out in (itself, other, both)}) == 1


def test_cached_rows_and_shuffled_ones_keep_their_keys(shop: Shop) -> None:
    cached = shop.table("mixed_keys").where("g < 4").cache()
    try:
        out = shop.write(cached.orderBy("v").selectExpr("v + 1 AS next"))
        (record,) = shop.exact(out, "next = 9").records
        assert record.values["v"] == 8
    finally:
        cached.unpersist()


def test_only_rows_that_pass_pushed_filters_are_recorded(shop: Shop) -> None:
    shop.write(shop.table("text_keys").where("g = 2").select("v"))
    keys = [boundary["boundary"] for boundary in shop.event["capture"]["boundaries"] if boundary["kind"] == "keys"]
    recorded = sum(segment["rows"] for segment in shop.event["capture"]["segments"] if segment["boundary"] in keys)
    assert 0 < recorded <= 3 * shop.server.run("SELECT count(*) FROM text_keys WHERE g = 2")[0][0] + 16


def test_a_row_that_changed_or_went_since_says_so(shop: Shop) -> None:
    shop.server.run("CREATE TABLE moving (k text, n date, v int, PRIMARY KEY (k, n))")
    shop.server.run("INSERT INTO moving VALUES ('a', '2026-01-01', 1), ('b', '2026-01-02', 2), ('c', '2026-01-03', 3)")
    out = shop.write(shop.table("moving").select("v"))
    shop.server.run("UPDATE moving SET v = 20 WHERE k = 'b'", "UPDATE moving SET k = 'C' WHERE k = 'c'")
    for number, reason in ((1, None), (2, "has changed since"), (3, "no record of this key any more")):
        answer = shop.exact(out, f"v = {number}")
        (record,) = answer.records
        assert dict(record.values) == ({"k": "a", "n": dt.date(2026, 1, 1), "v": 1} if reason is None else {})
        assert [reason in entry.reason for entry in answer.incomplete if reason] == [True] * (reason is not None)


def test_keys_that_the_database_takes_for_equal_are_not_taken_for_the_same(shop: Shop) -> None:
    shop.server.run(
        "CREATE EXTENSION IF NOT EXISTS citext", "CREATE TABLE folded (k citext PRIMARY KEY, v int)",
        "INSERT INTO folded VALUES ('Abc', 1), ('x', 2)",
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE TABLE loosely (k text COLLATE loose PRIMARY KEY, v int)", "INSERT INTO loosely VALUES ('Abc', 1), ('x', 2)",
        "CREATE TABLE padded (k char(6) PRIMARY KEY, v int)", "INSERT INTO padded VALUES ('ab', 1), ('x ', 2)",
    )  # fmt: skip
    for name in ("folded", "loosely"):
        out = shop.write(shop.table(name).select("v"))
        assert shop.exact(out, "v = 1").records[0].values == {"k": "Abc", "v": 1}
        shop.server.run(f"DELETE FROM {name} WHERE v = 1", f"INSERT INTO {name} VALUES ('ABC', 1)")
        answer = shop.exact(out, "v = 1")
        assert answer.records[0].values == {}
        assert any("no record of this key any more" in entry.reason for entry in answer.incomplete)
    out = shop.write(shop.table("padded").select("v"))
    assert shop.exact(out, "v = 1").records[0].values["v"] == 1


def test_a_declared_key_of_several_columns(shop: Shop) -> None:
    shop.server.run(
        "CREATE TABLE declared (a int, b text, v int)", "INSERT INTO declared VALUES (1, 'x', 1), (1, 'y', 2), (2, 'x', 3), (2, 'x', 4)"
    )
    shop.server.run("CREATE VIEW pair_view AS SELECT * FROM pair_keys")
    out = shop.write(shop.table("declared").select("v"))
    assert shop.exact(out, "v = 2").records[0].values == {"a": 1, "b": "y", "v": 2}
    answer = shop.traced(out, "v = 3")
    assert answer.records[0].values == {}
    assert any("several rows have this key" in entry.reason for entry in answer.incomplete)
    view = shop.write(shop.table("pair_view").select("v"))
    assert shop.traced(view, "v = 5").records[0].values["v"] == 5


@pytest.mark.parametrize(
    ("columns", "values", "reason"),
    [
        ("k float8 PRIMARY KEY", "1.5", "double precision"), ("k numeric PRIMARY KEY", "1.5", "numeric"),
        ("k jsonb PRIMARY KEY", "'{}'", "jsonb"), ("k bytea PRIMARY KEY", "'a'", "bytea"), ("k interval PRIMARY KEY", "'1 s'", "interval"),
    ],
)  # fmt: skip
def test_keys_that_spark_may_read_otherwise_are_refused_by_name(shop: Shop, columns: str, values: str, reason: str) -> None:
    shop.server.run("DROP TABLE IF EXISTS odd", f"CREATE TABLE odd ({columns}, v int)", f"INSERT INTO odd VALUES ({values}, 1)")
    shop.write(shop.table("odd").select("v"))
    (problem,) = [problem for problem in shop.event["capture"]["problems"] if problem["kind"] == "refused"]
    assert reason in problem["reason"]


def test_a_time_without_a_zone_is_a_key_as_it_is_read_without_one(shop: Shop) -> None:
    shop.server.run("CREATE TABLE timed (k timestamp PRIMARY KEY, v int)", "INSERT INTO timed VALUES ('2026-03-29 02:30:00.000001', 1)")
    out = shop.write(shop.table("timed", preferTimestampNTZ="true").select("v"))
    assert shop.exact(out, "v = 1").records[0].values["v"] == 1


def test_keys_that_no_reference_holds_are_said_to_be_missing(shop: Shop) -> None:
    shop.server.run("CREATE TABLE ancient (k date PRIMARY KEY, v int)", "INSERT INTO ancient VALUES ('1500-01-01', 1), ('2000-01-01', 2)")
    out = shop.write(shop.table("ancient").select("v"))
    answer = shop.traced(out, "v = 1")
    assert (answer.exact, list(answer.records)) == (False, [])
    assert any("before 1600" in entry.reason for entry in answer.incomplete)


def test_no_password_nor_literal_of_a_key_is_sent(shop: Shop) -> None:
    """Keys are parameters: the log of the server has none in the text of a statement."""
    shop.server.run("CREATE TABLE secret (k text PRIMARY KEY, v int)", "INSERT INTO secret VALUES ('do not quote me', 1)")
    out = shop.write(shop.table("secret").select("v"))
    shop.server.run("ALTER SYSTEM SET log_statement = 'all'", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.5)")
    begin = (shop.server.folder / "log").stat().st_size
    assert shop.exact(out, "v = 1").records[0].values == {"k": "do not quote me", "v": 1}
    shop.server.run("ALTER SYSTEM SET log_statement = 'none'", "SELECT pg_reload_conf()")
    text = (shop.server.folder / "log").read_bytes()[begin:].decode()
    statements = [line for line in text.splitlines() if "parameters:" not in line]
    assert any('"secret" t' in line for line in statements)
    assert not any("do not quote me" in line for line in statements)
    assert PASSWORD not in text
