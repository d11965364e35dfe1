"""`any_of`: one of several conditions was fulfilled. With a window, others that follow within it belong to the same cause."""

from __future__ import annotations

from headwater.backend.triggers.model import Combination


class AnyOf:
    """See `Combining`."""

    combination = Combination.ANY
