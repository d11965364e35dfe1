"""How each operator is described: word for word as it was, whichever family says it; and what it states that it does.

`GOLDEN=write` writes the file anew; look at its difference before it is committed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.graph.associations.behaviours import Behaviour, assumed
from headwater.spark_listener.capture import Bridge
from tests.spark_listener.capture.plans import descriptions, prepare

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).parent / "golden" / "operators.json"


def test_operators_are_described_word_for_word(spark: SparkSession, bridge: Bridge, tmp_path: Path) -> None:
    session = spark.newSession()
    bridge.adopt(session)
    prepare(session, tmp_path)
    found = descriptions(session, tmp_path)
    session.catalog.clearCache()
    if os.environ.get("GOLDEN") == "write":
        GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    wanted = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert list(found) == list(wanted)
    for name, description in found.items():
        assert description == wanted[name], name
        assert json.dumps(description) == json.dumps(wanted[name]), f"{name}: in another order"


def test_every_behaviour_is_stated() -> None:
    wanted = json.loads(GOLDEN.read_text(encoding="utf-8"))
    operators = [operator for description in wanted.values() for operator in description["operators"]]
    assert {operator.get("behaviour") for operator in operators} == {*map(str, Behaviour), None}
    for operator in operators:
        behaviour, optional = assumed(operator["op"], operator.get("how"))
        assert (operator.get("behaviour"), tuple(operator.get("optional", ()))) == (behaviour, optional), operator
