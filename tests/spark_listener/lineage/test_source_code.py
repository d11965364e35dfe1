"""Where a program's source is, as its checkout of git says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headwater.spark_listener.lineage.source_code import source_location


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=trunk"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "täglich job.py").write_text("print(1)\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "x")
    return tmp_path


@pytest.mark.parametrize(
    ("remote", "url", "repository"),
    [
        (
            "git@github.com:team/etl.git",
            "https://github.com/team/etl/blob/{commit}/jobs/t%C3%A4glich%20job.py",
            "git@github.com:team/etl.git",
        ),
        ("https://me:hunter2@gitlab.corp/a/b/etl.git", "https://gitlab.corp/a/b/etl/-/blob/{commit}/jobs/t%C3%A4glich%20job.py", None),
        ("ssh://git@forge.corp:2222/etl", "https://forge.corp/etl", None),
        ("/srv/git/etl", "file:{script}", "/srv/git/etl"),
    ],
)
def test_a_committed_script_is_known_by_repository_commit_and_path(checkout: Path, remote: str, url: str, repository: str | None) -> None:
    git(checkout, "remote", "add", "origin", remote)
    script = checkout / "jobs" / "täglich job.py"
    found = source_location(str(script))
    assert found is not None
    commit = git(checkout, "rev-parse", "HEAD")
    assert (found["type"], found["path"], found["version"], found["branch"]) == ("git", "jobs/täglich job.py", commit, "trunk")
    quoted = str(script).replace("ä", "%C3%A4").replace(" ", "%20")
    assert found["url"] == url.format(commit=commit, script=quoted)
    assert "hunter2" not in str(found)
    assert repository is None or found["repoUrl"] == repository


def test_a_changed_script_is_of_no_commit(checkout: Path) -> None:
    script = checkout / "jobs" / "täglich job.py"
    script.write_text("print(2)\n")
    found = source_location(str(script))
    assert found is not None
    assert "version" not in found


def test_nothing_of_the_repository_is_run(checkout: Path) -> None:
    harm = checkout / "harm"
    hook = checkout / "monitor"
    hook.write_text(f"#!/bin/sh\ntouch '{harm}'\n")
    hook.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "filter.x.clean"):
        git(checkout, "config", name, str(hook))
    (checkout / ".gitattributes").write_text("* filter=x\n")
    assert source_location(str(checkout / "jobs" / "täglich job.py")) is not None
    assert not harm.exists()


def test_elsewhere_nothing_is_said(tmp_path: Path, checkout: Path) -> None:
    new = checkout / "new.py"
    new.write_text("")
    assert source_location(str(new)) is None
    assert source_location(str(checkout / "gone.py")) is None
    assert source_location(None) is None
    assert source_location("/proc/self/cmdline") is None
    assert tmp_path.exists()
