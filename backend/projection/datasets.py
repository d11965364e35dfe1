"""Projects an event's statements about a dataset: its facets, its columns, and the sources of its columns."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from headwater.backend.projection.dataset_names import is_whole, name_of
from headwater.backend.projection.descriptions import state_facets
from headwater.backend.projection.facets import facet_properties, given, mapping, objects, text
from headwater.backend.projection.statement import Part, Statement
from headwater.graph.model import EdgeKind, NodeKind, Stamp, node_id
from headwater.graph.stores.derivations import OPEN

Stated = tuple[Sequence[str], Part, int]  # names of a dataset's columns, the statements, and the number of columns without a name
K = TypeVar("K", bound=Hashable)

# Events repeat each other: the end of a run repeats its start, and each run of a job repeats the schemas of its inputs. The values are
# JSON values, for which marshal gives an exact key in a third of the time of other ways.
_REMEMBERED = 1 << 20  # in bytes of documents; the results take about ten times as much

# Facets about a read that also apply to the whole dataset, which keeps those of the last event.
_QUALITY = ("dataQualityMetrics", "dataQualityAssertions")
_QUALITY_FACETS = (*_QUALITY, "greatExpectations_assertions")
# Facets about a partition only. Its tags are added to those of the dataset.
_OF_PART = frozenset({"dataSource", "lifecycleStateChange", "tags", *_QUALITY_FACETS})
_RANK_OF_PART = -1  # other facets of a partition count for the dataset until an event states them for the whole
_NONE: Mapping[Any, Any] = MappingProxyType({})
_COLUMN = "headwater_column"  # in a field of `columnLineage`
_ACCESS = "headwater_fieldAccess"  # a facet of Headwater's Spark side


def state_dataset(statement: Statement, dataset: Any, path: str, *, job: str | None = None, written: bool = False) -> str:
    """State a dataset of an event, and return its id. `written` is true if the job writes the dataset, and so its columns.

    Raises:
        InvalidEventError: the dataset has no namespace or name.
    """
    namespace, name = name_of(dataset, path)
    # Most reads have the same statements for every job. The sources of a column that the job reads are not its work.
    by = job if written or _ACCESS in mapping(dataset.get("inputFacets")) else None
    meant = _meant_in(dataset, statement.meant) if statement.meant else _NONE
    facets, readings = mapping(dataset.get("facets")), mapping(dataset.get("inputFacets"))
    # The other facets about a read often differ between the start and the end of a run.
    read = {facet: readings[facet] for facet in (*_QUALITY, _ACCESS) if facet in readings}
    made = _DATASETS.get(
        (by, written, tuple(meant.items())),
        marshal.dumps([dataset["namespace"], dataset["name"], facets, read], 2),
        lambda: _dataset(namespace, name, facets, read, by, meant, is_part=not is_whole(dataset), written=written),
        size=_size(meant),
    )
    statement.state(made[1])
    if made[2]:
        statement.unnamed[name] = made[2]
    return node_id(NodeKind.DATASET, namespace, name)


def _size(meant: Mapping[tuple[str, str], tuple[str, str]]) -> int:
    return sum(len(part) for pair in meant.items() for names in pair for part in names)


def _meant_in(dataset: Mapping[str, Any], meant: Mapping[tuple[str, str], tuple[str, str]]) -> Mapping[tuple[str, str], tuple[str, str]]:
    named = ((text(source.get("namespace")), text(source.get("name"))) for source in _sources(mapping(dataset.get("facets"))))
    return {(namespace, name): meant[namespace, name] for namespace, name in named if namespace and name and (namespace, name) in meant}


def _sources(facets: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    lineage = mapping(facets.get("columnLineage"))
    fields = mapping(lineage.get("fields"))
    found = [source for field in fields.values() for source in objects(mapping(field).get("inputFields"))]
    return found + list(objects(lineage.get("dataset")))


def _unnamed(facets: Mapping[str, Any]) -> int:
    fields = mapping(mapping(facets.get("columnLineage")).get("fields"))
    unnamed = [field for field in objects(mapping(facets.get("schema")).get("fields")) if not field.get("name")]
    return len(unnamed) + len([source for source in _sources(facets) if not source.get("field")]) + ("" in fields)


def _dataset(
    namespace: str,
    name: str,
    facets: Mapping[str, Any],
    readings: Mapping[str, Any],
    job: str | None,
    meant: Mapping[tuple[str, str], tuple[str, str]],
    *,
    is_part: bool,
    written: bool,
) -> Stated:
    statement = Statement(Stamp("", ""))
    if is_part:
        stated = facet_properties({key: facet for key, facet in facets.items() if key not in _OF_PART})
        properties = {key: facet for key, facet in stated.items() if facet is not None}
    else:
        properties = facet_properties(facets) | facet_properties({facet: readings[facet] for facet in _QUALITY if facet in readings})
    schema, lineage, access = mapping(facets.get("schema")), mapping(facets.get("columnLineage")), mapping(readings.get(_ACCESS))
    columns, part, _ = _FLOWS.get(
        (namespace, name, job, is_part, written, tuple(meant.items())),
        marshal.dumps([schema, lineage, access], 2),
        lambda: _flows(namespace, name, schema, lineage, access, job, meant, is_part=is_part, written=written),
        size=_size(meant),
    )
    statement.state(part)
    ranks = dict.fromkeys(properties, _RANK_OF_PART) if is_part else None
    identifier = statement.describe(statement.dataset(namespace, name), properties, ranks=ranks)
    state_facets(statement, identifier, facets, is_part=is_part)
    return columns, statement.part(), _unnamed(facets)


def _flows(
    namespace: str,
    name: str,
    schema: Mapping[str, Any],
    lineage: Mapping[str, Any],
    access: Mapping[str, Any],
    job: str | None,
    meant: Mapping[tuple[str, str], tuple[str, str]],
    *,
    is_part: bool,
    written: bool,
) -> Stated:
    """State the columns, their sources, and the job's accesses. Other facets of the dataset change more often."""
    statement = Statement(Stamp("", ""))
    statement.meant = meant
    columns = _state_columns(statement, namespace, name, schema, is_part=is_part)
    _state_derivations(statement, namespace, name, lineage, columns, job if written else None)
    if job is not None:
        written_columns = dict.fromkeys([*columns, *filter(None, mapping(lineage.get("fields")))]) if written else ()
        for column in written_columns:
            statement.link(job, statement.column(namespace, name, column), EdgeKind.ACCESSES)
        _state_accesses(statement, namespace, name, access, job)
    return columns, statement.part(), 0


def quality_of_part(dataset: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facets about the data in a partition, which do not apply to the whole dataset."""
    facets = {key: facet for key, facet in mapping(dataset.get("facets")).items() if key in _QUALITY_FACETS}
    return {} if not facets or is_whole(dataset) else facets


def _state_columns(statement: Statement, namespace: str, name: str, schema: Mapping[str, Any], *, is_part: bool) -> Sequence[str]:
    """State the columns of the schema facet, and return their names. A nested field is a property of its column."""
    fields = objects(schema.get("fields"))
    if not fields:
        return ()
    columns, part, _ = _SCHEMAS.get(
        (namespace, name, is_part), marshal.dumps(fields, 2), lambda: _columns(namespace, name, fields, is_part=is_part)
    )
    statement.state(part)
    return columns


class _Remembered(Generic[K]):
    """A cache of results by document. If it exceeds its limit, all results are dropped."""

    def __init__(self) -> None:
        self._made: dict[tuple[K, bytes], Stated] = {}
        self._bytes = 0

    def get(self, of: K, document: bytes, make: Callable[[], Stated], *, size: int = 0) -> Stated:
        """Return the result for a document, and compute it if needed. `size` is the size of `of`."""
        known = self._made.get((of, document))
        if known is None:
            known = make()
            if self._bytes > _REMEMBERED:
                self._made, self._bytes = {}, 0
            self._made[of, document] = known
            self._bytes += len(document) + size
        return known


_DATASETS: _Remembered[tuple[str | None, bool, Any]] = _Remembered()
_FLOWS: _Remembered[tuple[str, str, str | None, bool, bool, Any]] = _Remembered()
_SCHEMAS: _Remembered[tuple[str, str, bool]] = _Remembered()


def _columns(namespace: str, name: str, fields: Sequence[Mapping[str, Any]], *, is_part: bool) -> Stated:
    statement = Statement(Stamp("", ""))
    columns = []
    for ordinal, field in enumerate(fields):
        column = text(field.get("name"))
        if column is None:
            continue
        columns.append(column)
        properties = given(
            type=text(field.get("type")), description=text(field.get("description")), ordinal=ordinal, fields=field.get("fields")
        )
        ranks = dict.fromkeys(properties, _RANK_OF_PART) if is_part else None
        statement.describe(statement.column(namespace, name, column), properties, name=column, ranks=ranks)
    return columns, statement.part(), 0


def _state_derivations(
    statement: Statement, namespace: str, name: str, lineage: Mapping[str, Any], columns: Sequence[str], job: str | None
) -> None:
    """State an edge for each input column of an output column. `job` is the job that writes the dataset, if it is known.

    A field that affects the whole dataset (a filter, a join condition) has one edge to the dataset if the job is known, and the
    edge names its columns (`graph/stores/derivations.py`). Otherwise it has an edge to every column.
    """
    fields = {column: field for column, field in mapping(lineage.get("fields")).items() if column}
    derivations = _Derivations(statement, job)
    for column, field in fields.items():
        for source in _by_column(objects(mapping(field).get("inputFields"))):
            derivations.state(source, [statement.column(namespace, name, column)], _transformations(source, mapping(field)))
    whole = _by_column(objects(lineage.get("dataset")))
    if whole and job is not None:
        everywhere = [statement.dataset(namespace, name)]
    else:
        everywhere = [statement.column(namespace, name, column) for column in dict.fromkeys([*fields, *columns])] if whole else []
    for source in whole:
        derivations.state(source, everywhere, _transformations(source, {}))


def _by_column(sources: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Replace nested source fields by their column, because a nested field has no node.

    Headwater's Spark side states the column separately, because a name may contain dots.
    """
    if not any(isinstance(source.get(_COLUMN), str) for source in sources):
        return sources
    found: dict[tuple[Any, Any, Any], dict[str, Any]] = {}
    for source in sources:
        field = source.get(_COLUMN) if isinstance(source.get(_COLUMN), str) else source.get("field")
        key = (text(source.get("namespace")), text(source.get("name")), text(field))
        known = found.setdefault(key, {**source, "field": field, "transformations": []})
        steps = objects(source.get("transformations"))
        known["transformations"] += [step for step in steps if step not in known["transformations"]]
    return list(found.values())


class _Derivations:
    """States derivations. Derivations with the same facts (from one filter) share one object, which a store writes once."""

    def __init__(self, statement: Statement, job: str | None) -> None:
        self._statement = statement
        self._job = job
        self._ways: dict[bytes, tuple[dict[str, Any], dict[str, Any]]] = {}

    def state(self, source: Mapping[str, Any], targets: Sequence[str], transformations: list[Any]) -> None:
        namespace, name, field = text(source.get("namespace")), text(source.get("name")), text(source.get("field"))
        if namespace is None or name is None or field is None:
            return  # The source names no column. The facet contains it unchanged.
        column = self._statement.column(*self._statement.meaning(namespace, name), field)
        key = marshal.dumps(transformations, 2)
        if key not in self._ways:
            self._ways[key] = self._properties(transformations)
        derivation, accessed = self._ways[key]
        if self._job is not None:
            self._statement.link(column, self._job, EdgeKind.ACCESSES, accessed)
        for target in targets:
            self._statement.link(column, target, EdgeKind.DERIVES, derivation)

    def _properties(self, transformations: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        # Two jobs may derive one column from another differently: `transformations` is the last statement, `by:` has each job's. `open:` is
        # never removed: once values flowed unmasked, a later statement must not unmask older data.
        derivation: dict[str, Any] = {"transformations": transformations} if transformations else {}
        if self._job is not None:
            derivation[f"by:{self._job}"] = transformations
        if not transformations or any(step.get("type") != "INDIRECT" and step.get("masking") is not True for step in transformations):
            derivation[f"{OPEN}{self._job or ''}"] = True
        return derivation, _ways([text(step.get("subtype")) or text(step.get("type")) for step in transformations])


def _state_accesses(statement: Statement, namespace: str, name: str, stated: Mapping[str, Any], job: str) -> None:
    for field in objects(stated.get("fields")):
        column, ways = text(field.get("name")), field.get("ways")
        if column is not None:
            _access(statement, statement.column(namespace, name, column), job, map(text, ways) if isinstance(ways, list) else ())


def _access(statement: Statement, column: str, job: str, how: Iterable[str | None]) -> None:
    statement.link(column, job, EdgeKind.ACCESSES, _ways(how))


def _ways(how: Iterable[str | None]) -> dict[str, Any]:
    return dict.fromkeys([f"how:{way}" for way in how if way], True)


def _transformations(source: Mapping[str, Any], field: Mapping[str, Any]) -> list[Any]:
    """Return the transformations of the input field. The first version of the facet had them at the output field."""
    stated = objects(source.get("transformations"))
    if stated:
        return stated
    older = given(type=text(field.get("transformationType")), description=text(field.get("transformationDescription")))
    return [older] if older else []
