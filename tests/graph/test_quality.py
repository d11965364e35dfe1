"""The properties of a node that may reveal values of columns."""

from __future__ import annotations

import pytest

from headwater.backend.projection.facets import facet_properties
from headwater.graph.model import NodeKind
from headwater.graph.quality import without_values

_SECRET = "canary-4711"
# Standard facets of values, those of other tools, a name that nobody knows, and names that could be taken for others.
_FACETS = (
    "dataQualityMetrics", "dataQualityAssertions", "dataQuality", "test", "greatExpectations_assertions", "subset", "spark.logicalPlan",
    "acme_profile", "facet:schema2", "type", "curated:tag:x", "Schema", "",
)  # fmt: skip


@pytest.mark.parametrize("kind", [NodeKind.DATASET, NodeKind.RUN, NodeKind.JOB, NodeKind.PIPELINE])
@pytest.mark.parametrize("name", _FACETS)
@pytest.mark.parametrize("value", [{"columnMetrics": {"salary": {"max": _SECRET}}}, [_SECRET], _SECRET], ids=["object", "list", "text"])
def test_a_facet_that_is_not_known_for_holding_no_value_is_left_out(kind: NodeKind, name: str, value: object) -> None:
    facets = {"schema": {"fields": [{"name": "salary"}]}, name: value}
    shown = without_values(kind, facet_properties(facets) | {"state": "COMPLETE"})
    assert shown == {"schema": {"fields": [{"name": "salary"}]}, "state": "COMPLETE"}


def test_of_what_a_run_read_no_facet_of_values_is_shown() -> None:
    about = {"inputFacets": {"inputStatistics": {"rowCount": 3}, "acme_profile": {"max": _SECRET}}, "facets": {"sample": _SECRET}}
    shown = without_values(NodeKind.RUN, {"input:dataset:file:%2Fa": about, "input:dataset:file:%2Fb": {}})
    assert shown == {
        "input:dataset:file:%2Fa": {"inputFacets": {"inputStatistics": {"rowCount": 3}}},
        "input:dataset:file:%2Fb": {},
    }


def test_what_users_declare_of_their_actors_is_shown() -> None:
    assert without_values(NodeKind.ACTOR, {"acme": {"max": 1}}) == {"acme": {"max": 1}}
