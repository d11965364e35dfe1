"""Guided damage to what each parser reads, for long: `make torture ARGS="--modes fuzzing"`.

HEADWATER_ROUNDS=N is for how many seconds a parser is fuzzed. atheris is fetched when this runs, into an environment of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.readers import environment

pytestmark = pytest.mark.torture

ATHERIS = "3.0.0"
_SECONDS = int(os.environ.get("HEADWATER_ROUNDS", "10"))
_ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("parser", ["events", "manifests", "segments", "predicates", "places", "storage", "provenance"])
def test_no_damage_ends_a_parser(parser: str, tmp_path: Path) -> None:
    python = environment("atheris", [f"atheris=={ATHERIS}"])
    # Headwater's dependencies come from this environment, which has the same Python.
    paths = os.pathsep.join([str(_ROOT), sysconfig.get_paths()["purelib"]])
    command = [str(python), "-m", "tests.backend.harm.fuzzed", parser, str(tmp_path / "found"), str(_SECONDS)]
    done = subprocess.run(command, cwd=_ROOT, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    kept = [path for path in (tmp_path / "found").iterdir() if path.name.startswith(("crash-", "timeout-", "oom-", "slow-"))]
    shown = "".join(f"\n{path.name}: {path.read_bytes()[:2000]!r}" for path in kept)
    assert done.returncode == 0, done.stderr[-4000:] + shown
    ended = re.search(r"^Done (\d+) runs", done.stderr, re.MULTILINE)
    assert ended, done.stderr[-1000:]
    assert int(ended[1]) > _SECONDS, "a document takes a second"
    print(parser, ended[1])  # noqa: T201 - for whoever asks with -s
