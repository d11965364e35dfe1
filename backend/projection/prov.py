"""Projects a PROV document: entities become datasets and versions, activities runs of jobs, agents applications or owners.

An export of Headwater becomes its nodes and edges again. Statements without a representation in the graph are counted (`left_out`), never
guessed: records (their lineage is in segments), influences without details, alternates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headwater.backend.projection.prov_names import Names
from headwater.backend.projection.statement import Statement as Stated
from headwater.graph.model import EdgeKind, GraphBatch, NodeKind, Stamp, kind_of, parse_id
from headwater.graph.prov.import_properties import PROVENANCE, kept_attributes
from headwater.graph.prov.model import PROV, SHAPES, Document, Kind, Literal, Name, Statement
from headwater.graph.prov.terms import LABEL, NODE, TERM, TYPE, term

_MOST_MAKERS = 10  # limit of versions of one entity; above it, readers are linked to the dataset only
_EPOCH = "1970-01-01T00:00:00Z"
_DATA = frozenset({NodeKind.VERSION, NodeKind.PARTITION})
# These follow from other statements of an export, and from ids.
_FACETS = frozenset({"tags", "ownership", "schema", "columnLineage"})
_IMPLIED = frozenset({Kind.AGENT, Kind.SPECIALIZATION, Kind.COMMUNICATION})


def prov_stamp(document: Document, key: str) -> Stamp:
    """Return the latest time in the document. Facts of a document without times have the lowest precedence."""
    times = [
        value
        for _, statements in document.instances()
        for statement in statements
        for place, value in enumerate(statement.args)
        if value and place in SHAPES[statement.kind].times
    ]
    return max((Stamp.at(time, key) for time in times), default=Stamp.at(_EPOCH, key))


def project_prov(document: Document, stamp: Stamp) -> tuple[GraphBatch, Mapping[str, int]]:
    """Project a document. Also returns the number of statements of each kind without a representation in the graph."""
    statements = [statement for _, listed in document.instances() for statement in listed]
    projection = _Projection(statements, document.namespaces, stamp)
    return projection.stated.batch(), projection.left_out


class _Projection:
    def __init__(self, statements: Sequence[Statement], namespaces: Mapping[str, str], stamp: Stamp) -> None:
        self.stated = Stated(stamp)
        self.left_out: Counter[str] = Counter()
        self._names = Names(statements, namespaces)
        self._owners: dict[str, dict[str, dict[str, Any]]] = {}
        self._agents = {s.id or "": s for s in statements if s.kind is Kind.AGENT}
        self._software = {s.id for s in statements if s.kind is Kind.AGENT and (TYPE, Name(f"{PROV}SoftwareAgent")) in s.attributes}
        verbs: Mapping[Kind, Callable[[Statement], bool]] = {
            Kind.ENTITY: self._entity, Kind.ACTIVITY: self._activity, Kind.GENERATION: self._generation, Kind.USAGE: self._usage,
            Kind.DERIVATION: self._derivation, Kind.ASSOCIATION: self._association, Kind.ATTRIBUTION: self._attribution,
            Kind.DELEGATION: self._delegation, Kind.MEMBERSHIP: self._membership, Kind.START: self._start,
            Kind.INVALIDATION: self._invalidation, Kind.INFLUENCE: self._influence,
        }  # fmt: skip
        for statement in statements:
            named = [name for name in (statement.id, *statement.args) if name]
            if any(map(self._names.is_aside, named)):
                continue
            if any(map(self._names.is_record, named)):
                self.left_out["record"] += statement.kind is Kind.ENTITY
            elif statement.kind not in _IMPLIED and not (statement.kind in verbs and verbs[statement.kind](statement)):
                self.left_out[statement.kind.value] += 1
        for identifier, owners in sorted(self._owners.items()):
            listed = [{"name": name} | about for name, about in sorted(owners.items())]
            self.stated.describe(identifier, {"ownership": {"owners": listed}})

    def _about_agent(self, name: str) -> dict[str, Any]:
        agent = self._agents.get(name)
        if agent is None or not agent.attributes:
            return {}
        return _foreign(agent) if self._names.is_node(name) else {PROVENANCE: kept_attributes(agent, name)}

    def _entity(self, entity: Statement) -> bool:
        name = entity.id or ""
        if not self._names.is_node(name):
            self._others_entity(entity, name)
            return True
        identifier, label = self._place(name), _label(entity)
        kind = kind_of(identifier)
        about = _own(entity, without={"namespace", "name", "iri"}) | _foreign(entity)
        self.stated.describe(identifier, about, name=label if kind in (NodeKind.PARTITION, NodeKind.OPERATOR) else None)
        return True

    def _others_entity(self, entity: Statement, name: str) -> None:
        """State an entity of another tool.

        A plan is a job; any other entity is a dataset, with a version for each activity that made it.
        """
        plan = (TYPE, Name(f"{PROV}Plan")) in entity.attributes
        if plan and not self._names.is_plan(name):
            return
        provenance = {PROVENANCE: kept_attributes(entity, name)} if entity.attributes else {}
        if plan:
            self.stated.describe(self.stated.job(*self._names.split(name)), provenance)
        elif (TYPE, Name(f"{PROV}Bundle")) in entity.attributes:
            self._dataset(name)
        else:
            makers = self._names.makers.get(name, ())
            written = [self._names.version(name, maker) for maker in makers] if len(makers) <= _MOST_MAKERS else []
            for place in [self._dataset(name), *(version for version in written if version)]:
                self.stated.describe(place, provenance)

    def _activity(self, activity: Statement) -> bool:
        run = self._run(activity.id or "")
        if run is None:
            return True
        started, ended = (None if time is None else Stamp.at(time, "").time for time in activity.args)
        about: dict[str, Any] = {name: value for name, value in (("startedAt", started), ("endedAt", ended)) if value}
        if not self._names.is_node(activity.id or ""):
            about |= {"state": "COMPLETE" if ended else "START", PROVENANCE: kept_attributes(activity, activity.id or "")}
        else:
            about |= _foreign(activity)
        kind = kind_of(run)
        self.stated.describe(
            run, about | _own(activity, without={"iri"}), name=_label(activity) if kind in (NodeKind.STAGE, NodeKind.TASK) else None
        )
        return True

    def _generation(self, generation: Statement) -> bool:
        entity, activity, time = generation.args
        return bool(entity and activity) and self._wrote(entity or "", activity or "", time)

    def _wrote(self, entity: str, activity: str, time: str | None) -> bool:
        names, run = self._names, self._run(activity)
        job, written = names.job(activity), names.version(entity, activity)
        if written is None or run is None or kind_of(written) not in _DATA:
            return False
        self._place(NODE + written)
        self.stated.link(run, written, EdgeKind.WRITES)
        if kind_of(written) is NodeKind.VERSION:
            if time and not names.is_node(entity):
                self.stated.describe(written, {"writtenAt": Stamp.at(time, "").time})
            if job:
                self.stated.link(job, self._dataset(NODE + written), EdgeKind.WRITES)
        return True

    def _usage(self, usage: Statement) -> bool:
        activity, entity, _ = usage.args
        return bool(activity and entity) and self._read(activity or "", entity or "", inferred=_is_inferred(usage))

    def _read(self, activity: str, entity: str, *, inferred: bool = False) -> bool:
        """State a read. If an export inferred the entity, only its dataset is stated."""
        names, run, job = self._names, self._run(activity), self._names.job(activity)
        own = names.own(entity)
        if own == NodeKind.PARTITION:
            if run:
                self.stated.link(self._place(entity), run, EdgeKind.READS)
            return True
        if names.is_node(entity) and own not in (NodeKind.DATASET, NodeKind.VERSION):
            return False
        dataset = self._dataset(entity)
        if job:
            self.stated.link(dataset, job, EdgeKind.READS)
        versions = [entity.removeprefix(NODE)] if own == NodeKind.VERSION and not inferred else []
        if own is None:
            makers = names.makers.get(entity, ())
            if len(makers) > _MOST_MAKERS:
                self.left_out["version that was used"] += 1
            else:
                versions = [made for maker in makers if (made := names.version(entity, maker))]
        for version in versions if run else ():
            self.stated.link(self._place(NODE + version), run or "", EdgeKind.READS)
        if run:
            self.stated.describe(run, {f"input:{dataset}": {}}, ranks={f"input:{dataset}": -1})
        return True

    def _derivation(self, derivation: Statement) -> bool:
        if _is_masked(derivation):
            return False
        entity, source, activity, _, _ = (arg or "" for arg in derivation.args)
        names = self._names
        kinds = {names.own(entity), names.own(source)}
        if kinds == {NodeKind.COLUMN}:
            self.stated.link(self._place(source), self._place(entity), EdgeKind.DERIVES)
            return True
        if activity:  # PROV-CONSTRAINTS, inference 11: the activity used one entity and generated the other
            return self._wrote(entity, activity, None) and self._read(activity, source, inferred=_is_inferred(derivation))
        if not kinds <= {None, NodeKind.DATASET, NodeKind.VERSION}:
            return False
        # The document does not name the activity, so a job represents it.
        target = self._dataset(entity)
        namespace, name = parse_id(target)[1]
        job = self.stated.job(namespace, f"derivation of {name}")
        self.stated.describe(job, {"provenance": {"inferred": "wasDerivedFrom"}})
        self.stated.link(self._dataset(source), job, EdgeKind.READS)
        self.stated.link(job, target, EdgeKind.WRITES)
        return True

    def _association(self, association: Statement) -> bool:
        activity, agent, plan = association.args
        run, job = self._run(activity or ""), self._names.job(activity or "")
        if plan and self._names.own(plan) == NodeKind.OPERATOR and run:
            self.stated.contain(run, self._place(plan))
        if agent and job:
            self._acts(agent, job)
        return True

    def _attribution(self, attribution: Statement) -> bool:
        entity, agent = (arg or "" for arg in attribution.args)
        if self._names.own(entity) == NodeKind.JOB:
            self._acts(agent, self._place(entity))
            return True
        role = next((str(value) for name, value in attribution.attributes if name in (term("role"), f"{PROV}role")), None)
        self._own(agent, self._dataset(entity), role)
        return True

    def _acts(self, agent: str, job: str) -> None:
        """State that an application contains its jobs, or that a person or an organisation owns them."""
        own = self._names.own(agent)
        if own == NodeKind.PIPELINE:
            self.stated.describe(self._place(agent), self._about_agent(agent))
            self.stated.contain(self._place(agent), job)
        elif own is None and agent in self._software:
            pipeline = self.stated.pipeline(*self._names.split(agent))
            self.stated.contain(pipeline, job)
            self.stated.describe(pipeline, self._about_agent(agent))
        elif own != NodeKind.SYSTEM:
            self._own(agent, job, None)

    def _own(self, agent: str, identifier: str, role: str | None) -> None:
        name = parse_id(agent.removeprefix(NODE))[1][0] if self._names.own(agent) else agent
        self._owners.setdefault(identifier, {})[name] = ({"type": role} if role else {}) | self._about_agent(agent)

    def _delegation(self, delegation: Statement) -> bool:
        delegate, responsible = (arg or "" for arg in delegation.args[:2])
        if {self._names.own(delegate), self._names.own(responsible)} <= {NodeKind.PIPELINE, NodeKind.SYSTEM}:
            self.stated.contain(self._place(responsible), self._place(delegate))
            return True
        return False

    def _membership(self, membership: Statement) -> bool:
        collection, member = (arg or "" for arg in membership.args)
        if not (self._names.is_node(collection) and self._names.is_node(member)):
            return False
        self.stated.contain(self._place(collection), self._place(member))
        return True

    def _start(self, start: Statement) -> bool:
        activity, _, starter, _ = (arg or "" for arg in start.args)
        if not (self._names.is_node(activity) and self._names.is_node(starter)):
            return False
        self.stated.contain(self._place(starter), self._place(activity))
        return True

    def _invalidation(self, invalidation: Statement) -> bool:
        entity, activity, _ = (arg or "" for arg in invalidation.args)
        run = self._run(activity) if activity else None
        if self._names.own(entity) != NodeKind.VERSION or run is None:
            return False
        self.stated.describe(self._place(entity), {"invalidatedBy": run})
        return True

    def _influence(self, influence: Statement) -> bool:
        influenced, by = (arg or "" for arg in influence.args)
        if _is_masked(influence):
            return False
        if (TYPE, Name(term("Replay"))) in influence.attributes:
            self.stated.link(self._place(by), self._place(influenced), EdgeKind.REPLAYS)
            return True
        if self._names.own(by) == "runs" and self._names.own(influenced) == NodeKind.DATASET:
            self.stated.link(self._names.job(by) or "", self._place(influenced), EdgeKind.WRITES)
            return True
        return False

    def _run(self, activity: str) -> str | None:
        run, job = self._names.run(activity), self._names.job(activity)
        if job:
            self.stated.job(*parse_id(job)[1])
        if run and job and kind_of(run) is NodeKind.RUN:
            self.stated.contain(job, run)
        return run

    def _dataset(self, entity: str) -> str:
        namespace, name = parse_id(self._names.dataset(entity))[1]
        return self.stated.dataset(namespace, name)

    def _place(self, name: str) -> str:
        identifier = name.removeprefix(NODE)
        kind, parts = kind_of(identifier), parse_id(identifier)[1]
        if kind is NodeKind.DATASET:
            return self.stated.dataset(*parts)
        if kind is NodeKind.VERSION:
            return self.stated.version(*parts)
        if kind is NodeKind.COLUMN:
            return self.stated.column(*parts)
        if kind is NodeKind.JOB:
            return self.stated.job(*parts)
        return self.stated.pipeline(*parts) if kind is NodeKind.PIPELINE else identifier


def _label(element: Statement) -> str | None:
    return next((str(value) for name, value in element.attributes if name == LABEL), None)


def _is_masked(relation: Statement) -> bool:
    """Whether a relation represents paths that a view of Headwater hid. No edge of the graph has that meaning."""
    return any(name in (term("via"), term("direct")) for name, _ in relation.attributes)


def _is_inferred(relation: Statement) -> bool:
    return any(name == term("inferred") for name, _ in relation.attributes)


def _own(element: Statement, *, without: frozenset[str] | set[str] = frozenset()) -> dict[str, Any]:
    """Return Headwater's attributes as the original properties. Users' declarations and facets are left out."""
    named = ((name.removeprefix(TERM), value) for name, value in element.attributes if name.startswith(TERM))
    return {name: _plain(value) for name, value in named if name not in without and ":" not in name and name not in _FACETS}


def _foreign(element: Statement) -> dict[str, Any]:
    kept = kept_attributes(element, None)
    typed = [value for value in kept.pop(TYPE, []) if not _is_ours(value)]
    kept.pop(LABEL, None)
    kept |= {TYPE: typed} if typed else {}
    return {PROVENANCE: kept} if kept else {}


def _is_ours(value: object) -> bool:
    name = value.get("name") if isinstance(value, Mapping) else None
    return isinstance(name, str) and name.startswith((TERM, PROV))


def _plain(value: object) -> object:
    return value.text if isinstance(value, Literal) else str(value) if isinstance(value, Name) else value
