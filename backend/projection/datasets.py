"""What an event says of a dataset: its facets, its columns, and what its columns derive from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headwater.backend.projection.descriptions import state_facets
from headwater.backend.projection.facets import facet_properties, given, mapping, objects, required, text
from headwater.backend.projection.statement import Statement
from headwater.graph.model import EdgeKind

# Facets of one reading that tell of the dataset as such: kept there too, as last seen.
_QUALITY = ("dataQualityMetrics", "dataQualityAssertions")


def state_dataset(statement: Statement, dataset: Any, path: str, *, job: str | None = None, written: bool = False) -> str:
    """State a dataset of an event, wherever it stands in it; returns its id. `written`: the job writes it, and so its columns.

    Raises:
        InvalidEventError: it has no namespace or name.
    """
    namespace, name = required(dataset, "namespace", path), required(dataset, "name", path)
    facets = mapping(dataset.get("facets"))
    readings = mapping(dataset.get("inputFacets"))
    properties = facet_properties(facets) | facet_properties({facet: readings[facet] for facet in _QUALITY if facet in readings})
    columns = _state_columns(statement, namespace, name, mapping(facets.get("schema")))
    lineage = mapping(facets.get("columnLineage"))
    _state_derivations(statement, namespace, name, lineage, columns, job)
    if job is not None:
        written_columns = dict.fromkeys([*columns, *mapping(lineage.get("fields"))]) if written else ()
        for column in written_columns:
            statement.link(job, statement.column(namespace, name, column), EdgeKind.ACCESSES)
        _state_accesses(statement, namespace, name, mapping(readings.get("headwater_fieldAccess")), job)
    identifier = statement.describe(statement.dataset(namespace, name), properties)
    state_facets(statement, identifier, facets)
    return identifier


def _state_columns(statement: Statement, namespace: str, name: str, schema: Mapping[str, Any]) -> list[str]:
    """State the columns that the schema facet lists; a nested field stays within its column. Returns their names."""
    columns = []
    for ordinal, field in enumerate(objects(schema.get("fields"))):
        column = text(field.get("name"))
        if column is None:
            continue
        columns.append(column)
        properties = given(
            type=text(field.get("type")), description=text(field.get("description")), ordinal=ordinal, fields=field.get("fields")
        )
        statement.describe(statement.column(namespace, name, column), properties)
    return columns


def _state_derivations(
    statement: Statement, namespace: str, name: str, lineage: Mapping[str, Any], columns: list[str], job: str | None
) -> None:
    """State an edge for each input column of an output column.

    What affects the whole dataset (a filter, a join condition) is stated for every one of its columns, as the older form of the
    facet does: reachability then needs no second rule.
    """
    fields = mapping(lineage.get("fields"))
    for column, field in fields.items():
        for source in objects(mapping(field).get("inputFields")):
            _derive(statement, source, [statement.column(namespace, name, column)], _transformations(source, mapping(field)), job)
    whole = objects(lineage.get("dataset"))
    everywhere = [statement.column(namespace, name, column) for column in dict.fromkeys([*fields, *columns])] if whole else []
    for source in whole:
        _derive(statement, source, everywhere, _transformations(source, {}), job)


def _derive(statement: Statement, source: Mapping[str, Any], columns: Sequence[str], transformations: list[Any], job: str | None) -> None:
    origin = [text(source.get(part)) for part in ("namespace", "name", "field")]
    if None in origin:
        return  # Names no column; the facet keeps it as it came.
    # Two jobs may derive one column from another in two ways: `transformations` is the last statement, `by:` each job's.
    properties = given(transformations=transformations or None)
    source_column = statement.column(*[part or "" for part in origin])
    if job is not None:
        properties[f"by:{job}"] = transformations
        _access(
            statement,
            source_column,
            job,
            [text(mapping(step).get("subtype")) or text(mapping(step).get("type")) for step in transformations],
        )
    for column in columns:
        statement.link(source_column, column, EdgeKind.DERIVES, properties)


def _state_accesses(statement: Statement, namespace: str, name: str, stated: Mapping[str, Any], job: str) -> None:
    """State which columns a query reads that writes nothing: the facet of our own Spark side."""
    for field in objects(stated.get("fields")):
        column, ways = text(field.get("name")), field.get("ways")
        if column is not None:
            _access(statement, statement.column(namespace, name, column), job, map(text, ways) if isinstance(ways, list) else ())


def _access(statement: Statement, column: str, job: str, how: Iterable[str | None]) -> None:
    """State that a job reads a column. Which ways it does so is a set: each way is a property of its own."""
    statement.link(column, job, EdgeKind.ACCESSES, dict.fromkeys((f"how:{way}" for way in how if way), True))


def _transformations(source: Mapping[str, Any], field: Mapping[str, Any]) -> list[Any]:
    """Those of the input field; in the facet's first version they stood with the output field."""
    stated: list[Any] = list(objects(source.get("transformations")))
    older = given(type=text(field.get("transformationType")), description=text(field.get("transformationDescription")))
    return stated or ([older] if older else [])
