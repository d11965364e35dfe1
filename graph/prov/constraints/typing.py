"""Types and impossibilities (PROV-CONSTRAINTS 6.3 and 6.4, constraints 50 to 56)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from headwater.graph.prov.circles import on_circles
from headwater.graph.prov.constraints.clauses import Violation
from headwater.graph.prov.constraints.normal import Normal, Term
from headwater.graph.prov.model import ELEMENTS, PROV, Kind, Name, Statement

_EMPTY = Name(f"{PROV}EmptyCollection")
_TYPE = f"{PROV}type"
_E, _A, _G = "entity", "activity", "agent"

# Constraint 50: what the arguments of each statement are, place by place.
_TYPES: dict[Kind, tuple[str | None, ...]] = {
    Kind.GENERATION: (_E, _A),
    Kind.USAGE: (_A, _E),
    Kind.COMMUNICATION: (_A, _A),
    Kind.START: (_A, _E, _A),
    Kind.END: (_A, _E, _A),
    Kind.INVALIDATION: (_E, _A),
    Kind.DERIVATION: (_E, _E, _A),
    Kind.ATTRIBUTION: (_E, _G),
    Kind.ASSOCIATION: (_A, _G, _E),
    Kind.DELEGATION: (_G, _G, _A),
    Kind.SPECIALIZATION: (_E, _E),
    Kind.ALTERNATE: (_E, _E),
    Kind.MEMBERSHIP: (_E, _E),
    Kind.MENTION: (_E, _E),
}
_PROPERTIES = frozenset(
    {
        Kind.USAGE, Kind.GENERATION, Kind.INVALIDATION, Kind.START, Kind.END, Kind.COMMUNICATION, Kind.ATTRIBUTION, Kind.ASSOCIATION,
        Kind.DELEGATION,
    }
)  # fmt: skip


def check_types(statements: Sequence[Statement], normal: Normal, bundles: Collection[str] = ()) -> Iterator[Violation]:
    """Return the violations of constraints 50 to 56. `bundles` are the names of the bundles, which are entities."""
    yield from _disjoint(statements, normal, bundles)
    yield from _unspecified(statements)
    yield from _overlaps(statements)
    specializations = [(s.args[0], s.args[1], s.line) for s in statements if s.kind in (Kind.SPECIALIZATION, Kind.MENTION)]
    circular = set(on_circles((special, general) for special, general, _ in specializations))
    for special, general, line in specializations:
        if (special, general) in circular:
            yield Violation(52, f"{special} is, by way of {general}, a specialization of itself.", line)
    yield from _empty_collections(statements)


def _disjoint(statements: Sequence[Statement], normal: Normal, bundles: Collection[str]) -> Iterator[Violation]:
    """Check constraint 55, by the types from constraint 50. An agent may also be an entity or an activity."""
    known: dict[Term, tuple[str, int, str]] = {}
    of_bundle = (_E, 0, "the bundle of that name")
    reported: set[Term] = set()
    for term, type_, line, kind in _typed(statements, normal):
        before = known.setdefault(term, of_bundle if term in bundles else (type_, line, kind))
        if before[0] != type_ and term not in reported:
            reported.add(term)
            where = f" (line {before[1]})" if before[1] else ""
            yield Violation(55, f"{term} is an {before[0]} in {before[2]}{where} and an {type_} in {kind} (constraint 50).", line)


def _typed(statements: Sequence[Statement], normal: Normal) -> Iterator[tuple[Term, str, int, Kind]]:
    """Yield every term that is stated to be an entity or an activity, with the statement."""
    for statement in statements:
        if statement.kind in (Kind.ENTITY, Kind.ACTIVITY):
            yield statement.id, statement.kind.value, statement.line, statement.kind
        for term, type_ in zip(statement.args, _TYPES.get(statement.kind, ()), strict=False):
            if term is not None and type_ in (_E, _A):
                yield term, str(type_), statement.line, statement.kind
    for fact in normal.facts:  # unknowns that merging gave a name
        for place, type_ in zip(fact.args, _TYPES.get(fact.kind, ()), strict=False):
            if isinstance(place, int) and isinstance(name := normal.of(place), str) and type_ in (_E, _A):
                yield name, str(type_), fact.line, fact.kind


def _unspecified(statements: Sequence[Statement]) -> Iterator[Violation]:
    """Check constraint 51."""
    for statement in statements:
        if statement.kind is Kind.DERIVATION and statement.args[2] is None and (statement.args[3] or statement.args[4]):
            named = "generation" if statement.args[3] else "usage"
            yield Violation(51, f"the derivation of {statement.args[0]} names a {named} and no activity.", statement.line)


def _overlaps(statements: Sequence[Statement]) -> Iterator[Violation]:
    """Check constraints 53 and 54: an identifier names one relation, and no object."""
    relations: dict[str, Statement] = {}
    for statement in statements:
        if statement.kind in _PROPERTIES and statement.id is not None:
            before = relations.setdefault(statement.id, statement)
            if before.kind is not statement.kind:
                yield Violation(53, f"{statement.id} identifies a {before.kind} and a {statement.kind}.", statement.line)
    for statement in statements:
        if statement.kind in ELEMENTS and (relation := relations.get(statement.id or "")) is not None:
            line = max(statement.line, relation.line)
            yield Violation(54, f"{statement.id} identifies a {relation.kind} and an {statement.kind}.", line)


def _empty_collections(statements: Sequence[Statement]) -> Iterator[Violation]:
    """Check constraint 56. A specialisation has the types of its general entity (inference 21)."""
    empty = {s.id for s in statements if s.kind is Kind.ENTITY and (_TYPE, _EMPTY) in s.attributes}
    if not empty:
        return
    specials: dict[str | None, list[str | None]] = {}
    for statement in statements:
        if statement.kind in (Kind.SPECIALIZATION, Kind.MENTION):
            specials.setdefault(statement.args[1], []).append(statement.args[0])
    waiting = list(empty)
    while waiting:
        found = [special for special in specials.get(waiting.pop(), ()) if special not in empty]
        empty.update(found)
        waiting += found
    for statement in statements:
        if statement.kind is Kind.MEMBERSHIP and statement.args[0] in empty:
            yield Violation(56, f"{statement.args[0]} is an empty collection and has the member {statement.args[1]}.", statement.line)
