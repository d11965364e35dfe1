"""A home of Headwater that may read remote storage, for tests that run programs there and use the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Home:
    """See the module's docstring. `root` are entries of storage.toml; `said` is what the last command printed on standard error."""

    def __init__(self, folder: Path, root: str) -> None:
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir(mode=0o700)
        (self.home / "storage.toml").write_text(root)
        self.said = ""

    def headwater(self, *arguments: str, **environment: str) -> str:
        """Run a command, which must end well; its standard output."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        done = subprocess.run(
            [str(Path(sys.executable).parent / "headwater"), *arguments],
            env={**env, "HEADWATER_HOME": str(self.home), **environment}, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
        self.said = done.stderr
        return done.stdout

    def trace(self, *arguments: str) -> dict[str, Any]:
        """Return the answer of `headwater trace`."""
        found: dict[str, Any] = json.loads(self.headwater("trace", *arguments, "--format", "json"))
        return found
