"""Checks the flows of a graph against a policy."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from headwater.errors import UnsupportedError
from headwater.graph.policies.checked_graph import CheckedGraph
from headwater.graph.policies.conflicts import find_conflicts
from headwater.graph.policies.deviation import Deviation
from headwater.graph.policies.flow_graph import FlowGraph
from headwater.graph.policies.matcher import Selectors
from headwater.graph.policies.policy import Policy

MOST_DEVIATIONS = 10_000  # of one rule


@dataclass(frozen=True, slots=True)
class Report:
    """The deviations from a policy.

    `idle` are selectors that fit no node, as (rule, selector). `cut` are rules with more than `MOST_DEVIATIONS` deviations. `conflicts` are
    sentences: two rules have different selectors, and contradict each other for the nodes of this graph.
    """

    deviations: Sequence[Deviation]
    idle: Sequence[tuple[str, str]]
    cut: Sequence[str]
    conflicts: Sequence[str] = ()


def check_policy(policy: Policy, graph: FlowGraph, *, now: str, seconds: float = math.inf) -> Report:
    """Return all deviations of a graph, rule by rule. `now` is the present time in ISO 8601, for ages.

    Raises:
        UnsupportedError: the check takes longer than `seconds`.
    """
    deadline = time.monotonic() + seconds
    checked = CheckedGraph(graph, policy.matcher, now)
    fitting = 0
    for mask in checked.masks.values():
        fitting |= mask
    found: list[Deviation] = []
    idle: list[tuple[str, str]] = []
    cut: list[str] = []
    for heading, rule in policy.rules:
        if time.monotonic() > deadline:
            raise UnsupportedError(f"The check takes longer than {seconds:.0f} seconds.", hint="Check fewer rules at once.")
        groups = [policy.matcher.bits(group) for group in rule.groups]
        idle += [(heading.name, str(each)) for group in rule.groups for each in group if not policy.matcher.bits((each,)) & fitting]
        if not all(bits & fitting for bits in groups[:2]):  # nothing to check: no node is a source, or none is a target
            continue
        deviations = list(islice(rule.deviations(heading, checked), MOST_DEVIATIONS + 1))
        if len(deviations) > MOST_DEVIATIONS:
            cut.append(heading.name)
        found += deviations[:MOST_DEVIATIONS]
    return Report(found, idle, cut, find_conflicts(policy.rules, _fitting(policy, checked)))


def _fitting(policy: Policy, checked: CheckedGraph) -> Callable[[Selectors], frozenset[int] | None]:
    """Return a function for the nodes that selectors fit, as a set of combinations of selectors. None: no node."""
    combinations = set(checked.masks.values())

    def key(selectors: Selectors) -> frozenset[int] | None:
        bits = policy.matcher.bits(selectors)
        return frozenset(mask for mask in combinations if mask & bits) or None

    return key
