"""Finds the text of a script as it was in an earlier run, by its hash: at its place, in files that the user names, or in its git checkout.

The hash is that of the registry, so only a text that ran on this home is ever found. Git runs nothing of the repository.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from headwater.spark_listener.lineage.source_code import GIT_ENVIRONMENT, GIT_OPTIONS

_SECONDS = 20.0  # of all looks into a repository
_MOST_COMMITS = 300
_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ScriptText:
    """The text of a script. `commit` is the latest commit that has it, if it came from git."""

    content: bytes
    commit: str | None = None


def find_script(script: str, digest: str, given: Sequence[Path]) -> ScriptText | None:
    """Return the text of a script with a hash. None if it is not found."""
    committed = next((found for found in _history(script) if sha256(found.content).hexdigest() == digest), None)
    if committed is not None:
        return committed
    contents = (_read(file) for file in (*given, Path(script)))
    return next((ScriptText(content) for content in contents if content is not None and sha256(content).hexdigest() == digest), None)


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes() if file.stat().st_size <= _LARGEST else None
    except OSError:
        return None


def _history(script: str) -> Iterator[ScriptText]:
    """Yield the texts that a script had in the commits of its checkout, the latest first."""
    folder, name = os.path.split(script)
    deadline = time.monotonic() + _SECONDS
    listed = _git(folder, deadline, "rev-list", f"--max-count={_MOST_COMMITS}", "HEAD", "--", name)  # `log` may run a program of a setting
    for commit in (listed or b"").decode("ascii", errors="replace").split():
        content = _git(folder, deadline, "cat-file", "blob", f"{commit}:./{name}")
        if content is not None:
            yield ScriptText(content, commit)


def _git(folder: str, deadline: float, *arguments: str) -> bytes | None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | GIT_ENVIRONMENT
    left = deadline - time.monotonic()
    if left <= 0:
        return None
    try:
        done = subprocess.run(
            ["git", *GIT_OPTIONS, "-C", folder, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=left,
            check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError):
        return None  # no git, or no answer in time
    return done.stdout if done.returncode == 0 and len(done.stdout) <= _LARGEST else None
