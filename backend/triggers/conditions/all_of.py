"""`all_of`: every one of several conditions was fulfilled within a window. Each fact counts for one cause only."""

from __future__ import annotations

from headwater.backend.triggers.model import Combination


class AllOf:
    combination = Combination.ALL
