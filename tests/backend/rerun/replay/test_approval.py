"""A commit that needs a second person: who may approve, and who may commit then."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.backend.rerun.replay.approval import approve, check_approved, load_approval
from headwater.backend.rerun.replay.model import Replay, ReplayState
from headwater.backend.rerun.replay.replay_settings import ReplaySettings
from headwater.errors import ConfigurationError, HeadwaterError


def _replay(folder: Path, state: ReplayState = ReplayState.COMPLETE) -> Replay:
    return Replay(
        id="a" * 32, tenant="default", output="dataset:file:/out", state=state, started_at="2026-01-01", shadow=str(folder / "data"),
        process=1, exclude={}, started_by="ann",
    )  # fmt: skip


def test_who_started_a_replay_cannot_approve_it_and_who_approved_it_cannot_commit_it(tmp_path: Path) -> None:
    replay = _replay(tmp_path)
    with pytest.raises(HeadwaterError, match="A second person must approve"):
        check_approved(replay, tmp_path, "ann")
    with pytest.raises(HeadwaterError, match="ann started"):
        approve(replay, tmp_path, "ann")
    assert load_approval(tmp_path) is None
    assert approve(replay, tmp_path, "bob").by == "bob"
    check_approved(replay, tmp_path, "ann")
    with pytest.raises(HeadwaterError, match="bob approved"):
        check_approved(replay, tmp_path, "bob")


def test_a_replay_that_is_not_complete_cannot_be_approved(tmp_path: Path) -> None:
    with pytest.raises(HeadwaterError, match="only a complete one"):
        approve(_replay(tmp_path, ReplayState.FAILED), tmp_path, "bob")


def test_the_settings_of_a_home_say_whether_a_commit_needs_approval(tmp_path: Path) -> None:
    assert not ReplaySettings.of_home(tmp_path).commit.approval
    (tmp_path / "replay.toml").write_text("[commit]\napproval = true\n")
    assert ReplaySettings.of_home(tmp_path).commit.approval
    (tmp_path / "replay.toml").write_text("[commit]\naproval = true\n")
    with pytest.raises(ConfigurationError, match="aproval"):
        ReplaySettings.of_home(tmp_path)
