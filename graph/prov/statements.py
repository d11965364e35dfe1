"""Collects PROV statements and keeps them valid (PROV-CONSTRAINTS): each said once, one generation an entity, no circle of derivations.

For the modules that describe runs and traces. What would break a constraint is not dropped in silence: it is said in the weaker
form that holds (`wasInfluencedBy`), and `weakened` counts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any

from prov.constants import PROV_LABEL, PROV_TYPE
from prov.identifier import QualifiedName
from prov.model import PROV, ProvBundle

from headwater.graph.prov.terms import qname, term

Attributes = Mapping[str, Any]


class Statements:
    """Writes into one bundle. Ids are node ids. `close` writes the derivations, when all are known."""

    def __init__(self, bundle: ProvBundle) -> None:
        self._bundle = bundle
        self._said: set[tuple[str, ...]] = set()
        self._generation: dict[str, str] = {}
        self._derivations: dict[tuple[str, str], str | None] = {}
        self.weakened = 0

    def entity(self, identifier: str, kind: str, label: str, attributes: Attributes | None = None, *, types: Iterable[str] = ()) -> None:
        """An entity of our type `kind`; `types` are further ones of PROV (`Plan`, `Collection`)."""
        if self._new("element", identifier):
            self._bundle.entity(qname(identifier), _described(kind, label, attributes, types))

    def activity(
        self, identifier: str, kind: str, label: str, started: datetime | None, ended: datetime | None, attributes: Attributes | None = None
    ) -> None:
        """An activity with its times, as far as known."""
        if self._new("element", identifier):
            self._bundle.activity(qname(identifier), started, ended, _described(kind, label, attributes, ()))

    def agent(self, identifier: str, kind: str, label: str) -> None:
        """A piece of software that acts."""
        if self._new("element", identifier):
            self._bundle.agent(qname(identifier), _described(kind, label, None, ("SoftwareAgent",)))

    def specializes(self, special: str, general: str) -> None:
        """`special` is one aspect of `general`, such as a version of a dataset."""
        if self._new("specializes", special, general):
            self._bundle.specialization(qname(special), qname(general))

    def member(self, collection: str, entity: str) -> None:
        """`entity` belongs to `collection`."""
        if self._new("member", collection, entity):
            self._bundle.membership(qname(collection), qname(entity))

    def generated(self, entity: str, activity: str, time: datetime | None) -> None:
        """`activity` made `entity`. A second maker of the same entity is said to have influenced it."""
        maker = self._generation.setdefault(entity, activity)
        if maker != activity:
            self._influenced(entity, activity)
        elif self._new("generated", entity, activity):
            self._bundle.generation(qname(entity), qname(activity), time)

    def used(self, activity: str, entity: str) -> None:
        """`activity` read `entity`; at what time within it is not known."""
        if self._new("used", activity, entity):
            self._bundle.usage(qname(activity), qname(entity))

    def derived(self, entity: str, source: str, activity: str | None) -> None:
        """`entity` comes from `source`; `activity` is the run that made it so, where one alone did."""
        if entity != source:
            self._derivations.setdefault((entity, source), activity)

    def informed(self, informed: str, informant: str, link: str) -> None:
        """A run used what another made; `link` says how that is known (`implicit`, `explicit`)."""
        if informed != informant and self._new("informed", informed, informant):
            self._bundle.communication(qname(informed), qname(informant), None, {term("link"): link})

    def associated(self, activity: str, agent: str, plan: str | None) -> None:
        """`agent` carried out `activity` following `plan` (a qualified association)."""
        if self._new("associated", activity, agent):
            self._bundle.association(qname(activity), qname(agent), None if plan is None else qname(plan))

    def on_behalf_of(self, delegate: str, responsible: str) -> None:
        """`delegate` acted for `responsible`."""
        if self._new("delegated", delegate, responsible):
            self._bundle.delegation(qname(delegate), qname(responsible))

    def close(self) -> None:
        """Write the derivations. Those that close a circle among themselves become influences."""
        for pair in self._circular():
            self._influenced(*pair)
            del self._derivations[pair]
        for (entity, source), activity in self._derivations.items():
            self._bundle.derivation(qname(entity), qname(source), None if activity is None else qname(activity))

    def _circular(self) -> list[tuple[str, str]]:
        remaining = dict.fromkeys(self._derivations)
        removed: list[tuple[str, str]] = []
        while True:
            order: TopologicalSorter[str] = TopologicalSorter()
            for entity, source in remaining:
                order.add(entity, source)
            try:
                order.prepare()
            except CycleError as error:
                # args[1] lists the circle with each node a predecessor of the next, first and last alike.
                circle: list[str] = error.args[1]
                found = [pair for pair in zip(circle[1:], circle, strict=False) if pair in remaining]
                removed += found
                for pair in found:
                    del remaining[pair]
            else:
                return removed

    def _influenced(self, influenced: str, by: str) -> None:
        if self._new("influenced", influenced, by):
            self.weakened += 1
            self._bundle.influence(qname(influenced), qname(by))

    def _new(self, *statement: str) -> bool:
        if statement in self._said:
            return False
        self._said.add(statement)
        return True


def _described(kind: str, label: str, attributes: Attributes | None, types: Iterable[str]) -> list[tuple[QualifiedName, Any]]:
    typed: list[tuple[QualifiedName, Any]] = [(PROV_TYPE, term(kind)), *((PROV_TYPE, PROV[name]) for name in types), (PROV_LABEL, label)]
    return typed + [(term(name), value) for name, value in (attributes or {}).items() if value is not None]
