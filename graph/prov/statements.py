"""Collects statements and keeps them valid (PROV-CONSTRAINTS): no repetition, one generation per entity, no circle of derivations.

Used by the modules that describe containers: runs, versions, columns. A statement that would break a constraint is not dropped silently. It
is replaced by a weaker form that is true (`wasInfluencedBy`), and `weakened` counts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headwater.graph.model import parse_id
from headwater.graph.prov.buffer import StatementBuffer
from headwater.graph.prov.circles import on_circles
from headwater.graph.prov.model import PROV, Attributes, Kind, Name, Statement, Value
from headwater.graph.prov.terms import LABEL, TYPE, iri, term

About = Mapping[str, Any]


class Statements:
    """The statements of one bundle, for node ids. `close` adds the derivations, and after it `buffer` is in order."""

    def __init__(self) -> None:
        self.buffer = StatementBuffer()
        self.weakened = 0
        self.imported: dict[str, Attributes] = {}  # of elements that a document brought: attributes in namespaces of others
        self._known: set[tuple[str, ...]] = set()
        self._generation: dict[str, str] = {}
        self._invalidation: dict[str, str] = {}
        self._derivations: dict[tuple[str, str], tuple[str | None, Attributes]] = {}
        self._specializations: list[tuple[str, str]] = []
        self._revisions: dict[str, str] = {}  # versions that others replaced, with their datasets

    def entity(self, identifier: str, kind: str, label: str, about: About | None = None, *, types: Iterable[str] = ()) -> None:
        """State an entity of our type `kind`. `types` are additional types of PROV (`Plan`, `Collection`)."""
        if self._new("element", identifier):
            self._say(Kind.ENTITY, identifier, attributes=self._described(identifier, kind, label, about, types))

    def activity(self, identifier: str, kind: str, label: str, started: str | None, ended: str | None, about: About | None = None) -> None:
        """State an activity with its start and end time, if they are known."""
        if self._new("element", identifier):
            self._say(Kind.ACTIVITY, identifier, started, ended, attributes=self._described(identifier, kind, label, about))

    def agent(self, identifier: str, kind: str, label: str, types: Iterable[str] = ("SoftwareAgent",)) -> None:
        """State an agent: a person, a program or an organisation."""
        if self._new("element", identifier):
            self._say(Kind.AGENT, identifier, attributes=self._described(identifier, kind, label, None, types))

    def _described(self, identifier: str, kind: str, label: str, about: About | None, types: Iterable[str] = ()) -> Attributes:
        own = described(kind, label, about, types)
        return own + tuple(attribute for attribute in self.imported.get(identifier, ()) if attribute not in own)

    def specializes(self, special: str, general: str) -> None:
        """State that `special` is an aspect of `general`, like a version of a dataset."""
        if self._new("specializes", special, general):
            self._specializations.append((special, general))
            self._say(Kind.SPECIALIZATION, None, iri(special), iri(general))

    def member(self, collection: str, entity: str) -> None:
        """State that `entity` belongs to `collection`."""
        if self._new("member", collection, entity):
            self._say(Kind.MEMBERSHIP, None, iri(collection), iri(entity))

    def generated(self, entity: str, activity: str, time: str | None) -> None:
        """State that `activity` made `entity`. For a second maker of the same entity, state an influence."""
        maker = self._generation.setdefault(entity, activity)
        if maker != activity:
            self._weaken(entity, activity)
        elif self._new("generated", entity, activity):
            self._say(Kind.GENERATION, None, iri(entity), iri(activity), time)

    def used(self, activity: str, entity: str, *, inferred: bool = False) -> None:
        """State that `activity` read `entity` at an unknown time. `inferred`: the entity existed when the activity began."""
        if self._new("used", activity, entity):
            attributes = _attributes({"inferred": inferred or None})
            self._say(Kind.USAGE, None, iri(activity), iri(entity), None, attributes=attributes)

    def invalidated(self, entity: str, activity: str, time: str | None) -> None:
        """State that `activity` overwrote or removed `entity`. Only the first invalidation of an entity is stated."""
        if self._invalidation.setdefault(entity, activity) == activity and self._new("invalidated", entity, activity):
            self._say(Kind.INVALIDATION, None, iri(entity), iri(activity), time)

    def derived(self, entity: str, source: str, activity: str | None, about: About | None = None) -> None:
        """State that `entity` comes from `source`. `activity` is the run that made the derivation, if there was only one."""
        if entity != source:
            self._derivations.setdefault((entity, source), (activity, _attributes(about)))

    def revised(self, revision: str, original: str, dataset: str) -> None:
        """State that a version was put in the place of another version of its dataset: a revision, and an alternate."""
        if revision != original and self._new("revised", revision, original):
            self._revisions[original] = dataset
            self._derivations[revision, original] = (None, ((TYPE, Name(f"{PROV}Revision")),))
            self._say(Kind.ALTERNATE, None, iri(revision), iri(original))

    def informed(self, informed: str, informant: str, link: str) -> None:
        """State that a run used the output of another run. `link` says how this is known (`implicit`, `explicit`)."""
        if informed != informant and self._new("informed", informed, informant):
            self._say(Kind.COMMUNICATION, None, iri(informed), iri(informant), attributes=_attributes({"link": link}))

    def started(self, activity: str, starter: str) -> None:
        """State that `starter` started `activity`, like a run its stages. The trigger and the time are unknown."""
        if activity != starter and self._new("started", activity, starter):
            self._say(Kind.START, None, iri(activity), None, iri(starter), None)

    def associated(self, activity: str, agent: str | None, plan: str | None) -> None:
        """State that `agent` carried out `activity` by `plan` (a qualified association)."""
        if (agent or plan) and self._new("associated", activity, agent or "", plan or ""):
            self._say(Kind.ASSOCIATION, None, iri(activity), agent and iri(agent), plan and iri(plan))

    def attributed(self, entity: str, agent: str, role: str | None = None) -> None:
        """State that `agent` is responsible for `entity`, like an owner."""
        if self._new("attributed", entity, agent):
            self._say(Kind.ATTRIBUTION, None, iri(entity), iri(agent), attributes=_attributes({"role": role}))

    def on_behalf_of(self, delegate: str, responsible: str) -> None:
        """State that `delegate` acted for `responsible`."""
        if delegate != responsible and self._new("delegated", delegate, responsible):
            self._say(Kind.DELEGATION, None, iri(delegate), iri(responsible), None)

    def influenced(self, influenced: str, by: str, kind: str | None = None, about: About | None = None) -> None:
        """State that `by` influenced `influenced` in an unknown way. `kind` is a type of ours."""
        if influenced != by and self._new("influenced", influenced, by):
            typed: Attributes = ((TYPE, Name(term(kind))),) if kind else ()
            self._say(Kind.INFLUENCE, None, iri(influenced), iri(by), attributes=typed + _attributes(about))

    def close(self) -> None:
        """Add the derivations. Derivations that close a circle, among themselves or through specialisations, become influences."""
        for original, dataset in self._revisions.items():
            self.entity(original, "Version", parse_id(original)[1][1], types=["Collection"])
            self.specializes(original, dataset)
        order = [*self._derivations, *self._specializations]
        circular = [pair for pair in on_circles(order) if pair in self._derivations]
        for pair in circular:
            del self._derivations[pair]
            self._weaken(*pair)
        for (entity, source), (activity, about) in self._derivations.items():
            self._say(Kind.DERIVATION, None, iri(entity), iri(source), activity and iri(activity), None, None, attributes=about)

    def _weaken(self, influenced: str, by: str) -> None:
        if ("influenced", influenced, by) not in self._known:
            self.weakened += 1
            self.influenced(influenced, by)

    def _say(self, kind: Kind, identifier: str | None, *args: str | None, attributes: Attributes = ()) -> None:
        self.buffer.append(Statement(kind, None if identifier is None else iri(identifier), args, attributes))

    def _new(self, *statement: str) -> bool:
        if statement in self._known:
            return False
        self._known.add(statement)
        return True


def described(kind: str, label: str, about: About | None = None, types: Iterable[str] = ()) -> Attributes:
    """Return the attributes of an element: its types, its label and its properties."""
    typed = ((TYPE, Name(term(kind))), *((TYPE, Name(PROV + name)) for name in types), (LABEL, label))
    return typed + _attributes(about)


def _attributes(about: About | None) -> tuple[tuple[str, Value], ...]:
    return tuple((term(name), value) for name, value in (about or {}).items() if value is not None)
