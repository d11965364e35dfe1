"""Data-quality results of a dataset or column, over time: one check each, one result a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.errors import NotFoundError
from headwater.graph.model import EdgeKind, Node, NodeKind, kind_of
from headwater.graph.stores import Direction, GraphStore

# Facets that tell values of columns: the least and the greatest, those that were expected and found.
# `dataQuality` is what Great Expectations called the first of them.
OF_VALUES = frozenset({"dataQualityMetrics", "dataQualityAssertions", "dataQuality", "test"})
_NO_VALUES = frozenset({"success", "severity", "rowCount", "bytes", "fileCount"})  # what of a result tells no value of a column
_INPUT = "input:"  # a run's properties of what it read


@dataclass(frozen=True, slots=True)
class Result:
    """What a run found. `at` is when it was stated; `values` hold `success`, or the metrics."""

    run: str
    at: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """An assertion, or `metrics`, with its results, oldest first. `column` is None for those of the dataset as a whole."""

    id: str
    assertion: str
    column: str | None
    results: Sequence[Result]


async def quality_of(graph: GraphStore, tenant: str, identifier: str) -> list[Check]:
    """The checks of a dataset (those of its columns among them) or of a column, in order of column and assertion.

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


def without_values(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a node without the facets that tell values of columns, those of a run's inputs among them."""
    kept = {name: value for name, value in properties.items() if name not in OF_VALUES}
    for name, value in kept.items():
        if name.startswith(_INPUT) and isinstance(value, Mapping) and isinstance(facets := value.get("inputFacets"), Mapping):
            kept[name] = {**value, "inputFacets": {facet: of for facet, of in facets.items() if facet not in OF_VALUES}}
    return kept


def outcome_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """What of a result tells no value of a column: whether it was as expected, and how much there was."""
    return {name: value for name, value in values.items() if name in _NO_VALUES}


def _check(node: Node, results: list[Result]) -> Check:
    column = node.properties.get("column")
    ordered = sorted(results, key=lambda result: (result.at, result.run))
    return Check(node.id, str(node.properties.get("assertion", node.name)), column if isinstance(column, str) else None, ordered)
