"""`any_of`: one of several conditions was fulfilled. Facts that follow within the window, if there is one, join the same cause."""

from __future__ import annotations

from headwater.backend.triggers.model import Combination


class AnyOf:
    combination = Combination.ANY
