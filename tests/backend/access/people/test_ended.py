"""Sessions that were ended: known to every process of a home, until they would have ended by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.backend.access.people.ended_sessions import OwnEndedSessions
from headwater.backend.access.people.grants import Person, Rules
from headwater.backend.api.credentials import Credentials
from headwater.backend.api.errors import ForbiddenError
from headwater.errors import UnavailableError
from headwater.graph.access.scopes import Scope


def test_what_one_process_ends_the_other_knows_and_forgets_in_time(tmp_path: Path) -> None:
    now = 1000.0
    first, second = (OwnEndedSessions(tmp_path / "sessions.db", clock=lambda: now) for _ in range(2))
    assert not second.has("a", 50.0)
    first.end("a", 1100.0)
    assert second.has("a", 50.0)
    assert not second.has("b", 50.0)
    now = 1200.0
    second.end("b", 1300.0)
    assert (first.has("a", 50.0), first.has("b", 50.0)) == (False, True)


def test_a_file_that_cannot_be_read_opens_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    credentials = Credentials("0123456789abcdef", tenant="t", ended=OwnEndedSessions(path))
    cookie = str(credentials.redeem(credentials.ticket())).partition(";")[0]
    assert credentials.principal({"cookie": cookie}) is not None
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(UnavailableError, match="ended sessions"):
        credentials.principal({"cookie": cookie})


def test_a_forged_session_ends_nothing(tmp_path: Path) -> None:
    credentials = Credentials("0123456789abcdef", tenant="t", ended=OwnEndedSessions(tmp_path / "sessions.db"))
    credentials.sign_out(f"{credentials.cookie}=9999999999.abc.read..0; other=x")
    assert not (tmp_path / "sessions.db").exists()


def test_who_may_not_read_gets_no_session() -> None:
    credentials = Credentials("0123456789abcdef", tenant="t")
    rules = Rules("https://i", "c", ("c",), (), "d")
    with pytest.raises(ForbiddenError, match="for those who may read"):
        credentials.sign_in(rules, Person("person:a:1", "t", frozenset({Scope.INTAKE})))
