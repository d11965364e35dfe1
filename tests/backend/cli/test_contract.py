"""`headwater contract`, on a home without a service."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from headwater.errors import HeadwaterError, InvalidInputError, InvalidQueryError
from tests.backend.cli.command import headwater
from tests.backend.cli.test_columns import OUT, described, rows, run

__all__ = ["described"]

_CONTRACT = f"""
apiVersion: v3.0.2
kind: DataContract
id: report
version: 1.0.0
status: active
contractCreatedTs: 2026-01-31
team: [{{username: ann, role: Owner, dateIn: 2026-01-31}}]
schema:
- name: report
  physicalName: {OUT}
  properties: [{{name: WHO, classification: restricted}}, {{name: gone}}]
"""


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    file = tmp_path / "report.odcs.yaml"
    file.write_text(_CONTRACT)
    return file


def test_a_broken_clause_fails_the_command_and_comes_first(described: Path, contract: Path) -> None:
    done = headwater("contract", "check", str(contract), "--home", str(described), "--format", "json", code=1)
    found = json.loads(done.stdout)
    assert [(row["outcome"], row["column"]) for row in found] == [("broken", "gone"), ("kept", "WHO")]


def test_a_contract_is_applied_whole_or_not_at_all(described: Path, contract: Path, tmp_path: Path) -> None:
    home = shutil.copytree(described, tmp_path / "home")
    run("contract", "apply", contract, "--home", home)
    assert {(row["aspect"], row["value"]) for row in rows("describe", OUT, "--home", home)} >= {("owner", "ann")}
    assert [row["value"] for row in rows("describe", OUT, "--column", "who", "--home", home)] == ["classification=restricted"]
    contract.write_text(_CONTRACT.replace("ann", "bob").replace("{name: gone}", "{name: gone, tags: [pii]}"))
    with pytest.raises(HeadwaterError, match="no column gone"):
        run("contract", "apply", contract, "--home", home)
    assert ("owner", "bob") not in {(row["aspect"], row["value"]) for row in rows("describe", OUT, "--home", home)}


def test_bad_input_is_refused(described: Path, contract: Path) -> None:
    with pytest.raises(InvalidQueryError, match="no dataset of a table"):
        run("contract", "check", contract, "--dataset", "report", "--home", described)
    contract.write_text("a: &a [*a]")
    with pytest.raises(InvalidInputError):
        run("contract", "check", contract, "--home", described)
