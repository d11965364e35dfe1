"""Two real programs, and each kind of replay of what they made, compared with the values that the edited inputs must give."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.spark_listener.spark import environment, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

CLEAN = """
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("Clean").getOrCreate()
    raw = spark.read.option("header", "true").schema("id int, k int, v int, day date").csv("raw")
    raw.filter("v > 2").repartition(2, "k").write.mode("overwrite").parquet("out/clean")
    spark.stop()
"""
REPORT = """
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.appName("Report").getOrCreate()
    names = spark.read.option("header", "true").option("inferSchema", "true").csv("names")
    sums = spark.read.parquet("out/clean").groupBy("k").agg(F.sum("v").alias("total"), F.max("day").alias("last"))
    sums.join(names, "k").coalesce(1).write.mode("overwrite").parquet("out/report")
    spark.stop()
"""
RAW = [(i, i % 4, i % 7, f"2024-01-{i:02}") for i in range(1, 29)]
NAMES = {0: "zero", 1: "one", 2: "two", 3: "three"}


def _report(raw: list[tuple[int, int, int, str]], names: dict[int, str]) -> list[dict[str, Any]]:
    rows = {k: [(v, day) for _, key, v, day in raw if key == k and v > 2] for k in names}
    found = ({"k": k, "total": sum(v for v, _ in of), "last": max(day for _, day in of), "name": names[k]} for k, of in rows.items() if of)
    return sorted(found, key=lambda row: row["k"])


class Pipeline:
    """A folder with a home in which both programs have run."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.home, self._environment = folder, folder / "home", environment(root)
        self.names_written = folder.stat().st_mtime_ns
        (folder / "raw").mkdir()
        (folder / "names").mkdir()
        for part, rows in (("a", RAW[:14]), ("b", RAW[14:])):
            lines = [",".join(map(str, row)) for row in rows]
            (folder / "raw" / f"{part}.csv").write_text("\n".join(["id,k,v,day", *lines, ""]))
        self.write_names(NAMES)
        for name, text in (("clean.py", CLEAN), ("report.py", REPORT)):
            program = script(folder, name, text)
            done = run(["-m", "headwater", "run", "--home", str(self.home), program.name], folder, self._environment)
            assert done.returncode == 0, done.stderr

    def write_names(self, names: dict[int, str]) -> None:
        lines = [f"{k},{name}" for k, name in names.items()]
        file = self.folder / "names" / "names.csv"
        file.write_text("\n".join(["k,name", *lines, ""]))
        if names == NAMES:  # the data that the programs read
            os.utime(file, ns=(self.names_written, self.names_written))

    def files(self) -> dict[str, int]:
        below = [path for path in self.folder.rglob("*") if path.is_file() and self.home not in path.parents]
        return {str(path): path.stat().st_mtime_ns for path in below}

    @staticmethod
    def rows(report: Path) -> list[dict[str, Any]]:
        found = duckdb.sql(f"SELECT k, total, CAST(last AS VARCHAR), name FROM read_parquet('{report}/*.parquet') ORDER BY k").fetchall()
        return [dict(zip(("k", "total", "last", "name"), row, strict=True)) for row in found]

    def headwater(self, *arguments: str) -> None:
        done = run(["-m", "headwater", *arguments, "--home", str(self.home)], self.folder, self._environment)
        assert done.returncode == 0, done.stderr

    def replay(self, *arguments: str, code: int = 0, answers: str | None = None) -> dict[str, Any]:
        """Run a replay, which must not touch real data. If it must fail, the result is its message. `answers` are lines for its stops."""
        before = self.files()
        command = ["-m", "headwater", "replay", *arguments, "--format", "json", "--home", str(self.home)]
        done = run(command, self.folder, self._environment, answers)
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        assert self.files() == before
        return {"message": done.stderr} if code else {"message": done.stderr, **json.loads(done.stdout)}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Pipeline:
    return Pipeline(tmp_path_factory.mktemp("pipeline"), root)


def _changes(found: dict[str, Any], output: str = "out/report") -> list[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    changes = [(each["before"], each["after"]) for each in found["differences"] if each["dataset"].endswith(output)]
    return sorted(changes, key=lambda pair: (pair[0] or pair[1] or {})["k"])


def _expected(raw: list[tuple[int, int, int, str]], names: dict[int, str]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(old, new) for old, new in zip(_report(RAW, NAMES), _report(raw, names), strict=True) if old != new]


def _starts_at(pipeline: Pipeline, output: str) -> str:
    return f"The replay starts at dataset:file:{pipeline.folder}/{output}: its data is the data that the run read."


def _scripts(found: dict[str, Any]) -> list[str]:
    return [Path(step.get("script") or step["invocation"]["script"]).name for step in found["steps"]]


def test_a_selective_replay_makes_chosen_rows_again_from_their_records_alone(pipeline: Pipeline) -> None:
    found = pipeline.replay("out/report", "--kind", "selective", "--where", "k = 3")
    assert (found["state"], found["differing"], found["notes"]) == ("complete", 0, [_starts_at(pipeline, "out/clean")])
    assert _scripts(found) == ["report.py"]
    kept = sum(len(rows) for rows in found["keep"].values())
    assert kept == sum(k == 3 and v > 2 for _, k, v, _ in RAW) + 1  # and the name
    again = pipeline.rows(Path(f"{found['shadow']}{pipeline.folder}/out/report"))
    assert again == [row for row in _report(RAW, NAMES) if row["k"] == 3]


def test_edited_records_change_the_rows_that_a_run_on_edited_files_would_change(pipeline: Pipeline) -> None:
    asked = ("out/report", "--edit", "raw", "--where", "id in (3, 14, 20)", "--set", "v = 40", "--set", "day = '2025-02-03'")
    found = pipeline.replay(*asked)
    edited = [(i, k, 40, "2025-02-03") if i in (3, 14, 20) else (i, k, v, day) for i, k, v, day in RAW]
    assert found["kind"] == "what-if"
    assert _changes(found) == _expected(edited, NAMES)
    before = pipeline.files()
    pipeline.headwater("replay", "commit", found["id"])
    assert pipeline.rows(pipeline.folder / "out" / "report") == _report(edited, NAMES)
    pipeline.headwater("replay", "undo", found["id"])
    assert pipeline.files() == before


@pytest.mark.slow
def test_the_first_record_of_a_file_is_left_out_and_not_its_header(pipeline: Pipeline) -> None:
    found = pipeline.replay("out/report", "--without", "names", "--where", "k = 0")
    assert _changes(found) == [(_report(RAW, NAMES)[0], None)]


@pytest.mark.slow
def test_an_edit_that_is_no_value_of_its_column_ends_the_replay(pipeline: Pipeline) -> None:
    said = pipeline.replay("out/report", "--edit", "raw", "--where", "id = 3", "--set", "v = 'many'", code=1)["message"]
    assert "many" in said


@pytest.mark.slow
def test_another_script_is_run_in_place_of_the_one_that_writes_the_output(pipeline: Pipeline) -> None:
    other = script(pipeline.folder, "other.py", REPORT.replace('F.sum("v")', 'F.sum(F.col("v") + 1)'))
    found = pipeline.replay("out/report", "--script", other.name)
    counts = {k: sum(key == k and v > 2 for _, key, v, _ in RAW) for k in NAMES}
    assert [(old["total"], new["total"]) for old, new in _changes(found) if old and new] == [
        (row["total"], row["total"] + counts[row["k"]]) for row in _report(RAW, NAMES)
    ]
    assert len(found["steps"]) == 1


@pytest.mark.slow
def test_a_program_that_does_the_same_is_reproducible(pipeline: Pipeline) -> None:
    found = pipeline.replay("out/report", "--kind", "verify")
    assert (found["differing"], len(found["steps"])) == (0, 2)
    assert "Reproducible: no compared dataset differs." in found["notes"]
    assert [note for note in found["notes"] if note.startswith("The same as before")] == [
        f"The same as before: dataset:file:{pipeline.folder}/out/{name}." for name in ("clean", "report")
    ]


def test_a_dry_run_lists_the_programs_and_records_and_runs_nothing(pipeline: Pipeline) -> None:
    before = list((pipeline.home / "replays").iterdir())
    found = pipeline.replay("out/report", "--without", "raw", "--where", "id = 3", "--dry-run")
    assert _scripts(found) == ["clean.py", "report.py"]
    assert found["starts"] == [f"dataset:file:{pipeline.folder}/{name}" for name in ("names", "raw")]
    assert (found["excluded"], found["kept"], found["edited"]) == (1, 0, 0)
    assert found["disk_bytes"] == sum(path.stat().st_size for path in pipeline.folder.glob("out/*/*.parquet"))
    assert list((pipeline.home / "replays").iterdir()) == before


def test_bad_requests_are_refused_by_name_before_anything_runs(pipeline: Pipeline) -> None:
    before = list((pipeline.home / "replays").iterdir())
    for asked, code, said in (
        (("out/report", "--edit", "raw", "--where", "id = 3", "--set", "speed = 1"), 2, "no column 'speed'"),
        (("out/report", "--edit", "raw", "--where", "id = 3", "--set", "v = v + 1"), 2, "is no constant"),
        (("out/report", "--kind", "sideways"), 2, "The kinds are exclusive, selective, verify, what-if, refresh, step"),
        (("out/nothing", "--kind", "verify"), 2, "No dataset is named out/nothing"),
        (("out/report", "--script", "none.py"), 2, "There is no script"),
        (("out/report", "--kind", "selective"), 2, "No row of the output is chosen"),
        (("out/report", "--kind", "verify", "--without", "raw"), 2, "belongs to the kind exclusive"),
    ):
        assert said in pipeline.replay(*asked, code=code)["message"], asked
    assert list((pipeline.home / "replays").iterdir()) == before


def test_a_refresh_runs_only_the_programs_that_read_the_change(pipeline: Pipeline) -> None:
    names = NAMES | {2: "deux"}
    pipeline.write_names(names)
    try:
        found = pipeline.replay("--changed", "names")
    finally:
        pipeline.write_names(NAMES)
    assert _scripts(found) == ["report.py"]
    assert _changes(found) == _expected(RAW, names)


def test_a_step_replay_shows_records_and_applies_what_is_answered(pipeline: Pipeline) -> None:
    answers = "drop raw/a.csv:2\nedit raw/b.csv:0 'v = 50'\nnonsense\ncontinue\nedit names/names.csv:1 \"name = 'uno'\"\ncontinue\n"
    found = pipeline.replay("out/report", "--kind", "step", answers=answers)
    edited = [(i, k, 50 if i == 15 else v, day) for i, k, v, day in RAW if i != 3]
    assert _changes(found) == _expected(edited, NAMES | {1: "uno"})
    assert "raw/a.csv:2  id = 3, k = 3, v = 3" in found["message"]
    assert "'nonsense' is no answer" in found["message"]
    assert [note.partition(": ")[2].split(f" {pipeline.folder}")[0] for note in found["notes"]] == [
        "dropped record 2 of", 'set {"v": "50"} in record 0 of', "continued.", 'set {"name": "uno"} in record 1 of', "continued.",
    ]  # fmt: skip
    assert found["stop"] is None


@pytest.mark.slow
def test_a_step_replay_ends_where_the_answers_end(pipeline: Pipeline) -> None:
    said = pipeline.replay("out/report", "--kind", "step", answers="continue\n", code=1)["message"]
    assert "The replay was stopped before" in said


@pytest.mark.slow
def test_a_patch_file_edits_records_by_place_or_by_key(pipeline: Pipeline) -> None:
    (pipeline.folder / "patch.csv").write_text("id,v,day\n3,40,\n14,,2025-02-03\n20,7,NULL\n")
    try:
        found = pipeline.replay("out/report", "--edit", "raw", "--patch", "patch.csv", "--key", "id")
        (pipeline.folder / "patch.csv").write_text("id,v\n99,1\n")
        refused = pipeline.replay("out/report", "--edit", "raw", "--patch", "patch.csv", "--key", "id", code=2)
    finally:
        (pipeline.folder / "patch.csv").unlink()
    changed = {3: (40, "2024-01-03"), 14: (0, "2025-02-03"), 20: (7, "")}
    values = [(i, k, *changed.get(i, (v, day))) for i, k, v, day in RAW]
    assert _changes(found) == _expected(values, NAMES)
    assert "No record of raw was selected" in refused["message"]


@pytest.mark.slow
def test_a_replay_starts_at_the_latest_data_that_the_run_read(pipeline: Pipeline) -> None:
    clean = min((pipeline.folder / "out" / "clean").glob("*.parquet"))
    selective = ("out/report", "--kind", "selective", "--where", "k = 3", "--dry-run")
    script_of_report = ("out/report", "--script", "report.py", "--dry-run")
    on_clean = ("out/report", "--without", "out/clean", "--where", "k = 3", "--dry-run")
    for asked in (selective, script_of_report, on_clean):
        found = pipeline.replay(*asked)
        assert _scripts(found) == ["report.py"], asked
        assert f"dataset:file:{pipeline.folder}/out/clean" in found["starts"]
    content, status = clean.read_bytes(), clean.stat()
    added, names = clean.with_name("part-9.parquet"), pipeline.folder / "names" / "names.csv"
    changes = {
        "touched": lambda: os.utime(clean, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9)),
        "gone": clean.unlink,
        "another file": lambda: added.write_bytes(content),
    }
    for change, apply in changes.items():
        apply()
        try:
            found = pipeline.replay(*script_of_report)
            assert _scripts(found) == ["clean.py", "report.py"], change
            assert found["starts"] == [f"dataset:file:{pipeline.folder}/{name}" for name in ("names", "raw")]
            if change == "touched":
                found = pipeline.replay(*selective)
                assert (_scripts(found), found["kept"]) == (["clean.py", "report.py"], sum(k == 3 and v > 2 for _, k, v, _ in RAW) + 1)
        finally:
            added.unlink(missing_ok=True)
            clean.write_bytes(content)
            _restore(clean, status)
    kept = names.read_bytes(), names.stat()
    names.unlink()
    try:
        said = pipeline.replay("out/report", "--without", "raw", "--where", "id = 3", code=5)["message"]
    finally:
        names.write_bytes(kept[0])
        _restore(names, kept[1])
    assert f"{pipeline.folder}/names is gone" in said


def _restore(file: Path, status: os.stat_result) -> None:
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
