"""PROV-O (W3C Recommendation, 30 April 2013) in Turtle and TriG, as a stream.

A relation is one triple if that states all of it. With a time, a plan, an activity or attributes, it also has a qualified node (PROV-O
3.3). A bundle is a named graph in TriG. Turtle has no named graphs, so the statements of the bundle are next to the entity that describes
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from headwater.graph.prov.model import PROV, Closed, Item, Kind, Name, Opened, Statement, Value
from headwater.graph.prov.terms import TYPE
from headwater.graph.prov.write.values import lexical

_UNFIT = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\b": r"\b", "\f": r"\f"}
_SPECIAL = re.compile(r'[\\"\n\r\t\b\f]')
_RENAMED = {f"{PROV}label": "rdfs:label", f"{PROV}type": "a", f"{PROV}role": "prov:hadRole", f"{PROV}location": "prov:atLocation"}


class _Relation(NamedTuple):
    """How PROV-O says a relation: the property, and the qualified form with a property for each argument but the first."""

    property: str
    qualified: str
    type: str
    arguments: tuple[str, ...]


_RELATIONS = {
    Kind.GENERATION: _Relation("wasGeneratedBy", "qualifiedGeneration", "Generation", ("activity", "atTime")),
    Kind.USAGE: _Relation("used", "qualifiedUsage", "Usage", ("entity", "atTime")),
    Kind.COMMUNICATION: _Relation("wasInformedBy", "qualifiedCommunication", "Communication", ("activity",)),
    Kind.START: _Relation("wasStartedBy", "qualifiedStart", "Start", ("entity", "hadActivity", "atTime")),
    Kind.END: _Relation("wasEndedBy", "qualifiedEnd", "End", ("entity", "hadActivity", "atTime")),
    Kind.INVALIDATION: _Relation("wasInvalidatedBy", "qualifiedInvalidation", "Invalidation", ("activity", "atTime")),
    Kind.DERIVATION: _Relation(
        "wasDerivedFrom", "qualifiedDerivation", "Derivation", ("entity", "hadActivity", "hadGeneration", "hadUsage")
    ),
    Kind.ATTRIBUTION: _Relation("wasAttributedTo", "qualifiedAttribution", "Attribution", ("agent",)),
    Kind.ASSOCIATION: _Relation("wasAssociatedWith", "qualifiedAssociation", "Association", ("agent", "hadPlan")),
    Kind.DELEGATION: _Relation("actedOnBehalfOf", "qualifiedDelegation", "Delegation", ("agent", "hadActivity")),
    Kind.INFLUENCE: _Relation("wasInfluencedBy", "qualifiedInfluence", "Influence", ("influencer",)),
}
_IS_REVISION = (TYPE, Name(f"{PROV}Revision"))
_PLAIN = {Kind.SPECIALIZATION: "specializationOf", Kind.ALTERNATE: "alternateOf", Kind.MEMBERSHIP: "hadMember"}


def write_turtle(items: Iterable[Item], namespaces: Mapping[str, str]) -> Iterator[str]:
    return _write(items, namespaces, graphs=False)


def write_trig(items: Iterable[Item], namespaces: Mapping[str, str]) -> Iterator[str]:
    return _write(items, namespaces, graphs=True)


def _write(items: Iterable[Item], namespaces: Mapping[str, str], *, graphs: bool) -> Iterator[str]:
    known = {**namespaces, "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}
    yield "".join(f"@prefix {prefix}: <{base}> .\n" for prefix, base in known.items())
    for item in items:
        if isinstance(item, Statement):
            yield _statement(item)
        elif isinstance(item, Opened) and graphs:
            yield f"{_iri(item.id)} {{\n"
        elif isinstance(item, Closed) and graphs:
            yield "}\n"


def _statement(statement: Statement) -> str:
    kind, identifier, args, attributes, _ = statement
    subject = _iri(identifier or "") if not args or kind is Kind.ACTIVITY else _iri(args[0] or "")
    if kind in (Kind.ENTITY, Kind.ACTIVITY, Kind.AGENT):
        predicates = [f"a prov:{kind.capitalize()}", *map(_attribute, attributes)]
        times = zip(("startedAtTime", "endedAtTime"), args, strict=False)
        return f"{subject} {' ; '.join([*predicates, *(f'prov:{name} {_time(time)}' for name, time in times if time)])} .\n"
    if kind in _PLAIN:
        return f"{subject} prov:{_PLAIN[kind]} {_iri(args[1] or '')} .\n"
    if kind is Kind.MENTION:
        return f"{subject} prov:mentionOf {_iri(args[1] or '')} ; prov:asInBundle {_iri(args[2] or '')} .\n"
    relation = _RELATIONS[kind]
    plain = f"{subject} prov:{relation.property} {_iri(args[1])}" if args[1] else subject
    if kind is Kind.DERIVATION and _IS_REVISION in attributes and args[1]:
        plain += f" ; prov:wasRevisionOf {_iri(args[1])}"  # PROV-O has a property for this kind of derivation
    if identifier is None and not attributes and args[1] and not any(args[2:]):
        return f"{plain} .\n"
    predicates = [f"a prov:{relation.type}", *map(_attribute, attributes)]
    predicates += [
        f"prov:{name} {_time(value) if name == 'atTime' else _iri(value)}"
        for name, value in zip(relation.arguments, args[1:], strict=False)
        if value
    ]
    if identifier is not None:
        qualified = f"prov:{relation.qualified} {_iri(identifier)} .\n{_iri(identifier)} {' ; '.join(predicates)}"
    else:
        qualified = f"prov:{relation.qualified} [ {' ; '.join(predicates)} ]"
    return f"{plain}{' ; ' if args[1] else ' '}{qualified} .\n"


def _attribute(attribute: tuple[str, Value]) -> str:
    name, value = attribute
    return f"{_RENAMED.get(name) or _iri(name)} {_value(value)}"


def _value(value: Value) -> str:
    if isinstance(value, Name):
        return _iri(value)
    text, datatype, language = lexical(value)
    quoted = f'"{_SPECIAL.sub(lambda found: _ESCAPES[found[0]], text)}"'
    return f"{quoted}@{language}" if language else f"{quoted}^^{_iri(datatype)}" if datatype else quoted


def _time(text: str) -> str:
    return f'"{text}"^^xsd:dateTime'


def _iri(iri: str) -> str:
    return f"<{_UNFIT.sub(lambda found: f'%{ord(found[0]):02X}', iri)}>"
