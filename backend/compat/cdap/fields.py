"""`…/lineage/fields` and `…/lineage/fields/{field}`: the fields of a dataset that have lineage, and their direct inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Path, Query

from headwater.backend.compat.cdap.entities import dataset_entity
from headwater.backend.compat.cdap.request import Ask, CdapRequest, Directions, subject_router
from headwater.backend.compat.marquez.names import decoded
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Edge, EdgeKind, NodeKind, node_id, parse_id
from headwater.graph.stores import Direction

router = subject_router()

_MOST_COLUMNS = 10_000  # limit of columns of a dataset
_MOST = 20_000  # limit of columns in an answer


async def _field(field: Annotated[str, Path(description="The name of a field.")]) -> str:
    return decoded(field)


Field = Annotated[str, Depends(_field)]
Way = Annotated[Directions, Query(description="`incoming`, `outgoing` or `both`.")]


@router.get("/fields", response_model=None)
async def get_fields(
    ask: Ask,
    prefix: Annotated[str, Query(description="What names of fields begin with.")] = "",
    current: Annotated[bool, Query(alias="includeCurrent", description="Also fields without lineage, each as `{name, lineage}`.")] = False,
) -> list[Any]:
    """The names of the fields that programs made in the time, in order; with `includeCurrent` all fields, as objects."""
    listing = await ask.graph.listed(ask.tenant, node_id(NodeKind.COLUMN, ask.namespace, ask.name, ""), first=_MOST_COLUMNS + 1)
    if listing.total > _MOST_COLUMNS:
        raise InvalidQueryError(f"{ask.dataset} has {listing.total:,} fields, {_MOST_COLUMNS:,} are the most.", hint="Ask by GraphQL.")
    columns = {column.id: parse_id(column.id)[1][2] for column in listing.nodes}
    wanted = {column: name for column, name in columns.items() if name.startswith(prefix)}
    made = {edge.dst for edge in await steps(ask, list(wanted), Direction.UPSTREAM)}
    if current:
        return [{"name": name, "lineage": column in made} for column, name in sorted(wanted.items(), key=lambda each: each[1])]
    return sorted(name for column, name in wanted.items() if column in made)


@router.get("/fields/{field}")
async def get_field(ask: Ask, field: Field, direction: Way) -> dict[str, Any]:
    """The fields that a field was made of (`incoming`), and those that were made of it (`outgoing`), by dataset."""
    column = await column_of(ask, field)
    body: dict[str, Any] = {}
    if direction is not Directions.OUTGOING:
        body["incoming"] = _by_dataset([edge.src for edge in await steps(ask, [column], Direction.UPSTREAM)])
    if direction is not Directions.INCOMING:
        body["outgoing"] = _by_dataset([edge.dst for edge in await steps(ask, [column], Direction.DOWNSTREAM)])
    return body


async def column_of(ask: CdapRequest, field: str) -> str:
    """Return the id of a field's column.

    Raises:
        NotFoundError: the dataset has no such field.
    """
    column = node_id(NodeKind.COLUMN, ask.namespace, ask.name, field)
    if not await ask.graph.get(ask.tenant, [column]):
        raise NotFoundError(f"Nothing is known of {column}.", hint="See the fields with includeCurrent=true.")
    return column


async def steps(ask: CdapRequest, columns: Sequence[str], direction: Direction) -> list[Edge]:
    """Return the direct derivations of columns, upstream or downstream, that overlap the window.

    Raises:
        InvalidQueryError: the number of derivations exceeds the limit.
    """
    if not columns:
        return []
    reached = await ask.graph.reach(ask.tenant, columns, direction=direction, kinds=[EdgeKind.DERIVES], depth=1, limit=_MOST)
    if reached.truncated:
        raise InvalidQueryError(f"More than {_MOST:,} fields have a part in this.", hint="Ask about fewer fields.")
    asked = set(columns)
    edges = [edge for edge in reached.edges if (edge.dst if direction is Direction.UPSTREAM else edge.src) in asked]
    known = [edge for edge in edges if all(end.startswith(f"{NodeKind.COLUMN}:") for end in (edge.src, edge.dst))]
    return sorted((edge for edge in known if ask.window.touches(edge)), key=lambda edge: (edge.src, edge.dst))


def _by_dataset(columns: Sequence[str]) -> list[dict[str, Any]]:
    found: dict[str, set[str]] = {}
    for column in columns:
        namespace, name, field = parse_id(column)[1]
        found.setdefault(node_id(NodeKind.DATASET, namespace, name), set()).add(field)
    return [{"dataset": dataset_entity(dataset), "fields": sorted(fields)} for dataset, fields in sorted(found.items())]
