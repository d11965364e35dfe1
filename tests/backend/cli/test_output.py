"""How an answer is printed where no person sits at a terminal."""

from __future__ import annotations

import pytest

from headwater.backend.cli.output import Format, emit

PATH = f"/warehouse/{'folder/' * 30}part-0.parquet"


def test_a_table_that_is_piped_breaks_no_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    emit([{"file": PATH, "ok": True}], columns=("file", "ok"), format=Format.TABLE)
    assert PATH in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")  # as wide as the person asks
    emit([{"file": PATH, "ok": True}], columns=("file", "ok"), format=Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
