"""Exports as DataHub's own file source and OpenMetadata's own published models read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.backend.exports import CatalogRequest, System
from tests.backend.exports.conftest import Export
from tests.readers import check_by_openmetadata, read_by_datahub

pytestmark = pytest.mark.lake  # its readers are fetched


async def test_datahub_reads_each_aspect_as_it_was_meant(export: Export, tmp_path: Path) -> None:
    file = tmp_path / "lineage.json"
    file.write_bytes(await export(System.DATAHUB, CatalogRequest.of((), ["kafka://bus:9092=bus"], "DEV")))
    read = read_by_datahub(file)
    sent = json.loads(file.read_bytes())
    assert [(urn, name) for urn, name, _ in read] == [(each["entityUrn"], each["aspectName"]) for each in sent]
    (lineage,) = [content for urn, name, content in read if name == "upstreamLineage" and "sums%2C" in urn]
    assert [len(flow["downstreams"]) for flow in lineage["fineGrainedLineages"]] == [1, 1, 3]

    nameless = [each for each in sent if each["aspectName"] == "schemaMetadata"][:1]
    del nameless[0]["aspect"]["json"]["platform"]
    file.write_text(json.dumps(nameless), encoding="utf-8")
    with pytest.raises(AssertionError, match="platform"):
        read_by_datahub(file)


async def test_openmetadata_takes_each_request(export: Export, tmp_path: Path) -> None:
    file = tmp_path / "lineage.jsonl"
    file.write_bytes(await export(System.OPENMETADATA, CatalogRequest()))
    check_by_openmetadata(file)

    columnless = next(line for line in file.read_text(encoding="utf-8").splitlines() if "/tables" in line).replace('"columns"', '"kolumns"')
    file.write_text(columnless, encoding="utf-8")
    with pytest.raises(AssertionError, match="columns"):
        check_by_openmetadata(file)
