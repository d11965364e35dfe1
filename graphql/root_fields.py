"""Declares the fields of the three roots: `query`, `mutation` and `subscription` state the scope, reach and cost of a field.

    @query("The blocks of a dataset, the latest first.", scope=Scope.READ, in_namespaces=True, costly=True)
    async def blocks(self, info: Info, dataset: strawberry.ID) -> BlockPage: ...

The schema refuses a root field that was declared in another way. The checks run before the resolver and before all other code. The
service decides which callers have a scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

import strawberry
from graphql import GraphQLField, GraphQLObjectType, GraphQLResolveInfo, GraphQLSchema

from headwater.graph.access.scopes import Scope

# Metadata for fields below the roots that walk the graph or read files.
COSTLY = {"costly": True}


@dataclass(frozen=True, slots=True)
class Access:
    """The access to a root field. With `in_namespaces`, a caller with the scope in some namespaces may use it, and sees only these."""

    scope: Scope
    in_namespaces: bool


def query(description: str, *, scope: Scope, costly: bool, in_namespaces: bool = False) -> Any:
    """Declare a query. A costly query walks the graph or reads files; other queries look up a node by its id."""
    return strawberry.field(description=description, metadata=_metadata(scope, costly=costly, in_namespaces=in_namespaces))


def mutation(description: str, *, scope: Scope, costly: bool, in_namespaces: bool = False) -> Any:
    return strawberry.mutation(description=description, metadata=_metadata(scope, costly=costly, in_namespaces=in_namespaces))


def subscription(description: str, *, scope: Scope, in_namespaces: bool = False) -> Any:
    return strawberry.subscription(description=description, metadata=_metadata(scope, costly=False, in_namespaces=in_namespaces))


def access_of(schema: GraphQLSchema) -> dict[str, dict[str, Access]]:
    """Return the access of every root field, by root (`Query`, …) and name.

    Raises:
        TypeError: a root field is not declared with its access.
    """
    return {root.name: {name: _access(root, name, field) for name, field in root.fields.items()} for root in _roots(schema)}


def guard_fields(schema: GraphQLSchema) -> None:
    """Let every root field check the caller before its resolver runs. Raises as `access_of`."""
    for root in _roots(schema):
        for name, field in root.fields.items():
            access = _access(root, name, field)
            if field.subscribe is not None:
                field.subscribe = _guarded(access, field.subscribe)
            elif field.resolve is not None:
                field.resolve = _guarded(access, field.resolve)


def costly_fields(schema: GraphQLSchema) -> frozenset[str]:
    """Return the names of all costly fields, including those of introspection."""
    objects = (kind for kind in schema.type_map.values() if isinstance(kind, GraphQLObjectType))
    names = (name for kind in objects for name, field in kind.fields.items() if _stated(field).get("costly"))
    return frozenset({"__schema", "__type", *names})


def _metadata(scope: Scope, *, costly: bool, in_namespaces: bool) -> dict[str, object]:
    return {"access": Access(scope, in_namespaces), "costly": costly}


def _roots(schema: GraphQLSchema) -> Iterator[GraphQLObjectType]:
    yield from filter(None, (schema.query_type, schema.mutation_type, schema.subscription_type))


def _stated(field: GraphQLField) -> dict[str, Any]:
    definition = (field.extensions or {}).get("strawberry-definition")
    return dict(definition.metadata) if definition is not None else {}


def _access(root: GraphQLObjectType, name: str, field: GraphQLField) -> Access:
    access = _stated(field).get("access")
    if not isinstance(access, Access):
        raise TypeError(f"{root.name}.{name} states no scope. Declare it with a function of headwater/graphql/root_fields.py.")
    return access


def _guarded(access: Access, resolve: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(resolve)
    def checked(source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        info.context.require(access.scope)
        if not access.in_namespaces:
            info.context.require_whole(access.scope)
        return resolve(source, info, **arguments)

    return checked
