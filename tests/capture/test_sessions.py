"""Associations that actors record are traced both ways, across actors, by rows, streams and keys. Faults are refused or reported."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headwater.capture import AsyncSession, Session
from headwater.errors import ConfigurationError, InvalidInputError
from tests.capture.captured import places, spooled, taken, traced


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def _filtered(session: Session, folder: Path) -> None:
    """Upper-case all lines but `b`, and count those that begin alike."""
    (folder / "in.txt").write_text("a\nb\nax\nd\n")
    source, target, counts = session.rows(folder / "in.txt"), session.rows(folder / "out.txt"), session.table("counts")
    upper, count = session.register("upper", "mapper"), session.register("count", "reducer")
    lines = [line for line in (folder / "in.txt").read_text().split() if line != "b"]
    for place, row in enumerate((0, 2, 3)):
        upper.capture(source[row], target[place])
    (folder / "out.txt").write_text("".join(f"{line.upper()}\n" for line in lines))
    assert upper.commit() == 3
    for place, line in enumerate(lines):
        count.capture(target[place], counts[line[0]])
    assert count.commit() == 3


def test_records_are_traced_across_actors_both_ways(tmp_path: Path, home: Path):
    with Session("etl", home=home) as session:
        _filtered(session, tmp_path)
    back = traced(home, "counts", [("table:counts/a", 0)])
    assert places(back) == {("in.txt", 0), ("in.txt", 2)}
    assert back.exact
    assert [hop.job for hop in back.path] == ["job:default:etl.count", "job:default:etl.upper"]
    on = traced(home, tmp_path / "in.txt", [(tmp_path / "in.txt", 3)], forward=True)
    assert (places(on), on.exact) == ({("d", 0)}, True)
    assert places(traced(home, tmp_path / "in.txt", [(tmp_path / "in.txt", 1)], forward=True)) == set()
    assert places(traced(home, "counts", [("table:counts/a", 0)], witness=True)) == {("in.txt", 0), ("in.txt", 2)}


def test_outputs_are_of_the_inputs_that_were_added_before_them(home: Path):
    with Session("etl", home=home) as session:
        source, target = session.stream("in"), session.stream("out")
        actor = session.register("window", "window")
        actor.add_output(target[9])  # of nothing
        for place in (1, 2):
            actor.add_input(source[place])
        actor.add_input(source[7], tag="other")
        actor.add_output(target[10])
        actor.add_input(source[3])
        actor.add_output(target[11])
        actor.reset()
        actor.add_input(source[4])
        actor.add_output(target[12])
        actor.add_output(target[20], tag="other")
        actor.commit()
    found = {row: places(traced(home, "out", [("stream:out", row)])) for row in (10, 11, 12, 20)}
    assert found == {
        10: {("stream:in", 1), ("stream:in", 2)},
        11: {("stream:in", 1), ("stream:in", 2), ("stream:in", 3)},
        12: {("stream:in", 4)},
        20: {("stream:in", 7)},
    }
    nothing = traced(home, "out", [("stream:out", 9)])
    assert not nothing.exact
    assert any("no run that is known" in one.reason for one in nothing.incomplete)


def test_a_set_of_tags_stands_for_each_of_them(home: Path):
    with Session("etl", home=home) as session:
        source, target = session.stream("in"), session.stream("out")
        actor = session.register("window", "window")
        actor.add_input(source[1], tag={"a", "b"})
        actor.add_input(source[2], tag=frozenset({"b"}))
        actor.add_input(source[3], tag="c")
        actor.add_input(source[4], tag=set())
        actor.add_output(target[1], tag="a")
        actor.add_output(target[2], tag={"a", "b", "d"})
        actor.add_output(target[3], tag={"b", "c"})
        actor.reset({"a", "c"})
        actor.add_output(target[4], tag={"a", "b", "c"})
        assert actor.commit() == 1 + 2 + 3 + 2
    found = {row: places(traced(home, "out", [("stream:out", row)])) for row in (1, 2, 3, 4)}
    assert found == {
        1: {("stream:in", 1)},
        2: {("stream:in", 1), ("stream:in", 2)},
        3: {("stream:in", 1), ("stream:in", 2), ("stream:in", 3)},
        4: {("stream:in", 1), ("stream:in", 2)},
    }


def test_names_may_have_any_characters(home: Path):
    with Session("an etl/ä:b", home=home) as session:
        outer = session.register("out/er: 1", "pipe")
        actor, other = session.register("m/a:p %", "mapper", [outer]), session.register("../o", "mapper", [outer])
        actor.flow_link(other)
        actor.capture(session.stream("a/b c:d")[1], session.table("t/1:x")["k/ü: %"])
        actor.commit()
    answer = traced(home, "t/1:x", [("table:t%2F1%3Ax/k%2F%C3%BC%3A%20%25", 0)])
    assert (places(answer), answer.exact) == ({("stream:a%2Fb%20c%3Ad", 1)}, True)
    assert {run["state"] for run in _runs(home)} == {"COMPLETE"}


def test_files_may_have_any_names(tmp_path: Path, home: Path):
    names = ["run #1", "run #2", "50%", "50%25", "a%20b", "a b", "a:b", "[x]*?", "q'u\"o\\", "new\nline", "trail ", "k=v", "ä", "a\u0308"]
    for folder in ("in", "out"):
        (tmp_path / folder).mkdir()
    with Session("etl", home=home) as session:
        for name in names:
            (tmp_path / "in" / name).write_text(f"0\n{name.encode().hex()}\n")
            (tmp_path / "out" / name).write_text("some line\n")
            actor = session.register(f"copy {name.encode().hex()}", "mapper")
            actor.capture(session.rows(tmp_path / "in" / name)[1], session.rows(tmp_path / "out" / name)[0])
            actor.commit()
    for name in names:
        answer = traced(home, tmp_path / "out" / name, [(tmp_path / "out" / name, 0)], values=True)
        assert (places(answer), answer.exact) == ({(name, 1)}, True), f"{name!r}: {answer.incomplete}"
        assert [record.values for record in answer.records] == [{"value": name.encode().hex()}]


def test_what_failed_is_taken_back_and_may_be_tried_again(home: Path):
    with Session("etl", home=home) as session:
        source, target = session.stream("in"), session.stream("out")
        actor = session.register("map", "mapper")
        actor.capture(source[1], target[1])
        actor.capture(source[2], target[2])
        actor.add_input(source[1], "t")
        actor.fail(source[1])
        actor.add_output(target[8], "t")
        actor.capture(source[1], target[3])
        assert actor.commit() == 2
    assert places(traced(home, "in", [("stream:in", 1)], forward=True)) == {("stream:out", 3)}


def test_many_commits_to_one_stream_are_one_stream(home: Path):
    for part in range(3):
        with Session("etl", home=home) as session:
            source, target = session.stream("in"), session.stream("out")
            actor = session.register("map", "mapper")
            for _ in range(2):
                place = part * 2 + actor.captures
                actor.capture(source[place * 10], target[place])
                actor.commit()
    answer = traced(home, "out", [("stream:out", place) for place in range(6)])
    assert places(answer) == {("stream:in", place * 10) for place in range(6)}
    assert answer.exact


def test_a_key_that_was_written_twice_is_a_superset_unless_versions_tell(home: Path):
    with Session("etl", home=home) as session:
        source = session.stream("in")
        actor = session.register("upsert", "upsert")
        for place, version in ((1, 0), (2, 0), (3, 1)):
            actor.capture(source[place], session.table("t", version=version)["k"])
            actor.commit()
        reader, out = session.register("report", "reader"), session.stream("out")
        reader.capture(session.table("t")["k"], out[0])
        reader.capture(session.table("t", version=1)["k"], out[1])
        reader.commit()
    twice = traced(home, "out", [("stream:out", 0)])
    assert places(twice) == {("stream:in", 1), ("stream:in", 2)}
    assert [one.effect for one in twice.incomplete if "more than once" in one.reason] == ["superset"]
    assert places(traced(home, "out", [("stream:out", 1)])) == {("stream:in", 3)}


def test_many_files_and_keys_are_found_at_once(tmp_path: Path, home: Path):
    parts, count = tmp_path / "parts", 30
    parts.mkdir()
    with Session("etl", home=home) as session:
        source, keys, out = session.stream("in"), session.table("t"), session.stream("out")
        first, second, reader = (session.register(name, "mapper") for name in ("first", "second", "reader"))
        files = [session.rows(parts / f"{number}.txt", dataset=parts) for number in range(count)]
        for number in range(count):
            first.capture(source[number], keys[f"k{number}"])
            first.capture(source[100 + number], files[number][0])
            (parts / f"{number}.txt").write_text("a\nb\n")
            if number % 3 == 0:
                second.capture(source[200 + number], keys[f"k{number}"])
        first.commit()
        second.commit()
        for number in range(count):
            reader.capture(keys[f"k{number}"], out[0])
            reader.capture_all([files[number][0], files[number][1]], out[1])
            reader.capture(keys[f"k{number}"], out[100 + number])
        reader.commit()
    of_keys, of_files = (traced(home, "out", [("stream:out", place)]) for place in (0, 1))
    twice = range(0, count, 3)
    assert places(of_keys) == {("stream:in", number) for number in [*range(count), *(200 + number for number in twice)]}
    assert sorted(one.what for one in of_keys.incomplete if "more than once" in one.reason) == sorted(f"table:t/k{n}" for n in twice)
    assert {("stream:in", 100 + number) for number in range(count)} <= places(of_files)
    unknown = [(one.what, one.reason) for one in of_files.incomplete if "no run that is known" in one.reason]
    assert unknown == [(f"dataset:file:{parts}", f"{count} of its records were written by no run that is known")]
    once, both = (traced(home, "out", [("stream:out", 100 + number)]) for number in (1, 3))
    assert (places(once), once.exact) == ({("stream:in", 1)}, True)
    assert (places(both), both.exact) == ({("stream:in", 3), ("stream:in", 203)}, False)


def test_a_record_that_no_actor_states_may_come_from_any_input(tmp_path: Path, home: Path):
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("a\nb\n")
    target.write_text("A\nB\n")
    for row in (0, 1):
        with Session(f"job{row}", home=home) as session:
            actor = session.register("upper", "mapper")
            actor.capture(session.rows(source)[row], session.rows(target)[row])
            actor.commit()
        answer = traced(home, source, [(source, 1)], forward=True)
        missing = [one.reason for one in answer.incomplete if one.effect == "missing"]
        assert missing == ([] if row else ["1 of its records were written by no run that is known"])
        assert (len(places(answer)), answer.exact) == (row, bool(row))


def test_more_files_than_a_segment_has_columns_are_one_source(tmp_path: Path, home: Path):
    (tmp_path / "parts").mkdir()
    with Session("etl", home=home) as session:
        actor, out = session.register("sum", "reducer"), session.stream("out")
        for number in range(1_100):
            path = tmp_path / "parts" / f"{number}.txt"
            path.write_text("a\n")
            actor.capture(session.rows(path, dataset=path.parent)[0], out[0])
            actor.capture(session.bytes(path, dataset=path.parent).at(0, 1), out[number])
        actor.commit()
    (manifest,) = spooled(home).manifests
    assert [len(source["files"]) for source in manifest["sources"]] == [1_100, 1_100]
    answer = traced(home, "out", [("stream:out", 1_099), ("stream:out", 0)])
    assert places(answer) == {(f"{number}.txt", 0) for number in range(1_100)}
    assert places(traced(home, "out", [("stream:out", 700)])) == {("700.txt", 0)}


def test_a_file_that_changed_after_it_was_named_is_said(tmp_path: Path, home: Path):
    (tmp_path / "in.txt").write_text("a\n")
    with Session("etl", home=home) as session:
        source = session.rows(tmp_path / "in.txt")
        (tmp_path / "in.txt").write_text("other\n")
        actor = session.register("map", "mapper")
        actor.capture(source[0], session.stream("out")[0])
        actor.commit()
        assert "changed" in actor.problems[0]["reason"]
    answer = traced(home, "out", [("stream:out", 0)])
    assert not answer.exact


def test_a_file_that_was_rewritten_in_place_is_said(tmp_path: Path, home: Path):
    path = tmp_path / "both.txt"
    path.write_text("a\nb\n")
    with Session("etl", home=home) as session:
        data = session.rows(path)
        actor = session.register("turn", "mapper")
        path.write_text("second\nfirst\n")
        for row in (0, 1):
            actor.capture(data[1 - row], data[row])
        actor.commit()
        assert [problem["reason"].split("both.txt ")[1] for problem in actor.problems] == [
            "was read and rewritten: what was read of it is not known"
        ]
    assert spooled(home).manifests[0]["status"] == "partial"
    for forward in (False, True):
        assert not traced(home, path, [(path, 0)], forward=forward).exact


def test_a_file_that_was_written_and_then_read_is_known(tmp_path: Path, home: Path):
    path = tmp_path / "made.txt"
    with Session("etl", home=home) as session:
        source, data, out = session.stream("in"), session.rows(path), session.stream("out")
        actor = session.register("both", "mapper")
        path.write_text("a\n")
        actor.capture(source[5], data[0])
        actor.capture(data[0], out[0])
        actor.commit()
        actor.capture(data[0], out[1])
        actor.commit()
        assert not actor.problems
        path.write_text("another\n")
        actor.capture(data[0], out[2])
        actor.commit()
        assert "rewritten" in actor.problems[0]["reason"]
    answer = traced(home, "out", [("stream:out", 1)])
    assert (places(answer), answer.exact) == ({("stream:in", 5)}, True)
    assert not traced(home, "out", [("stream:out", 2)]).exact


_DIES = """
import os, signal, sys
from headwater.capture import Session
session = Session("etl", home=sys.argv[1])
source, target = session.stream("in"), session.stream("out")
actor = session.register("map", "mapper")
actor.capture(source[0], target[0])
actor.commit()
for place in range(1, 200_000):
    actor.capture(source[place], target[place])
actor.add_input(source[5])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_of_a_client_that_dies_what_it_committed_stays_and_the_rest_is_rolled_back_and_said(home: Path):
    done = subprocess.run([sys.executable, "-c", _DIES, str(home)])
    assert done.returncode == -9
    assert places(traced(home, "out", [("stream:out", 0)])) == {("stream:in", 0)}
    gone = traced(home, "out", [("stream:out", 1)])
    assert not gone.exact
    assert all(record.row is None for record in gone.records)  # by dataset: of its records nothing is known
    states = _runs(home)
    assert {run["state"] for run in states} == {"ABORT"}
    ledger = next(run["headwater_capture"] for run in states if run["job"].endswith(".map"))
    assert ledger["status"] == "partial"
    assert any("rolled back" in problem["reason"] for problem in ledger["problems"])


def test_a_restarted_actor_is_another_run_and_says_what_it_rolled_back(home: Path):
    with Session("etl", home=home) as session:
        source, target = session.stream("in"), session.stream("out")
        actor = session.register("map", "mapper")
        actor.capture(source[0], target[0])
        assert session.register("map", "mapper") is actor
        actor.capture(source[1], target[1])
        actor.commit()
    assert places(traced(home, "in", [("stream:in", 0)], forward=True)) == set()
    assert places(traced(home, "in", [("stream:in", 1)], forward=True)) == {("stream:out", 1)}
    states = [run for run in _runs(home) if run["job"].endswith(".map")]
    assert sorted(run["state"] for run in states) == ["ABORT", "COMPLETE"]
    aborted = next(run for run in states if run["state"] == "ABORT")
    assert "1 association(s) that were not committed are rolled back" in json.dumps(aborted["headwater_capture"])


def _runs(home: Path) -> list[dict[str, Any]]:
    from headwater.backend.home.settings import load_settings
    from headwater.backend.workspace import Workspace
    from headwater.graph.model import NodeKind

    async def ask() -> list[dict[str, Any]]:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            found = []
            jobs = await workspace.graph.search("default", "", kinds=[NodeKind.JOB, NodeKind.PIPELINE], first=100)
            for job in jobs.nodes:
                page = await workspace.graph.children("default", job.id, kinds=[NodeKind.RUN], first=100)
                for run in page.nodes:
                    about = {name.removeprefix("facet:"): value for name, value in run.properties.items()}
                    found.append({**about, "job": job.id})
            return found

    taken(home)
    return asyncio.run(ask())


def test_what_is_wrong_with_a_call_is_said_at_once(tmp_path: Path, home: Path):
    with Session("etl", home=home) as session:
        for place in (-1, 1 << 40):
            with pytest.raises(InvalidInputError, match="no place"):
                session.stream("s")[place]
        with pytest.raises(InvalidInputError, match="no place"):
            session.bytes(tmp_path / "f").at(0, -1)
        with pytest.raises(InvalidInputError, match="length"):
            session.bytes(tmp_path / "f")[3]
        with pytest.raises(InvalidInputError, match="no name"):
            session.register("", "mapper")
        session.register("map", "mapper")
        with pytest.raises(InvalidInputError, match="is a mapper"):
            session.register("map", "reducer")
        with pytest.raises(InvalidInputError, match="name of a type"):
            session.register("x", "a b")
        with pytest.raises(InvalidInputError, match="kind of its own"):
            session.register("x", "stage")
        with pytest.raises(TypeError):
            session.register("map", "mapper").capture("x", 1)  # type: ignore[arg-type]


_NO_COLUMNS: list[Any] = [["a", "b"], ["ab"], "ab", {"a": "int"}, [("a",)], [("a", "int", "b")], [("a", 1)], [("a", "")], 3]


@pytest.mark.parametrize("columns", _NO_COLUMNS, ids=repr)
def test_columns_in_another_form_than_pairs_are_refused_at_once(tmp_path: Path, home: Path, columns: Any):
    with Session("etl", home=home) as session:
        with pytest.raises(InvalidInputError, match=r"is no column.*pairs"):
            session.rows(tmp_path / "a.csv", options={"header": True}, columns=columns)
        session.rows(tmp_path / "a.csv", options={"header": True}, columns=[["a", "int"]])  # type: ignore[list-item]
    assert session.report is not None


def test_a_forked_child_is_told_to_make_its_own_session(home: Path):
    with Session("etl", home=home) as session:
        child = os.fork()
        if not child:
            try:
                session.register("map", "mapper")
            except ConfigurationError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_full_spool_is_said_and_the_program_goes_on(home: Path):
    with Session("etl", home=home, spool_bytes=20_000) as session:
        source, target = session.stream("in"), session.stream("out")
        actor = session.register("map", "mapper")
        for place in range(70_000):
            actor.capture(source[place], target[place])
        actor.commit()
        assert any("no room" in problem["reason"] or "spool is full" in problem["reason"] for problem in actor.problems)


def test_a_commit_of_which_nothing_had_room_is_said(home: Path):
    with Session("etl", home=home, spool_bytes=20_000) as session:
        actor = session.register("map", "mapper")
        source, target = session.stream("in"), session.stream("out")
        for place in range(1 << 16):
            actor.capture(source[place], target[place])
        assert actor.commit() == 0
        assert [problem["reason"] for problem in actor.problems] == ["65536 association(s) had no room (HEADWATER_SPOOL_BYTES)"]


_FORKS = """
import os, sys
from headwater.capture import Session, associations
associations._IN_MEMORY = 1 << 20  # so that the file is on the disk, with its place shared by both processes
session = Session("etl", home=sys.argv[1])
source, target = session.stream("in"), session.stream("out")
actor = session.register("map", "mapper")
for place in range(3 << 16):
    actor.capture(source[place], target[place])
child = os.fork()
for place in range(3 << 16, 6 << 16):
    actor.capture(source[0 if not child else place], target[place])
if not child:
    actor.commit()
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert actor.commit() == 6 << 16
session.close()
"""


def test_a_forked_child_that_goes_on_recording_does_not_reach_what_its_parent_recorded(home: Path):
    subprocess.run([sys.executable, "-W", "ignore", "-c", _FORKS, str(home)], check=True)
    rows = [0, (1 << 16) + 1, (4 << 16) + 3, (6 << 16) - 1]
    assert places(traced(home, "out", [("stream:out", row) for row in rows])) == {("stream:in", row) for row in rows}


def test_a_file_read_with_other_options_is_other_data(tmp_path: Path, home: Path):
    (tmp_path / "in.csv").write_text("name\nann\nbob\n")
    with Session("etl", home=home) as session:
        bare, headed = session.rows(tmp_path / "in.csv"), session.rows(tmp_path / "in.csv", options={"header": True})
        assert session.rows(tmp_path / "in.csv", options={"HEADER": "true"}) is headed
        assert bare is not headed
        actor = session.register("read", "reader")
        actor.capture_all([bare[0], headed[0]], session.stream("out")[0])
        actor.commit()
    (manifest,) = spooled(home).manifests
    assert [[column["name"] for column in source["columns"]] for source in manifest["sources"]] == [["_c0"], ["name"]]


def test_a_number_that_is_no_reference_is_refused_with_what_was_recorded_beside_it(home: Path):
    with Session("etl", home=home) as session:
        actor = session.register("map", "mapper")
        actor.capture(-5, session.stream("out")[0])
        assert actor.commit() == 0
        assert "no reference of this session" in actor.problems[0]["reason"]
    assert {run["state"] for run in _runs(home)} == {"COMPLETE"}


def test_the_same_on_an_event_loop(home: Path):
    async def program() -> None:
        async with AsyncSession("etl", home=home) as session:
            actor = session.sync.register("map", "mapper")
            actor.capture(session.sync.stream("in")[3], session.sync.stream("out")[4])
            assert await session.commit(actor) == 1

    asyncio.run(program())
    assert places(traced(home, "out", [("stream:out", 4)])) == {("stream:in", 3)}


def test_a_program_that_fails_is_a_run_that_failed(home: Path):
    def program() -> None:
        with Session("etl", home=home) as session:
            actor = session.register("map", "mapper")
            actor.capture(session.stream("in")[0], session.stream("out")[0])
            1 / 0  # noqa: B018

    with pytest.raises(ZeroDivisionError):
        program()
    assert {run["state"] for run in _runs(home)} == {"FAIL"}


def test_it_loads_little(root: Path):
    asked = (
        "import sys, headwater.capture; sys.exit(str(sorted("
        "{'openlineage', 'requests', 'pyarrow', 'pydantic', 'numpy', 'duckdb', 'pyspark', 'py4j'} & set(sys.modules)) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", asked], cwd=root, capture_output=True, text=True)
    assert not done.stderr.strip()
