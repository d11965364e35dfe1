"""Whoever is told by the hooks takes everything that the hooks tell."""

from __future__ import annotations

import pytest

from headwater.spark_listener.agent import Agent
from headwater.spark_listener.hooks import Unmoved, Watcher
from headwater.spark_listener.replay import Replayer
from headwater.spark_listener.switch import Switch


@pytest.mark.parametrize("kind", [Agent, Replayer, Switch, Unmoved])
def test_a_watcher_takes_all_that_is_told(kind: type) -> None:
    told = {name for name in vars(Watcher) if not name.startswith("_")}
    assert {"session_made", "program", "rdd_fault"} <= told
    assert not [name for name in told if not hasattr(kind, name)]
