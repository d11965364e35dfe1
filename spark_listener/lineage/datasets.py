"""Input and output datasets of a query, with their facets, out of the description of its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openlineage.client.generated.base import DatasetFacet, InputDataset, OutputDataset
from openlineage.client.generated.column_lineage_dataset import ColumnLineageDatasetFacet, Fields, InputField, Transformation
from openlineage.client.generated.datasource_dataset import DatasourceDatasetFacet
from openlineage.client.generated.input_statistics_input_dataset import InputStatisticsInputDatasetFacet
from openlineage.client.generated.lifecycle_state_change_dataset import LifecycleStateChange, LifecycleStateChangeDatasetFacet
from openlineage.client.generated.output_statistics_output_dataset import OutputStatisticsOutputDatasetFacet
from openlineage.client.generated.schema_dataset import SchemaDatasetFacet, SchemaDatasetFacetFields
from openlineage.client.generated.storage_dataset import StorageDatasetFacet
from openlineage.client.generated.symlinks_dataset import Identifier, SymlinksDatasetFacet

from headwater.spark_listener.lineage.columns import ColumnLineage, Field, Step, column_accesses, column_lineage
from headwater.spark_listener.lineage.facets import FIELD_ACCESS, FieldAccessInputDatasetFacet, facet
from headwater.spark_listener.lineage.names import dataset_name


def inputs_of(plan: Mapping[str, Any]) -> list[InputDataset]:
    """One input a dataset, however often the plan reads it."""
    found: dict[tuple[str, str], InputDataset] = {}
    for source in plan.get("sources") or ():
        for dataset in source_datasets(source):
            found.setdefault(dataset, _input(dataset, source))
    if not plan.get("sink"):
        _state_accesses(plan, found)
    return list(found.values())


def _state_accesses(plan: Mapping[str, Any], inputs: Mapping[tuple[str, str], InputDataset]) -> None:
    """Say which columns a query reads that writes nothing: no output's column lineage does."""
    accesses = column_accesses(plan, {source["source"]: source_datasets(source) for source in plan.get("sources") or ()})
    for dataset, stated in inputs.items():
        fields = [{"name": field[2], "ways": sorted(ways)} for field, ways in accesses.items() if field[:2] == dataset]
        if fields:
            stated.inputFacets = {**(stated.inputFacets or {}), FIELD_ACCESS: facet(FieldAccessInputDatasetFacet, fields=fields)}


def output_of(plan: Mapping[str, Any], metrics: Mapping[str, Any] | None) -> OutputDataset | None:
    """The dataset that the plan writes; None if it writes none, or none that has a name."""
    sink = plan.get("sink")
    named = source_datasets(sink) if sink else []
    if not sink or not named:
        return None
    namespace, name = named[0]
    facets = _common(namespace, name, sink)
    overwrites = sink.get("mode") == "overwrite"
    if overwrites or sink.get("creates"):
        change = LifecycleStateChange.OVERWRITE if overwrites else LifecycleStateChange.CREATE
        facets["lifecycleStateChange"] = facet(LifecycleStateChangeDatasetFacet, lifecycleStateChange=change)
    lineage = column_lineage(plan, {source["source"]: source_datasets(source) for source in plan.get("sources") or ()})
    if any(lineage.columns.values()) or lineage.dataset:
        facets["columnLineage"] = _column_lineage_facet(lineage)
    output = OutputDataset(namespace=namespace, name=name, facets=facets)
    statistics = _statistics(metrics or {})
    if statistics:
        output.outputFacets = {"outputStatistics": facet(OutputStatisticsOutputDatasetFacet, **statistics)}
    return output


def bare_input(path: str) -> InputDataset:
    """An input of which only the path is known."""
    namespace, name = dataset_name(path)
    return InputDataset(namespace=namespace, name=name, facets=_common(namespace, name, {}))


def bare_output(path: str) -> OutputDataset:
    """An output of which only the path is known. RDD writers refuse to overwrite, so it is new."""
    namespace, name = dataset_name(path)
    facets = _common(namespace, name, {})
    facets["lifecycleStateChange"] = facet(LifecycleStateChangeDatasetFacet, lifecycleStateChange=LifecycleStateChange.CREATE)
    return OutputDataset(namespace=namespace, name=name, facets=facets)


def source_datasets(source: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Namespace and name of what a source or sink is: of its paths where it has some, else as the plan names it (a table).

    The program's own rows (format `local`) are no dataset that anybody else could know.
    """
    if source.get("format") == "local":
        return []
    paths = source.get("paths") or ([source["path"]] if source.get("path") else [])
    if paths:
        return list(dict.fromkeys(dataset_name(str(path)) for path in paths))
    name = source.get("name") or source.get("table")
    return [("spark", str(name))] if name else []


def _input(dataset: tuple[str, str], source: Mapping[str, Any]) -> InputDataset:
    namespace, name = dataset
    result = InputDataset(namespace=namespace, name=name, facets=_common(namespace, name, source))
    files = source.get("files")
    if files:
        size = sum(int(file.get("length", 0)) for file in files)
        result.inputFacets = {"inputStatistics": facet(InputStatisticsInputDatasetFacet, size=size, fileCount=len(files))}
    return result


def _common(namespace: str, name: str, described: Mapping[str, Any]) -> dict[str, DatasetFacet]:
    uri = f"{namespace}:{name}" if namespace == "file" else f"{namespace}/{name.lstrip('/')}"
    facets: dict[str, DatasetFacet] = {"dataSource": facet(DatasourceDatasetFacet, name=namespace, uri=uri)}
    columns: Sequence[Mapping[str, Any]] = described.get("columns") or ()
    if columns:
        fields = [SchemaDatasetFacetFields(name=c["name"], type=c.get("type"), ordinal_position=i) for i, c in enumerate(columns, start=1)]
        facets["schema"] = facet(SchemaDatasetFacet, fields=fields)
    if described.get("table") and described.get("path"):
        facets["symlinks"] = facet(
            SymlinksDatasetFacet, identifiers=[Identifier(namespace="spark", name=str(described["table"]), type="TABLE")]
        )
    if described.get("format"):
        facets["storage"] = facet(StorageDatasetFacet, storageLayer=namespace.split(":", 1)[0], fileFormat=str(described["format"]))
    return facets


def _statistics(metrics: Mapping[str, Any]) -> dict[str, int]:
    names = {"rows": "rowCount", "bytes": "size", "files": "fileCount"}
    known = {ours: int(metrics[theirs]) for theirs, ours in names.items() if isinstance(metrics.get(theirs), (int, float))}
    return known if any(known.values()) else {}  # Spark's metrics stand at 0 where they were not kept: unknown, not nothing


def _column_lineage_facet(lineage: ColumnLineage) -> ColumnLineageDatasetFacet:
    fields = {
        column: Fields(inputFields=[_input_field(field, steps) for field, steps in found.items()])
        for column, found in lineage.columns.items()
        if found
    }
    return facet(ColumnLineageDatasetFacet, fields=fields, dataset=[_input_field(field, steps) for field, steps in lineage.dataset.items()])


def _input_field(field: Field, steps: frozenset[Step]) -> InputField:
    namespace, name, column = field
    transformations = [Transformation(type=step.type, subtype=step.subtype, description="", masking=step.masking) for step in sorted(steps)]
    return InputField(namespace=namespace, name=name, field=column, transformations=transformations)
