"""Replay: run a pipeline again, beside the real data and without chosen records, and show what comes out differently.

For people who found a wrong record and ask what the report would say without it. A replay never touches the data it repeats
(`spark_listener/replay.py` holds it to a shadow folder), and never runs a program that is not registered on this home
(`spark_listener/registry.py`), or is not what was registered any more.
"""

from headwater.backend.replay.model import Difference, Replay, ReplayState, Step
from headwater.backend.replay.service import Replays

__all__ = ["Difference", "Replay", "ReplayState", "Replays", "Step"]
