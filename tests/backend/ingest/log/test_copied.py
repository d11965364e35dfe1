"""A copy of a small table: who asks for it does not wait for a database that is away, and it comes back by itself."""

from __future__ import annotations

import threading
import time

import pytest

from headwater.backend.ingest.log.postgres.table_copy import Copied
from headwater.errors import UnavailableError


def test_only_the_first_question_waits_for_a_database_that_is_away_and_no_fault_ends_the_reading() -> None:
    states: list[Exception | str] = [UnavailableError("away", hint="")]
    asked_here: list[int] = []

    def read() -> str:
        if threading.get_ident() == here:
            asked_here.append(1)
        if isinstance(states[0], Exception):
            raise states[0]
        return states[0]

    here = threading.get_ident()
    copied = Copied(read, "named keys")
    try:
        for _ in range(5):
            with pytest.raises(UnavailableError):
                copied.now()
        assert len(asked_here) == 1
        states[0] = ValueError("an answer that the driver does not understand")
        time.sleep(1.5)
        states[0] = "known"
        assert _soon(copied) == "known"
        assert len(asked_here) == 1
    finally:
        copied.close()


def _soon(copied: Copied[str]) -> str:
    deadline = time.monotonic() + 30
    while True:
        try:
            return copied.now()
        except UnavailableError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
