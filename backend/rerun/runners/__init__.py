"""Runners: the places where a registered program runs again, for triggers and replays.

The operator names runners in `runners.toml` of the home, and which programs use them. A caller never chooses a runner, and no text of a
caller reaches a command line. A kind is one file of this folder and one line in `settings.KINDS`.
"""

from __future__ import annotations

from headwater.backend.rerun.runners.launch import Launch, ProgramRunner, StopReason
from headwater.backend.rerun.runners.settings import Runners
from headwater.backend.rerun.runners.this_machine import ThisMachine

__all__ = ["Launch", "ProgramRunner", "Runners", "StopReason", "ThisMachine"]
