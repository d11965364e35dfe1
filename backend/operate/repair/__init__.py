"""Repair of the damaged files of a home, for `headwater store repair`."""

from headwater.backend.operate.repair.home import repair
from headwater.backend.operate.repair.result import Repair

__all__ = ["Repair", "repair"]
