"""The constraints of PROV-CONSTRAINTS (W3C Recommendation, 30 April 2013) by number, and how a violation is worded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CONSTRAINTS: Mapping[int, str] = {
    22: "key-object",
    23: "key-properties",
    24: "unique-generation",
    25: "unique-invalidation",
    26: "unique-wasStartedBy",
    27: "unique-wasEndedBy",
    28: "unique-startTime",
    29: "unique-endTime",
    30: "start-precedes-end",
    31: "start-start-ordering",
    32: "end-end-ordering",
    33: "usage-within-activity",
    34: "generation-within-activity",
    35: "wasInformedBy-ordering",
    36: "generation-precedes-invalidation",
    37: "generation-precedes-usage",
    38: "usage-precedes-invalidation",
    39: "generation-generation-ordering",
    40: "invalidation-invalidation-ordering",
    41: "derivation-usage-generation-ordering",
    42: "derivation-generation-generation-ordering",
    43: "wasStartedBy-ordering",
    44: "wasEndedBy-ordering",
    45: "specialization-generation-ordering",
    46: "specialization-invalidation-ordering",
    47: "wasAssociatedWith-ordering",
    48: "wasAttributedTo-ordering",
    49: "actedOnBehalfOf-ordering",
    50: "typing",
    51: "impossible-unspecified-derivation-generation-use",
    52: "impossible-specialization-reflexive",
    53: "impossible-property-overlap",
    54: "impossible-object-property-overlap",
    55: "entity-activity-disjoint",
    56: "membership-empty-collection",
}


ATTRIBUTES = 0  # no constraint of PROV-CONSTRAINTS: what PROV-DM says of its own attributes


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint that a document breaks, or (`ATTRIBUTES`) PROV-DM's rule for its own attributes.

    `line` is the line of a statement in the violation (0: the notation has no lines).
    """

    constraint: int
    message: str
    line: int = 0
    bundle: str | None = None

    @property
    def clause(self) -> str:
        """The name of the constraint, or of the section of PROV-DM, in the Recommendation."""
        if self.constraint == ATTRIBUTES:
            return "PROV-DM 5.7.2 (attribute)"
        return f"Constraint {self.constraint} ({CONSTRAINTS[self.constraint]})"
