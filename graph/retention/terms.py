"""Retention terms, and the datasets that they reach along the lineage.

A term is stated by a rule of a policy, or by the retention period in the description of a dataset or a column. It goes on with the values:
over columns where jobs state them, and over datasets elsewhere. Masked values may have a longer term, or none. Flows of the past count,
because their data may still be there.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import product

from headwater.graph.model import NodeKind, kind_of
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.policies.flow_graph import FlowGraph, Step
from headwater.graph.policies.periods import read_period
from headwater.graph.policies.policy import Policy
from headwater.graph.policies.rules.must_expire import RetentionTerm
from headwater.graph.policies.selector import dataset_of
from headwater.graph.views.fields import Way


@dataclass(frozen=True, slots=True)
class Term:
    """The longest time to keep the data of a dataset or a column. `masked` is the time for its masked values; None: they have no term."""

    node: str
    after: timedelta
    masked: timedelta | None
    ways: Way
    stated_by: str


@dataclass(frozen=True, slots=True)
class CarriedTerm:
    """A term that reaches a dataset. `path` leads from the term's node over jobs. It is not `certain` over a job without columns.

    `after` is the time that counts here.
    """

    term: Term
    dataset: str
    after: timedelta
    path: Sequence[str]
    is_masked: bool
    certain: bool


def find_terms(flows: FlowGraph, policies: Iterable[Policy]) -> tuple[list[Term], list[str]]:
    """Return the terms of policies and descriptions, and the nodes with a retention period that cannot be read."""
    found, unread = [], []
    for policy in policies:
        rules = [(heading, rule) for heading, rule in policy.rules if isinstance(rule, RetentionTerm)]
        if not rules:
            continue
        masks = {identifier: policy.matcher.mask(node, flows.containers_of) for identifier, node in flows.nodes.items()}
        for heading, rule in rules:
            bits, stated_by = policy.matcher.bits(rule.of), f"policy {policy.name}, rule {heading.name}"
            found += [
                Term(node, rule.after, rule.masked, rule.ways, stated_by)
                for node, mask in masks.items()
                if mask & bits and kind_of(node) is not NodeKind.JOB
            ]
    for identifier, node in flows.nodes.items():
        stated = descriptions_of(node).retention if node.kind is not NodeKind.JOB else None
        if stated and (after := read_period(stated)) is not None:
            found.append(Term(identifier, after, after, Way.MASKED, "its description"))
        elif stated:
            unread.append(identifier)
    return sorted(found, key=lambda term: (term.node, term.after, term.stated_by)), sorted(unread)


def carry_terms(flows: FlowGraph, terms: Iterable[Term]) -> Mapping[str, Mapping[str, CarriedTerm]]:
    """Return the terms that reach each dataset: dataset → dataset of the term's node → the shortest term from there."""
    found: dict[str, dict[str, CarriedTerm]] = {}
    for term in terms:
        for carried in _carry(flows, term):
            of_dataset = found.setdefault(carried.dataset, {})
            known = of_dataset.get(dataset_of(term.node))
            if known is None or _rank(carried) < _rank(known):
                of_dataset[dataset_of(term.node)] = carried
    return found


def _rank(carried: CarriedTerm) -> tuple[timedelta, bool, int]:
    return carried.after, not carried.certain, len(carried.path)


def _carry(flows: FlowGraph, term: Term) -> Iterator[CarriedTerm]:
    """Yield the datasets that a term reaches, each by its best path: without a mask first, then a certain one, then the shortest."""
    settled: set[tuple[str, bool, bool]] = set()
    reached: set[str] = set()
    heap: list[tuple[bool, bool, int, tuple[str, ...]]] = [(False, False, 0, (term.node,))]
    while heap:
        is_masked, is_unsure, hops, path = heapq.heappop(heap)
        node = path[-1]
        states = product({False, is_masked}, {False, is_unsure})
        if not settled.isdisjoint((node, *state) for state in states):  # a better way leads here
            continue
        settled.add((node, is_masked, is_unsure))
        after = term.masked if is_masked else term.after
        if after is None:
            continue
        if dataset_of(node) not in reached:
            reached.add(dataset_of(node))
            yield CarriedTerm(term, dataset_of(node), after, path, is_masked, not is_unsure)
        for step in _steps(flows, node, term.ways, is_source=not hops):
            if step.node is not None:
                further = (*path, *([step.job] if step.job else []), step.node)
                heapq.heappush(heap, (is_masked or step.way is not Way.DIRECT, is_unsure or not step.certain, hops + 1, further))


def _steps(flows: FlowGraph, node: str, ways: Way, *, is_source: bool) -> Iterator[Step]:
    for column in flows.columns.get(node, ()):
        yield Step(None, column, certain=is_source)
    yield from flows.steps(node, ways)
