"""The rules of containment. Declarations that break them are refused, and events that break them are listed.

The intake checks declarations before the log has an entry, and `headwater store check` lists all faults. An event is never refused because
of other events: events may come in any order, and the graph must end the same. Answers stay finite, because every walk ends at a cycle.

The rules:

- A type is declared before it is used.
- A child and its container are of one hierarchy, and of types that permit it.
- A child has one container per hierarchy, apart from the containers of that one.
- Nothing contains itself.
- An actor ends after its children.

Events may name several containers of one job: its namespace's system, and the pipelines that ran it. dbt's models run under
each invocation, and Airflow's tasks under the DAG of another namespace. Jobs and pipelines therefore need one declared container only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass

from headwater.errors import InvalidInputError, NotFoundError
from headwater.graph.model import EdgeKind, Node, NodeKind, kind_of, node_id
from headwater.graph.model.declaration import Axis, Declaration, DeclaredType, axis_of, type_of
from headwater.graph.stores import Direction, GraphStore

_PORTION = 500  # declared pairs that are checked at once
_MOST_STEPS = 300_000  # steps from declared pairs to their containers; a long chain takes the square of its length
_NESTING = {NodeKind.PIPELINE, NodeKind.ACTOR, NodeKind.DATA}  # kinds that may contain their own
_RUN_BY_MANY = {NodeKind.JOB, NodeKind.PIPELINE}  # events may name several containers of these kinds


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a node breaks."""

    rule: str
    node: str
    detail: str


# These may be described before they are used. Other parts of a declaration cannot hold a description.
_ANNOUNCED = (f"{NodeKind.TAG}:", f"{NodeKind.TERM}:")


async def check_declaration(graph: GraphStore, tenant: str, declaration: Declaration) -> None:
    """Check a declaration against the rules, together with the graph and earlier declarations.

    Raises:
        InvalidInputError: the declaration breaks a rule; `field` names the place.
        NotFoundError: a node in the declaration is neither in the graph nor declared.
    """
    types = await _types(graph, tenant, declaration)
    named = {instance.id for instance in declaration.instances}
    for index, instance in enumerate(declaration.instances):
        _require_type(types, instance.id, f"$.instances[{index}].id")
    spoken = list(_spoken(declaration))
    known = {node.id: node for node in await graph.get(tenant, sorted({identifier for _, identifier in spoken}))}
    for path, identifier in spoken:
        if identifier not in known and identifier not in named and not identifier.startswith(_ANNOUNCED):
            raise NotFoundError(
                f"{path} names {identifier}, of which nothing is known.", hint="Declare it among the instances, or search for its id."
            )
    for index, (source, destination) in enumerate(declaration.links):
        if axis_of(source) is None or axis_of(source) is not axis_of(destination):
            raise InvalidInputError(
                f"$.links[{index}] joins {source} and {destination}, which are not of one hierarchy.",
                field=f"$.links[{index}]",
                hint="A link joins two actors, or two pieces of data.",
            )
    await _check_containment(graph, tenant, declaration, types, known)


def _spoken(declaration: Declaration) -> Iterator[tuple[str, str]]:
    """Yield the nodes that must exist, with the places where the declaration names them."""
    for name, parts, pairs in (
        ("containment", ("container", "child"), declaration.containment),
        ("links", ("from", "to"), declaration.links),
    ):
        for index, pair in enumerate(pairs):
            for part, identifier in zip(parts, pair, strict=True):
                yield f"$.{name}[{index}].{part}", identifier
    for index, description in enumerate(declaration.descriptions):
        yield f"$.descriptions[{index}].id", description.id


async def _check_containment(
    graph: GraphStore, tenant: str, declaration: Declaration, types: Mapping[str, DeclaredType], known: Mapping[str, Node]
) -> None:
    children = {child for _, child in declaration.containment}
    stated = await graph.neighbours(tenant, sorted(children), direction=Direction.UPSTREAM, kinds=[EdgeKind.CONTAINS])
    parents: dict[str, set[str]] = {}
    for edge in stated:
        parents.setdefault(edge.dst, set()).add(edge.src)
    ends = sorted({end for pair in declaration.containment for end in pair})
    above = await graph.ancestors(tenant, ends)
    containers = _Containers({identifier: {node.id for node in nodes} for identifier, nodes in above.items()})
    for index, (container, child) in enumerate(declaration.containment):
        path = f"$.containment[{index}]"
        _check_types(types, container, child, path)
        if index % _PORTION == 0:
            await asyncio.sleep(0)  # a large declaration must not block the event loop
        if container == child or containers.is_within(container, child):
            raise InvalidInputError(
                f"{path}: {child} contains {container} already, so it cannot stand in it.", field=path, hint="Nothing contains itself."
            )
        others = {parent for parent in parents.get(child, set()) if parent != container and axis_of(parent) is axis_of(container)}
        for other in sorted(others):
            if not containers.is_within(container, other) and not containers.is_within(other, container):
                raise InvalidInputError(
                    f"{path}: {child} stands in {other} already, which neither contains {container} nor stands in it.",
                    field=path,
                    hint="A child belongs to one container per hierarchy.",
                )
        late = _ends_late(known.get(container), known.get(child))
        if late:
            raise InvalidInputError(f"{path}: {late}.", field=path, hint="An actor ends after those that it contains.")
        parents.setdefault(child, set()).add(container)
        containers.add(container, child)


class _Containers:
    """Containers of nodes in the graph and in earlier declarations. `known` are all containers of each end of a declared pair."""

    def __init__(self, known: Mapping[str, set[str]]) -> None:
        self._known = known
        self._declared: dict[str, set[str]] = {}
        self._steps = 0

    def add(self, container: str, child: str) -> None:
        self._declared.setdefault(child, set()).add(container)

    def is_within(self, identifier: str, container: str) -> bool:
        """Return whether a container contains a node, at any depth.

        Raises:
            InvalidInputError: the containment in the declaration takes too long to check.
        """
        seen, waiting = {identifier}, [identifier]
        while waiting:
            at = waiting.pop()
            known = self._known.get(at, set())
            above = self._declared.get(at, set()) | {one for one in known if one in self._declared}
            if container in known or container in above:
                return True
            self._steps += 1 + len(known) + len(above)
            if self._steps > _MOST_STEPS:
                raise InvalidInputError(
                    f"The declared containers are within each other by more than {_MOST_STEPS:,} steps.",
                    field="$.containment",
                    hint="Declare fewer at once.",
                )
            waiting += above - seen
            seen |= above
        return False


async def violations(graph: GraphStore, tenant: str) -> AsyncIterator[Violation]:
    """Yield the parts of a graph that break a rule."""
    types = set(await _known_types(graph, tenant))
    async for portion in graph.dump(tenant):
        containers: dict[str, set[str]] = {}
        for src, dst, kind, *_ in portion.edges:
            if kind == EdgeKind.CONTAINS:
                containers.setdefault(dst, set()).add(src)
        doubtful = sorted({child for child, parents in containers.items() if len(parents) > 1 or kind_of(child) in _NESTING})
        above = (
            await graph.ancestors(tenant, sorted({*doubtful, *(parent for child in doubtful for parent in containers[child])}))
            if doubtful
            else {}
        )
        for child in doubtful:
            for violation in _of_child(child, containers[child], above):
                yield violation
        for identifier, *_ in portion.nodes:
            if kind_of(identifier) in {NodeKind.ACTOR, NodeKind.DATA} and type_of(identifier) not in types:
                yield Violation("unknown type", identifier, f"no type {type_of(identifier)!r} is declared")
        async for violation in _late(graph, tenant, [identifier for identifier, *_ in portion.nodes if identifier.startswith("run:")]):
            yield violation


def _of_child(child: str, parents: set[str], above: Mapping[str, list[Node]]) -> list[Violation]:
    over = {identifier: {node.id for node in nodes} for identifier, nodes in above.items()}
    if any(child in over.get(parent, set()) for parent in parents) or child in parents:
        return [Violation("containment cycle", child, f"it stands in {', '.join(sorted(parents))}, which stands in it")]
    innermost = sorted(parent for parent in parents if not any(parent in over.get(other, set()) for other in parents if other != parent))
    if kind_of(child) in _RUN_BY_MANY:
        innermost = [parent for parent in innermost if kind_of(parent) is NodeKind.ACTOR]
    axes = {axis_of(parent) for parent in innermost}
    if len(innermost) > len(axes):
        return [Violation("two containers", child, f"it stands in {' and in '.join(innermost)}")]
    return []


async def _late(graph: GraphStore, tenant: str, runs: list[str]) -> AsyncIterator[Violation]:
    """Yield runs that ended after their parent run."""
    nodes = await graph.get(tenant, runs) if runs else []
    parents = {node.id: str(node.properties["parentRun"]) for node in nodes if node.properties.get("parentRun")}
    known = {node.id: node for node in await graph.get(tenant, sorted(set(parents.values())))} if parents else {}
    for node in nodes:
        if late := _ends_late(known.get(parents.get(node.id, "")), node):
            yield Violation("ends too late", node.id, late)


async def _known_types(graph: GraphStore, tenant: str) -> dict[str, DeclaredType]:
    found: dict[str, DeclaredType] = {}
    cursor: str | None = None
    while True:
        page = await graph.search(tenant, "", kinds=[NodeKind.TYPE], first=500, after=cursor)
        for node in page.nodes:
            if "axis" in node.properties:
                facts = {part: tuple(node.properties.get(part) or ()) for part in ("within", "holds", "after")}
                found[node.name] = DeclaredType(node.name, Axis(node.properties["axis"]), **facts)
        cursor = page.cursor
        if cursor is None:
            return found


async def _types(graph: GraphStore, tenant: str, declaration: Declaration) -> dict[str, DeclaredType]:
    known = await _known_types(graph, tenant)
    for index, declared in enumerate(declaration.types):
        before = known.get(declared.name)
        if before is not None and before.axis is not declared.axis:
            raise InvalidInputError(
                f"$.types[{index}]: {declared.name} is a type of {before.axis} already.",
                field=f"$.types[{index}].axis",
                hint="Choose another name.",
            )
        known[declared.name] = declared
    kinds = {kind.value for kind in NodeKind}
    for index, declared in enumerate(declaration.types):
        for part in ("within", "holds", "after"):
            unknown = [name for name in getattr(declared, part) if name not in known and (name not in kinds or part == "after")]
            if unknown:
                raise InvalidInputError(
                    f"$.types[{index}].{part} names {unknown[0]!r}, which is no type.",
                    field=f"$.types[{index}].{part}",
                    hint=f"Declare it too. The types are: {', '.join(sorted(known)) or 'none yet'}.",
                )
    return known


def _require_type(types: Mapping[str, DeclaredType], identifier: str, path: str) -> None:
    name = type_of(identifier)
    if name not in types:
        raise InvalidInputError(
            f"{path}: {name!r} is no type.", field=path, hint=f"Declare it. The types are: {', '.join(sorted(types)) or 'none yet'}."
        )
    if types[name].axis != kind_of(identifier).value:
        raise InvalidInputError(
            f"{path}: {name!r} is a type of {types[name].axis}.", field=path, hint=f"Write {node_id(types[name].axis, name)}:…."
        )


def _check_types(types: Mapping[str, DeclaredType], container: str, child: str, path: str) -> None:
    for identifier in (container, child):
        if kind_of(identifier) in {NodeKind.ACTOR, NodeKind.DATA}:
            _require_type(types, identifier, path)
    if axis_of(container) is None or axis_of(container) is not axis_of(child):
        raise InvalidInputError(
            f"{path}: {container} and {child} are not of one hierarchy.", field=path, hint="Actors contain actors, data contain data."
        )
    outer, inner = type_of(container), type_of(child)
    contained = types[outer].holds if outer in types else ()
    allowed = types[inner].within if inner in types else ()
    if inner not in contained and outer not in allowed:
        raise InvalidInputError(
            f"{path}: a {inner} does not stand in a {outer}.",
            field=path,
            hint=f"Declare the type with `within` or `holds`. {inner} stands in: {', '.join(allowed) or 'nothing declared'}.",
        )


def _ends_late(container: Node | None, child: Node | None) -> str | None:
    """Return a text if a child ended after its container. None otherwise."""
    if container is None or child is None:
        return None
    outer, inner = container.properties.get("endedAt"), child.properties.get("endedAt")
    if isinstance(outer, str) and isinstance(inner, str) and inner > outer:
        return f"{child.id} ended at {inner}, after {container.id}, which ended at {outer}"
    return None
