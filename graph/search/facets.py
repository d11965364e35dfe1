"""Counts of the values that found nodes have, for facets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable

from headwater.errors import InvalidInputError
from headwater.graph.model import parse_id
from headwater.graph.search.request import Facet, Facets

KIND, NAMESPACE, PLATFORM, OWNER, TAG, TERM, STATE, PIPELINE = (
    "kind", "namespace", "platform", "owner", "tag", "term", "state", "pipeline",
)  # fmt: skip
NAMES = (KIND, NAMESPACE, PLATFORM, OWNER, TAG, TERM, STATE, PIPELINE)
_OF_ACTOR = frozenset({STATE, PIPELINE})
OF_LABEL = {"o": OWNER, "t": TAG, "g": TERM}
_SHOWN = 100  # values of a facet

# Kind, namespace, platform, state, namespace of the job of the state, pipeline, labels (JSON, or an empty text), and the number of nodes.
Group = tuple[str, str, str, str, str, str, str, int]


class FacetCounts:
    """Sums groups of nodes. `permitted`: the only namespaces whose states and pipelines are counted; None: all."""

    def __init__(self, permitted: Collection[str] | None = None) -> None:
        self.total = 0
        self._permitted = None if permitted is None else frozenset(permitted)
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in NAMES}

    def take(self, groups: Iterable[Group]) -> None:
        """Add groups."""
        for kind, namespace, platform, state, actor, pipeline, labels, count in groups:
            self.total += count
            values = {KIND: kind, NAMESPACE: namespace, PLATFORM: platform}
            if self._permitted is None or actor in self._permitted:
                values |= {STATE: state, PIPELINE: pipeline if self._may_know(pipeline) else ""}
            for name, value in values.items():
                if value:
                    self._counts[name][value] += count
            for label in json.loads(labels) if labels else ():
                self._counts[OF_LABEL[label[0]]][label[2:]] += count

    def add(self, name: str, value: str, actor: str, count: int) -> None:
        """Add the count of one value. `actor`: of a state or a pipeline, the namespace of its job."""
        if name == KIND:
            self.total += count
        if name in _OF_ACTOR and not (self._permitted is None or (actor in self._permitted and (name == STATE or self._may_know(value)))):
            return
        if value and count:
            self._counts[name][value] += count

    def has(self, kind: str) -> bool:
        """Whether a node of a kind was taken."""
        return self._counts[KIND][kind] > 0

    def facets(self) -> Facets:
        """Return the facets that have a value."""
        return {
            name: [Facet(value, count) for value, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN]]
            for name, counts in self._counts.items()
            if counts
        }

    def _may_know(self, pipeline: str) -> bool:
        if self._permitted is None or not pipeline:
            return True
        try:
            return parse_id(pipeline)[1][0] in self._permitted
        except InvalidInputError:
            return False


def merged_facets(one: Facets, other: Facets) -> Facets:
    """Return the sums of the facets of two answers without a node in common."""
    counts = {name: Counter({facet.value: facet.count for facet in one.get(name, ())}) for name in NAMES}
    for name, facets in other.items():
        counts[name].update({facet.value: facet.count for facet in facets})
    return {
        name: [Facet(value, count) for value, count in sorted(values.items(), key=lambda item: (-item[1], item[0]))]
        for name, values in counts.items()
        if values
    }
