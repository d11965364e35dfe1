"""Replays that are kept in files."""

import os
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.rerun.replay.checks import check_unchanged, file_states
from headwater.backend.rerun.replay.model import Replay, ReplayState
from headwater.backend.rerun.replay.service import Replays
from headwater.graph.records import ANYWHERE


def test_a_replay_of_another_version_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "replay.json"
    file.write_text('{"id": "x", "steps": [{"job": "a", "invocation": {}}]}')
    assert Replays._load(file) is None
    assert Replays._load(tmp_path / "none.json") is None


@pytest.mark.parametrize("change", ["rewritten", "gone"])
async def test_a_replay_ends_where_records_were_chosen_in_another_file(tmp_path: Path, change: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text("1\n2\n")
    states = file_states([str(file)], ANYWHERE)
    replay = Replay(
        id="0" * 32, tenant="default", output=f"dataset:file:{tmp_path}/out", started_at="", shadow=str(tmp_path / "shadow"),
        process=os.getpid(), exclude={str(file): [1]}, states=states,
    )  # fmt: skip
    check_unchanged(replay, ANYWHERE)
    replays: Any = Replays(tmp_path / "replays", None, None, None, ANYWHERE)  # type: ignore[arg-type]  # a replay without steps asks nothing
    if change == "gone":
        file.unlink()
    else:
        file.write_text("0\n1\n2\n")
    ended = await replays.run(replay)
    assert ended.state is ReplayState.FAILED
    assert "a.csv has changed since records of it were chosen" in ended.error
