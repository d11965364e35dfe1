"""The registry of the kinds of conditions. A kind is one file of this folder and one line here.

`all_of` and `any_of` combine other conditions, and have no facts of their own.
"""

from __future__ import annotations

from headwater.backend.triggers.conditions.all_of import AllOf
from headwater.backend.triggers.conditions.any_of import AnyOf
from headwater.backend.triggers.conditions.cascade import Cascade
from headwater.backend.triggers.conditions.condition import Combining, Kind, NameLookup
from headwater.backend.triggers.conditions.data import Data
from headwater.backend.triggers.conditions.deviation import OpenedDeviation
from headwater.backend.triggers.conditions.fired import Fired
from headwater.backend.triggers.conditions.manual import Manual
from headwater.backend.triggers.conditions.stale import Stale
from headwater.backend.triggers.conditions.time import Time

__all__ = ["COMBINATIONS", "KINDS", "Combining", "Kind", "NameLookup"]

KINDS: dict[str, Kind] = {
    "manual": Manual(), "data": Data(), "time": Time(), "cascade": Cascade(), "trigger": Fired(), "stale": Stale(),
    "deviation": OpenedDeviation(),
}  # fmt: skip
COMBINATIONS: dict[str, Combining] = {"all_of": AllOf(), "any_of": AnyOf()}
