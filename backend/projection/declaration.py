"""Projects a declaration (docs/reference/declarations.md): types, instances, containment, links and descriptions."""

from __future__ import annotations

from headwater.backend.projection.descriptions import describe
from headwater.backend.projection.statement import Statement
from headwater.graph.model import EdgeKind, GraphBatch, NodeKind, Stamp, node_id, parse_id
from headwater.graph.model.declaration import Aspect, Declaration
from headwater.paths import dataset_root

_NAMES = 2  # number of parts before other parts: the id of a dataset or column begins with namespace and name


def declaration_stamp(declaration: Declaration, key: str) -> Stamp:
    """Return the time and key for the statements of a declaration.

    Raises:
        InvalidInputError: the time is missing.
    """
    return Stamp.at(declaration.declared, key)


def project_declaration(declaration: Declaration, stamp: Stamp) -> GraphBatch:
    statement = Statement(stamp)
    for declared in declaration.types:
        about = {"axis": declared.axis.value, "within": list(declared.within), "holds": list(declared.holds), "after": list(declared.after)}
        statement.describe(node_id(NodeKind.TYPE, declared.name), about, name=declared.name)
    for instance in declaration.instances:
        name = ":".join(parse_id(instance.id)[1][1:])
        statement.describe(instance.id, instance.properties, name=name)
    for container, child in declaration.containment:
        statement.contain(container, child)
    for source, destination in declaration.links:
        statement.link(source, destination, EdgeKind.LINKS, {"by": declaration.by} if declaration.by else None)
    for description in declaration.descriptions:
        author = {"by": declaration.by or "user", "at": stamp.time}
        for identifier in _described(description.id):
            describe(statement, identifier, description.aspect, description.value, author, removed=description.removed)
        if description.aspect is Aspect.BROADER and not description.removed:
            statement.describe(node_id(NodeKind.TERM, description.value), {}, name=description.value)
    return statement.batch()


def _described(identifier: str) -> list[str]:
    """Return the nodes to which a description applies. A description of a partition, or of its column, also applies to its dataset.

    Graphs of earlier releases had a node for a partition. That node keeps the description too, because a table may begin at such a path,
    which only its metadata shows. As a result, a tag may protect too much, and never too little.
    """
    kind, parts = parse_id(identifier)
    if kind not in (NodeKind.DATASET, NodeKind.COLUMN) or len(parts) < _NAMES:
        return [identifier]
    return list(dict.fromkeys([identifier, node_id(kind, *dataset_root(parts[0], parts[1]), *parts[_NAMES:])]))
