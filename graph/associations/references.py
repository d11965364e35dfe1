"""References: 64-bit numbers that name records (docs/reference/capture-format.md, section 1).

A negative reference means "none". If a reference is the hash of a group's key, only `NONE` means none.
"""

from __future__ import annotations

NONE = -(2**63)
POSITION_BITS = 40
POSITION_MASK = (1 << POSITION_BITS) - 1
FAILED_INPUTS = " (failed inputs)"  # suffix of the name of the table of inputs that failed in an actor, with a key for each reason
ALTERNATE = ".replay-"  # after the name of an output that a committed replay made and did not commit; the id of the replay follows
ORDINAL_MASK = (1 << 23) - 1


def pack(ordinal: int, position: int) -> int:
    """Return the reference to a position under an ordinal.

    Raises:
        ValueError: ordinal or position does not fit (23 and 40 bits).
    """
    if not 0 <= ordinal <= ORDINAL_MASK or not 0 <= position <= POSITION_MASK:
        raise ValueError(f"Ordinal {ordinal} and position {position} do not fit into a reference (23 and 40 bits).")
    return ordinal << POSITION_BITS | position


def unpack(reference: int) -> tuple[int, int] | None:
    """Return ordinal and position. None if the reference names no record."""
    if reference < 0:
        return None
    return reference >> POSITION_BITS, reference & POSITION_MASK
