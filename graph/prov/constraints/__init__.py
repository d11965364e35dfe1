"""Checks any document, whoever wrote it, against PROV-CONSTRAINTS (W3C Recommendation, 30 April 2013).

A document is valid if its top level and each of its bundles are (section 7.2). A bundle is an entity (PROV-DM 5.4), wherever its name
appears. In addition, an attribute in PROV's own namespace must be one that PROV-DM defines. A violation is named by the number of its
constraint, and the line of a statement in it. Memory grows with the document.
"""

from __future__ import annotations

from headwater.errors import InvalidProvenanceError
from headwater.graph.prov.constraints.attributes import check_attributes
from headwater.graph.prov.constraints.clauses import ATTRIBUTES, CONSTRAINTS, Violation
from headwater.graph.prov.constraints.normal import normalise
from headwater.graph.prov.constraints.ordering import check_order
from headwater.graph.prov.constraints.typing import check_types
from headwater.graph.prov.model import Document

__all__ = ["CONSTRAINTS", "Violation", "check", "require_valid"]


def check(document: Document) -> list[Violation]:
    """Return all violations in the document, by line."""
    found: list[Violation] = []
    for bundle, statements in document.instances():
        normal = normalise(statements)
        broken = [
            *normal.violations,
            *check_order(statements, normal),
            *check_types(statements, normal, document.bundles.keys()),
            *check_attributes(statements),
        ]
        found += [Violation(one.constraint, one.message, one.line, bundle) for one in broken]
    return sorted(found, key=lambda one: (one.line, one.constraint))


def require_valid(document: Document) -> None:
    """Check a document.

    Raises:
        InvalidProvenanceError: the document breaks a constraint. The error names the first one.
    """
    found = check(document)
    if found:
        first = found[0]
        more = f" {len(found) - 1} more are broken." if len(found) > 1 else ""
        raise InvalidProvenanceError(
            f"{first.clause} is broken: {first.message}{more}", line=first.line,
            clause="PROV-DM 5.7.2" if first.constraint == ATTRIBUTES else f"PROV-CONSTRAINTS {first.constraint}",
            hint="`headwater prov check FILE` lists them all.",
        )  # fmt: skip
