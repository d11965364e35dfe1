"""A trace uses the stated behaviour of an operator, not its name. Without a stated behaviour, the answer says so."""

import sys
from pathlib import Path
from typing import Any

import pytest

from headwater.graph.records import AssociationStore
from headwater.graph.trace import Semantics
from tests.graph.jobs import Job, Relation
from tests.graph.trace.conftest import records
from tests.graph.trace.small import COLUMNS, RAW, ROWS


def through(store: AssociationStore, raw: Path, target: Path, **operator: Any) -> None:
    """A job that writes the result of an operator called `Quill` over the file. Its rows refer to the file's records."""
    job = Job(store, "through", 1)
    scan = job.scan(raw, "csv", COLUMNS, RAW)
    quill = job._operator("Quill", (scan.operator,), text="Quill", **operator)
    job.write(Relation(quill, scan.columns, scan.rows, scan.refs), target, "parquet", list(COLUMNS), files=1)


def in_parts(store: AssociationStore, raw: Path, target: Path, **operator: Any) -> None:
    """A job whose operator makes each row of any rows of one part of the file: its first three records, or its last."""
    job = Job(store, "parts", 1)
    scan = job.scan(raw, "csv", COLUMNS, RAW)
    quill = job._operator("Quill", (scan.operator,), text="Quill", **operator)
    job._boundary("group", quill, [{"role": "key"}, {"role": "ref", "operator": scan.operator}], quill)
    job._spill(0, [[place // 3, row.refs[scan.operator]] for place, row in enumerate(scan.rows)])
    rows = [type(row)(row.values, {quill: place // 3}) for place, row in enumerate(scan.rows)]
    job.write(Relation(quill, scan.columns, rows, [quill]), target, "parquet", list(COLUMNS), files=1)


@pytest.mark.parametrize("operator", [{"behaviour": "passes"}, {"behaviour": "defines", "defines": []}, {"behaviour": "filter"}])
@pytest.mark.parametrize("semantics", list(Semantics))
async def test_an_operator_of_a_name_that_nobody_knows_is_traced_by_its_behaviour(store, ask, raw, tmp_path, operator, semantics) -> None:
    through(store, raw, tmp_path / "out", **operator)
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 7", semantics=semantics)
    assert records(answer) == {("t.csv", 4)}
    assert answer.exact


@pytest.mark.parametrize("operator", [{}, {"behaviour": "recursion"}])
@pytest.mark.parametrize("forward", [False, True])
async def test_of_an_operator_of_which_nothing_is_known_the_answer_says_that_records_may_be_missing(
    store, ask, raw, tmp_path, operator, forward
) -> None:
    through(store, raw, tmp_path / "out", **operator)
    answer = await ask(dataset=str(raw if forward else tmp_path / "out"), where="v = 7", forward=forward)
    assert len(answer.records) == 1
    assert not answer.exact
    (said,) = answer.incomplete
    assert (said.what, said.effect) == ("Quill", "missing")
    assert "not known to this release" in said.reason
    assert ("'recursion'" in said.reason) is bool(operator)


@pytest.mark.parametrize("semantics", list(Semantics))
async def test_an_opaque_operators_rows_are_all_that_it_may_have_taken(store, ask, raw, tmp_path, semantics) -> None:
    in_parts(store, raw, tmp_path / "out", behaviour="opaque")
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 7", semantics=semantics)
    assert records(answer) == {("t.csv", place) for place in range(3, len(ROWS))}
    assert not answer.exact
    assert {said.effect for said in answer.incomplete} == {"superset"}
    reached = await ask(dataset=str(raw), where="v = 7", forward=True)
    assert {record.row for record in reached.records} == {3, 4, 5}
    assert not reached.exact


@pytest.mark.parametrize("semantics", list(Semantics))
@pytest.mark.parametrize("forward", [False, True])
async def test_a_plan_may_be_deeper_than_pythons_stack(store, ask, raw, tmp_path, semantics, forward) -> None:
    job = Job(store, "deep", 1)
    scan = job.scan(raw, "csv", COLUMNS, RAW)
    top = scan.operator
    for _ in range(sys.getrecursionlimit() + 200):
        top = job._operator("Sort", (top,), text="Sort")
    out = tmp_path / "out"
    job.write(Relation(top, scan.columns, scan.rows, scan.refs), out, "parquet", list(COLUMNS), files=1)
    answer = await ask(dataset=str(raw if forward else out), where="v = 7", forward=forward, semantics=semantics)
    assert len(answer.records) == 1
    assert answer.exact
