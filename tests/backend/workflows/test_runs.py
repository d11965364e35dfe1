"""Runs of workflows: what tasks read, what becomes visible, and what a failure leaves."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.workflows.ledger import Ledger
from headwater.errors import InvalidInputError, SourceUnavailableError, UnavailableError, UnsupportedError
from tests.backend.workflows.laboratory import PROGRAM, Laboratory, channels, task

NEW = {"channel": "raw", "mode": "new"}
ALL = {"channel": "raw", "mode": "all"}
_LISTED = PROGRAM.replace(
    "inputs[word].append(pathlib.Path(words.pop(0)))", "inputs[word] += map(pathlib.Path, open(words.pop(0)).read().split())"
)


@pytest.fixture
def lab(tmp_path: Path) -> Laboratory:
    laboratory = Laboratory(tmp_path)
    laboratory.register("copy")
    return laboratory


def _flow(**tasks: object) -> dict[str, object]:
    used = ["raw", *(output["channel"] for each in tasks.values() for output in each["outputs"])]  # type: ignore[index]
    return {"workflow": "flow", "channels": channels(*used), "tasks": tasks}


def test_a_task_reads_each_block_once(lab: Laboratory) -> None:
    lab.apply(_flow(first=task("copy", [NEW], "one"), second=task("copy", [{"channel": "one", "mode": "new"}], "two")))
    assert {name: result.state for name, result in lab.run().items()} == {"first": None, "second": None}
    lab.add("raw", "1.txt", "a", "b")
    assert {name: result.state for name, result in lab.run().items()} == {"first": "complete", "second": "complete"}
    lab.add("raw", "2.txt", "c")
    lab.add("raw", "3.txt", "d")
    assert lab.run()["first"].reads == {"raw": {"new": [2]}}
    assert lab.run()["first"].state is None
    assert lab.lines("one") == ["new a", "new b", "new c", "new d"]
    assert lab.lines("two") == ["new new a", "new new b", "new new c", "new new d"]
    assert [path.name for path in sorted((lab.data / "two").iterdir())] == ["block=1", "block=2"]
    assert not lab.hidden()


def test_old_is_what_lies_before_new_and_all_is_both(lab: Laboratory) -> None:
    lab.apply(_flow(first=task("copy", [NEW, {"channel": "raw", "mode": "old"}], "one"), second=task("copy", [ALL], "two", "base")))
    lab.add("raw", "1.txt", "a")
    lab.run()
    lab.add("raw", "2.txt", "b")
    lab.run()
    assert lab.lines("one") == ["new a", "new b", "old a"]
    assert lab.lines("two") == ["all a", "all b"]


def test_a_base_replaces_the_channel_and_its_reader_starts_over(lab: Laboratory) -> None:
    lab.apply(_flow(first=task("copy", [ALL], "one", "base"), second=task("copy", [{"channel": "one", "mode": "new"}], "two")))
    for day in range(1, 4):
        lab.add("raw", f"{day}.txt", f"{day}")
        results = lab.run()
    assert results["second"].reads == {"one": {"new": [3]}}
    assert lab.lines("one") == ["all 1", "all 2", "all 3"]
    assert lab.lines("two") == ["new all 1", "new all 2", "new all 3"]
    kept = [line.partition("/")[2] for line in lab.hidden()]
    assert sorted(kept) == ["one/block=2/part.txt", "two/block=2/part.txt"], "the version before stays for those who read it now"


def test_paths_reach_a_program_by_variables_and_by_a_file(lab: Laboratory) -> None:
    lab.register("listed", _LISTED)
    by_variable = {
        "program": "copy", "capture": "off", "inputs": [{**NEW, "variable": "NEW"}],
        "outputs": [{"channel": "one", "mode": "delta", "variable": "OUT"}],
    }  # fmt: skip
    lab.apply(_flow(first=by_variable, second=task("listed", [{**NEW, "form": "file"}], "two")))
    lab.add("raw", "1.txt", "a")
    lab.add("raw", "2.txt", "b")
    lab.run()
    assert lab.lines("one") == lab.lines("two") == ["new a", "new b"]


def test_a_failed_run_leaves_nothing_and_is_made_up_for(lab: Laboratory) -> None:
    lab.apply(_flow(first=task("copy", [NEW], "one"), second=task("copy", [{"channel": "one", "mode": "new"}], "two")))
    lab.add("raw", "1.txt", "a")
    lab.run()
    lab.add("raw", "2.txt", "b")
    lab.add("raw", "3.txt", "fail")
    failed = lab.run()
    assert list(failed) == ["first"], "no other task runs after it"
    assert "the program fails" in str(failed["first"].error)
    assert (lab.lines("one"), lab.hidden()) == (["new a"], [])
    assert lab.workflows.status("flow")[0].unread == {"raw": 1}
    lab.add("raw", "3.txt", "c")  # no task has read it, so nobody has to start over
    assert lab.run()["first"].reads == {"raw": {"new": [3]}}
    assert lab.lines("two") == ["new new a", "new new b", "new new c"]
    assert [path.name for path in sorted((lab.data / "two").iterdir())] == ["block=1", "block=2"]


@pytest.mark.parametrize("change", ["rewritten", "removed"])
def test_a_source_that_changed_is_read_as_a_whole(lab: Laboratory, change: str) -> None:
    lab.apply(_flow(first=task("copy", [NEW, {"channel": "raw", "mode": "old"}], "one")))
    lab.add("raw", "1.txt", "a")
    lab.run()
    lab.add("raw", "2.txt", "b")
    lab.run()
    if change == "rewritten":
        lab.add("raw", "1.txt", "other")
    else:
        (lab.data / "raw" / "1.txt").unlink()
    lab.run()
    assert lab.lines("one") == (["new b", "new other"] if change == "rewritten" else ["new b"])


def test_a_source_whose_folder_is_gone_is_not_taken_for_empty(lab: Laboratory) -> None:
    lab.apply(_flow(first=task("copy", [ALL], "one", "base")))
    lab.add("raw", "1.txt", "a")
    lab.run()
    (lab.data / "raw").rename(lab.data / "elsewhere")
    with pytest.raises(SourceUnavailableError, match="is gone"):
        lab.run()
    assert lab.lines("one") == ["all a"]


def test_a_block_that_somebody_changed_is_not_read(lab: Laboratory) -> None:
    lab.apply(_flow(first=task("copy", [NEW], "one"), second=task("copy", [{"channel": "one", "mode": "all"}], "two", "base")))
    lab.add("raw", "1.txt", "a")
    lab.run(tasks=["first"])
    (lab.data / "one" / "block=1" / "part.txt").write_text("longer than before\n")
    assert "has changed since it became a part of the channel one" in str(lab.run()["second"].error)
    assert "--task first --start-over" in str(lab.run()["second"].error)
    lab.run(tasks=["first"], starts_over=True)
    lab.run()
    assert lab.lines("two") == ["all new a"]


def test_a_source_that_changes_while_it_is_read_is_not_committed(lab: Laboratory) -> None:
    lab.register("writer", PROGRAM + f"\nopen({str(lab.data / 'raw' / '1.txt')!r}, 'a').write('more')\n")
    lab.apply(_flow(first=task("writer", [NEW], "one")))
    lab.add("raw", "1.txt", "a")
    assert "has changed since" in str(lab.run()["first"].error)
    assert (lab.lines("one"), lab.hidden()) == ([], [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("output.mkdir()\n|pass\n", "did not write its output"),
        ("|(output.parent / 'other').mkdir(); (output.parent / 'other' / 'x').write_text('x')\n", "is no output of the task"),
        ("|(output / 'link').symlink_to('/etc/hosts')\n", "is a link or no file"),
        ("|os.mkfifo(output / 'pipe')\n", "is a link or no file"),
    ],
)
def test_an_output_that_is_no_block_is_refused(lab: Laboratory, change: str, message: str) -> None:
    text, _, addition = change.partition("|")
    program = PROGRAM.replace(text, "").replace('(output / "part.txt")', "pathlib.Path('/dev/null')") if text else PROGRAM
    lab.register("odd", program + addition)
    lab.apply(_flow(first=task("odd", [NEW], "one")))
    lab.add("raw", "1.txt", "a")
    assert message in str(lab.run()["first"].error)
    assert (lab.lines("one"), lab.hidden()) == ([], [])


def test_somebody_elses_file_in_a_channel_is_kept(lab: Laboratory) -> None:
    lab.apply(_flow(first=task("copy", [ALL], "one", "base")))
    lab.add("raw", "1.txt", "a")
    lab.run()
    (lab.data / "one" / "notes.txt").write_text("mine")
    lab.add("raw", "2.txt", "b")
    assert "is not from this workflow" in str(lab.run()["first"].error)
    assert (lab.data / "one" / "notes.txt").read_text() == "mine"


def test_a_program_that_takes_too_long_is_ended(lab: Laboratory) -> None:
    lab.register("slow", "import time\ntime.sleep(600)\n")
    lab.apply(_flow(first=task("slow", [NEW], "one", seconds=0.1)))
    lab.add("raw", "1.txt", "a")
    assert "time limit of 0.1 s" in str(lab.run()["first"].error)


def test_a_changed_or_missing_script_is_not_run(lab: Laboratory) -> None:
    script = lab.register("mine")
    lab.apply(_flow(first=task("mine", [NEW], "one")))
    lab.add("raw", "1.txt", "a")
    script.write_text(PROGRAM + "\n")
    with pytest.raises(UnsupportedError, match="has changed since it was registered"):
        lab.run()
    script.unlink()
    with pytest.raises(UnsupportedError, match="cannot be read any more"):
        lab.run()
    assert lab.lines("one") == []


def test_a_program_starts_without_a_shell_and_with_registered_words_only(lab: Laboratory) -> None:
    marker = lab.data / "marker"
    lab.register("echo", "import sys\n" + PROGRAM + "\n(output / 'words').write_text(repr(sys.argv[1:2]))\n", arguments=("$(id) *",))
    lab.apply(_flow(first=task("echo", [NEW], "one")))
    lab.add("raw", f"$(touch {marker.name}).txt", "a")
    lab.add("raw", "--out; x.txt", "b")
    assert lab.run()["first"].error is None
    assert (lab.data / "one" / "block=1" / "words").read_text() == "['$(id) *']"
    assert not marker.exists()
    assert not (lab.scripts / marker.name).exists()


def test_a_file_whose_name_is_a_pattern_is_not_read(lab: Laboratory) -> None:
    lab.apply(_flow(first=task("copy", [NEW], "one")))
    lab.add("raw", "a[1].txt", "a")
    with pytest.raises(InvalidInputError, match="makes it a pattern"):
        lab.run()


def test_links_in_a_source_are_not_followed(lab: Laboratory) -> None:
    lab.apply(_flow(first=task("copy", [NEW], "one")))
    lab.add("raw", "1.txt", "a")
    (lab.data / "raw" / "2.txt").symlink_to("/etc/hosts")
    with pytest.raises(InvalidInputError, match="is a link"):
        lab.run()


def test_hidden_files_of_a_source_are_no_data(lab: Laboratory) -> None:
    lab.apply(_flow(first=task("copy", [NEW], "one")))
    for name in ("1.txt", ".2.txt", "_3.txt"):
        lab.add("raw", name, name)
    (lab.data / "raw" / "_temporary").mkdir()
    (lab.data / "raw" / "_temporary" / "4.txt").write_text("4\n")
    lab.run()
    assert lab.lines("one") == ["new 1.txt"]


def test_a_workflow_is_run_by_one_process_at_a_time(lab: Laboratory, tmp_path: Path) -> None:
    lab.apply(_flow(first=task("copy", [NEW], "one")))
    lab.add("raw", "1.txt", "a")
    with lab.workflows._locked("flow"), pytest.raises(UnavailableError, match="runs now"):  # another open file, as of another process
        Laboratory(tmp_path).run()
    assert lab.run()["first"].state == "complete"


def test_a_changed_workflow_keeps_its_blocks_and_cursors(lab: Laboratory) -> None:
    first = task("copy", [NEW], "one")
    lab.apply(_flow(first=first))
    lab.add("raw", "1.txt", "a")
    lab.run()
    lab.apply(_flow(first=first, second=task("copy", [{"channel": "one", "mode": "new"}], "two")))
    lab.add("raw", "2.txt", "b")
    assert [result.reads for result in lab.run().values()] == [{"raw": {"new": [2]}}, {"one": {"new": [1, 2]}}]
    with pytest.raises(InvalidInputError, match="has blocks at"):
        lab.apply(_flow(first=first) | {"channels": {"raw": {"path": "raw"}, "one": {"path": "moved"}}})


def test_the_environment_of_this_process_does_not_reach_programs(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVICE", "x")
    lab.register("names", PROGRAM + "\n(output / 'names').write_text(' '.join(os.environ))\n", environment={"MINE": "1"})
    lab.apply(_flow(first=task("names", [NEW], "one")))
    lab.add("raw", "1.txt", "a")
    lab.run()
    names = (lab.data / "one" / "block=1" / "names").read_text().split()
    assert "MINE" in names
    assert "SECRET_OF_THE_SERVICE" not in names
    assert os.environ["SECRET_OF_THE_SERVICE"] == "x"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("the disk says no")])
def test_an_error_right_after_the_commit_leaves_the_run_committed(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    lab.apply(_flow(first=task("copy", [NEW], "one")))
    lab.add("raw", "1.txt", "a")
    commit = Ledger.commit

    def commit_and_fail(*arguments: Any) -> None:
        commit(*arguments)
        raise error

    monkeypatch.setattr(Ledger, "commit", commit_and_fail)
    with pytest.raises(KeyboardInterrupt) if isinstance(error, KeyboardInterrupt) else nullcontext():
        assert lab.run()["first"].state == "complete"
    monkeypatch.undo()
    assert lab.run()["first"].state is None  # the block was read
    assert lab.lines("one") == ["new a"]


@pytest.mark.parametrize("form", ["argument", "variable", "file"])
def test_a_replay_gets_the_blocks_that_the_run_got(lab: Laboratory, form: str) -> None:
    name = "0190a6f2-0000-7000-8000-00000000000a"
    (lab.scripts / "copy.py").unlink()  # Python would import it instead of its own module
    # A captured program registers itself in the home of its run.
    text = f"""
import os, sys
from pathlib import Path
from headwater.spark_listener.registry import Program, Registry
Registry(Path(os.environ["HEADWATER_HOME"])).register(
    Program(namespace="default", job="known", argv=sys.argv, script=__file__, script_sha256="", working_directory=""), {name!r})
"""
    script = lab.register("known", text + (PROGRAM if form != "file" else _LISTED), arguments=("--all",), environment={"TZ": "UTC"})
    given = {"argument": "--new"} if form != "variable" else {"variable": "NEW"}
    read = {**NEW, **given, **({"form": "file"} if form == "file" else {})}
    lab.apply(_flow(first={**task("known", [], "one"), "inputs": [read], "capture": "coarse"}))
    lab.add("raw", "1.txt", "a")
    result = lab.run()["first"]
    assert (result.state, result.error, lab.lines("one")) == ("complete", None, ["new a"])
    program = lab.registry.program(name, "default", "known")
    assert program is not None
    raw, out = str(lab.data / "raw" / "1.txt"), ["--out", str(lab.data / "one" / "block=1")]
    if form == "variable":
        assert (program.argv, program.environment) == ([str(script), "--all", *out], {"TZ": "UTC", "NEW": raw})
        return
    argument, value, *rest = program.argv[2:]
    assert (program.argv[:2], argument, rest) == ([str(script), "--all"], "--new", out)
    assert (Path(value).read_text() if form == "file" else value + "\n") == raw + "\n"
    other = lab.registry.program("0190a6f2-0000-7000-8000-00000000000b", "default", "known")
    assert other is not None
    assert other.argv == [str(script), "--all"]


@pytest.mark.parametrize("outputs", [["one"], ["one", "two"]])
def test_a_program_without_lineage_of_its_own_is_reported_by_headwater(tmp_path: Path, outputs: list[str]) -> None:
    lab = Laboratory(tmp_path)  # no script is named like a module of Python
    lab.register("plain", PROGRAM + '\nif "TWO" in os.environ:\n    pathlib.Path(os.environ["TWO"]).mkdir()\n')
    first = {**task("plain", [NEW], "one"), "capture": "coarse"}
    first["outputs"] += [{"channel": name, "mode": "base", "variable": name.upper()} for name in outputs[1:]]
    lab.apply(_flow(first=first))
    for number in (1, 2):
        lab.add("raw", f"{number}.txt", "a")
        lab.run()
    assert lab.workflows.warnings == [
        f"The program of first reported no lineage of {lab.data / name}. The block has lineage by dataset only." for name in outputs
    ]
    (start, end) = lab.events[-2:]
    assert (len(lab.events), start["eventType"], end["eventType"], start["run"] == end["run"]) == (4, "START", "COMPLETE", True)
    assert end["job"] == {"namespace": "default", "name": "plain"}
    assert [each["name"] for each in end["inputs"]] == [str(lab.data / "raw")]
    modes = {each["name"]: each["facets"]["headwater_block"]["mode"] for each in end["outputs"]}
    assert modes == {str(lab.data / name): mode for name, mode in zip(outputs, ("delta", "base"), strict=False)}
    assert end["run"]["facets"]["parent"]["job"]["name"] == "flow"


def test_of_a_program_with_lineage_of_its_own_only_the_rest_is_reported(tmp_path: Path) -> None:
    """The program reports one of its outputs, as Spark does, through the spool of its home."""
    lab = Laboratory(tmp_path)
    text = """
import json, os, pathlib, uuid
from headwater.spark_listener.spool import SpoolFolder
own = SpoolFolder.create(pathlib.Path(os.environ["HEADWATER_HOME"]) / "spool", "app", limit=1 << 20)
event = {"eventType": "COMPLETE", "eventTime": "2026-01-01T00:00:00Z", "producer": "tests", "job": {"namespace": "n", "name": "own"},
         "run": {"runId": str(uuid.uuid4())}, "outputs": [{"namespace": "file", "name": os.environ["OUT"]}]}
own.event(event)
own.close()
pathlib.Path(os.environ["TWO"]).mkdir()
"""
    lab.register("partly", PROGRAM + text)
    one, two = ({"channel": name, "mode": "delta", "variable": variable} for name, variable in (("one", "OUT"), ("two", "TWO")))
    first = {"program": "partly", "capture": "coarse", "inputs": [{**NEW, "variable": "NEW"}], "outputs": [one, two]}
    lab.apply(_flow(first=first))
    lab.add("raw", "1.txt", "a")
    assert lab.run()["first"].error is None
    assert [(event["job"]["name"], [each["name"] for each in event["outputs"]]) for event in lab.events] == [
        ("own", [str(lab.data / "one" / "block=1")]), ("partly", []), ("partly", [str(lab.data / "two")])
    ]  # fmt: skip
    (warning,) = lab.workflows.warnings
    assert str(lab.data / "two") in warning
