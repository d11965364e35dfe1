"""The audit log by itself: what is written, what a damaged file or a full disk does, and how the latest lines are found."""

from __future__ import annotations

import asyncio
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.audit.chain import verify
from headwater.backend.audit.lines import Wanted, earlier_files, latest, name_of_full
from headwater.backend.audit.log import AuditLog
from headwater.errors import UnavailableError


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def _asked(path: Path) -> list[str]:
    return [entry["what"] for entry in _lines(path) if not entry["what"].startswith("service.")]


def test_a_line_is_written_when_the_answer_is_given(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    log.start()
    asyncio.run(log.write({"what": "trace", "on": ["dataset:x\n\ud800"], "records": 3}))
    (entry,) = (entry for entry in _lines(path) if entry["what"] == "trace")
    assert (entry["v"], entry["records"]) == (1, 3)
    assert datetime.fromisoformat(entry["at"]).tzinfo == UTC
    log.close()
    assert [entry["what"] for entry in _lines(path)] == ["service.start", "trace", "service.end"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_older_log_goes_on_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('{"what":"before","at":"2026-01-01T00:00:00+00:00"}\n{"what":"cut off')
    path.chmod(0o644)
    log = AuditLog(path)
    log.start()
    log.close()
    assert path.read_text().splitlines()[1] == '{"what":"cut off'
    found = latest(path, Wanted(), 10)
    assert ([entry["what"] for entry in found.entries], found.damaged) == (["before", "service.start", "service.end"], 1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_disk_is_told_and_passes(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.symlink_to("/dev/full")
    log = AuditLog(path)
    log.start()
    with pytest.raises(UnavailableError, match="No space left on device"):
        asyncio.run(log.write({"what": "trace"}))
    assert log.state == "cannot be written: No space left on device"
    path.unlink()
    asyncio.run(log.write({"what": "rows"}))
    assert log.state == "ok"
    log.close()
    assert "rows" in _asked(path)


def test_refusals_of_strangers_fill_no_disk_and_hide_no_other(tmp_path: Path) -> None:
    now = 0.0
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, clock=lambda: now)
    for _ in range(10_000):
        log.note({"what": "stranger"}, known=False)
    log.note({"what": "known"}, known=True)
    now = 10.0
    log.note({"what": "later"}, known=False)
    log.start()
    log.close()
    assert _asked(path) == ["stranger"] * 100 + ["known", "later"]
    assert [entry["left_out"] for entry in _lines(path) if "left_out" in entry] == [9_900]


def test_what_one_caller_is_refused_hides_nothing_of_another(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, clock=lambda: 0.0)
    for _ in range(1_000):
        log.note({"what": "metrics", "who": "key:sales:1"}, known=True)
    log.note({"what": "trace", "who": "key:ann:2"}, known=True)
    log.start()
    log.close()
    assert _asked(path) == ["metrics"] * 100 + ["trace"]


def test_pages_of_a_search_come_to_the_beginning_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    start = datetime(2026, 1, 1, tzinfo=UTC)
    lines = [
        json.dumps({"at": (start + timedelta(seconds=n)).isoformat(), "what": "trace", "n": n, "pad": "x" * 400}) for n in range(2_000)
    ]
    path.write_text("\n".join(lines) + "\n")
    found: list[int] = []
    until, pages = None, 0
    while True:
        page = latest(path, Wanted(until=until), 10_000, within=100_000)
        found = [entry["n"] for entry in page.entries] + [n for n in found if n not in {entry["n"] for entry in page.entries}]
        pages += 1
        if page.left_at is None:
            break
        assert until is None or page.left_at < until, "each page goes on where the last one ended"
        until = page.left_at
    assert found == list(range(2_000))
    assert 8 < pages < 15


@pytest.fixture
def long(tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    with path.open("w") as file:
        for number in range(5_000):
            entry = {
                "at": f"2026-01-{1 + number // 200:02}T00:00:00+00:00",
                "who": f"key:{number % 2}",
                "what": "rows",
                "on": [f"dataset:file:/{number}"],
                "decision": ("allowed", "refused")[number % 10 == 0],
                "n": number,
            }
            file.write(json.dumps(entry) + "\n")
    return path


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (Wanted(), [4997, 4998, 4999]),
        (Wanted(who="key:1"), [4995, 4997, 4999]),
        (Wanted(dataset="file:/17"), [1797, 1798, 1799]),
        (Wanted(decision="refused"), [4970, 4980, 4990]),
        (Wanted(until=datetime(2026, 1, 1, tzinfo=UTC)), [197, 198, 199]),
        (Wanted(since=datetime(2026, 1, 25, tzinfo=UTC), decision="refused", dataset="/480"), [4800]),
        (Wanted(who="nobody"), []),
    ],
)
def test_the_latest_lines_that_fit_are_found(long: Path, wanted: Wanted, numbers: list[int]) -> None:
    assert [entry["n"] for entry in latest(long, wanted, 3).entries] == numbers


def test_there_may_be_no_log(tmp_path: Path) -> None:
    assert latest(tmp_path / "none", Wanted(), 3).entries == ()


def test_a_full_file_is_put_aside_and_the_oldest_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, most_bytes=1_000, kept=3)
    log.start()

    async def asked(count: int) -> None:
        for number in range(count):
            await log.write({"what": "trace", "number": number})

    asyncio.run(asked(200))
    log.close()
    full = earlier_files(path)
    assert len(full) == 3
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in (path, *full))
    assert all(1_000 <= file.stat().st_size < 1_200 for file in full)
    # The kept lines have no gap, and are listed like those of one file.
    numbers = [entry["number"] for file in (*full, path) for entry in _lines(file) if entry["what"] == "trace"]
    assert numbers == list(range(200 - len(numbers), 200))
    found = latest(path, Wanted(decision=None), 1_000)
    assert [entry["number"] for entry in found.entries if entry["what"] == "trace"] == numbers
    assert found.damaged == 0
    assert [entry["number"] for entry in latest(path, Wanted(), 40).entries if "number" in entry] == numbers[-len(numbers) :][-36:]
    checked = verify(path)
    assert (checked.broken, checked.begins_after is None, checked.lines) == (0, False, len(found.entries))


def test_a_file_that_cannot_be_put_aside_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path, most_bytes=200)

    def refuse(*_: object) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    log.start()
    for _ in range(20):
        asyncio.run(log.write({"what": "trace"}))
    log.close()
    assert log.state == "ok"
    assert earlier_files(path) == []
    assert len(_asked(path)) == 20


def test_a_file_that_is_put_aside_while_it_is_read_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text("".join(f'{{"number":{number},"at":"2026-01-01T00:00:00+00:00"}}\n' for number in range(3)))

    def put_aside_first(file: Path) -> list[Path]:
        aside = name_of_full(file, datetime(2026, 1, 2, tzinfo=UTC))
        if not aside.exists():
            file.rename(aside)
        return earlier_files(file)

    monkeypatch.setattr("headwater.backend.audit.lines.earlier_files", put_aside_first)
    assert [entry["number"] for entry in latest(path, Wanted(), 10).entries] == [0, 1, 2]
