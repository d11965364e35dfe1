"""Projects descriptions of a node: owners and stewards, tags, glossary terms, retention, legal hold, data-quality results.

Users state them by declarations, producers by facets. A user's statement is a separate fact (`curated:{aspect}:{value}`), so it stays next
to the facets of later events. Owners, tags, terms and checks are also nodes with edges to everything that they describe. Such an edge is
never removed; the present description is in the node's own facts (`headwater.graph.model.descriptions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.backend.projection.facets import mapping, objects, text
from headwater.backend.projection.statement import Statement
from headwater.graph.model import EdgeKind, NodeKind, node_id, parse_id
from headwater.graph.model.declaration import Aspect
from headwater.graph.model.descriptions import CURATED, NODE_OF, TAGGED

_ASSERTIONS, _METRICS = "dataQualityAssertions", "dataQualityMetrics"
_OF_EXPECTATIONS = "greatExpectations_assertions"  # the facet of Great Expectations, with `expectationType` instead of `assertion`


def describe(
    statement: Statement, identifier: str, aspect: Aspect, value: str, author: Mapping[str, str], *, removed: bool = False
) -> None:
    """State a user's description of a node, or its removal. A removal is also a fact, which producers do not undo.

    `author` says who stated it (`by`), and when (`at`).
    """
    if aspect not in NODE_OF:
        statement.describe(identifier, {f"{CURATED}{aspect}": None if removed else {"value": value, **author}})
        if aspect is Aspect.BLOCK:  # wins over what the run states, in any order
            statement.describe(identifier, {"block": value}, ranks={"block": 2})
        return
    statement.describe(identifier, {f"{CURATED}{aspect}:{value}": {**author} | ({"removed": True} if removed else {})})
    _join(statement, NODE_OF[aspect], value, identifier)


def state_facets(statement: Statement, identifier: str, facets: Mapping[str, Any], *, is_part: bool = False) -> None:
    """Link a dataset or job to the owners and tags in its facets. A tag of a field belongs to its column.

    A tag of a partition (`is_part`) is added to its dataset. Statements of other events about the dataset do not remove it.
    """
    for owner in objects(mapping(facets.get("ownership")).get("owners")):
        if name := text(owner.get("name")):
            _join(statement, NodeKind.OWNER, name, identifier)
    tagged: dict[str, dict[str, Any]] = {}
    for tag in objects(mapping(facets.get("tags")).get("tags")):
        name, field = text(tag.get("key")), text(tag.get("field"))
        if name is None:
            continue
        bearer = node_id(NodeKind.COLUMN, *parse_id(identifier)[1], field) if field and identifier.startswith("dataset:") else identifier
        _join(statement, NodeKind.TAG, name, bearer)
        if bearer != identifier:
            statement.contain(identifier, bearer)
        if bearer != identifier or is_part:
            stated = tagged.setdefault(bearer, {})
            stated[f"tag:{name}"] = {"value": tag.get("value"), "source": tag.get("source")}
            stated[f"{TAGGED}{name}={tag.get('value')}"] = True  # stays even if the tag gets another value later
    for bearer, tags in tagged.items():
        statement.describe(bearer, tags)


def state_quality(statement: Statement, run: str, dataset: str, *facets: Mapping[str, Any], part: str) -> None:
    """State a run's data-quality results for a dataset: one node for each check, and one edge from the run for each result.

    If a facet is in several of the maps, the last one counts. A result about a `part` of the dataset is marked with the part.
    """
    quality = {name: facet[name] for facet in facets for name in (_ASSERTIONS, _OF_EXPECTATIONS, _METRICS) if name in facet}
    if not quality:
        return
    place = {"partition": part} if part else {}
    stated = [each for facet in (_ASSERTIONS, _OF_EXPECTATIONS) for each in objects(mapping(quality.get(facet)).get("assertions"))]
    for assertion in stated:
        if name := text(assertion.get("assertion")) or text(assertion.get("expectationType")):
            result = {part: assertion[part] for part in ("success", "severity", "expected", "actual", "message") if part in assertion}
            _check(statement, run, dataset, text(assertion.get("column")) or "", name, result | place)
    metrics = mapping(quality.get(_METRICS))
    own = {part: value for part, value in metrics.items() if not part.startswith("_") and part != "columnMetrics"}
    if own:
        _check(statement, run, dataset, "", "metrics", own | place)
    for column, values in mapping(metrics.get("columnMetrics")).items():
        if column and mapping(values):
            _check(statement, run, dataset, column, "metrics", dict(mapping(values)) | place)


def _check(statement: Statement, run: str, dataset: str, column: str, assertion: str, result: Mapping[str, Any]) -> None:
    namespace, name = parse_id(dataset)[1]
    check = node_id(NodeKind.CHECK, namespace, name, column, assertion)
    bearer = statement.column(namespace, name, column) if column else dataset
    statement.describe(check, {"assertion": assertion, "column": column or None}, name=assertion)
    statement.link(check, bearer, EdgeKind.DESCRIBES)
    statement.link(run, check, EdgeKind.CHECKS, result)


def _join(statement: Statement, kind: NodeKind, name: str, bearer: str) -> None:
    statement.link(node_id(kind, name), bearer, EdgeKind.DESCRIBES)
