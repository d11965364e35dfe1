"""Repair of the damaged files of a home, for `headwater store repair`."""

from headwater.backend.repair.done import Repair
from headwater.backend.repair.home import repair

__all__ = ["Repair", "repair"]
