"""Maps the names of a PROV document to nodes.

A name of Headwater (`urn:headwater:node:…`) is the node that it names. For other names, the statements decide: an entity becomes a dataset
(the one that it specializes, if any), an activity a run of a job, with its plan or itself as the job. The namespace is the name's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import NAMESPACE_URL, uuid5

from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.prov.bases import Bases
from headwater.graph.prov.model import Kind, Statement
from headwater.graph.prov.terms import NODE

_KINDS = frozenset(kind.value for kind in NodeKind)
_RUNS = "runs"  # in exports of views, an activity that represents all runs of a job
_MEANT = frozenset({"bundle", "software"})  # an export's description of itself
_RECORDS = frozenset({"record", "file"})


class Names:
    """Resolves the names of one document."""

    def __init__(self, statements: Iterable[Statement], namespaces: Mapping[str, str]) -> None:
        self._bases = Bases(namespaces.values())
        self._general: dict[str, str] = {}
        self._most_general: dict[str, str] = {}
        self._plan: dict[str, str] = {}
        self._plans: set[str] = set()
        self.makers: dict[str, dict[str, None]] = {}
        for statement in statements:
            args: list[str | None] = [*statement.args, None, None, None]
            first, second, third = args[:3]
            if first is None:
                continue
            if statement.kind is Kind.SPECIALIZATION and second:
                self._general.setdefault(first, second)
            elif statement.kind is Kind.ASSOCIATION and third and self.own(third) != NodeKind.OPERATOR:
                self._plan.setdefault(first, third)
                self._plans.add(third)
            elif statement.kind is Kind.GENERATION and second:
                self.makers.setdefault(first, {})[second] = None
            elif statement.kind is Kind.DERIVATION and third:
                self.makers.setdefault(first, {})[third] = None

    @staticmethod
    def own(iri: str) -> str | None:
        """Return the kind of a name of Headwater, or None for a foreign name."""
        kind, colon, rest = iri.removeprefix(NODE).partition(":")
        return kind if iri.startswith(NODE) and colon and rest else None

    def is_node(self, iri: str) -> bool:
        return self.own(iri) in _KINDS

    def is_aside(self, iri: str) -> bool:
        return self.own(iri) in _MEANT

    def is_record(self, iri: str) -> bool:
        """Whether a name identifies a record. Records are in segments, never in the graph."""
        return self.own(iri) in _RECORDS

    def split(self, iri: str) -> tuple[str, str]:
        base = self._bases.longest(iri, shorter_than_name=True)
        if base is not None:
            return base, iri[len(base) :]
        cut = max(iri.rfind("#"), iri.rfind("/"), iri.rfind(":")) + 1
        return (iri[:cut], iri[cut:]) if 0 < cut < len(iri) else ("prov", iri)

    def dataset(self, iri: str) -> str:
        """Return the dataset that an entity is, or is an aspect of."""
        if iri in self._general:
            iri = self._general_of(iri)
        if self.is_node(iri):
            identifier = iri.removeprefix(NODE)
            parts = parse_id(identifier)[1]
            return identifier if self.own(iri) == NodeKind.DATASET else node_id(NodeKind.DATASET, *parts[:2])
        return node_id(NodeKind.DATASET, *self.split(iri))

    def _general_of(self, iri: str) -> str:
        """Return the end of a chain of specializations. Each link is followed once, even if many names lead to it."""
        way: dict[str, None] = {}
        while iri in self._general and iri not in way and self.own(iri) != NodeKind.DATASET:
            if iri in self._most_general:
                iri = self._most_general[iri]
                break
            way[iri] = None
            iri = self._general[iri]
        self._most_general.update(dict.fromkeys(way, iri))
        return iri

    def run(self, iri: str) -> str | None:
        """Return the run of an activity, or None for an activity that represents all runs of a job."""
        if self.own(iri) == _RUNS:
            return None
        return iri.removeprefix(NODE) if self.is_node(iri) else node_id(NodeKind.RUN, str(uuid5(NAMESPACE_URL, iri)))

    def job(self, iri: str) -> str | None:
        """Return the job of an activity's run, or None if the document does not name it."""
        if self.own(iri) == _RUNS:
            return node_id(NodeKind.JOB, *parse_id(iri.removeprefix(NODE))[1])
        plan = self._plan.get(iri)
        if plan is not None and self.is_node(plan):
            return plan.removeprefix(NODE)
        if plan is None and self.is_node(iri):
            return None
        return node_id(NodeKind.JOB, *self.split(plan or iri))

    def is_plan(self, iri: str) -> bool:
        return iri in self._plans

    def version(self, iri: str, activity: str) -> str | None:
        """Return the block of an entity that an activity wrote, or None if the activity is not one run."""
        if self.is_node(iri):
            return iri.removeprefix(NODE)
        run = self.run(activity)
        return None if run is None else node_id(NodeKind.VERSION, *parse_id(self.dataset(iri))[1], parse_id(run)[1][0])
