"""Ids in declarations, which name nodes: a dataset may be called like a secret."""

from __future__ import annotations

import pytest

from headwater.backend.ingest.intake.declarations import check_form
from headwater.graph.model import node_id

_DATASETS = [("file", "/lake/tokens"), ("s3://lake-secrets", "passwords"), ("file", "/lake/api_key=7"), ("postgres://db:5432", "shop.jwt")]


@pytest.mark.parametrize(("namespace", "name"), _DATASETS)
@pytest.mark.parametrize("column", ["name", "password", "token:x"])
def test_ids_stay_whatever_they_look_like(namespace: str, name: str, column: str) -> None:
    dataset, identifier = node_id("dataset", namespace, name), node_id("column", namespace, name, column)
    document = {
        "instances": [{"id": "actor:step:default:tokens:password", "properties": {"password": "hunter2"}}],
        "types": [{"name": "step", "axis": "actor"}],
        "containment": [{"container": "actor:step:default:tokens:password", "child": "actor:step:default:tokens:secret"}],
        "links": [{"from": dataset, "to": identifier}],
        "descriptions": [
            {"id": identifier, "aspect": "tag", "value": "pii"},
            {"id": dataset, "aspect": "description", "value": "password=hunter2"},
        ],
    }
    form = check_form(document)
    assert [description.id for description in form.declaration.descriptions] == [identifier, dataset]
    assert list(form.declaration.links) == [(dataset, identifier)]
    assert b"tokens:secret" in form.draft.body
    assert b"hunter2" not in form.draft.body
