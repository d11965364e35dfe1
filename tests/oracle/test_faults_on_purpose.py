"""Wherever a part of Headwater fails on purpose, the program's query runs by its own plan, and the ledger has the reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.faults_on_purpose import part_of, parts

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(7200)]


# Parts that only commands of tables use, and parts for records that are found again instead of written.
_OF_TABLES_ALONE = {"rewrite/families/MergedSides"}
_OF_LAZY: set[str] = set()


def _faults(root: Path, folder: Path, mode: str, choice: str, kind: str = "queries") -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.oracle.faults_on_purpose", str(folder), mode, choice, kind]
    kept = {name: value for name, value in os.environ.items() if name != "PYSPARK_SUBMIT_ARGS"}
    done = subprocess.run(command, cwd=root, env={**kept, "PYTHONPATH": str(root)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _check(faults: list[dict[str, Any]]) -> set[str]:
    """The parts in which a method failed on purpose."""
    assert [fault for fault in faults if not fault["same"]] == []
    assert [fault for fault in faults if fault["place"] and not fault["said"]] == []
    return {part_of(fault["place"]) for fault in faults if fault["place"]}


def test_a_method_of_each_part_may_fail(root: Path, tmp_path: Path) -> None:
    assert parts() - _check(_faults(root, tmp_path, "lazy", "telling")) == _OF_TABLES_ALONE


@pytest.mark.torture
@pytest.mark.parametrize(
    ("mode", "unmet"), [("active", _OF_TABLES_ALONE | _OF_LAZY), ("auto", _OF_TABLES_ALONE), ("lazy", _OF_TABLES_ALONE)]
)
def test_every_method_may_fail(root: Path, tmp_path: Path, mode: str, unmet: set[str]) -> None:
    assert parts() - _check(_faults(root, tmp_path, mode, "all")) == unmet


@pytest.mark.torture
def test_no_method_that_changes_plans_is_met_where_records_are_not_captured(root: Path, tmp_path: Path) -> None:
    assert _check(_faults(root, tmp_path, "coarse", "all")) == set()


@pytest.mark.torture
def test_every_method_may_fail_in_commands_of_tables(root: Path, tmp_path: Path) -> None:
    assert _check(_faults(root, tmp_path, "active", "all", "tables")) >= _OF_TABLES_ALONE | {"rewrite/delta", "rewrite/iceberg"}
