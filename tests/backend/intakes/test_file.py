"""Events from a file that grows: each line once, whatever happens to the file and to the service."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from headwater.backend.intakes import file as file_intake
from headwater.backend.intakes import read_intakes
from headwater.backend.intakes.entrance import Door
from headwater.errors import ConfigurationError
from tests.backend.events import run_event
from tests.backend.intakes.fetched import Fetching


def lines(*numbers: int) -> str:
    return "".join(json.dumps(run_event(number)) + "\n" for number in numbers)


def ids(*numbers: int) -> list[str]:
    return [run_event(number)["run"]["runId"] for number in numbers]


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    (tmp_path / "var").mkdir()
    return tmp_path / "var" / "events.jsonl"


@pytest.fixture
def fetching(tmp_path: Path, grown: Path, monkeypatch: pytest.MonkeyPatch) -> Fetching:
    monkeypatch.setattr(file_intake, "_GRACE", 0.3)
    return Fetching(tmp_path / "home", f'[[intake]]\nkind = "file"\nname = "log"\npath = "{grown}"\n', max_body_bytes=20_000)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_lines_are_taken_as_they_come_and_bad_ones_are_dead_letters(fetching: Fetching, grown: Path) -> None:
    with fetching:
        append(grown, lines(1) + "no JSON\n\n" + json.dumps([run_event(2), run_event(3)]) + "\n" + lines(4)[:40])
        fetching.await_runs(ids(1, 2, 3))
        append(grown, lines(4)[40:] + "{" * 50_000 + "\n" + lines(5))
        fetching.await_runs(ids(1, 2, 3, 4, 5))
        fetching.until(lambda: len(fetching.reasons()) == 2, fetching.reasons)
        assert any("bytes" in reason for reason in fetching.reasons())
        assert fetching.intakes.state == "ok"
        fetching.until(lambda: fetching.measured('headwater_intake_lag{intake="log"}') == 0)
        assert fetching.measured('headwater_intake_documents_total{intake="log",outcome="accepted"}') == 5


def test_what_was_read_before_a_restart_is_not_read_again(fetching: Fetching, grown: Path) -> None:
    append(grown, lines(1, 2))
    with fetching:
        fetching.await_runs(ids(1, 2))
    append(grown, lines(3))
    with fetching:
        fetching.await_runs(ids(1, 2, 3))
    assert fetching.measured('headwater_intake_documents_total{intake="log",outcome="accepted"}') == 3
    assert 'outcome="duplicate"} 0' in fetching.metrics.exposition().decode()


def test_a_file_that_is_put_aside_is_read_to_its_end_first(fetching: Fetching, grown: Path) -> None:
    append(grown, lines(1))
    with fetching:
        fetching.await_runs(ids(1))
        with grown.open("a") as still_open:
            grown.rename(grown.with_name("events.jsonl.1"))
            append(grown, lines(3))
            still_open.write(lines(2))
        fetching.await_runs(ids(1, 2, 3))
    append(grown, lines(4))
    grown.rename(grown.with_name("events.jsonl.2"))  # while nobody looks
    append(grown, lines(5))
    with fetching:
        fetching.await_runs(ids(1, 2, 3, 4, 5))


def test_a_file_that_was_cut_is_read_from_its_beginning(fetching: Fetching, grown: Path) -> None:
    append(grown, lines(1, 2))
    with fetching:
        fetching.await_runs(ids(1, 2))
        os.truncate(grown, 0)
        append(grown, lines(3))
        fetching.await_runs(ids(1, 2, 3))
    grown.write_text(lines(4, 5, 6))  # another file in the same place, longer than what was read
    with fetching:
        fetching.await_runs(ids(1, 2, 3, 4, 5, 6))


def test_what_is_no_file_is_told_and_waited_for(fetching: Fetching, grown: Path) -> None:
    os.mkfifo(grown)
    with fetching:
        fetching.until(lambda: "no file" in fetching.intakes.state)
        grown.unlink()
        append(grown, lines(1))
        fetching.await_runs(ids(1))


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("x = 1", "alone"),
        ("[[intake]]", "kind"),
        ('[[intake]]\nkind = "ftp"', "kind"),
        ('[[intake]]\nkind = "file"', "path"),
        ('[[intake]]\nkind = "file"\npath = "a"', "whole"),
        ('[[intake]]\nkind = "file"\npath = "/a"\ntopics = ["b"]', "topics"),
        ('[[intake]]\nkind = "file"\npath = "/a"\nname = "a b"', "name"),
        ('[[intake]]\nkind = "file"\npath = "/a"\ntenant = "A!"', "tenant"),
        ('[[intake]]\nkind = "file"\npath = "/a"\nname = "x"\n[[intake]]\nkind = "file"\npath = "/b"\nname = "x"', "two"),
        ('[[intake]]\nkind = "kafka"\nservers = "b:1"\ntopics = "t"', "topics"),
        ('[[intake]]\nkind = "kafka"\nservers = "b:1"\ntopics = ["t"]\nfrom = "middle"', "earliest"),
        ('[[intake]]\nkind = "s3"\nurl = "s3://a/b"\nseconds = -1', "seconds"),
        ("[[intake", "no TOML"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(tmp_path: Path, stated: str, message: str) -> None:
    (tmp_path / "intakes.toml").write_text(stated)
    with pytest.raises(ConfigurationError, match=message):
        read_intakes(tmp_path / "intakes.toml")


def test_of_short_lines_few_are_in_hand_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs two kilobytes until it is durable: a file of nothing but short lines must not take the memory of the service."""
    sizes: list[int] = []
    take = Door.take

    def counted(door: Door, bodies: Sequence[bytes]) -> bool:
        sizes.append(len(bodies))
        return take(door, bodies)

    monkeypatch.setattr(Door, "take", counted)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"x\n" * 5_000 + json.dumps(run_event(1)).encode() + b"\n")
    with Fetching(tmp_path / "home", f'[[intake]]\nkind = "file"\npath = "{path}"\n') as fetching:
        fetching.await_runs([run_event(1)["run"]["runId"]])
        fetching.until(lambda: sum(sizes) == 5_001)
    assert max(sizes) <= 256
    with fetching:  # all of it was noted
        time.sleep(0.5)
    assert sum(sizes) == 5_001


def test_brackets_in_a_files_name_are_no_pattern(tmp_path: Path) -> None:
    """A file that was put aside while nobody looked is found by its name, not by what the name would match."""
    path = tmp_path / "events[1].jsonl"
    fetching = Fetching(tmp_path / "home", f'[[intake]]\nkind = "file"\nname = "log"\npath = "{path}"\n')
    append(path, lines(1))
    with fetching:
        fetching.await_runs(ids(1))
    append(path, lines(2))
    path.rename(tmp_path / "events[1].jsonl.1")
    append(path, lines(3))
    with fetching:
        fetching.await_runs(ids(1, 2, 3))
