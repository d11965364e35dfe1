"""The text of an earlier script is found by its hash: in its git checkout, or in a file that the user names. Git runs nothing."""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from headwater.backend.rerun.comparison.scripts import find_script


def _git(folder: Path, *arguments: str) -> str:
    options = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    done = subprocess.run(["git", *options, "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script with two committed texts, `one` and `two`, and a present text that is not committed."""
    script = tmp_path / "jobs" / "job.py"
    script.parent.mkdir()
    _git(tmp_path, "init", "-q")
    for text in ("one", "two"):
        script.write_text(text)
        _git(tmp_path, "add", ".")
        _git(tmp_path, "commit", "-q", "-m", text)
    script.write_text("now")
    return script


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def test_a_committed_text_is_found_with_its_commit(script: Path, tmp_path: Path) -> None:
    found = find_script(str(script), _digest("one"), [])
    assert found is not None
    assert (found.content, found.commit) == (b"one", _git(tmp_path, "rev-parse", "HEAD~1"))


def test_a_present_text_and_a_given_copy_need_no_commit(script: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.py"
    copy.write_text("lost")
    for text, files in (("now", []), ("lost", [copy])):
        found = find_script(str(script), _digest(text), files)
        assert found is not None
        assert (found.content, found.commit) == (text.encode(), None)


def test_another_text_is_never_found(script: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.py"
    copy.write_text("another")
    assert find_script(str(script), _digest("unknown"), [copy]) is None
    assert find_script(str(tmp_path / "gone" / "job.py"), _digest("one"), []) is None


def test_git_runs_no_program_of_the_checkout(script: Path, tmp_path: Path) -> None:
    """A checkout of a stranger may name programs in its settings: for signatures, filters, the pager."""
    mark = tmp_path / "ran"
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {mark}\n")
    evil.chmod(0o755)
    for name in ("core.pager", "gpg.program", "diff.external", "core.fsmonitor", "filter.f.smudge", "core.sshCommand", "diff.d.textconv"):
        _git(tmp_path, "config", name, str(evil))
    _git(tmp_path, "config", "log.showSignature", "true")
    (tmp_path / ".gitattributes").write_text("*.py filter=f diff=d\n")
    mark.unlink(missing_ok=True)
    assert find_script(str(script), _digest("one"), []) is not None
    assert not mark.exists()
