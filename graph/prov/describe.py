"""A node of the graph, whatever its kind, as an element of PROV. The mapping, concept by concept, is in docs/guide/prov.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.graph.model import Node, NodeKind, bare_name, kind_of, node_id, parse_id
from headwater.graph.prov.import_properties import PROVENANCE, imported_attributes
from headwater.graph.prov.statements import Statements
from headwater.graph.prov.terms import instant

_KEPT: Mapping[NodeKind, tuple[str, ...]] = {
    NodeKind.VERSION: ("block", "path", "format", "files", "rows", "bytes"),
    NodeKind.PARTITION: ("path", "length", "modified", "rows"),
    NodeKind.COLUMN: ("type", "description", "ordinal"),
    NodeKind.RUN: ("state",),
    NodeKind.STAGE: ("state", "attempt", "tasks", "ordinal"),
    NodeKind.TASK: ("state", "attempt", "ordinal"),
    NodeKind.OPERATOR: ("op", "text", "ordinal"),
}


def describe(statements: Statements, node: Node) -> None:
    remember_imported(statements, node)
    about = scalars({key: node.properties.get(key) for key in _KEPT.get(node.kind, ())})
    match str(node.kind):  # as a text, since there may be kinds one day that this does not list
        case NodeKind.PLATFORM | NodeKind.DATA:
            statements.entity(node.id, node.kind.value.capitalize(), node.name, types=["Collection"])
        case NodeKind.DATASET:
            describe_dataset(statements, node.id, node)
        case NodeKind.VERSION:
            describe_version(statements, node)
        case NodeKind.PARTITION:
            statements.entity(node.id, "Partition", node.name, about, types=["Collection"])
        case NodeKind.COLUMN:
            describe_column(statements, node)
        case NodeKind.SYSTEM | NodeKind.PIPELINE | NodeKind.OWNER | NodeKind.ACTOR:
            software = ("SoftwareAgent",) if node.kind in (NodeKind.SYSTEM, NodeKind.PIPELINE) else ()
            statements.agent(node.id, node.kind.value.capitalize(), node.name, software)
        case NodeKind.JOB:
            statements.entity(node.id, "Job", node.name, types=["Plan"])
            _owners(statements, node)
        case NodeKind.RUN | NodeKind.STAGE | NodeKind.TASK:
            started, ended = instant(node.properties.get("startedAt")), instant(node.properties.get("endedAt"))
            statements.activity(node.id, node.kind.value.capitalize(), node.name, started, ended, about)
        case NodeKind.OPERATOR:
            statements.entity(node.id, "Operator", node.name, about, types=["Plan"])
        case _:
            statements.entity(node.id, str(node.kind).capitalize(), node.name)


def describe_dataset(statements: Statements, dataset: str, node: Node | None = None) -> None:
    """Describe a dataset as the general entity, with its versions as specialisations."""
    namespace, name = parse_id(dataset)[1]
    statements.entity(dataset, "Dataset", name, {"namespace": namespace, "name": name}, types=["Collection"])
    if node is not None:
        _owners(statements, node)


def describe_version(statements: Statements, version: Node) -> None:
    """State the block that one run wrote."""
    remember_imported(statements, version)
    dataset = dataset_of(version.id)
    describe_dataset(statements, dataset)
    about = scalars({key: version.properties.get(key) for key in _KEPT[NodeKind.VERSION]})
    statements.entity(version.id, "Version", parse_id(version.id)[1][1], about, types=["Collection"])
    statements.specializes(version.id, dataset)
    replaced = version.properties.get("replaces")
    if isinstance(replaced, str) and kind_of(replaced) is NodeKind.VERSION and dataset_of(replaced) == dataset:
        statements.revised(version.id, replaced, dataset)


def describe_partition(statements: Statements, partition: Node, containers: Iterable[Node]) -> None:
    """Describe a file at one time, as a member of the version with which it was written, or else of the dataset as which it was read."""
    describe(statements, partition)
    versions = [container for container in containers if container.kind is NodeKind.VERSION]
    for version in versions:
        describe_version(statements, version)
        statements.member(version.id, partition.id)
    written = {dataset_of(version.id) for version in versions}
    for dataset in [container for container in containers if container.kind is NodeKind.DATASET and container.id not in written]:
        describe_dataset(statements, dataset.id, dataset)
        statements.member(dataset.id, partition.id)


def describe_column(statements: Statements, column: Node) -> None:
    """State a column as a member of its dataset."""
    namespace, name, _ = parse_id(column.id)[1]
    dataset = node_id(NodeKind.DATASET, namespace, name)
    describe_dataset(statements, dataset)
    about = scalars({key: column.properties.get(key) for key in _KEPT[NodeKind.COLUMN]})
    statements.entity(column.id, "Column", column.name, about)
    statements.member(dataset, column.id)


def node_or_bare(identifier: str, nodes: Mapping[str, Node]) -> Node:
    """Return the node of an id. An unknown node gets the name in its id."""
    return nodes.get(identifier) or Node(identifier, kind_of(identifier), bare_name(identifier))


def dataset_of(identifier: str) -> str:
    namespace, name, _ = parse_id(identifier)[1]
    return node_id(NodeKind.DATASET, namespace, name)


def scalars(properties: Mapping[str, object]) -> dict[str, object]:
    """Return the properties with a single value."""
    return {name: value for name, value in properties.items() if isinstance(value, str | int | float | bool)}


def remember_imported(statements: Statements, node: Node) -> None:
    """Add the attributes of the document that brought the node."""
    provenance = node.properties.get(PROVENANCE)
    if isinstance(provenance, Mapping):
        statements.imported[node.id] = imported_attributes(provenance)


def _owners(statements: Statements, node: Node) -> None:
    """State the owners of a node, from OpenLineage's ownership facet."""
    facet = node.properties.get("ownership")
    owners = facet.get("owners") if isinstance(facet, Mapping) else None
    for owner in owners if isinstance(owners, list) else ():
        name = owner.get("name") if isinstance(owner, Mapping) else None
        if isinstance(name, str) and name:
            identifier = node_id("owner", name)
            if isinstance(provenance := owner.get(PROVENANCE), Mapping):
                statements.imported[identifier] = imported_attributes(provenance)
            statements.agent(identifier, "Owner", name, types=())
            role = owner.get("type")
            statements.attributed(node.id, identifier, role if isinstance(role, str) else None)
