"""The instance behind wrong rows, in Newt's dataflow: three joins of 14 tasks each, and one task of 42 makes spurious rows."""

import random
from pathlib import Path

import pytest

from headwater.errors import InvalidQueryError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace.instances import InstanceRequest
from headwater.graph.trace.instances.engine import find_faulty_instances
from tests.graph.jobs import TENANT, Job, Relation, Row, write_csv

TASKS = 14
ROWS = 2_800
SIDES = ("person", "product", "shop")
COLUMNS = {"person": "int", "product": "int", "shop": "int", "amount": "int"}
CSV = {"header": "true"}


class Flow:
    """The dataflow in a folder. `faulty` is (join, task), whose rows are spurious with some chance: their amount is below zero."""

    def __init__(self, root: Path, seed: int, *, faulty: tuple[int, int] | None, spurious: int) -> None:
        self.store = AssociationStore(root / "associations", sources=ANYWHERE)
        self._draw = random.Random(seed)
        self._root = root
        rows = [[self._draw.randrange(200) for _ in SIDES] + [self._draw.randrange(1, 100)] for _ in range(ROWS)]
        source = write_csv(root / "orders" / "orders.csv", list(COLUMNS), rows)
        self.tasks: dict[tuple[int, int], str] = {}
        for join, side in enumerate(SIDES):
            source = self._join(join, side, source.parent if source.is_file() else source, faulty, spurious)
        self.result = source

    def _join(self, number: int, side: str, source: Path, faulty: tuple[int, int] | None, spurious: int) -> Path:
        job = Job(self.store, f"join_{side}", number)
        names = write_csv(self._root / side / "names.csv", [f"{side}_id", f"{side}_name"], [[key, f"{side} {key}"] for key in range(200)])
        left = job.scan(source, "csv", COLUMNS, CSV)
        right = job.scan(names.parent, "csv", {f"{side}_id": "int", f"{side}_name": "string"}, CSV)
        joined = job.join(left, right, [(side, f"{side}_id")])
        joined.rows.sort(key=lambda row: (row.values[side], row.values["amount"]))  # a task has a range of the key of its join
        if faulty is not None and faulty[0] == number:
            self._spoil(joined, faulty[1], spurious)
        target = self._root / f"joined_{side}"
        manifest = job.write(joined, target, "csv", list(COLUMNS), files=TASKS)
        for task, segment in enumerate(manifest.segments):
            self.tasks[number, task] = f"task:{job.capture}:{segment.attempt}"
        return target

    def _spoil(self, joined: Relation, task: int, spurious: int) -> None:
        size = -(-len(joined.rows) // TASKS)
        of_task: list[Row] = joined.rows[task * size : (task + 1) * size]
        for row in self._draw.sample(of_task, spurious):
            row.values["amount"] = -row.values["amount"]

    async def ask(self, bad: str = "amount < 0", **more):
        return await find_faulty_instances(None, self.store, TENANT, InstanceRequest(dataset=str(self.result), bad=bad, **more))


@pytest.mark.parametrize("seed", range(3))
async def test_the_faulty_instance_of_42_comes_first_from_50_spurious_outputs_on(tmp_path, seed) -> None:
    faulty = (seed % 3, 5 + seed)
    flow = Flow(tmp_path, seed, faulty=faulty, spurious=50)
    answer = await flow.ask()
    assert (answer.bad, answer.good, answer.exact) == (50, ROWS - 50, True)
    assert answer.instances == 42 + 1 + 3  # and the files of the sources
    first, *others = answer.suspects
    assert first.instance.node == flow.tasks[faulty]
    assert (first.bad, first.rows) == (50, ROWS // TASKS)
    assert first.chance < 1e-40
    assert len(others) <= 1
    flow.store.close()


@pytest.mark.torture
@pytest.mark.timeout(3600)
async def test_the_faulty_instance_of_sixty_random_dataflows_comes_first(tmp_path) -> None:
    """Print the rank of the faulty task, and the others that are suspect."""
    first, others, healthy, asked = 0, [], 0, 0
    for seed in range(60):
        draw = random.Random(1_000 + seed)
        faulty = (draw.randrange(3), draw.randrange(TASKS))
        flow = Flow(tmp_path / f"{seed}", seed, faulty=faulty, spurious=50)
        answer = await flow.ask()
        first += answer.suspects[0].instance.node == flow.tasks[faulty]
        others.append(len(answer.suspects) - 1)
        for number in range(5):
            asked += 1
            healthy += bool((await flow.ask(f"hash(person, product, shop, abs(amount), {seed}, {number}) % 46 = 0")).suspects)
        flow.store.close()
    print(f"first in {first} of 60; others suspect: {sum(others)}, at most {max(others)}; healthy with a suspect: {healthy} of {asked}")  # noqa: T201  # the measured values
    assert first == 60
    assert max(others) <= 1
    assert healthy <= asked / 50


async def test_an_instance_of_few_spurious_outputs_is_found_too(tmp_path) -> None:
    flow = Flow(tmp_path, 7, faulty=(1, 3), spurious=6)
    answer = await flow.ask()
    assert [suspect.instance.node for suspect in answer.suspects] == [flow.tasks[1, 3]]
    flow.store.close()


async def test_rows_that_are_wrong_by_chance_make_no_instance_suspect(tmp_path) -> None:
    flow = Flow(tmp_path, 8, faulty=None, spurious=0)
    suspects = [await flow.ask(f"hash(person, product, shop, amount, {number}) % 40 = 0") for number in range(12)]
    assert not any(answer.suspects for answer in suspects)
    flow.store.close()


async def test_right_rows_can_be_chosen_and_a_sample_suffices(tmp_path) -> None:
    flow = Flow(tmp_path, 9, faulty=(2, 1), spurious=60)
    answer = await flow.ask(good="amount > 50")
    assert answer.suspects[0].instance.node == flow.tasks[2, 1]
    assert answer.good < ROWS - 60
    assert await flow.ask("amount < 0 -- wrong", good="amount > 50 -- right") == answer
    answer = await flow.ask(limit=400)
    assert (answer.bad, answer.good) == (60, 340)
    assert answer.suspects[0].instance.node == flow.tasks[2, 1]
    assert not answer.exact
    assert "a sample of 340 of 2,740 rows" in answer.incomplete[0].reason
    flow.store.close()


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({"bad": "amount > 9000"}, "is wrong"),
        ({"bad": "true"}, "is right"),
        ({"bad": "amount < 0", "good": "amount < -500"}, "is right"),
    ],
)
async def test_without_wrong_or_right_rows_there_is_nothing_to_compare(tmp_path, request_, text) -> None:
    flow = Flow(tmp_path, 10, faulty=(2, 1), spurious=20)
    with pytest.raises(InvalidQueryError, match=text):
        await flow.ask(**request_)
    flow.store.close()
