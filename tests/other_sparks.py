"""Other lines of Spark than the locked one, each with a Python of its own. The same tests run with them.

    python -m tests.other_sparks                            # fetches them, as the step `sparks-install` of `make test-more` does
    python -m tests.other_sparks 4.0 -m pytest tests/…      # runs the Python of one

uv fetches them once, into .tools. Such a Python has the pyspark of its line, and everything else from the environment of the lock.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from tests.lake import _TOOLS, _once

LINES = {"4.0": "4.0.5"}
_OF_ANOTHER = ("SPARK_SUBMIT_OPTS", "PYSPARK_PYTHON")  # classes in memory, and the Python of workers: those of the lock's Spark


def python(line: str) -> Path:
    """The Python of a line."""
    folder = _TOOLS / f"pyspark-{LINES[line]}"
    program = folder / "lib/bin/python"
    with _once(folder) as absent:
        if absent:
            uv = shutil.which("uv") or str(_TOOLS / "uv/bin/uv")
            subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder / "lib")], check=True)
            subprocess.run([uv, "pip", "install", "-q", "--python", str(program), f"pyspark=={LINES[line]}"], check=True)
            beside = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"  # after its own: what it has itself comes first
            Path(next(folder.glob("lib/lib/python*/site-packages")), "locked.pth").write_text(beside)
    return program


def environment(line: str) -> dict[str, str]:
    """The environment of a line, without options of the locked Spark."""
    return {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER} | {"PYSPARK_PYTHON": str(python(line))}


def main(arguments: Sequence[str]) -> None:
    """Fetch all lines, or go on as the Python of one."""
    if arguments:
        program = str(python(arguments[0]))
        os.execve(program, [program, *arguments[1:]], environment(arguments[0]))
    for line in LINES:
        python(line)


if __name__ == "__main__":
    main(sys.argv[1:])
