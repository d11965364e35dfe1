"""The links of the audit log: whatever is done to its files afterwards shows, and nothing that happens to a service by itself does."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest

from headwater.backend.audit.chain import verify
from headwater.backend.audit.lines import earlier_files, name_of_full
from headwater.backend.audit.log import AuditLog, append_line
from tests.backend.cli.command import headwater


def _written(path: Path, count: int = 30, **options: int) -> list[str]:
    log = AuditLog(path, **options)
    log.start()

    async def ask() -> None:
        for number in range(count):
            await log.write({"what": "trace", "n": number})

    asyncio.run(ask())
    log.close()
    return path.read_text().splitlines(keepends=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def test_a_link_is_what_anybody_can_compute(path: Path) -> None:
    lines = [line.rstrip("\n") for line in _written(path)]
    assert json.loads(lines[0])["prev"] is None
    for before, line in pairwise(lines):
        assert json.loads(line)["prev"] == sha256(before.encode()).hexdigest()
    found = verify(path)
    assert (found.lines, found.broken, found.older, found.damaged) == (32, 0, 0, 0)
    assert found.head == sha256(lines[-1].encode()).hexdigest()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [*lines[:9], lines[9].replace('"n":8', '"n":7'), *lines[10:]], 11),
        (lambda lines: [*lines[:9], *lines[10:]], 10),
        (lambda lines: lines[9:], 1),
        (lambda lines: [*lines[:9], lines[10], lines[9], *lines[11:]], 10),
        (lambda lines: [*lines[:9], lines[8], *lines[9:]], 10),
        (lambda lines: [*lines[:9], '{"at":"2026-01-01T00:00:00+00:00","what":"made up"}\n', *lines[9:]], 10),
        (lambda lines: [*lines[:9], "not of the log\n", *lines[9:]], 11),
    ],
    ids=["changed", "removed", "beginning removed", "swapped", "doubled", "put in without a link", "put in as if damaged"],
)
def test_what_was_done_to_a_file_shows(path: Path, change: Callable[[list[str]], list[str]], line: int) -> None:
    path.write_text("".join(change(_written(path))))
    found = verify(path)
    assert found.broken >= 1
    assert found.breaks[0].line == line


def test_a_file_that_was_removed_shows(path: Path) -> None:
    _written(path, 100, most_bytes=2_000, kept=5)
    assert verify(path).broken == 0, "removed by the log itself, which says so"
    full = earlier_files(path)
    assert len(full) == 5
    kept = full[2].read_bytes()
    full[2].unlink()
    assert verify(path).broken == 1
    full[2].write_bytes(kept)
    assert verify(path).broken == 0
    full[0].unlink()
    assert verify(path).breaks[0].reason == "the lines before it are gone, and no line says so"


def test_the_latest_lines_cannot_be_cut_off_from_whoever_kept_a_head(path: Path) -> None:
    lines = _written(path)
    head = verify(path).head
    path.write_text("".join(lines[:-3]))
    cut = verify(path, head=head)
    assert (cut.broken, cut.has_head) == (0, False)
    path.write_text("".join(lines))
    _written(path)
    grown = verify(path, head=head)
    assert (grown.broken, grown.has_head, grown.lines) == (0, True, 64)


def test_lines_of_before_and_lines_cut_off_break_nothing(path: Path) -> None:
    path.write_text('{"v":1,"what":"before","at":"2026-01-01T00:00:00+00:00"}\n{"what":"cut o')
    _written(path)
    with path.open("a") as file:
        file.write('{"what":"killed whi')
    _written(path)
    found = verify(path)
    assert (found.broken, found.older, found.damaged, found.lines) == (0, 1, 2, 67)
    path.write_text(path.read_text().replace("killed", "killer"))
    assert verify(path).broken == 1, "the next line vouches for it"


_MANY = """
import sys
from pathlib import Path
from headwater.backend.audit.log import append_line
for number in range(150):
    append_line(Path(sys.argv[1]), {"what": "other", "n": number})
"""


def test_processes_that_write_at_once_make_one_chain_across_files(path: Path) -> None:
    others = [subprocess.Popen([sys.executable, "-c", _MANY, str(path)]) for _ in range(2)]
    _written(path, 400, most_bytes=9_000, kept=1_000)
    assert [other.wait(timeout=60) for other in others] == [0, 0]
    append_line(path, {"what": "last"})
    found = verify(path)
    assert (found.broken, found.damaged, found.lines) == (0, 0, 2 + 400 + 300 + 1)
    assert len(earlier_files(path)) > 5


def test_the_command_tells_the_head_and_ends_with_one_where_a_line_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    lines = _written(path)
    head = headwater("audit", "--verify", "--home", str(tmp_path)).stdout.split("head: ")[1].strip()
    headwater("audit", "--verify", "--head", head, "--home", str(tmp_path))
    path.write_text("".join([*lines[:3], *lines[4:]]))
    bad = json.loads(headwater("audit", "--verify", "--head", head, "--format", "json", "--home", str(tmp_path), code=1).stdout)
    assert (bad["broken"], bad["has_head"]) == (1, True)
    path.write_text("".join(lines[:-1]))
    assert "the digest of no line" in headwater("audit", "--verify", "--head", head, "--home", str(tmp_path), code=1).stderr


def test_of_a_long_log_the_latest_files_can_be_verified_alone(path: Path) -> None:
    lines = _written(path, 60)
    for number in range(4):
        name_of_full(path, datetime(2026, 1, 1 + number, tzinfo=UTC)).write_text("".join(lines[number * 10 : number * 10 + 10]))
    path.write_text("".join(lines[40:]))
    full = earlier_files(path)
    assert verify(path).broken == 0
    assert verify(path, within=10**9).whole
    found = verify(path, within=sum(file.stat().st_size for file in full[-2:]))
    assert (found.whole, found.broken) == (False, 0)
    assert 0 < found.lines < verify(path).lines
    assert found.head == verify(path).head
    full[-3].write_text(full[-3].read_text().replace('"n":', '"m":'))
    assert verify(path, within=sum(file.stat().st_size for file in full[-2:])).broken == 1, "the file before them was changed"
    assert verify(path, within=full[-1].stat().st_size).broken == 0
