"""Declarations of users: types, instances, containment, links, and descriptions of nodes. See docs/reference/declarations.md.

A declaration is an entry of the log like an event: it may come late, twice or out of order. This module checks its form only.
`headwater.graph.integrity` checks whether it fits the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from headwater.errors import InvalidInputError
from headwater.graph.model.elements import NodeKind
from headwater.graph.model.ids import kind_of, parse_id

T = TypeVar("T")

ACTOR_TYPE = "actorType"  # the property of a job that is an actor of a declared type

DATA = frozenset({NodeKind.PLATFORM, NodeKind.DATASET, NodeKind.VERSION, NodeKind.PARTITION, NodeKind.COLUMN, NodeKind.DATA})
ACTORS = frozenset({
    NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.JOB, NodeKind.RUN, NodeKind.STAGE, NodeKind.TASK, NodeKind.OPERATOR, NodeKind.ACTOR,
})  # fmt: skip


BLOCK_MODES = ("base", "delta")
CONSUMPTION_MODES = ("all", "new", "old")


class Axis(StrEnum):
    """The hierarchy of a type: data or actors."""

    DATA = "data"
    ACTOR = "actor"


class Aspect(StrEnum):
    """A property of a description. An aspect with nodes of its own (`owner:…`, `tag:…`, `term:…`) may occur many times."""

    OWNER = "owner"
    STEWARD = "steward"
    TAG = "tag"
    TERM = "term"
    DESCRIPTION = "description"
    RETENTION = "retention"
    LEGAL_HOLD = "legalHold"
    BLOCK = "block"  # of a version: base or delta
    BROADER = "broader"  # of a term: the name of the term above it
    CONSUMPTION = "consumption"  # of a job: `MODE DATASET` for each dataset, one a line


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """A declared type. `within` and `holds` name types or kinds that may contain it, and that it may contain.

    `after` names the types whose instances feed those of this type within a common container (archetype links).
    """

    name: str
    axis: Axis
    within: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Instance:
    """A node of a declared type: `actor:{type}:{name}` or `data:{type}:{name}`."""

    id: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Description:
    """A statement about a node. `removed` withdraws it. A value of an aspect without a node of its own replaces the last value."""

    id: str
    aspect: Aspect
    value: str
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Declaration:
    """A whole document. `containment` are (container, child), `links` are (source, destination)."""

    declared: str
    by: str
    types: Sequence[DeclaredType] = ()
    instances: Sequence[Instance] = ()
    containment: Sequence[tuple[str, str]] = ()
    links: Sequence[tuple[str, str]] = ()
    descriptions: Sequence[Description] = ()

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Declaration:
        """Read a document.

        Raises:
            InvalidInputError: the document has an invalid form; `field` is the path of the fault.
        """
        return cls(
            declared=_text(document, "declared", "$"),
            by=str(document.get("by") or ""),
            types=_each(document, "types", _type),
            instances=_each(document, "instances", _instance),
            containment=_each(document, "containment", lambda item, path: (_id(item, "container", path), _id(item, "child", path))),
            links=_each(document, "links", lambda item, path: (_id(item, "from", path), _id(item, "to", path))),
            descriptions=_each(document, "descriptions", _description),
        )


def type_of(identifier: str) -> str:
    """Return the declared type of an instance, or the kind of any other node."""
    kind, parts = parse_id(identifier)
    return parts[0] if kind in {NodeKind.ACTOR, NodeKind.DATA} else kind


def axis_of(identifier: str) -> Axis | None:
    """Return the hierarchy of a node. None for a node that only describes others, such as a tag."""
    kind = kind_of(identifier)
    return Axis.DATA if kind in DATA else Axis.ACTOR if kind in ACTORS else None


def _type(item: Mapping[str, Any], path: str) -> DeclaredType:
    name = _text(item, "name", path)
    if name in {kind.value for kind in NodeKind}:
        raise InvalidInputError(f"{path}.name is {name!r}, which is a kind of its own.", field=f"{path}.name", hint="Choose another name.")
    axis = _text(item, "axis", path)
    if axis not in set(Axis):
        raise InvalidInputError(f"{path}.axis is {axis!r}.", field=f"{path}.axis", hint=f"It is one of: {', '.join(Axis)}.")
    return DeclaredType(name, Axis(axis), *(_texts(item, part, path) for part in ("within", "holds", "after")))


def _instance(item: Mapping[str, Any], path: str) -> Instance:
    identifier = _id(item, "id", path)
    if kind_of(identifier) not in {NodeKind.ACTOR, NodeKind.DATA} or len(parse_id(identifier)[1]) < 2:
        raise InvalidInputError(
            f"{path}.id is {identifier!r}, no instance of a declared type.",
            field=f"{path}.id",
            hint="It reads actor:{type}:{name} or data:{type}:{name}; jobs and datasets come by OpenLineage events.",
        )
    properties = item.get("properties") or {}
    if not isinstance(properties, Mapping):
        raise InvalidInputError(f"{path}.properties is no object.", field=f"{path}.properties", hint="Write it as {…}, or leave it out.")
    return Instance(identifier, properties)


def _description(item: Mapping[str, Any], path: str) -> Description:
    aspect = _text(item, "aspect", path)
    if aspect not in set(Aspect):
        raise InvalidInputError(f"{path}.aspect is {aspect!r}.", field=f"{path}.aspect", hint=f"It is one of: {', '.join(Aspect)}.")
    made = Description(_id(item, "id", path), Aspect(aspect), _text(item, "value", path), item.get("removed") is True)
    if (fault := _find_fault(made)) is not None:
        raise InvalidInputError(f"{path} is no description: {fault}.", field=path)
    return made


def _find_fault(made: Description) -> str | None:
    """Return what is wrong with a broader term, or with the declared mode of a block or of a consumer."""
    kind = kind_of(made.id)
    if made.aspect is Aspect.BLOCK:
        if kind is not NodeKind.VERSION:
            return "a block is a version"
        if made.removed:
            return "the mode of a block can be replaced, and not removed"
        return None if made.value in BLOCK_MODES else f"the mode of a block is {' or '.join(BLOCK_MODES)}"
    if made.aspect is Aspect.BROADER:
        return None if kind is NodeKind.TERM else "only a term has a broader term"
    if made.aspect is Aspect.CONSUMPTION:
        if kind is not NodeKind.JOB:
            return "a consumer is a job"
        if made.removed or all(line.partition(" ")[0] in CONSUMPTION_MODES for line in made.value.splitlines()):
            return None
        return f"each line is one of {', '.join(CONSUMPTION_MODES)} and the id of a dataset"
    return None


def _each(document: Mapping[str, Any], name: str, read: Callable[[Mapping[str, Any], str], T]) -> tuple[T, ...]:
    items = document.get(name)
    if items is None:
        return ()
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise InvalidInputError(f"$.{name} is no list of objects.", field=f"$.{name}", hint="Write it as [{…}, …], or leave it out.")
    return tuple(read(item, f"$.{name}[{index}]") for index, item in enumerate(items))


def _text(item: Mapping[str, Any], name: str, path: str) -> str:
    value = item.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{path}.{name} is {value!r}.", field=f"{path}.{name}", hint="It must be a text that is not empty.")
    return value


def _texts(item: Mapping[str, Any], name: str, path: str) -> tuple[str, ...]:
    values = item.get(name) or []
    if not isinstance(values, list) or not all(isinstance(value, str) and value for value in values):
        raise InvalidInputError(f"{path}.{name} is no list of texts.", field=f"{path}.{name}", hint='Write it as ["…"], or leave it out.')
    return tuple(values)


def _id(item: Mapping[str, Any], name: str, path: str) -> str:
    identifier = _text(item, name, path)
    kind_of(identifier)
    return identifier
