"""Attributes in PROV's own namespace: PROV-DM defines five (5.7.2), and no others may be made up there.

Attributes in every other namespace are anybody's, and nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headwater.graph.prov.constraints.clauses import ATTRIBUTES, Violation
from headwater.graph.prov.model import PROV, Statement

DEFINED = ("label", "location", "role", "type", "value")


def check_attributes(statements: Sequence[Statement]) -> Iterator[Violation]:
    """Return the attributes in the PROV namespace that PROV-DM does not define."""
    for statement in statements:
        for name in dict.fromkeys(name for name, _ in statement.attributes):
            if name.startswith(PROV) and name.removeprefix(PROV) not in DEFINED:
                listed = ", ".join(f"prov:{defined}" for defined in DEFINED)
                message = f"prov:{name.removeprefix(PROV)} of {statement.kind} {statement.id or ''}".rstrip()
                yield Violation(ATTRIBUTES, f"{message} is no attribute of PROV; its own are {listed}.", statement.line)
