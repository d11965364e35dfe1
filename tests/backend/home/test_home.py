"""The home folder is its owner's alone, has one key, and names no service that is dead."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.backend.home.folder import Home, ServiceRecord
from headwater.errors import ConfigurationError

_RECORD = ServiceRecord("http://127.0.0.1:1", os.getpid(), "2013-02-12T03:00:00+00:00", "0")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_made_is_the_owners_alone(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home").create()
    home.key()
    home.announce(_RECORD)
    assert {_mode(path) for path in (home.path, home.spool, home.associations, home.replays)} == {0o700}
    assert {_mode(home.key_file), _mode(home.service_file)} == {0o600}
    assert sorted(path.name for path in home.path.iterdir()) == ["associations", "key", "replays", "service.json", "spool"]


def test_the_key_stays(tmp_path: Path) -> None:
    home = Home.at(tmp_path).create()
    assert home.key() == home.key() == Home.at(tmp_path).key()
    assert home.key().startswith("hw_")
    assert len(home.key()) > 40


def test_all_who_start_together_get_one_key(tmp_path: Path) -> None:
    home = Home.at(tmp_path).create()
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(lambda _: home.key(), range(64)))) == 1


def test_a_key_that_others_can_read_is_closed(tmp_path: Path) -> None:
    home = Home.at(tmp_path).create()
    home.key()
    home.key_file.chmod(0o644)
    home.key()
    assert _mode(home.key_file) == 0o600


def test_a_key_that_is_too_short_is_refused(tmp_path: Path) -> None:
    home = Home.at(tmp_path).create()
    home.key_file.write_text("short")
    with pytest.raises(ConfigurationError, match="5 characters"):
        home.key()


def test_the_home_is_chosen_by_argument_then_variable_then_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "b"))
    assert Home.at(tmp_path / "a").path == tmp_path / "a"
    assert Home.at().path == tmp_path / "b"
    monkeypatch.delenv("HEADWATER_HOME")
    assert Home.at().path == Path.home() / ".headwater"


def test_a_home_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be made"):
        Home.at(tmp_path / "file" / "home").create()


def test_a_living_service_is_found(tmp_path: Path) -> None:
    home = Home.at(tmp_path).create()
    assert home.service() is None
    home.announce(_RECORD)
    found = home.service()
    assert found is not None
    assert (found.url, found.pid) == (_RECORD.url, os.getpid())


def test_a_dead_service_is_none(tmp_path: Path) -> None:
    home = Home.at(tmp_path).create()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    home.announce(replace(_RECORD, pid=process.pid))
    assert home.service() is not None
    process.communicate(b"\n")
    assert home.service() is None


def test_a_process_that_got_the_services_number_is_not_the_service(tmp_path: Path) -> None:
    home = Home.at(tmp_path).create()
    home.announce(_RECORD)
    text = home.service_file.read_text()
    assert '"born": "' in text
    home.service_file.write_text(text.replace('"born": "', '"born": "1'))
    assert home.service() is None


def test_a_damaged_record_is_no_service(tmp_path: Path) -> None:
    home = Home.at(tmp_path).create()
    home.service_file.write_text('{"url": ')
    assert home.service() is None


def test_only_its_own_record_is_retracted(tmp_path: Path) -> None:
    home = Home.at(tmp_path).create()
    home.announce(_RECORD)
    home.retract(os.getpid() + 1)
    assert home.service() is not None
    home.retract(os.getpid())
    assert not home.service_file.exists()
