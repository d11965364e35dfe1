"""The parts of the truth checks that need no Spark."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from pathlib import Path
from threading import Barrier

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import results
from bench.results import write
from bench.spark.counts import counts
from bench.truth import run, torture
from bench.truth.check import Finding
from bench.truth.plans import Executed, differences
from bench.truth.run import summary, together
from bench.truth.torture import Done, Piece
from bench.truth.values import comparable, written


def test_doubles_are_compared_to_ten_digits_and_decimals_by_value():
    assert comparable([0.1 + 0.2, -0.0, float("nan"), None]) == comparable([0.3, 0.0, float("nan"), None])
    assert comparable([1.000000001]) != comparable([1.000000002])
    assert comparable([Decimal("1.50"), date(2020, 1, 1)]) == comparable([Decimal("1.5"), date(2020, 1, 1)])


def test_rows_are_named_by_file_and_place(tmp_path):
    for number, values in enumerate(([1, 2], [3])):
        pq.write_table(pa.table({"a": values}), tmp_path / f"part-{number}.parquet")
    assert [(Path(row.file).name, row.row, row.values) for row in written(tmp_path)] == [
        ("part-0.parquet", 0, (1,)), ("part-0.parquet", 1, (2,)), ("part-1.parquet", 0, (3,)),
    ]  # fmt: skip


def _executed(*operators, read=10):
    return Executed(Counter(operators), Counter(["PushedFilters: [IsNotNull(a)]"]), Counter([("Scan parquet", read)]))


def test_plans_that_differ_say_in_what():
    assert differences(_executed("SortMergeJoin"), _executed("SortMergeJoin")) == []
    assert differences(_executed("SortMergeJoin"), _executed("BroadcastHashJoin", read=20)) == [
        "operator only without capture: SortMergeJoin ×1",
        "operator only with capture: BroadcastHashJoin ×1",
        "read only without capture: ('Scan parquet', 10) ×1",
        "read only with capture: ('Scan parquet', 20) ×1",
    ]


@pytest.mark.parametrize("doubt", [{"wrong": ["x"]}, {"inexact": ["superset"]}, {"status": "refused"}])
def test_only_what_is_captured_right_and_said_to_be_exact_counts_as_exact(doubt):
    sound = Finding("q1", status="complete", rows=3, traced=2)
    doubtful = Finding("q2", **({"status": "complete"} | doubt))
    assert (sound.exact, doubtful.exact) == (True, False)
    assert summary([sound, doubtful])["exact"] == 1


def test_an_association_with_two_references_counts_as_one_association():
    manifest = {
        "boundaries": [
            {"boundary": 0, "columns": [{"role": "ref"}, {"role": "ref"}]},
            {"boundary": 1, "columns": [{"role": "key"}, {"role": "ref"}]},
        ],
        "segments": [{"boundary": 0, "rows": 3, "bytes": 50}, {"boundary": 1, "rows": 10, "bytes": 20}],
        "sources": [{"files": [{"path": "a", "length": 100}]}, {"files": [{"path": "a", "length": 100}, {"path": "b", "length": 50}]}],
    }
    assert counts(manifest) == {"associations": 13.0, "references": 16.0, "spooled_bytes": 70.0, "input_bytes": 150.0}


def test_parts_of_a_commit_are_put_together(tmp_path: Path) -> None:
    head = {"suite": "truth-madeup-lazy", "commit": "abc", "scale": 0.01}
    first = [Finding("q2", "complete"), Finding("q10", "complete", wrong=["once"])]
    write(head | {"queries": [asdict(one) for one in first]}, tmp_path)
    both = together([Finding("q1", "complete"), Finding("q10", "complete")], head, tmp_path)
    assert [(one.query, one.wrong) for one in both] == [("q1", []), ("q2", []), ("q10", [])]
    assert [one.query for one in together([Finding("q1")], head | {"commit": "abd"}, tmp_path)] == ["q1"]


def test_of_a_run_that_is_stopped_the_queries_that_it_was_through_with_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def until_stopped(*_: object, **__: object) -> Iterator[Finding]:
        yield Finding("q1", "complete", rows=3)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "findings", until_stopped)
    with pytest.raises(KeyboardInterrupt):
        run.main(["tpcds", "--scale", "1", "--mode", "lazy", "--cases", "q1,q2", "--results", str(tmp_path)])
    kept = json.loads((tmp_path / "truth-tpcds-lazy-1.json").read_text())
    assert (kept["scale"], kept["summary"]["queries"], kept["queries"][0]["rows"]) == (1.0, 1, 3)


@pytest.mark.parametrize(
    ("version", "tables", "name"),
    [
        ("4.1.4", "parquet", "truth-tpch-auto-0.01"),
        ("4.1.4", "orc", "truth-tpch-orc-auto-0.01"),
        ("4.0.5", "parquet", "truth-tpch-spark-4.0-auto-0.01"),
        ("4.0.5", "orc", "truth-tpch-orc-spark-4.0-auto-0.01"),
    ],
)
def test_a_result_is_named_after_tables_and_spark_that_are_not_the_usual(
    version: str, tables: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.truth.run.pyspark.__version__", version)
    monkeypatch.setattr(run, "findings", lambda *_, **__: iter([]))
    assert run.main(["tpch", "--mode", "auto", "--tables", tables, "--results", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.json"]


def _piece(seed: int, plans: int, *, passed: bool = True) -> Done:
    return Done("abc", "lazy", seed, plans, 500.0, passed)


def test_as_many_pieces_as_asked_for_are_run_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(torture, "FOLDER", tmp_path)
    together = Barrier(2, timeout=60)  # broken, it raises: of one after the other neither would pass

    def run(piece: Piece, commit: str) -> Done:
        together.wait()
        return Done(commit, piece.mode, piece.seed, piece.plans, 10.0, passed=piece.mode == "auto")

    monkeypatch.setattr(torture, "_run", run)
    assert torture.main(["--plans", "20", "--modes", "auto,lazy", "--jobs", "2"]) == 1
    kept = [json.loads(line) for line in (tmp_path / "done.jsonl").read_text().splitlines()]
    assert {(entry["mode"], entry["passed"]) for entry in kept} == {("auto", True), ("lazy", False)}


def test_a_piece_of_another_spark_runs_with_its_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torture, "FOLDER", tmp_path)
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr("bench.truth.torture.subprocess.run", run)
    assert torture._run(Piece("spark-4.0", 1, 25), "abc").passed
    assert torture._run(Piece("auto", 1, 25), "abc").passed
    assert commands[0][1:5] == ["-m", "tests.other_sparks", "4.0", "-m"]
    assert commands[1][1:3] == ["-m", "pytest"]


@pytest.mark.parametrize("mode", ["delta", "iceberg"])
def test_a_piece_of_histories_is_as_long_as_it_says(mode: str) -> None:
    piece = Piece(mode, 1, 25)
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *torture.tests(piece)]
    done = subprocess.run(
        command, env=os.environ | torture.settings(piece), cwd=results.ROOT, capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.count("::test_a_table_of_any_history") == 3, "ten rounds, ten and five"


@pytest.mark.parametrize(
    ("mode", "found"),
    [("rdd", ["drawn_program"]), ("tagged", ["records_say_themselves"]), ("faults", ["after_a_fault"] * 4 + ["overtaken"])],
)
def test_a_piece_of_rdd_programs_has_the_tests_that_draw_them(mode: str, found: list[str]) -> None:
    piece = Piece(mode, 1, 25)
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *torture.tests(piece)]
    done = subprocess.run(
        command, env=os.environ | torture.settings(piece), cwd=results.ROOT, capture_output=True, text=True, check=True, timeout=300
    )
    tests = [line for line in done.stdout.splitlines() if "::test_" in line]
    assert len(tests) == len(found)
    assert all(name in test for name, test in zip(found, tests, strict=True))


def test_pieces_that_are_done_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(torture, "FOLDER", tmp_path)
    commit = str(results.head("torture")["commit"])
    done = [Done(commit, mode, seed, plans, 500.0, passed=True) for seed, plans in ((3, 250), (4, 50)) for mode in ("auto", "lazy")]
    (tmp_path / "done.jsonl").write_text("".join(json.dumps(asdict(entry)) + "\n" for entry in done))
    assert torture.main(["--plans", "300", "--modes", "auto,lazy", "--seed", "3"]) == 0
    written = json.loads((tmp_path / "results" / "torture.json").read_text())
    assert written["programs"] == {"auto": 300, "lazy": 300}
    assert written["seconds_a_program"] == {"auto": 3.33, "lazy": 3.33}


def test_a_piece_that_failed_is_run_again_and_a_seed_counts_once():
    asked = [Piece("lazy", 1, 60), Piece("lazy", 2, 250), Piece("auto", 1, 60)]
    done = [_piece(1, 60), _piece(1, 250), _piece(2, 60), _piece(2, 250, passed=False)]
    assert torture.left(asked, done) == asked[1:]
    assert torture.summary(done)["programs"] == {"lazy": 310}
    assert torture.summary(done)["failed"] == [{"mode": "lazy", "seed": 2, "plans": 250}]
    mended = [*done, _piece(2, 250)]
    assert torture.left(asked, mended) == asked[2:]
    assert torture.summary(mended)["programs"] == {"lazy": 500}
    assert torture.summary(mended)["failed"] == []
