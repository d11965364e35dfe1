"""Replays that are kept in files."""

from pathlib import Path

from headwater.backend.replay.service import Replays


def test_a_replay_of_another_version_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "replay.json"
    file.write_text('{"id": "x", "steps": [{"job": "a", "invocation": {}}]}')
    assert Replays._load(file) is None
    assert Replays._load(tmp_path / "none.json") is None
