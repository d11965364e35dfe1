"""The example examples/news: its days equal a full recomputation, also after a kill, and records are traced through its blocks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]


def test_the_news_of_three_days_equal_a_full_recomputation(tmp_path: Path) -> None:
    folder = tmp_path / "news"
    command = [sys.executable, str(ROOT / "examples" / "news" / "days.py"), str(folder), "--days", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "killed; no output has changed" in done.stdout
    assert [line.split()[-1] for line in done.stdout.splitlines()[-3:]] == ["yes"] * 3

    def ask(*arguments: str) -> list[dict[str, object]]:
        command = [sys.executable, "-m", "headwater", *arguments, "-f", "json", "--home", str(folder / "home")]
        answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
        return json.loads(answer.stdout)  # type: ignore[no-any-return]

    assert [block["mode"] for block in ask("versions", "data/templates")] == ["base"] * 3
    assert [block["mode"] for block in ask("versions", "data/unique")] == ["delta"] * 3
    assert {(each["mode"], each["cursor"], each["unread_blocks"]) for each in ask("consumers", "data/tagged")} == {("new", 3, 0)}
