"""The current description of a node, computed from its facts, for views, lists and exports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.graph.model.declaration import Aspect
from headwater.graph.model.elements import Node, NodeKind
from headwater.graph.model.ids import parse_id

CURATED = "curated:"  # prefix of facts that users state, next to facets
TAGGED = "tagged:"  # tags of a column with their values (`key=value`), all that producers ever stated
_SHOWN = (
    Aspect.OWNER, Aspect.STEWARD, Aspect.TAG, Aspect.TERM, Aspect.DESCRIPTION, Aspect.RETENTION, Aspect.LEGAL_HOLD, Aspect.BROADER,
)  # fmt: skip
_DESCRIBING = frozenset({"ownership", "tags", "documentation", "description"})  # facets that describe
_PREFIXES = (CURATED, "tag:")
NODE_OF = {Aspect.OWNER: NodeKind.OWNER, Aspect.STEWARD: NodeKind.OWNER, Aspect.TAG: NodeKind.TAG, Aspect.TERM: NodeKind.TERM}


@dataclass(frozen=True, slots=True)
class Descriptions:
    """Owners, stewards, tags and terms of a node, by name. `retention` and `legal_hold` are None if they are not stated.

    `tag_values` are the tags that producers state with a value, as `key=value`. A tag with the value `true` is only in `tags`.
    """

    owners: tuple[str, ...]
    stewards: tuple[str, ...]
    tags: tuple[str, ...]
    terms: tuple[str, ...]
    description: str | None
    retention: str | None
    legal_hold: str | None
    tag_values: tuple[str, ...] = ()


_UNDESCRIBED = Descriptions((), (), (), (), None, None, None)  # most nodes of a large graph


def descriptions_of(node: Node) -> Descriptions:
    """Return the statements of users and producers about a node."""
    facts = node.properties
    if not any(name in _DESCRIBING or name.startswith(_PREFIXES) for name in facts):
        return _UNDESCRIBED
    owners: dict[Aspect, set[str]] = {
        Aspect.OWNER: set(_curated(facts, Aspect.OWNER)),
        Aspect.STEWARD: set(_curated(facts, Aspect.STEWARD)),
    }
    for owner in _objects(facts.get("ownership"), "owners"):
        aspect = Aspect.STEWARD if "steward" in str(owner.get("type") or "").lower() else Aspect.OWNER
        owners[aspect].add(str(owner.get("name") or ""))
    tags = set(_curated(facts, Aspect.TAG))
    stated = [
        (str(tag.get("key") or ""), tag) for tag in _objects(facts.get("tags"), "tags") if not tag.get("field") or node.kind is NodeKind.JOB
    ]
    stated += [(name.removeprefix("tag:"), tag) for name, tag in facts.items() if name.startswith("tag:")]
    tags |= {name for name, _ in stated}
    for aspect, names in (*owners.items(), (Aspect.TAG, tags)):
        names.difference_update(withdrawn(node, aspect))
    gone = withdrawn(node, Aspect.TAG)
    values = {f"{name}={value}" for name, tag in stated if name in tags and (value := _value(tag)) is not None} - gone
    documentation = facts.get("documentation")
    text = documentation.get("description") if isinstance(documentation, Mapping) else facts.get("description")
    return Descriptions(
        owners=_ordered(owners[Aspect.OWNER]),
        stewards=_ordered(owners[Aspect.STEWARD]),
        tags=_ordered(tags),
        terms=_ordered(_curated(facts, Aspect.TERM)),
        description=_single(facts, Aspect.DESCRIPTION) or (text if isinstance(text, str) else None),
        retention=_single(facts, Aspect.RETENTION),
        legal_hold=_single(facts, Aspect.LEGAL_HOLD),
        tag_values=_ordered(values),
    )


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement about a node: of a person, or of a producer (`is_produced`). `by` and `at` are None if they are not known.

    A person's statement may be a removal, which takes precedence over the statements of producers. `overruled` is true for a statement
    that does not count because of a person's.
    """

    aspect: Aspect
    value: str
    by: str | None
    at: str | None
    is_produced: bool = False
    removed: bool = False
    overruled: bool = False


def statements_of(node: Node) -> list[Statement]:
    """Return the statements about a node, people's first. A producer's `by` is the address of its program."""
    facts, found = node.properties, []
    for aspect in _SHOWN:
        own = f"{CURATED}{aspect}"
        for name, stated in facts.items():
            value = name.removeprefix(f"{own}:") if aspect in NODE_OF and name.startswith(f"{own}:") else None
            if value is None and name == own and isinstance(stated, Mapping):
                value = _single(facts, aspect)
            if value is not None:
                about = stated if isinstance(stated, Mapping) else {}
                found.append(Statement(aspect, value, _word(about.get("by")), _word(about.get("at")), removed=about.get("removed") is True))
    found.sort(key=lambda one: (_SHOWN.index(one.aspect), one.value))
    return found + _produced(node)


def _produced(node: Node) -> list[Statement]:
    facts, found = node.properties, []
    stated: list[tuple[Aspect, str, Any]] = []
    for owner in _objects(facts.get("ownership"), "owners"):
        aspect = Aspect.STEWARD if "steward" in str(owner.get("type") or "").lower() else Aspect.OWNER
        stated.append((aspect, str(owner.get("name") or ""), _producer(facts.get("ownership"))))
    stated += [
        (Aspect.TAG, str(tag.get("key") or ""), tag.get("source") or _producer(facts.get("tags")))
        for tag in _objects(facts.get("tags"), "tags")
        if not tag.get("field") or node.kind is NodeKind.JOB
    ]
    for name, tag in facts.items():
        if name.startswith("tag:"):
            stated.append((Aspect.TAG, name.removeprefix("tag:"), tag.get("source") if isinstance(tag, Mapping) else None))
    documentation = facts.get("documentation")
    text = documentation.get("description") if isinstance(documentation, Mapping) else facts.get("description")
    if isinstance(text, str) and text:
        stated.append((Aspect.DESCRIPTION, text, _producer(documentation)))
    is_described = _single(facts, Aspect.DESCRIPTION) is not None
    for aspect, value, by in stated:
        if value:
            overruled = is_described if aspect is Aspect.DESCRIPTION else value in withdrawn(node, aspect)
            found.append(Statement(aspect, value, _word(by), None, is_produced=True, overruled=overruled))
    return found


def broader_of(term: Node) -> str | None:
    """Return the name of the term above a term of the glossary."""
    return _single(term.properties, Aspect.BROADER)


def declared_consumption(job: Node) -> Mapping[str, str]:
    """Return the declared consumption modes of a job, by the id of the dataset."""
    lines = (_single(job.properties, Aspect.CONSUMPTION) or "").splitlines()
    return {dataset: mode for mode, _, dataset in (line.partition(" ") for line in lines)}


def bears(node: Node, descriptor: str) -> bool:
    """Return whether a node has the description `owner:…`, `tag:…` or `term:…` now. The edge between them may be older."""
    kind, parts = parse_id(descriptor)
    found = descriptions_of(node)
    there = {NodeKind.OWNER: (*found.owners, *found.stewards), NodeKind.TAG: found.tags, NodeKind.TERM: found.terms}
    return parts[0] in there.get(NodeKind(kind), ())


def withdrawn(node: Node, aspect: Aspect) -> set[str]:
    """Return the values of an aspect that users removed. Users take precedence over producers."""
    return set(_stated(node.properties, aspect, removed=True))


def _curated(facts: Mapping[str, Any], aspect: Aspect) -> Iterable[str]:
    return _stated(facts, aspect, removed=False)


def _stated(facts: Mapping[str, Any], aspect: Aspect, *, removed: bool) -> list[str]:
    prefix = f"{CURATED}{aspect}:"
    named = ((name.removeprefix(prefix), value) for name, value in facts.items() if name.startswith(prefix))
    return [name for name, value in named if (isinstance(value, Mapping) and value.get("removed") is True) is removed]


def _single(facts: Mapping[str, Any], aspect: Aspect) -> str | None:
    stated = facts.get(f"{CURATED}{aspect}")
    return str(stated["value"]) if isinstance(stated, Mapping) and "value" in stated else None


def _producer(facet: Any) -> Any:
    return facet.get("_producer") if isinstance(facet, Mapping) else None


def _word(value: Any) -> str | None:
    return value[:500] if isinstance(value, str) and value else None


def _value(tag: Any) -> str | None:
    """Return the value of a producer's tag. None if the tag has no value, or the value `true`."""
    value = tag.get("value") if isinstance(tag, Mapping) else None
    return None if value is None or str(value).lower() in ("", "true") else str(value)


def _objects(facet: Any, name: str) -> list[Mapping[str, Any]]:
    items = facet.get(name) if isinstance(facet, Mapping) else None
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _ordered(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names) - {""}))
