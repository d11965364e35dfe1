"""Event ordering (PROV-CONSTRAINTS 6.2, constraints 30 to 49): no event may strictly precede itself.

All generations of an entity happen together (39), and so do all starts of an activity (31), so each is one event here. The only strict
order is constraint 42, between two generations. So a forbidden circle only has events that can precede a generation: generations, starts
and usages. Only ends and invalidations follow an end or an invalidation (30, 32, 35, 36, 38, 40, 44, 46, 47 and 49). No instance can break
these constraints, so they are left out. Times have no part: the Recommendation orders events, not clocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from headwater.graph.prov.circles import components
from headwater.graph.prov.constraints.clauses import Violation
from headwater.graph.prov.constraints.normal import Normal, Term
from headwater.graph.prov.model import Kind, Statement

_Event = tuple[str, Term]
_MOST = 100  # circles that are reported one by one


class _Order:
    """The order of events, with the constraint for each pair."""

    def __init__(self, statements: Sequence[Statement], normal: Normal) -> None:
        self.following: dict[_Event, list[_Event]] = {}
        self.reason: dict[tuple[_Event, _Event], int] = {}
        self.strict: list[tuple[_Event, _Event, int]] = []
        # Inferences 7 and 8: an entity was generated, an activity started.
        self._generated: set[Term] = {statement.id for statement in statements if statement.kind is Kind.ENTITY}
        self._started: set[Term] = {statement.id for statement in statements if statement.kind is Kind.ACTIVITY}
        for fact in normal.facts:
            if fact.kind is Kind.GENERATION:
                self._generated.add(normal.of(fact.args[0]))
            elif fact.kind is Kind.START:
                self._started.add(normal.of(fact.args[0]))
        for fact in normal.facts:
            self._add_fact(fact.kind, normal.of(fact.id), [normal.of(arg) for arg in fact.args], fact.line)
        for statement in statements:
            if statement.kind in (Kind.SPECIALIZATION, Kind.MENTION):
                self._add(self._generation(statement.args[1]), self._generation(statement.args[0]), 45)

    def _add_fact(self, kind: Kind, identifier: Term, args: Sequence[Term], line: int) -> None:
        if kind is Kind.GENERATION:
            self._add(self._start(args[1]), self._generation(args[0]), 34)
        elif kind is Kind.USAGE:
            self._add(self._start(args[0]), ("usage", identifier), 33)
            self._add(self._generation(args[1]), ("usage", identifier), 37)
        elif kind is Kind.START:
            self._add(self._generation(args[1]), self._start(args[0]), 43)
        elif kind is Kind.ATTRIBUTION:
            self._add(self._generation(args[1]), self._generation(args[0]), 48)
            self._add(self._start(args[1]), self._generation(args[0]), 48)
        elif kind is Kind.DERIVATION:
            if isinstance(args[4], str):
                self._add(("usage", args[4]), self._generation(args[0]), 41)
            first, second = self._generation(args[1]), self._generation(args[0])
            if first is not None and second is not None:
                self._add(first, second, 42)
                self.strict.append((first, second, line))

    def _generation(self, entity: Term) -> _Event | None:
        return ("generation", entity) if entity in self._generated else None

    def _start(self, activity: Term) -> _Event | None:
        return ("start", activity) if activity in self._started else None

    def _add(self, first: _Event | None, second: _Event | None, constraint: int) -> None:
        if first is not None and second is not None and (first, second) not in self.reason:
            self.reason[first, second] = constraint
            self.following.setdefault(first, []).append(second)


def check_order(statements: Sequence[Statement], normal: Normal) -> list[Violation]:
    """Return a violation for each strict step in a circle of events."""
    order = _Order(statements, normal)
    component = components(order.following)
    broken = [step for step in order.strict if component.get(step[0], -1) == component.get(step[1], -2)]
    return [_violation(order, component, *step) for step in broken[:_MOST]]


def _violation(order: _Order, component: Mapping[_Event, int], first: _Event, second: _Event, line: int) -> Violation:
    way = _way(order, component, second, first)
    reasons = sorted({order.reason[step] for step in way})
    by = f"constraint{'s' if len(reasons) > 1 else ''} {', '.join(map(str, reasons))}"
    if first == second:
        return Violation(42, f"{second[1]} is derived from itself.", line)
    return Violation(
        42, f"{second[1]} is derived from {first[1]}, and so was generated after it; but by {by} it was generated no later.", line
    )


def _way(order: _Order, component: Mapping[_Event, int], start: _Event, end: _Event) -> list[tuple[_Event, _Event]]:
    """Return a shortest path within the circle."""
    came: dict[_Event, _Event] = {}
    waiting = deque([start])
    while waiting and end not in came:
        event = waiting.popleft()
        for after in order.following.get(event, ()):
            if after not in came and component.get(after) == component[start]:
                came[after] = event
                waiting.append(after)
    steps: list[tuple[_Event, _Event]] = []
    at = end
    while at in came and (not steps or at != start):
        steps.append((came[at], at))
        at = came[at]
    return steps
