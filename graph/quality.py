"""Data-quality results of a dataset or column over time: a list of checks, each with one result per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.errors import NotFoundError
from headwater.graph.model import EdgeKind, Node, NodeKind, kind_of
from headwater.graph.stores import Direction, GraphStore

# Facets without values of columns. Any other facet, such as a producer's own, counts as containing values: the least and the
# greatest value, expected and found values, the rows of a plan.
_WITHOUT_VALUES = frozenset({
    "schema", "columnLineage", "dataSource", "datasetType", "documentation", "ownership", "tags", "lifecycleStateChange", "version",
    "datasetVersion", "symlinks", "storage", "hierarchy", "catalog", "outputStatistics", "inputStatistics", "sql", "sourceCode",
    "sourceCodeLocation", "jobType", "jobDependencies", "parent", "nominalTime", "processing_engine", "errorMessage", "extractionError",
    "externalQuery", "executionParameters", "spark_properties", "spark_version", "spark_applicationDetails", "spark_jobDetails",
    "environment-variables", "environmentVariables", "headwater_actor", "headwater_capture", "headwater_fieldAccess",
    "headwater_invocation", "headwater_operation", "headwater_operations", "headwater_recordedOperations", "headwater_setAside",
    "headwater_stages",
})  # fmt: skip
# Properties that the projection makes. Names with a colon are declarations of users and facts of jobs.
_OWN = frozenset({
    "state", "startedAt", "endedAt", "updatedAt", "error", "producer", "parentRun", "rootRun", "lastRun", "lastComplete", "bareEnd",
    "capture", "leftOut", "ordinal", "type", "description", "block", "writtenAt", "files", "bytes", "rows", "path", "format", "length",
    "modified", "op", "text", "children", "transformations", "fields", "actorType", "partition_columns", "invalidatedBy",
    "replaces", "undoneAt",
})  # fmt: skip
_OWN_PREFIXES = ("curated:", "tag:", "tagged:", "by:", "how:")
_WITH_FACETS = frozenset({NodeKind.DATASET, NodeKind.COLUMN, NodeKind.VERSION, NodeKind.RUN, NodeKind.JOB, NodeKind.PIPELINE})
_NO_VALUES = frozenset({"success", "severity", "rowCount", "bytes", "fileCount"})  # parts of a result that reveal no value of a column
_INPUT = "input:"  # prefix of a run's properties about its inputs


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a check in one run. `at` is the time of the statement; `values` has `success`, or the metrics."""

    run: str
    at: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """An assertion, or `metrics`, with its results, oldest first. `column` is None for a check of the whole dataset."""

    id: str
    assertion: str
    column: str | None
    results: Sequence[Result]


async def quality_of(graph: GraphStore, tenant: str, identifier: str) -> list[Check]:
    """Return the checks of a dataset (including those of its columns) or of a column, by column and assertion.

    Raises:
        NotFoundError: there is no such node.
    """
    if not await graph.get(tenant, [identifier]):
        raise NotFoundError(f"Nothing is known of {identifier}.", hint="Search for its name, or see what a container holds.")
    bearers = [identifier]
    if kind_of(identifier) is NodeKind.DATASET:
        inside = await graph.neighbours(tenant, [identifier], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS])
        bearers += [edge.dst for edge in inside if edge.dst.startswith("column:")]
    describing = await graph.neighbours(tenant, bearers, direction=Direction.UPSTREAM, kinds=[EdgeKind.DESCRIBES])
    checks = await graph.get(tenant, sorted({edge.src for edge in describing if edge.src.startswith("check:")}))
    found: dict[str, list[Result]] = {check.id: [] for check in checks}
    for edge in await graph.neighbours(tenant, list(found), direction=Direction.UPSTREAM, kinds=[EdgeKind.CHECKS]) if found else []:
        found[edge.dst].append(Result(edge.src, edge.last.partition(" ")[0], edge.properties))
    return sorted((_check(check, found[check.id]) for check in checks), key=lambda check: (check.column or "", check.assertion))


def holds_values(facet: str) -> bool:
    """Return whether a facet may contain values of columns."""
    return facet not in _WITHOUT_VALUES


def without_values(kind: NodeKind, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a node without facets that may contain values of columns, including facets of a run's inputs."""
    if kind not in _WITH_FACETS:
        return dict(properties)
    kept = {name: value for name, value in properties.items() if _is_shown(name)}
    for name, value in kept.items():
        if name.startswith(_INPUT):
            kept[name] = _input(value)
    return kept


def _input(about: Any) -> dict[str, Any]:
    """Return the facts about a dataset that a run read: its version, and facets without values."""
    stated = about if isinstance(about, Mapping) else {}
    shown = {"version": stated["version"]} if "version" in stated else {}
    facets = stated.get("inputFacets")
    if isinstance(facets, Mapping):
        shown["inputFacets"] = {name: facet for name, facet in facets.items() if not holds_values(name)}
    return shown


def _is_shown(name: str) -> bool:
    if name in _OWN or name.startswith((*_OWN_PREFIXES, _INPUT)):
        return True
    return not holds_values(name.removeprefix("facet:"))


def outcome_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a result that reveal no value of a column: success, severity and counts."""
    return {name: value for name, value in values.items() if name in _NO_VALUES}


def _check(node: Node, results: list[Result]) -> Check:
    column = node.properties.get("column")
    ordered = sorted(results, key=lambda result: (result.at, result.run))
    return Check(node.id, str(node.properties.get("assertion", node.name)), column if isinstance(column, str) else None, ordered)
