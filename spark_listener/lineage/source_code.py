"""The facet `sourceCodeLocation` for a script in a git checkout.

Read once, on the listener's thread, with git commands that run nothing of the repository (no hooks, filters or monitors). The commit is
stated only if it contains the script unchanged, because nobody could look up a changed script.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

from headwater.spark_listener.lineage.facets import Facet, facet
from headwater.spark_listener.lineage.naming import address_of
from headwater.spark_listener.redact import redact, redact_address

_SECONDS = 1.0
_LARGEST = 16 * 1024 * 1024
GIT_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
GIT_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_REMOTE = re.compile(r"(?:[a-z+]+://(?:[^/@]*@)?|[^/@:]+@)(?P<host>[\w.-]+)(?::\d+)?[:/](?P<path>[^?#]+?)(?:\.git)?/?")
_FILES = {"github": "blob", "gitlab": "-/blob"}  # the start of a file's path below its repository's address


def source_location(script: str | None) -> Facet | None:
    """Return the facet of a script. None if it is not in a checkout, or git does not answer."""
    if script is None or not os.path.isfile(script):
        return None
    folder, name = os.path.split(script)
    listed = _git(folder, "ls-tree", "-z", "--full-name", "HEAD", "--", name)
    if not listed:
        return None  # not a checkout, or the script was never committed
    entry, _, path = listed.rstrip("\0").partition("\t")
    holds_it = entry.split()[2:3] == [_blob(Path(script))]
    commit = _git(folder, "rev-parse", "HEAD") if holds_it else None
    branch = _git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    repository = _git(folder, "config", "--get", "remote.origin.url")
    return facet(
        "sourceCodeLocation", type="git", url=_url(repository, commit, path) or address_of(("file", script)), path=redact(path),
        repoUrl=redact(redact_address(repository)) if repository else None, version=commit, branch=None if branch == "HEAD" else branch,
    )  # fmt: skip


def _url(repository: str | None, commit: str | None, path: str) -> str | None:
    """Return the file's page on a known forge, else the repository's address. None if the repository is on this machine only."""
    found = _REMOTE.fullmatch(repository or "")
    if found is None:
        return None
    address = f"https://{found['host']}/{quote(found['path'].strip('/'))}"
    pages = next((pages for forge, pages in _FILES.items() if forge in found["host"]), None)
    return f"{address}/{pages}/{commit}/{quote(path)}" if pages and commit else address


def _blob(script: Path) -> str | None:
    try:
        content = script.read_bytes() if script.stat().st_size <= _LARGEST else None
    except OSError:
        content = None
    return None if content is None else hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _git(folder: str, *arguments: str) -> str | None:
    command = ["git", *GIT_OPTIONS, "-C", folder, *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | GIT_ENVIRONMENT
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None  # no git, or no answer in time
    return done.stdout.strip() or None if done.returncode == 0 else None
