"""References: a record named by 64 bits (docs/reference/capture-format.md, section 1).

Negative means "none", except where a reference is the hash of a group's key: there, only `NONE` itself is none.
"""

from __future__ import annotations

NONE = -(2**63)
POSITION_BITS = 40
POSITION_MASK = (1 << POSITION_BITS) - 1
FAILED_INPUTS = " (failed inputs)"  # ends the name of the table of the inputs that failed in an actor, with a key for each reason
ORDINAL_MASK = (1 << 23) - 1


def pack(ordinal: int, position: int) -> int:
    """The reference to a position under an ordinal.

    Raises:
        ValueError: one of them does not fit (23 and 40 bits).
    """
    if not 0 <= ordinal <= ORDINAL_MASK or not 0 <= position <= POSITION_MASK:
        raise ValueError(f"Ordinal {ordinal} and position {position} do not fit into a reference (23 and 40 bits).")
    return ordinal << POSITION_BITS | position


def unpack(reference: int) -> tuple[int, int] | None:
    """Ordinal and position; None where the reference names no record."""
    if reference < 0:
        return None
    return reference >> POSITION_BITS, reference & POSITION_MASK
