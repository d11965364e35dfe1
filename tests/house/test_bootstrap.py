"""The bootstrap on machines that lack something: run for real, over a PATH with what such a machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = (
    "bash",
    "basename",
    "cat",
    "cmp",
    "cut",
    "dirname",
    "env",
    "grep",
    "head",
    "id",
    "mkdir",
    "mv",
    "readlink",
    "rm",
    "sed",
    "sha256sum",
    "tail",
    "uv",
)


@pytest.fixture
def machine(root: Path, tmp_path: Path):
    """A checkout and a `bin` folder with the plainest tools; `add` puts a program there."""

    class Machine:
        checkout, bin = tmp_path / "checkout", tmp_path / "bin"

        def add(self, name: str, script: str) -> None:
            path = self.bin / name
            path.unlink(missing_ok=True)
            path.write_text(f"#!/bin/bash\n{script}\n")
            path.chmod(0o755)

        def run(self, purpose: str, **variables: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [str(self.bin / "bash"), str(self.checkout / "scripts" / "bootstrap"), purpose],
                env={"PATH": str(self.bin), "HOME": str(tmp_path), **variables}, capture_output=True, text=True,
            )  # fmt: skip

    made = Machine()
    (made.checkout / "scripts").mkdir(parents=True)
    made.bin.mkdir()
    for name in ("scripts/bootstrap", "pyproject.toml", "uv.lock"):
        shutil.copy2(root / name, made.checkout / name)
    for name in TOOLS:
        found = shutil.which(name) or str(root / ".tools" / "uv" / "bin" / name)
        (made.bin / name).symlink_to(found)
    return made


def _java(folder: Path) -> str:
    """Something that the bootstrap takes for a Java of 17; it reads the release file alone."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch(mode=0o755)
    (folder / "bin" / "javac").touch(mode=0o755)
    (folder / "release").write_text('JAVA_VERSION="17.0.15"\nMODULES="java.base jdk.incubator.vector"\n')
    return str(folder)


def test_without_root_it_says_the_exact_command_and_changes_nothing(machine, tmp_path):
    machine.add("id", "echo 1000")
    machine.add("apt-get", "echo apt-get must not run; exit 1")
    done = machine.run("test", HEADWATER_JAVA_HOME=_java(tmp_path / "java"))
    assert done.returncode == 2
    assert "  sudo apt-get update && sudo apt-get install --yes --no-install-recommends maven chromium\n" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_without_apt_it_names_what_is_missing(machine, tmp_path):
    done = machine.run("test", HEADWATER_JAVA_HOME=_java(tmp_path / "java"))
    assert done.returncode == 2
    assert "maven chromium" in done.stderr


def test_as_root_it_updates_once_and_installs_in_one_go(machine, tmp_path):
    machine.add("id", "echo 0")
    machine.add("apt-get", f'echo "$*" >> {tmp_path}/apt; [[ "$1" == install ]] && exit 9; exit 0')
    done = machine.run("test", HEADWATER_JAVA_HOME=_java(tmp_path / "java"))
    assert done.returncode == 1
    assert "apt-get failed" in done.stderr
    assert (tmp_path / "apt").read_text().splitlines() == [
        "update --quiet=2",
        "install --yes --no-install-recommends maven chromium --quiet=2",
    ]


def test_a_purpose_that_is_none_is_refused(machine):
    done = machine.run("walk")
    assert done.returncode == 2
    assert "there are: run, test" in done.stderr


def test_the_second_time_it_installs_nothing_says_what_it_reuses_and_is_quick(machine, tmp_path):
    machine.add("uv", f'echo "$*" >> {tmp_path}/uv; mkdir -p .venv/bin; echo > .venv/bin/python; chmod +x .venv/bin/python')
    machine.add("chmod", 'exec /bin/chmod "$@"')
    java = _java(tmp_path / "java")
    first = machine.run("run", HEADWATER_JAVA_HOME=java)
    assert first.returncode == 0, first.stderr
    before = os.times()
    second = machine.run("run", HEADWATER_JAVA_HOME=java)
    after = os.times()
    seconds = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )  # which a busy machine does not lengthen
    assert second.returncode == 0, second.stderr
    assert ".venv (as uv.lock says)" in second.stdout
    assert f"export JAVA_HOME={java}\n" in (machine.checkout / ".tools" / "env").read_text()
    assert len((tmp_path / "uv").read_text().splitlines()) == 1
    assert seconds < 10  # installing takes minutes


def test_a_changed_lock_is_installed_again(machine, tmp_path):
    machine.add("uv", f'echo "$*" >> {tmp_path}/uv; mkdir -p .venv/bin; echo > .venv/bin/python; chmod +x .venv/bin/python')
    machine.add("chmod", 'exec /bin/chmod "$@"')
    java = _java(tmp_path / "java")
    machine.run("run", HEADWATER_JAVA_HOME=java)
    with (machine.checkout / "uv.lock").open("a") as lock:
        lock.write("# changed\n")
    machine.run("run", HEADWATER_JAVA_HOME=java)
    synced = (tmp_path / "uv").read_text().splitlines()
    assert [line.split(" --python ")[0] for line in synced] == ["sync --frozen --all-extras"] * 2
