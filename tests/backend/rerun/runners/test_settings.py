"""The operator's list of runners: what is refused, and which program runs where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.backend.rerun.runners import Launch, Runners, ThisMachine
from headwater.backend.rerun.runners.kubernetes import KubernetesJob
from headwater.backend.rerun.runners.settings import KINDS, read_runners
from headwater.backend.rerun.runners.spark_submit import SparkSubmit
from headwater.errors import ConfigurationError

_CLUSTER = '[[runner]]\nname = "cluster"\nkind = "spark-submit"\nmaster = "spark://host:7077"\n'
JOB = {"metadata": {"name": "lineage-program"}, "spec": {"template": {"spec": {"containers": [{"name": "program", "args": ["x"]}]}}}}


def _write(home: Path, text: str) -> Path:
    (home / "runners.toml").write_text(text)
    return home / "runners.toml"


def _launch(folder: Path, *arguments: str) -> Launch:
    return Launch(
        id="a" * 32, folder=folder / "program", log=folder / "program.log", namespace="default", job="$(id)", script="/s/a b;.py",
        script_sha256="", arguments=arguments, options=["--mode", "off"], working_directory=str(folder), environment={},
    )  # fmt: skip


def test_without_a_file_every_program_runs_on_this_machine(tmp_path: Path) -> None:
    assert isinstance(Runners.of_home(tmp_path).of_program("default", "report"), ThisMachine)


def test_the_operator_chooses_the_runner_of_a_program(tmp_path: Path) -> None:
    _write(tmp_path, f'default = "cluster"\n[programs]\n"default/small" = "this-machine"\n{_CLUSTER}')
    runners = Runners.of_home(tmp_path)
    assert isinstance(runners.of_program("default", "small"), ThisMachine)
    cluster = runners.of_program("other", "small")
    assert isinstance(cluster, SparkSubmit)
    assert cluster.master == "spark://host:7077"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[runner]\n", "cannot be used"),
        ("runners = 1\n", "runners is not known"),
        ('default = "cluster"\n', "no runner 'cluster', only this-machine"),
        ('[programs]\n"default/x" = "nobody"\n', "no runner 'nobody'"),
        ('[[runner]]\nkind = "spark-submit"\n', "needs a name"),
        ('[[runner]]\nname = "x"\nkind = "ssh"\n', f"is 'ssh', not one of {', '.join(KINDS)}"),
        ('[[runner]]\nname = "this-machine"\nkind = "webhook"\n', "is named this-machine"),
        (_CLUSTER * 2, "the same name"),
        (_CLUSTER.replace("spark://host:7077", "--conf"), "is not a master"),
        (_CLUSTER.replace("spark://host:7077", "spark://a b"), "is not a master"),
        (_CLUSTER.replace("spark://host:7077", "spark://a\\n--jars x"), "is not a master"),
        (_CLUSTER + 'submit = "spark-submit"\n', "not the absolute path"),
        (_CLUSTER + 'conf = { "x" = "1" }\n', "is not a property"),
        (_CLUSTER + 'conf = { "spark.master" = "local" }\n', "is not a property"),
        (_CLUSTER + 'conf = { "spark.a --jars" = "1" }\n', "is not a property"),
        (_CLUSTER + 'conf = { "spark.a" = "1\\n2" }\n', "is not a property"),
        (_CLUSTER + "shell = true\n", "shell"),
        ('[[runner]]\nname = "x"\nkind = "webhook"\n', "target"),
        ('[[runner]]\nname = "x"\nkind = "webhook"\ntarget = "nobody"\n', "no webhook 'nobody'"),
        ('[[runner]]\nname = "x"\nkind = "webhook"\ntarget = "http://169.254.169.254/"\n', "no webhook"),
        ('[[runner]]\nname = "x"\nkind = "kubernetes"\ntemplate = "/nothing"\n', "is not the Job of the chart"),
        ('[[runner]]\nname = "x"\nkind = "kubernetes"\ntemplate = "/etc/hosts"\n', "is not the Job of the chart"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        read_runners(_write(tmp_path, text))
    assert reason in refusal.value.message
    assert refusal.value.hint


@pytest.mark.parametrize("argument", ["--master", "$(id)", "; rm -rf /", "a\nb", "--conf=spark.jars=x"])
def test_arguments_of_a_program_come_after_the_script(tmp_path: Path, argument: str) -> None:
    """spark-submit reads no option after the script. No shell reads the words."""
    runner = SparkSubmit(master="yarn", submit="/bin/true", conf={"spark.executor.memory": "4g; $(id)"})
    command = runner.command(_launch(tmp_path, argument))
    assert command[:7] == ["/bin/true", "--master", "yarn", "--deploy-mode", "client", "--conf", "spark.executor.memory=4g; $(id)"]
    assert command[7].endswith("launch.py")
    assert command[8:] == ["/s/a b;.py", argument]


def test_only_the_name_and_the_folder_of_a_job_differ_from_the_template(tmp_path: Path) -> None:
    template = tmp_path / "job.json"
    template.write_text(json.dumps(JOB))
    job = KubernetesJob(template=template).job_for("b" * 32, Path("/home/replays/x/step-1"))
    assert job["metadata"]["name"] == f"lineage-program-{'b' * 32}"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container == {"name": "program", "args": ["jobs", "launch", "/home/replays/x/step-1"]}
