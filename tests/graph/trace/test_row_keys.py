"""Rows of tables whose numbers stand for keys: recorded keys are checked, and two keys of one number are never taken for one unsaid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from headwater.graph.records import AssociationStore, block_at
from headwater.graph.storage.row_keys import key_columns, key_of, position_of
from headwater.graph.trace.recorded_row_keys import KeyBook
from headwater.graph.trace.tracer import get_tracer
from tests.graph.jobs import Job, Relation, Row

URI = "postgres://db.example:5432/shop.public.t"
STATED = '[["k", "text"], ["n", "int"]]'
COLUMNS = key_columns(STATED)
WORDS = 2  # of a part: such a key has one part or several
NAMES = ("a", "b", "some rather long name that takes several parts", "ü")
KEYS = [key for place, name in enumerate(NAMES) if (key := key_of(COLUMNS, [name, str(-place)])) is not None]


def words_of(key: bytes) -> list[list[int]]:
    """Part and words of a key, as a task records them."""
    size = 8 * WORDS
    padded = key + bytes(-len(key) % size)
    return [
        [part, *(int.from_bytes(padded[at : at + 8], signed=True) for at in range(part * size, (part + 1) * size, 8))]
        for part in range(len(padded) // size)
    ]


def reading(
    store: AssociationStore, out: Path, recorded: Sequence[tuple[int, bytes]], rows: Sequence[int], *, stated: str = STATED, clock: int = 1
) -> None:
    """A job that reads rows of a table, by their numbers, and writes them one by one; it records keys for numbers."""
    job = Job(store, "reading", clock)
    operator = job._operator("Scan", (), source=0, text="Scan t")
    columns = {"v": (job._attr(), "int")}
    job.operators[operator]["columns"] = [{"attr": 1, "name": "v", "type": "int"}]
    job.sources.append({
        "source": 0, "dataset": {"namespace": "postgres://db.example:5432", "name": "shop.public.t"}, "path": URI, "format": "jdbc",
        "options": {"keys": stated}, "columns": [{"name": "v", "type": "int"}], "partition_columns": [], "splits": [],
        "files": [{"ordinal": 0, "ordinals": 1 << 23, "path": URI, "length": 0, "modified": 0, "partition": {}}],
    })  # fmt: skip
    job._boundary("keys", operator, [{"role": "key"}, {"role": "part"}, *[{"role": "value"}] * WORDS], operator)
    job._spill(0, [[number, *words] for number, key in recorded for words in words_of(key)])
    relation = Relation(operator, columns, [Row({"v": place}, {operator: row}) for place, row in enumerate(rows)], [operator])
    job.write(relation, out, "parquet", ["v"], files=1)


def book(store: AssociationStore, positions: Sequence[int]) -> dict[int, bytes | None]:
    with get_tracer(store).session("default") as session:
        return KeyBook(session, block_at(URI, 0, 0), COLUMNS).find_keys(positions)


async def test_keys_of_any_length_are_known_by_their_numbers(store, ask, tmp_path) -> None:
    positions = [position_of(key) for key in KEYS]
    twice = [*zip(positions, KEYS, strict=True), (positions[0], KEYS[0])]
    reading(store, tmp_path / "out", twice, positions)
    assert book(store, [*positions, 5]) == dict(zip(positions, KEYS, strict=True))
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 2")
    assert answer.exact
    assert [record.row for record in answer.records] == [positions[2]]


@pytest.mark.parametrize("few", [True, False])
async def test_two_keys_of_one_number_make_the_answer_a_superset(store, ask, tmp_path, monkeypatch, few: bool) -> None:
    if not few:
        monkeypatch.setattr(
            "headwater.graph.trace.recorded_row_keys._FEW", 0
        )  # as of a trace of many rows, for which the whole table is gone through
    positions = [position_of(key) for key in KEYS]
    reading(store, tmp_path / "out", [*zip(positions, KEYS, strict=True), (positions[0], KEYS[1])], positions)
    assert book(store, positions) == {**dict(zip(positions, KEYS, strict=True)), positions[0]: None}
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 0")
    assert not answer.exact
    assert any("two keys" in entry.reason for entry in answer.incomplete)
    assert (await ask(dataset=str(tmp_path / "out"), where="v = 1")).exact is few


async def test_a_key_that_does_not_give_its_number_is_none(store, tmp_path) -> None:
    positions = [position_of(key) for key in KEYS]
    reading(store, tmp_path / "out", list(zip(positions, [KEYS[1], KEYS[2][:20], bytes(40), KEYS[3]], strict=True)), positions)
    assert book(store, positions) == {positions[3]: KEYS[3]}


async def test_runs_that_know_rows_by_other_keys_are_said(store, ask, tmp_path) -> None:
    positions = [position_of(key) for key in KEYS]
    reading(store, tmp_path / "one", list(zip(positions, KEYS, strict=True)), positions)
    reading(store, tmp_path / "two", [], positions, stated='[["n", "int"], ["k", "text"]]', clock=2)
    answer = await ask(dataset=URI, rows=[(URI, positions[0])], forward=True)
    assert not answer.exact
    assert {Path(str(record.file)).parent.name for record in answer.records} <= {"one", "two"}
