"""Files that are no workflow, and workflows that cannot run, are refused with a message that says why."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import HeadwaterError, InvalidInputError, NotFoundError, UnsupportedError
from headwater.graph.yaml_reader import MOST_BYTES, parse_document
from tests.backend.workflows.laboratory import Laboratory, channels, task

FLOW: dict[str, Any] = {
    "workflow": "flow",
    "channels": channels("raw", "one", "two"),
    "tasks": {
        "first": task("copy", [{"channel": "raw", "mode": "new"}], "one"),
        "second": task("copy", [{"channel": "one", "mode": "new"}], "two"),
    },
    "triggers": {"arrival": {"on": "raw"}, "night": {"every": "0 3 * * *", "run": ["second"]}},
}


@pytest.fixture
def lab(tmp_path: Path) -> Laboratory:
    laboratory = Laboratory(tmp_path)
    laboratory.register("copy")
    return laboratory


def _set(*steps: Any, to: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for step in steps[:-1]:
            document = document[step]
        document[steps[-1]] = to

    return change


_FIRST = ("tasks", "first")
_INPUT = (*_FIRST, "inputs", 0)
_OUTPUT = (*_FIRST, "outputs", 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("workflow", to="../flow"), "is not a name"),
        (_set("workflow", to=None), "workflow is None"),
        (_set("extra", to=1), "extra is not known"),
        (_set("tasks", to={}), "tasks is not a mapping with 1 to"),
        (_set("tasks", to=[]), "tasks is not a mapping"),
        (_set(*_FIRST, "shell", to="rm"), "tasks.first.shell is not known"),
        (_set(*_FIRST, "arguments", to=["--conf"]), "tasks.first.arguments is not known"),
        (_set(*_FIRST, "program", to=["copy"]), "tasks.first.program is"),
        (_set(*_FIRST, "capture", to="all"), "tasks.first.capture is 'all'"),
        (_set(*_FIRST, "seconds", to=-1), "not a number of seconds"),
        (_set(*_FIRST, "seconds", to=True), "not a number of seconds"),
        (_set(*_FIRST, "inputs", to=[]), "tasks.first.inputs is not a list"),
        (_set(*_FIRST, "outputs", to={}), "tasks.first.outputs is not a list"),
        (_set(*_INPUT, "mode", to="some"), "inputs[0].mode is 'some'"),
        (_set(*_OUTPUT, "mode", to="append"), "outputs[0].mode is 'append'"),
        (_set(*_INPUT, "argument", to="--new; rm"), "and not an option"),
        (_set(*_INPUT, "argument", to="-m\nx"), "inputs[0].argument is"),
        (_set(*_INPUT, "argument", to=None), "either an argument or a variable"),
        (_set(*_INPUT, "variable", to="NEW"), "either an argument or a variable"),
        (_set(*_INPUT, to={"channel": "raw", "mode": "new", "variable": "PYTHONPATH"}), "PYTHONPATH changes how a program runs"),
        (_set(*_INPUT, to={"channel": "raw", "mode": "new", "variable": "LD_PRELOAD"}), "LD_PRELOAD changes how a program runs"),
        (_set(*_INPUT, to={"channel": "raw", "mode": "new", "variable": "PATH"}), "PATH changes how a program runs"),
        (_set(*_INPUT, to={"channel": "raw", "mode": "new", "variable": "HEADWATER_HOME"}), "HEADWATER_HOME changes how"),
        (_set(*_INPUT, to={"channel": "raw", "mode": "new", "variable": "SPARK_SUBMIT_OPTS"}), "SPARK_SUBMIT_OPTS changes how"),
        (_set(*_INPUT, to={"channel": "raw", "mode": "new", "variable": "https_proxy"}), "inputs[0].variable is 'https_proxy'"),
        (_set(*_INPUT, to={"channel": "raw", "mode": "new", "variable": "HTTPS_PROXY"}), "HTTPS_PROXY changes how"),
        (_set(*_INPUT, to={"channel": "raw", "mode": "new", "variable": "A=B"}), "inputs[0].variable is 'A=B'"),
        (_set(*_INPUT, "channel", to="nowhere"), "names the channel nowhere, which does not exist"),
        (_set(*_INPUT, "mode", to="old"), "in the mode old, but not in the mode new"),
        (_set(*_OUTPUT, "channel", to="two"), "both write the channel two"),
        (_set(*_INPUT, "channel", to="one"), "The tasks first → first form a cycle"),
        (_set(*_INPUT, "channel", to="two"), "form a cycle"),
        (_set(*_OUTPUT, "argument", to="--new"), "names the parameter --new twice"),
        (_set("channels", "three", to={"path": "three"}), "No task uses the channel three"),
        (_set("channels", "two", "path", to="one/two"), "overlap"),
        (_set("channels", "two", "path", to="one"), "overlap"),
        (_set("channels", "two", "path", to="/etc/two"), "outside of the roots"),
        (_set("channels", "two", "path", to="../two"), "outside of the roots"),
        (_set("channels", "two", "path", to="."), "overlap"),
        (_set("channels", "raw", "path", to="/proc/self"), "outside of the roots"),
        (_set("channels", "two", "path", to="a*b"), "a part of a pattern or a list"),
        (_set("channels", "two", "path", to="s3://b/k"), "a part of a pattern or a list"),
        (_set("channels", "two", "path", to="day=1"), "a part of a pattern or a list"),
        (_set("channels", "two", "path", to="workflow.yaml"), "is not a folder"),
        (_set(*_FIRST, "program", to="other"), "is not registered"),
        (_set(*_FIRST, "namespace", to="other"), "is not registered"),
        (_set("triggers", "arrival", "on", to="nowhere"), "triggers.arrival names the channel nowhere"),
        (_set("triggers", "arrival", "on", to="one"), "waits for the channel one, and its own task first writes it"),
        (_set("triggers", "night", "run", to=["third"]), "triggers.night names the task third"),
        (_set("triggers", "night", "every", to="sometimes"), "triggers.night.every is 'sometimes'"),
        (_set("triggers", "night", "on", to="raw"), "either `on` with a channel or `every`"),
    ],
)
def test_a_workflow_that_cannot_run_is_refused(lab: Laboratory, change: Callable[[Any], None], message: str) -> None:
    document = copy.deepcopy(FLOW)
    change(document)
    with pytest.raises((InvalidInputError, UnsupportedError)) as caught:
        lab.apply(document)
    assert message in str(caught.value)
    assert caught.value.hint or "seconds" in message or "workflow is" in message
    assert lab.workflows.ledger.workflows() == {}


def test_the_workflow_without_a_change_is_accepted(lab: Laboratory) -> None:
    lab.apply(FLOW)
    assert list(lab.workflows.get("flow").tasks) == ["first", "second"]
    assert lab.workflows.get("flow").triggers["night"].run == ["second"]


def test_check_lists_all_problems_and_changes_nothing(lab: Laboratory) -> None:
    document = copy.deepcopy(FLOW)
    document["tasks"]["first"]["program"] = document["tasks"]["second"]["program"] = "other"
    document["channels"]["two"]["path"] = "/etc/two"
    _, problems = lab.workflows.check(lab.write(document))
    assert len(problems) == 3
    assert not (lab.home / "workflows.db").exists()


def test_a_folder_with_files_is_not_written_to(lab: Laboratory) -> None:
    lab.add("one", "mine.txt", "mine")
    with pytest.raises(InvalidInputError, match="is not empty, and a task would write there"):
        lab.apply(FLOW)


def test_a_channel_of_another_workflow_is_not_written_to(lab: Laboratory) -> None:
    lab.apply(FLOW)
    with pytest.raises(InvalidInputError, match="The workflow flow writes its channel one"):
        lab.apply(FLOW | {"workflow": "other"})


def test_a_channel_behind_a_link_counts_as_where_it_leads(lab: Laboratory, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (lab.data / "two").symlink_to(tmp_path / "outside")
    with pytest.raises(InvalidInputError, match="outside of the roots"):
        lab.apply(FLOW)


def test_a_program_with_a_declared_option_in_its_registration_is_refused(lab: Laboratory) -> None:
    for arguments in (("--new", "x"), ("--new=x",)):
        lab.register("copy", arguments=arguments)
        with pytest.raises(UnsupportedError, match="is registered with --new already"):
            lab.apply(FLOW)


def test_a_program_that_only_ran_here_is_not_enough(lab: Laboratory) -> None:
    (program, _), *_ = lab.registry.programs()
    lab.registry.remove(program.id)
    (lab.home / "registered.db").unlink()
    from dataclasses import replace

    lab.registry.register(replace(program, operator=False), run="r")
    with pytest.raises(UnsupportedError, match="is not registered"):
        lab.apply(FLOW)


def test_an_unknown_workflow_or_task_is_named(lab: Laboratory) -> None:
    with pytest.raises(NotFoundError, match="There is no workflow 'flow'"):
        lab.run()
    lab.apply(FLOW)
    with pytest.raises(NotFoundError, match="has no task third"):
        lab.run(tasks=["third"])


@pytest.mark.parametrize(
    "text",
    [
        "a: [", "a: 1\na: 2", "a: &x [1]\nb: *x", "a: !!python/object/apply:os.system [id]", "a: !custom x", "- 1", "1: 2", "[a]: 1",
        "text", "", "a: " + "[" * 100 + "]" * 100, "a: [" + "1, " * 60_000 + "]", "a: \x00", "a: 1\n---\nb: 2", "%YAML 9", "? [a]\n: 1",
        "x" * (MOST_BYTES + 1),
    ],
)  # fmt: skip
def test_yaml_of_another_kind_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        parse_document(text)
    (tmp_path / "flow.yaml").write_text(text)
    with pytest.raises(HeadwaterError):
        Laboratory(tmp_path).workflows.check(tmp_path / "flow.yaml")


def test_a_file_that_is_no_text_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_bytes(b"\xff\xfe")
    lab = Laboratory(tmp_path)
    for name in ("flow.yaml", "other.yaml", "."):
        with pytest.raises(InvalidInputError):
            lab.workflows.check(tmp_path / name)


def test_yaml_means_what_it_says() -> None:
    text = "on: raw\nyes: no\nday: 2026-01-02\ncount: 3\nshare: 0.5\nis: true\nnone: null\nempty:\ntext: '3'"
    assert parse_document(text) == {
        "on": "raw", "yes": "no", "day": "2026-01-02", "count": 3, "share": 0.5, "is": True, "none": None, "empty": None, "text": "3",
    }  # fmt: skip
    assert parse_document(json.dumps(FLOW)) == FLOW
