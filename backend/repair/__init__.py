"""Mending the damaged files of a home: `headwater store repair`."""

from headwater.backend.repair.done import Repair
from headwater.backend.repair.home import repair

__all__ = ["Repair", "repair"]
