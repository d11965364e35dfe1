"""Finds rules that contradict each other: by the texts of their selectors, or by the nodes that the selectors fit in a graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from graphlib import CycleError, TopologicalSorter

from headwater.graph.policies.matcher import Selectors
from headwater.graph.policies.rules import Heading, Rule
from headwater.graph.policies.rules.may_flow import AllowedFlow
from headwater.graph.policies.rules.must_not_flow import ForbiddenFlow

_Key = Callable[[Selectors], Hashable]
_Rules = Sequence[tuple[Heading, Rule]]


def text_of(selectors: Selectors) -> frozenset[str]:
    """Return the selectors as texts, without order, upper case and repetitions."""
    return frozenset(
        ", ".join(
            f"{part} {' or '.join(sorted({pattern.casefold() for pattern in selector.parts[part]}))}" for part in sorted(selector.parts)
        )
        for selector in selectors
    )


def find_conflicts(rules: _Rules, key: _Key) -> list[str]:
    """Return the contradictions between rules, as sentences. Selectors with the same `key` are the same; None fits nothing."""
    return [*_contradictions(rules, key), *_cycles(rules, key)]


def _contradictions(rules: _Rules, key: _Key) -> list[str]:
    """Find rules that allow or demand exactly the flow that another rule forbids."""
    flows: dict[tuple[Hashable, Hashable], list[tuple[Heading, AllowedFlow | ForbiddenFlow]]] = {}
    for heading, rule in rules:
        if isinstance(rule, (AllowedFlow, ForbiddenFlow)):
            ends = (key(rule.sources), key(rule.targets))
            if None not in ends:
                flows.setdefault(ends, []).append((heading, rule))
    found = []
    for same in flows.values():
        forbidden = next((heading for heading, rule in same if isinstance(rule, ForbiddenFlow) and not rule.through), None)
        other = next(((heading, rule) for heading, rule in same if not isinstance(rule, ForbiddenFlow) or rule.through), None)
        if forbidden and other:
            heading, rule = other
            flow = f"from {' | '.join(map(str, rule.sources))} to {' | '.join(map(str, rule.targets))}"
            found.append(f"The rules {forbidden.name!r} and {heading.name!r} contradict each other: {flow}.")
    return found


def _cycles(rules: _Rules, key: _Key) -> list[str]:
    """Find rules that demand each other: data of A must pass through B, and data of B must pass through A."""
    needs: dict[Hashable, dict[Hashable, set[Hashable]]] = {}
    names: dict[Hashable, str] = {}
    targets: dict[Hashable, str] = {}
    for _, rule in rules:
        if not isinstance(rule, ForbiddenFlow) or not rule.through:
            continue
        target, source, through = (key(group) for group in (rule.targets, rule.sources, rule.through))
        if None in (target, source, through):
            continue
        for each, group in ((source, rule.sources), (through, rule.through)):
            names.setdefault(each, " | ".join(map(str, group)))
        targets.setdefault(target, " | ".join(map(str, rule.targets)))
        needs.setdefault(target, {}).setdefault(source, set()).add(through)
    found = []
    for target, before in needs.items():
        try:
            TopologicalSorter(before).prepare()
        except CycleError as error:
            circle = " → ".join(names[each] for each in error.args[1])
            found.append(f"The rules of `must_pass_through` to {targets[target]} demand each other in a cycle: {circle}.")
    return found
