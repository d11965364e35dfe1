"""Facets of events: OpenLineage's own by name, and custom ones.

Facets are plain mappings, because importing the classes of openlineage-python takes longer than capturing a small program. A test compares
every schema with that package. Custom facets have the prefix `headwater_`, as the specification asks. Every facet names its producer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater import __version__

# The last part of the path is the platform for DataHub's converter, which refuses an event with a producer without a path.
PRODUCER = f"headwater:/{__version__}/spark"
EVENT_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
CAPTURE = "headwater_capture"
INVOCATION = "headwater_invocation"
STAGES = "headwater_stages"
FIELD_ACCESS = "headwater_fieldAccess"
OPERATION = "headwater_operation"
ACTOR = "headwater_actor"
SET_ASIDE = "headwater_setAside"

Facet = dict[str, Any]

# Each facet's key in an event, with the version and name of its schema.
_STANDARD = {
    "catalog": ("1-1-0", "CatalogDatasetFacet"),
    "columnLineage": ("1-2-0", "ColumnLineageDatasetFacet"),
    "dataQualityAssertions": ("1-1-0", "DataQualityAssertionsDatasetFacet"),
    "dataQualityMetrics": ("1-0-1", "DataQualityMetricsDatasetFacet"),
    "input_dataQualityMetrics": ("1-0-3", "DataQualityMetricsInputDatasetFacet"),  # its key in an event is also `dataQualityMetrics`
    "dataSource": ("1-0-1", "DatasourceDatasetFacet"),
    "documentation": ("1-1-0", "DocumentationJobFacet"),
    "environmentVariables": ("1-0-0", "EnvironmentVariablesRunFacet"),
    "errorMessage": ("1-0-1", "ErrorMessageRunFacet"),
    "hierarchy": ("1-0-0", "HierarchyDatasetFacet"),
    "inputStatistics": ("1-0-0", "InputStatisticsInputDatasetFacet"),
    "jobType": ("2-0-4", "JobTypeJobFacet"),
    "lifecycleStateChange": ("1-0-1", "LifecycleStateChangeDatasetFacet"),
    "nominalTime": ("1-0-1", "NominalTimeRunFacet"),
    "ownership": ("1-0-1", "OwnershipJobFacet"),
    "outputStatistics": ("1-0-2", "OutputStatisticsOutputDatasetFacet"),
    "parent": ("1-2-0", "ParentRunFacet"),
    "processing_engine": ("1-1-1", "ProcessingEngineRunFacet"),
    "schema": ("1-2-0", "SchemaDatasetFacet"),
    "sourceCode": ("1-0-1", "SourceCodeJobFacet"),
    "sourceCodeLocation": ("1-1-0", "SourceCodeLocationJobFacet"),
    "sql": ("1-1-0", "SQLJobFacet"),
    "storage": ("1-0-1", "StorageDatasetFacet"),
    "symlinks": ("1-0-1", "SymlinksDatasetFacet"),
    "test": ("1-0-1", "TestRunFacet"),
    "tags": ("1-0-0", "TagsJobFacet"),
    "run_tags": ("1-0-0", "TagsRunFacet"),  # its key in an event is also `tags`
    "version": ("1-0-1", "DatasetVersionDatasetFacet"),
}
_ANY_RUN_FACET = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet"  # the value in OpenLineage's own integration
_SUBSET = "https://openlineage.io/spec/facets/1-0-0/BaseSubsetDatasetFacet.json#/$defs/"
SCHEMAS: Mapping[str, str] = {
    **{key: f"https://openlineage.io/spec/facets/{version}/{name}.json#/$defs/{name}" for key, (version, name) in _STANDARD.items()},
    # Both have the key `subset`; one file holds both schemas.
    "input_subset": f"{_SUBSET}InputSubsetInputDatasetFacet",
    "output_subset": f"{_SUBSET}OutputSubsetOutputDatasetFacet",
    "spark_applicationDetails": _ANY_RUN_FACET,
    "spark_properties": _ANY_RUN_FACET,
    CAPTURE: "urn:headwater:facet:capture:1",
    INVOCATION: "urn:headwater:facet:invocation:1",
    STAGES: "urn:headwater:facet:stages:1",
    FIELD_ACCESS: "urn:headwater:facet:field-access:1",
    OPERATION: "urn:headwater:facet:operation:1",
    ACTOR: "urn:headwater:facet:actor:1",
    SET_ASIDE: "urn:headwater:facet:set-aside:1",
}


def facet(key: str, **fields: Any) -> Facet:
    """Return the facet with the schema of `key`. Values None are removed at any depth."""
    return {"_producer": PRODUCER, "_schemaURL": SCHEMAS[key], **_plain(fields)}


def numbers_of(set_aside: Facet) -> dict[str, int]:
    """Return the numbers in a facet of records that were set aside, for a manifest."""
    return {name: set_aside[name] for name in ("count", "limit", "earlier") if name in set_aside}


def facets(**made: Facet | None) -> dict[str, Facet]:
    return {key: value for key, value in made.items() if value is not None}


_LEAVES = frozenset({str, int, float, bool})


def _plain(value: Any) -> Any:
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101  # to ask for a mapping takes longer than all else
        return {name: part if type(part) in _LEAVES else _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, (list, tuple)):
        return [part if type(part) in _LEAVES else _plain(part) for part in value if part is not None]
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The captured part of a run: the facet `headwater_capture`.

    `status` is `complete`, `partial`, `refused` (coarse, see `problems`), `off` (coarse by the mode) or `running` (at START). `expected`
    counts the segments of tasks that succeeded, `arrived` those that exist. `dropped` counts items that the spool had no room for since the
    last delivered event. `cost`: milliseconds that the program waited (`driver_ms`), of rewriting plans (`planning_ms`), of task processor
    time (`tasks_ms`) and of the listener's thread (`thread_ms`); `bytes` and `rows` of associations. `leftOut` counts work without separate
    runs: queries at the end of an application, and batches of a stream.
    """

    status: str
    mode: str
    problems: Sequence[Mapping[str, Any]] = field(default_factory=list)
    capture: str | None = None
    expected: int | None = None
    arrived: int | None = None
    dropped: Mapping[str, int] | None = None
    cost: Mapping[str, float] | None = None
    leftOut: Mapping[str, int] | None = None  # noqa: N815  # the name on the wire

    def facet(self) -> Facet:
        return facet(CAPTURE, **{name: getattr(self, name) for name in self.__slots__})
