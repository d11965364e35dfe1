"""Replay: runs a pipeline again next to the real data, with or without changed records or programs, and shows the differences.

A typical use: someone finds a wrong record and wants to see the report without it. The folder `kinds` lists the kinds of replay.
A replay never touches real data, because `spark_listener/replay.py` makes it write to a separate folder (the shadow). It never runs a
program that is not registered on this home (`spark_listener/registry.py`) or that changed since.
"""

from headwater.backend.rerun.replay.kinds import KINDS, ReplayRequest
from headwater.backend.rerun.replay.model import Difference, Replay, ReplayState, Step
from headwater.backend.rerun.replay.service import Replays

__all__ = ["KINDS", "Difference", "Replay", "ReplayRequest", "ReplayState", "Replays", "Step"]
