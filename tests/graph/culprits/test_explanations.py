"""Explanations find conditions that were planted in random records, and their text selects what they say."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from headwater.graph.culprits.explanations import Search, explain
from headwater.graph.trace.predicate import check_predicate

Row = Mapping[str, Any]
_NOISE = 0.02  # of the records have the wrong label
_LEAST_BAD = 40  # records; with fewer, most labels are noise


def _plant(seed: int) -> tuple[list[Row], list[bool], set[str]] | None:
    """Return random records, their labels, and the columns of a conjunction that decides the labels. None: it selects too few."""
    chance = random.Random(seed)
    kinds = [chance.choice(["integer", "float", "text", "date"]) for _ in range(chance.randint(4, 9))]
    make: dict[str, Callable[[], Any]] = {
        "integer": lambda: chance.randint(0, 100),
        "float": lambda: round(chance.gauss(0, 10), 3),
        "text": lambda: chance.choice("abcde"),
        "date": lambda: dt.date(2024, 1, 1) + dt.timedelta(days=chance.randint(0, 365)),
    }
    rows = [{f"c{n}": make[kind]() if chance.random() > 0.02 else None for n, kind in enumerate(kinds)} for _ in range(2_000)]
    ranges: dict[str, tuple[Any, Any]] = {}
    for number in chance.sample(range(len(kinds)), chance.randint(1, 3)):
        values = sorted(row[f"c{number}"] for row in rows if row[f"c{number}"] is not None)
        begin = chance.uniform(0, 0.5)
        end = begin if kinds[number] == "text" else begin + chance.uniform(0.15, 0.5)
        ranges[f"c{number}"] = values[int(begin * (len(values) - 1))], values[int(end * (len(values) - 1))]
    truth = [all(row[name] is not None and low <= row[name] <= high for name, (low, high) in ranges.items()) for row in rows]
    labels = [label if chance.random() > _NOISE else not label for label in truth]
    return (rows, labels, set(ranges)) if sum(truth) >= _LEAST_BAD else None


def _explain(rows: Sequence[Row], labels: Sequence[bool]) -> Search:
    bad = [row for row, label in zip(rows, labels, strict=True) if label]
    good = [row for row, label in zip(rows, labels, strict=True) if not label]
    return explain(bad, good, seconds=120)


def _is_found(seed: int) -> bool | None:
    planted = _plant(seed)
    if planted is None:
        return None
    rows, labels, columns = planted
    search = _explain(rows, labels)
    return any({condition.column for condition in each.conditions} == columns for each in search.explanations[:3])


@pytest.mark.parametrize("count", [25, pytest.param(250, marks=pytest.mark.torture)])
def test_planted_conditions_are_among_the_first_three(count: int) -> None:
    results = [result for seed in range(count) if (result := _is_found(seed)) is not None]
    assert len(results) > count / 2
    assert sum(results) >= 0.95 * len(results)


def test_the_text_of_a_condition_selects_the_records_that_it_counts() -> None:
    chance = random.Random(1)
    rows = [
        {
            'a "b"': chance.randint(0, 9), "text": chance.choice(["it's", "x", None]), "price": Decimal(chance.randint(0, 99)) / 10,
            "number": str(chance.randint(0, 9)), "is_new": chance.random() < 0.5, "day": dt.date(2024, 1, chance.randint(1, 28)),
            "at": dt.datetime(2024, 1, 1, chance.randint(0, 23)),  # noqa: DTZ001 - a local time
             "day_text": f"2024-01-{chance.randint(10, 28)}",
        }
        for _ in range(500)
    ]  # fmt: skip
    for label in (
        lambda row: row['a "b"'] > 6, lambda row: row["text"] == "it's", lambda row: row["text"] is None, lambda row: row["price"] < 3,
        lambda row: row["number"] > "5", lambda row: row["is_new"], lambda row: row["day"] >= dt.date(2024, 1, 20),
        lambda row: 3 <= row["at"].hour <= 9, lambda row: row["day_text"] > "2024-01-20",
    ):  # fmt: skip
        labels = [bool(label(row)) for row in rows]
        best = _explain(rows, labels).explanations[0]
        assert (best.precision, best.recall, len(best.conditions)) == (1.0, 1.0, 1), best.text
        connection = duckdb.connect()
        connection.execute(
            'CREATE TABLE t ("a ""b""" BIGINT, text TEXT, price DECIMAL(9,1), number TEXT, is_new BOOLEAN, day DATE, "at" TIMESTAMP,'
            " day_text TEXT, bad BOOLEAN)"
        )
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [[*row.values(), bad] for row, bad in zip(rows, labels, strict=True)]
        )
        check_predicate(connection, best.text)  # a trace takes it
        assert connection.execute(f"SELECT count(*) FILTER (bad), count(*) FILTER (NOT bad) FROM t WHERE {best.text}").fetchall() == [
            (best.bad, best.good)
        ]


def test_the_same_records_give_the_same_explanations() -> None:
    planted = _plant(3)
    assert planted is not None
    rows, labels, _ = planted
    assert _explain(rows, labels).explanations == _explain(rows, labels).explanations


def test_random_labels_have_no_good_explanation() -> None:
    chance = random.Random(5)
    rows = [{"a": chance.random(), "b": chance.choice("xyz")} for _ in range(1_000)]
    search = _explain(rows, [chance.random() < 0.3 for _ in rows])
    assert all(each.precision < 0.5 for each in search.explanations if each.recall > 0.1)


def test_columns_that_cannot_be_compared_are_named() -> None:
    rows = [{"key": f"k{n}", "mixed": n if n % 2 else str(n), "nested": [n], "size": n} for n in range(200)]
    search = explain(rows[:50], rows[50:])
    assert list(search.unused) == ["key", "mixed", "nested"]
    assert search.explanations[0].text == '"size" <= 49'


@pytest.mark.parametrize(("bad", "good"), [([], [{"a": 1}]), ([{"a": 1}], []), ([{}], [{}]), ([{"a": None}], [{"a": None}])])
def test_nothing_to_compare(bad: list[Row], good: list[Row]) -> None:
    assert not explain(bad, good).explanations


def test_a_search_that_its_time_limit_ends_says_so() -> None:
    planted = _plant(3)
    assert planted is not None
    rows = planted[0]
    search = explain([rows[0]], rows[1:], seconds=0)
    assert not search.is_complete
