"""`/v3/namespaces/{namespace}/metadata/search` and `/v3/metadata/search`: CDAP's search for datasets by their fields.

A term is the name of a field or dataset, or the beginning of a name and `*`. `NAME:TYPE` also selects fields of a
type. Case is ignored. The index of names finds the names that contain a term. A query that needs more
names than the limit is refused, not answered in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from headwater.backend.api.context import Service, graph_of, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.compat.cdap.entities import dataset_entity
from headwater.backend.compat.marquez.names import Namespace
from headwater.errors import InvalidQueryError
from headwater.graph.model import Node, NodeKind, node_id, parse_id
from headwater.graph.stores import GraphStore
from headwater.graph.stores.paging import fold

router = APIRouter(prefix="/v3", tags=["cdap"])

_LOOKED_AT, _PORTION = 5_000, 1_000  # limits of names that contain a term: of all, and of one page
_MOST_TERMS = 10
_MOST = 1_000  # limit of datasets in an answer
_TARGETS = frozenset({"all", "dataset"})
# CDAP's simple types, with equivalent types of other systems.
_TYPES: Mapping[str, tuple[str, ...]] = {
    "int": ("int", "integer"),
    "long": ("long", "bigint", "int8", "int64"),
    "boolean": ("bool",),
    "float": ("float", "real"),
    "double": ("double", "float8", "float64"),
    "bytes": ("bytes", "binary", "bytea"),
    "string": ("string", "text", "varchar", "char", "character"),
    "enum": ("enum",),
    "array": ("array", "list"),
    "map": ("map",),
    "record": ("record", "struct"),
    "union": ("union",),
}


@dataclass(frozen=True, slots=True)
class _Term:
    """A name, or the beginning of a name, and optionally the type of a field."""

    name: str
    begins: bool
    type: str | None

    @classmethod
    def of(cls, stated: str) -> _Term:
        name, colon, kind = stated.rpartition(":") if stated.rpartition(":")[2].lower() in _TYPES else (stated, "", "")
        begins = name.endswith("*")
        return cls(fold(name.removesuffix("*")), begins, kind.lower() if colon else None)

    def fits(self, node: Node) -> bool:
        name = fold(node.name)
        if not (name.startswith(self.name) if self.begins else name == self.name):
            return False
        if self.type is None:
            return True
        stated = str(node.properties.get("type", "")).lower()
        return node.kind is NodeKind.COLUMN and (stated == self.type or _simple(stated) == self.type)


def _simple(stated: str) -> str | None:
    """Return CDAP's type for the type of a field. For example, `array<long>` is an array."""
    word = stated.replace("<", " ").replace("(", " ").partition(" ")[0]
    return next((kind for kind, names in _TYPES.items() if word in names or (kind == "boolean" and word.startswith("bool"))), None)


class _Search:
    """The parameters of a search."""

    def __init__(
        self,
        query: Annotated[str, Query(min_length=1, max_length=500, description="Terms, of which one fits: `NAME`, `NAME*`, `NAME:TYPE`.")],
        target: Annotated[list[str] | None, Query(description="`dataset` or `all`: there is nothing else with fields.")] = None,
        offset: Annotated[int, Query(ge=0, le=_MOST, description="How many come before the page.")] = 0,
        limit: Annotated[int, Query(ge=0, le=_MOST, description="Of the page.")] = 20,
    ) -> None:
        if odd := sorted(set(target or ()) - _TARGETS):
            raise InvalidQueryError(f"target is {odd[0][:100]!r}.", field="target", hint="It is dataset, or all.")
        self._terms = [_Term.of(term) for term in query.split()]
        if not self._terms or len(self._terms) > _MOST_TERMS or any(not term.name for term in self._terms):
            raise InvalidQueryError(
                f"query is {query[:100]!r}.", field="query", hint=f"Name up to {_MOST_TERMS} fields, or what they begin with and *."
            )
        self._offset, self._limit = offset, limit

    async def answer(self, graph: GraphStore, tenant: str, namespace: str | None) -> dict[str, Any]:
        found: dict[str, dict[str, str]] = {}
        for term in self._terms:
            for node in await _fitting(graph, tenant, term):
                parts = parse_id(node.id)[1]
                if namespace in (None, parts[0]):
                    fields = found.setdefault(node_id(NodeKind.DATASET, *parts[:2]), {})
                    if node.kind is NodeKind.COLUMN:
                        fields[f"schema:{parts[2]}"] = f"{parts[2]}:{node.properties.get('type') or ''}"
        page = sorted(found)[self._offset :][: self._limit]
        return {
            "sort": "", "offset": self._offset, "limit": self._limit, "numCursors": 0, "total": len(found), "cursors": [],
            "showHidden": False, "entityScope": ["USER"], "results": [_result(dataset, found[dataset]) for dataset in page],
        }  # fmt: skip


@router.get("/namespaces/{namespace}/metadata/search")
async def get_in_namespace(
    namespace: Namespace,
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    asked: Annotated[_Search, Depends()],
) -> dict[str, Any]:
    """Datasets of a namespace, by their names and fields: `{"results": […], "total", …}`, in order of their ids."""
    return await asked.answer(graph_of(parts, who), who.tenant, namespace)


@router.get("/metadata/search")
async def get_everywhere(
    who: Annotated[Principal, Depends(principal)], parts: Annotated[Service, Depends(service)], asked: Annotated[_Search, Depends()]
) -> dict[str, Any]:
    """Datasets of all namespaces, by their names and fields."""
    return await asked.answer(graph_of(parts, who), who.tenant, None)


async def _fitting(graph: GraphStore, tenant: str, term: _Term) -> list[Node]:
    found, cursor, total = list[Node](), None, 0
    for _ in range(_LOOKED_AT // _PORTION):
        page = await graph.search(tenant, term.name, kinds=(NodeKind.DATASET, NodeKind.COLUMN), first=_PORTION, after=cursor)
        found += [node for node in page.nodes if term.fits(node)]
        cursor, total = page.cursor, page.total
        if cursor is None:
            return found
    raise InvalidQueryError(f"{total:,} names hold {term.name[:100]!r}.", field="query", hint="Search for a longer name.")


def _result(dataset: str, fields: Mapping[str, str]) -> dict[str, Any]:
    namespace, name = parse_id(dataset)[1]
    return {
        "metadataEntity": {"details": {"namespace": namespace, "dataset": name}, "type": "dataset"},
        "entityId": dataset_entity(dataset),
        "metadata": {"SYSTEM": {"properties": {"entity-name": name, **dict(sorted(fields.items()))}, "tags": []}},
    }
