"""Hashes of keys: equal for equal keys, the same in every worker. A second hash separates collisions."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
import os
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import pytest

from headwater.spark_listener.rdd_records.keys import KeyHashes, UnstableKeyError, check_hash, equals_itself_alone, stable_hash

KEYS = [
    "a",
    "b",
    1,
    -1,
    -2,
    0,
    2**70,
    None,
    (1, None),
    (1, -1),
    (1, -2),
    ("a", (None, 2.5)),
    2.5,
    b"x",
    dt.date(2026, 1, 1),
    Decimal("1.5"),
]


def test_equal_keys_have_equal_hashes():
    for same in ([1, 1.0, True, Decimal(1)], [-1, -1.0, Decimal(-1)], [(1, -1), (True, -1.0)], [(1,), (1.0,)]):
        assert len(set(map(stable_hash, same))) == 1


def test_different_keys_have_different_hashes():
    assert len(set(map(stable_hash, KEYS))) == len(KEYS)
    assert len(set(map(check_hash, KEYS))) == len(KEYS)


def test_many_keys_hash_as_each_does():
    for keys in (KEYS, ["a", "b", "a"], [1, 2, -1, -2], [True, 1, 1.0], [None, math.nan]):
        assert list(KeyHashes().of(keys)) == list(map(stable_hash, keys))


def test_hashes_are_the_same_in_another_process(root):
    names = "import datetime; from decimal import Decimal; from headwater.spark_listener.rdd_records.keys import stable_hash"
    asked = f"{names}; print([stable_hash(k) for k in {KEYS!r}])"
    env = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(root)}
    runs = [subprocess.run([sys.executable, "-c", asked], env=env, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert runs[0] == runs[1]


def test_a_key_without_a_stable_hash_is_refused():
    class Own:
        pass

    with pytest.raises(UnstableKeyError, match="Own"):
        stable_hash((1, Own()))


def test_named_tuples_and_enumerations_of_the_program_are_keys():
    class Pair(NamedTuple):
        a: int
        b: str

    class Colour(enum.Enum):
        RED = 1
        BLUE = 2

    class Right(enum.Flag):
        READ = 1
        WRITE = 2

    keys = [Pair(1, "x"), Pair(2, "x"), (1, Colour.RED), Colour.RED, Colour.BLUE, Right.READ, Right.READ | Right.WRITE]
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(keys[0])
    assert len(set(map(stable_hash, keys))) == len(keys)
    assert len(set(map(check_hash, keys))) == len(keys)
    assert check_hash(Pair(1, "x")) == check_hash((1, "x"))  # they are one group


class Shouted(str):
    """Text that compares without case, and hashes by its address."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.upper() == other.upper()

    __hash__ = object.__hash__


class Size(enum.IntEnum):
    """A number with a name."""

    SMALL = 1


class Colour(enum.Enum):
    """A name."""

    RED = "red"


def test_a_class_that_hashes_in_its_own_way_is_refused_even_where_it_is_made_of_one_that_does_not():
    with pytest.raises(UnstableKeyError, match="Shouted"):
        stable_hash(Shouted("a"))
    with pytest.raises(UnstableKeyError, match="Shouted"):
        KeyHashes().of_one(("a", Shouted("a")))
    assert stable_hash(Size.SMALL) == stable_hash(1)
    assert stable_hash(Colour.RED) == hash(Colour.RED)
    assert stable_hash(dt.datetime(2026, 1, 1, tzinfo=dt.UTC)) == hash(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))


class Name(str):
    """Text of the program's own class."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True)
class Edge:
    """A key as a frozen data class."""

    ends: frozenset[str | None]
    weight: float = 1.0
    note: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass(frozen=True)
class Odd:
    """One that hashes by what it does not compare."""

    a: int
    b: int = dataclasses.field(default=0, hash=True, compare=False)


def test_keys_that_are_sets_data_classes_or_of_classes_made_of_text_and_numbers():
    keys = [
        frozenset({"a", None}), frozenset({"a"}), frozenset(), Edge(frozenset({"a", "b"})), Edge(frozenset({"a", "b"}), 2.0), Name("a"),
        Fraction(1, 3), 1j, (Name("a"), frozenset({1})),
    ]  # fmt: skip
    assert len(set(map(stable_hash, keys))) == len(keys)
    assert len(set(map(check_hash, keys))) == len(keys)
    for same in (
        [Name("a"), "a"], [Size.SMALL, 1, True, 1.0, Fraction(1), Decimal(1)],
        [Edge(frozenset({"a"}), 1, "x"), Edge(frozenset({"a"}), 1.0)],
        [frozenset({Name("a"), 2}), frozenset({"a", 2.0})],
    ):  # fmt: skip
        assert len(set(same)) == 1
        assert len(set(map(stable_hash, same))) == 1
        assert len(set(map(check_hash, same))) == 1
    with pytest.raises(UnstableKeyError, match="Odd"):
        stable_hash(Odd(1))
    assert all(map(equals_itself_alone, (math.nan, (1, math.nan), frozenset({math.nan}), Edge(frozenset(), math.nan))))
    assert not any(map(equals_itself_alone, keys))


def test_large_keys_are_not_remembered():
    hashes = KeyHashes()
    keys = [b"x" * 1000, "x" * 1000, ("x" * 1000, b"y" * 1000), (2.5, ("x" * 1000,))]
    assert list(hashes.of(keys)) == list(map(stable_hash, keys))
    assert list(hashes._known) == [2.5]
