"""How a name that a person types is found, in a lake of many names."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.cli.answers import Answers
from headwater.errors import InvalidQueryError
from headwater.graph.model import GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.stores.sqlite import SqliteStore

DATASET = NodeKind.DATASET


def dataset(name: str) -> Node:
    return Node(node_id(DATASET, "s3", name), DATASET, name)


async def test_a_name_is_found_behind_thousands_that_hold_it(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "graph.db"))
    await store.open()
    many = [dataset(f"a/report_{number:04}") for number in range(1_500)]
    await store.apply(
        "t", [GraphBatch(Stamp("2026-01-01T00:00:00Z", "k"), [*many, dataset("z/report"), dataset("report_0"), dataset("b/x/y")])]
    )
    others: dict[str, Any] = {field.name: None for field in dataclasses.fields(Answers)}
    answers = Answers(**{**others, "graph": store, "tenant": "t"})
    try:
        assert (await answers.find("report_0", DATASET)).name == "report_0", "the very name, though 1,000 hold it"
        assert (await answers.find("report", DATASET)).name == "z/report"
        assert (await answers.find("x/y", DATASET)).name == "b/x/y"
        await store.apply("t", [GraphBatch(Stamp("2026-01-01T00:00:00Z", "l"), [dataset(f"c{number}/report") for number in range(9)])])
        with pytest.raises(InvalidQueryError, match=r"names several things: dataset:s3:c0/report, .* and more"):
            await answers.find("report", DATASET)
    finally:
        await store.close()
