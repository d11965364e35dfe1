"""Explanations of wrong rows show nothing of masked columns, and are the same whatever a masked column contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.access.masks import Mask
from headwater.backend.questions.masked_answers import SHOWN, MaskedQuestions
from headwater.errors import InvalidQueryError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.explain import ExplainRequest
from headwater.graph.trace.instances import InstanceRequest
from headwater.graph.trace.questions import DirectQuestions
from tests.graph.jobs import TENANT, Job, write_csv

_COLUMNS = {"id": "string", "salary": "string", "city": "string"}
_BAD = range(10, 20)  # rows of Bonn, which are those with a salary above 900 in one of the worlds
_WORLDS = (
    [f"{950 if row in _BAD else 100 + row}" for row in range(40)],
    [f"{100 + row}" for row in range(40)],
    ["" for _ in range(40)],
)


async def _ask(root: Path, salaries: Sequence[str], masks: Sequence[Mask], **options: Any) -> Any:
    store, graph = AssociationStore(root / "associations", sources=ANYWHERE), SqliteStore(str(root / "graph.db"))
    await graph.open()
    try:
        rows = [[f"i{row}", salary, "Bonn" if row in _BAD else "Ulm"] for row, salary in enumerate(salaries)]
        raw = write_csv(root / "raw" / "people.csv", [*_COLUMNS], rows)
        job = Job(store, "copy", 1)
        job.write(job.scan(raw, "csv", _COLUMNS, {"header": "true"}), root / "out", "parquet", [*_COLUMNS], files=1)
        direct = DirectQuestions(graph, store)
        questions = MaskedQuestions(direct, graph, store, masks) if masks else direct
        if "instances" in options:
            return await questions.instances(TENANT, InstanceRequest(dataset=str(root / "out"), **options["instances"]))
        return await questions.explain(TENANT, ExplainRequest(dataset=str(root / "out"), without=["id"], **options))
    finally:
        await graph.close()
        store.close()


def _rows(root: Path) -> dict[str, Any]:
    return {"rows": [(f"file:{root}/out/part-00000.parquet", row) for row in _BAD]}


async def test_whoever_may_see_the_values_gets_conditions_on_them(tmp_path: Path) -> None:
    answer = await _ask(tmp_path, _WORLDS[0], (), **_rows(tmp_path))
    [source] = answer.sources
    assert (source.bad, source.good, source.hidden, answer.exact) == (10, 30, [], True)
    assert {found.text for found in source.explanations} == {"\"city\" = 'Bonn'", 'TRY_CAST("salary" AS DOUBLE) = 950.0'}


@pytest.mark.parametrize("selection", ["rows", "bad"])
async def test_no_condition_is_on_a_masked_column_and_no_answer_depends_on_it(tmp_path: Path, selection: str) -> None:
    answers = []
    for number, salaries in enumerate(_WORLDS):
        root = tmp_path / f"{number}" / "same"
        options = _rows(root) if selection == "rows" else {"bad": "city = 'Bonn'"}
        answer = await _ask(root, salaries, [Mask(columns=("salary",))], **options)
        [source] = answer.sources
        assert source.hidden == ["salary"]
        assert [found.text for found in source.explanations] == ["\"city\" = 'Bonn'"]
        assert SHOWN not in repr([found.text for found in source.explanations])
        answers.append(repr(asdict(answer)).replace(str(tmp_path / f"{number}"), ""))
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("asked", [{"bad": "salary > '900'"}, {"bad": "city = 'Bonn'", "good": "salary < '500'"}])
async def test_a_predicate_on_a_masked_column_is_refused(tmp_path: Path, asked: dict[str, str]) -> None:
    for options in (asked, {"instances": asked}):
        with pytest.raises(InvalidQueryError, match="salary, which is masked") as refused:
            await _ask(tmp_path, _WORLDS[0], [Mask(columns=("salary",))], **options)
        assert refused.value.is_refusal


async def test_rows_may_be_chosen_by_a_column_that_is_shown(tmp_path: Path) -> None:
    found = await _ask(tmp_path, _WORLDS[0], [Mask(columns=("salary",))], instances={"bad": "city = 'Bonn'"})
    assert (found.bad, found.good, found.instances) == (10, 30, 2)


async def test_a_masked_dataset_has_no_condition(tmp_path: Path) -> None:
    answer = await _ask(tmp_path, _WORLDS[0], [Mask(columns=("*",))], **_rows(tmp_path))
    [source] = answer.sources
    assert (source.explanations, source.hidden) == ((), ["city", "id", "salary"])


@pytest.mark.parametrize("asked", [{}, {"bad": "true", "rows": [("file:/a", 1)]}])
async def test_wrong_rows_are_given_in_one_way(tmp_path: Path, asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidQueryError, match="Which rows are wrong is not given"):
        await _ask(tmp_path, _WORLDS[0], (), **asked)
