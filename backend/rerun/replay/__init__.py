"""Replay: run a pipeline again next to the real data, with other records or programs or as it was, and show the differences.

For people who found a wrong record and ask what the report would say without it. The folder `kinds` lists the kinds of replay.
A replay never touches real data, because `spark_listener/replay.py` makes it write to a shadow folder. It never runs a program that is
not registered on this home (`spark_listener/registry.py`) or that changed since.
"""

from headwater.backend.rerun.replay.kinds import KINDS, ReplayRequest
from headwater.backend.rerun.replay.model import Difference, Replay, ReplayState, Step
from headwater.backend.rerun.replay.service import Replays

__all__ = ["KINDS", "Difference", "Replay", "ReplayRequest", "ReplayState", "Replays", "Step"]
