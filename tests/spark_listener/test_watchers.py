"""Every watcher accepts all calls of the hooks."""

from __future__ import annotations

import pytest

from headwater.spark_listener.hooks import Watcher
from headwater.spark_listener.replay import CapturingReplayer, Replayer, ReplayOrder


class _Sessions(Watcher):
    """An agent that keeps the sessions of its calls."""

    watching = False

    def __init__(self, watching: bool) -> None:
        self.watching = watching
        self.told: list[str] = []

    def session_made(self, session: str) -> None:
        self.told.append(session)


@pytest.mark.parametrize("watching", [True, False])
def test_a_recaptured_program_keeps_the_replays_rule_whatever_becomes_of_capture(watching: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ruled: list[str] = []
    monkeypatch.setattr(Replayer, "session_made", lambda _, session: ruled.append(session))
    agent = _Sessions(watching)
    watcher = CapturingReplayer(ReplayOrder("1", "/shadow", {}, "0", captures=True), agent)
    assert watcher.watching
    watcher.session_made("session")
    assert (ruled, agent.told) == (["session"], ["session"] if watching else [])
    assert watcher.rdd_became_frame("rdd", "rows", "frame") == "frame"
    assert not [name for name in vars(Watcher) if not name.startswith("_") and not hasattr(watcher, name)]


def test_a_session_without_the_replays_rule_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Replayer, session: str) -> None:
        raise RuntimeError(session)

    monkeypatch.setattr(Replayer, "session_made", refuse)
    agent = _Sessions(watching=True)
    with pytest.raises(RuntimeError):
        CapturingReplayer(ReplayOrder("1", "/shadow", {}, "0", captures=True), agent).session_made("session")
    assert agent.told == ["session"]
