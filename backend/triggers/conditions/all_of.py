"""`all_of`: each of several conditions was fulfilled within a window. The facts that fire it count once."""

from __future__ import annotations

from headwater.backend.triggers.model import Combination


class AllOf:
    """See `Combining`."""

    combination = Combination.ALL
