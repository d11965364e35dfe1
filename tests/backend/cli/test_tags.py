"""`headwater tags`, on a home without a service."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from headwater.errors import InvalidInputError, InvalidQueryError, NotFoundError
from tests.backend.cli.test_columns import CLEAN, OUT, described, rows, run

__all__ = ["described"]

_WHO, _WORST = f"column:file:{OUT}:who", f"column:file:{OUT}:worst"


@pytest.fixture
def home(described: Path, tmp_path: Path) -> Path:
    """A home in which `who` hides the tagged `email`, and `worst` is made of `wind`."""
    copied = tmp_path / "home"
    shutil.copytree(described, copied)
    return copied


def test_a_tag_is_proposed_with_its_path_accepted_and_refused(home: Path) -> None:
    run("describe", CLEAN, "--column", "wind", "--tag", "private", "--home", home)
    (found,) = rows("tags", "propose", "--home", home)
    assert (found["node"], found["tag"], found["way"], found["state"]) == (_WORST, "private", "direct", "proposed")
    assert found["path"] == [f"column:file:{CLEAN}:wind", "job:local:report", _WORST]
    run("tags", "accept", _WORST, "--tag", "private", "--home", home)
    assert rows("describe", OUT, "--column", "worst", "--home", home)[0]["value"] == "private"
    assert rows("tags", "propose", "--home", home) == []
    run("describe", OUT, "--column", "worst", "--remove", "tag=private", "--home", home)
    (refused,) = rows("tags", "propose", "--all", "--home", home)
    assert refused["state"] == "refused"


def test_a_rule_lowers_a_masked_tag_and_proposals_are_answered_together(home: Path, tmp_path: Path) -> None:
    assert rows("tags", "propose", "--home", home) == [], "a mask ends a tag that no rule names"
    file = tmp_path / "tags.yaml"
    file.write_text("rules:\n- {tag: pii, masked: pii-hashed}\n")
    found = rows("tags", "propose", "--rules", file, "--home", home)
    assert [(row["node"], row["tag"], row["way"]) for row in found] == [(_WHO, "pii-hashed", "masked")]
    with pytest.raises(NotFoundError, match="No proposal fits"):
        run("tags", "refuse", "--tag", "pii-hashed", "--way", "direct", "--rules", file, "--home", home)
    run("tags", "refuse", "--tag", "pii-hashed", "--way", "masked", "--of", "column:file:*", "--rules", file, "--home", home)
    assert rows("tags", "propose", "--rules", file, "--home", home) == []


@pytest.mark.parametrize(
    "text", ["rules: []", "rules: [{masked: x}]", "rules: [{tag: a, hash: b}]", "rules: [{tag: a, masked: 3}]", "a: b"]
)
def test_a_file_of_rules_with_a_fault_is_refused(home: Path, tmp_path: Path, text: str) -> None:
    file = tmp_path / "tags.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInputError):
        run("tags", "propose", "--rules", file, "--home", home)


def test_an_answer_names_its_proposals_and_its_home(home: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidQueryError, match="which proposals"):
        run("tags", "accept", "--home", home)
    with pytest.raises(NotFoundError, match="There is no home"):
        run("tags", "propose", "--home", tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
