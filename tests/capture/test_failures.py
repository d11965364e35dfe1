"""Inputs that failed in an actor: their records, places and reasons, in traces both ways. They are bounded and masked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.capture import Session, failures
from headwater.spark_listener.redact import redact
from tests.capture.captured import places, spooled, traced

TABLE = "etl.map (failed inputs)"


def test_a_trace_of_a_failed_input_says_where_and_why(tmp_path: Path) -> None:
    with Session("etl", home=tmp_path) as session:
        source, target = session.stream("in"), session.stream("out")
        actor = session.register("map", "mapper")
        for place in range(3):
            actor.capture(source[place], target[place])
        actor.fail(source[1], ValueError("no number: 'x/y'"))
        assert actor.commit() == 2
    failed = traced(tmp_path, "in", [("stream:in", 1)], forward=True)
    assert failed.notes == ["Failed in actor etl.map: ValueError: no number: 'x/y'"]
    assert [record.dataset for record in failed.records] == ["dataset:table:etl.map%20%28failed%20inputs%29"]
    assert failed.exact
    well = traced(tmp_path, "in", [("stream:in", 2)], forward=True)
    assert (places(well), well.notes) == ({("stream:out", 2)}, [])
    (reached,) = failed.records
    assert reached.file is not None
    back = traced(tmp_path, TABLE, [(reached.file, 0)])
    assert places(back) == {("stream:in", 1)}


@pytest.mark.parametrize("how", ["close", "error", "restart"])
def test_a_failure_is_kept_where_nothing_is_committed(tmp_path: Path, how: str) -> None:
    def run() -> None:
        with Session("etl", home=tmp_path) as session:
            actor = session.register("map", "mapper")
            actor.capture(session.stream("in")[1], session.stream("out")[1])
            actor.fail(session.stream("in")[1], "broken")
            if how == "restart":
                actor.restart()
            if how == "error":
                raise RuntimeError

    if how == "error":
        with pytest.raises(RuntimeError):
            run()
    else:
        run()
    answer = traced(tmp_path, "in", [("stream:in", 1)], forward=True)
    assert answer.notes == ["Failed in actor etl.map: broken"]
    assert [record.dataset for record in answer.records] == ["dataset:table:etl.map%20%28failed%20inputs%29"]


def test_an_input_that_succeeds_in_the_end_did_not_fail(tmp_path: Path) -> None:
    with Session("etl", home=tmp_path) as session:
        source, target = session.stream("in"), session.stream("out")
        actor = session.register("map", "mapper")
        actor.fail(source[1], "first")
        actor.capture(source[1], target[1])
        actor.commit()
    answer = traced(tmp_path, "in", [("stream:in", 1)], forward=True)
    assert (places(answer), answer.notes) == ({("stream:out", 1)}, [])


def test_a_secret_is_masked_and_a_reason_has_an_end(tmp_path: Path) -> None:
    with Session("etl", home=tmp_path) as session:
        actor = session.register("map", "mapper")
        actor.fail(session.stream("in")[1], "postgresql://app:hunter2@db/shop refused " + "x" * 1_000)
        actor.fail(session.stream("in")[2])
        text = str(spooled(tmp_path))
    assert "hunter2" not in text
    (note,) = traced(tmp_path, "in", [("stream:in", 1)], forward=True).notes
    assert len(note) < 400
    assert "hunter2" not in note
    assert traced(tmp_path, "in", [("stream:in", 2)], forward=True).notes == ["Failed in actor etl.map: no reason was given"]


class _OddError(ValueError):
    def __str__(self) -> str:
        raise RuntimeError(self.args)


class _Odd:
    __str__ = _OddError.__str__
    args = ()


class _Proxy:
    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError


@pytest.mark.parametrize(
    ("make_reason", "kept"),
    [
        (lambda: _OddError("x"), "_OddError:"),
        (_Proxy, "a _Proxy without a text"),
        (_Odd, "a _Odd without a text"),
        (lambda: "half \ud800", "half ?"),
        (KeyError, "KeyError:"),
    ],
)
def test_a_reason_of_any_kind_harms_neither_the_program_nor_other_reasons(
    tmp_path: Path, make_reason: Callable[[], object], kept: str
) -> None:
    with Session("etl", home=tmp_path) as session:
        actor = session.register("map", "mapper")
        actor.fail(session.stream("in")[1], make_reason())
        actor.fail(session.stream("in")[2], "plain")
    assert traced(tmp_path, "in", [("stream:in", 1)], forward=True).notes == [f"Failed in actor etl.map: {kept}"]
    assert traced(tmp_path, "in", [("stream:in", 2)], forward=True).notes == ["Failed in actor etl.map: plain"]


@pytest.mark.parametrize("before", [0, 150, 1_980])
def test_secrets_are_looked_for_once_in_the_beginning_of_a_long_reason(monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    searched: list[int] = []

    def counted(text: str) -> str:
        searched.append(len(text))
        return redact(text)

    monkeypatch.setattr(failures, "redact", counted)
    noted = failures.Failures()
    text = "y" * before + " postgresql://app:hunter2@db/shop " + "x " * 500_000
    for place in range(50):
        noted.add(place, text)
    assert len(searched) == 1
    assert searched[0] <= 2_000
    (kept,) = {reason.text for reason in noted._reasons.values()}
    assert "hunter2" not in kept
    assert 0 < len(kept) <= 300


def test_the_failures_of_a_commit_are_bounded_and_said(tmp_path: Path) -> None:
    with Session("etl", home=tmp_path) as session:
        source = session.stream("in")
        actor = session.register("map", "mapper")
        for place in range(10_050):
            actor.fail(source[place], f"reason {place}")
        actor.commit()
        assert [problem["reason"] for problem in actor.problems] == ["50 more input(s) failed; they are not listed"]
    assert traced(tmp_path, "in", [("stream:in", 7)], forward=True).notes == ["Failed in actor etl.map: reason 7"]
    assert traced(tmp_path, "in", [("stream:in", 5_000)], forward=True).notes == ["Failed in actor etl.map: another reason"]
