"""Wherever a part of Headwater fails on purpose, the program's query runs by its own plan, and the ledger has the reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(7200)]


def _faults(root: Path, folder: Path, mode: str, choice: str, kind: str = "queries") -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.oracle.faults_on_purpose", str(folder), mode, choice, kind]
    kept = {name: value for name, value in os.environ.items() if name != "PYSPARK_SUBMIT_ARGS"}
    done = subprocess.run(command, cwd=root, env={**kept, "PYTHONPATH": str(root)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _check(faults: list[dict[str, Any]], *, least: int) -> None:
    tried = {fault["place"] for fault in faults}
    assert len(tried) > least, tried
    assert [fault for fault in faults if not fault["same"]] == []
    assert [fault for fault in faults if fault["place"] and not fault["said"]] == []


def test_a_method_of_each_part_may_fail(root: Path, tmp_path: Path) -> None:
    _check(_faults(root, tmp_path, "lazy", "telling"), least=30)


@pytest.mark.torture
@pytest.mark.parametrize(("mode", "least"), [("active", 200), ("auto", 200), ("lazy", 200), ("coarse", 0)])
def test_every_method_may_fail(root: Path, tmp_path: Path, mode: str, least: int) -> None:
    _check(_faults(root, tmp_path, mode, "all"), least=least)


@pytest.mark.torture
def test_every_method_may_fail_in_commands_of_tables(root: Path, tmp_path: Path) -> None:
    _check(_faults(root, tmp_path, "active", "all", "tables"), least=150)
