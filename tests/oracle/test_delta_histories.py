"""Tables of Delta with random histories: their rows and the lineage of each row are those of a model in Python.

A round is one statement and a look at every row. HEADWATER_ROUNDS=N has N of them instead of a short run (`make torture`), and
HEADWATER_SEED tells which.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import pyspark
import pytest

from tests.oracle.delta_history import DeltaHistory
from tests.oracle.laboratory import Laboratory, Place
from tests.oracle.table_history import raw
from tests.spark_listener.delta import delta_in

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.lake,
    pytest.mark.timeout(36_000),
    pytest.mark.xdist_group("tables"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # py4j closes its sockets when they are collected
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connector is that of Spark 4.1"),
]
_ROUNDS = int(os.environ.get("HEADWATER_ROUNDS", "4"))
_LONGEST = 10  # rounds of one table
_SEED = 1000 * int(os.environ.get("HEADWATER_SEED", "0"))


class Lake(NamedTuple):
    """A laboratory, and the `id` of each source record by its place."""

    laboratory: Laboratory
    records: dict[Place, int]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with delta_in(tmp_path_factory.mktemp("lake")) as laboratory:
        yield Lake(laboratory, raw(laboratory))


@pytest.mark.parametrize("number", range(-(-_ROUNDS // _LONGEST)))
def test_a_table_of_any_history_has_the_lineage_of_the_model(lake: Lake, number: int) -> None:
    DeltaHistory.play(lake.laboratory, lake.records, _SEED + number, min(_LONGEST, _ROUNDS - _LONGEST * number))
