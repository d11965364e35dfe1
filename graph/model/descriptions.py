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


def descriptions_of(node: Node) -> Descriptions:
    """Return the statements of users and producers about a node."""
    facts = node.properties
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


def _value(tag: Any) -> str | None:
    """Return the value of a producer's tag. None if the tag has no value, or the value `true`."""
    value = tag.get("value") if isinstance(tag, Mapping) else None
    return None if value is None or str(value).lower() in ("", "true") else str(value)


def _objects(facet: Any, name: str) -> list[Mapping[str, Any]]:
    items = facet.get(name) if isinstance(facet, Mapping) else None
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _ordered(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names) - {""}))
