"""Whether an answer is what Marquez's published OpenAPI document says, by `schemas.json` (its schemas, Apache-2.0, without descriptions).

Where the document contradicts its own examples or Marquez's code, the code counts. Each such place is mended below, with its reason.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from jsonschema import Draft4Validator, FormatChecker

_FILE = Path(__file__).with_name("schemas.json")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_FORMATS = FormatChecker(formats=())


@_FORMATS.checks("date-time")
def _is_instant(value: object) -> bool:
    return not isinstance(value, str) or _DATE_TIME.fullmatch(value) is not None


@_FORMATS.checks("uuid", raises=ValueError)
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or str(UUID(value)) == value


def check(answer: Any, path: str) -> Any:
    """The answer, which is of the schema that the document names for a path."""
    document = _document()
    return check_as(answer, document["answers"][path])


def check_as(answer: Any, name: str) -> Any:
    """The answer, which is of a schema."""
    validator = Draft4Validator({**_document(), "$ref": f"#/components/schemas/{name}"}, format_checker=_FORMATS)
    faults = [f"{'.'.join(map(str, fault.absolute_path))}: {fault.message[:300]}" for fault in validator.iter_errors(answer)]
    assert not faults, faults
    if name == "LineageGraph":
        for node in answer["graph"]:
            if node["type"] != "DATASET_FIELD":  # the document has no schema for these
                check_as(node["data"], {"JOB": "Job", "DATASET": "Dataset"}[node["type"]])
    return answer


@cache
def _document() -> dict[str, Any]:
    stored = json.loads(_FILE.read_text(encoding="utf-8"))
    schemas = stored["schemas"]
    # `type:` without a value.
    for name in ("name", "updatedAt"):
        schemas["SearchResult"]["properties"][name] = {"type": "string"}
    # Job and Dataset both accept every object, so that no object matches one of them alone; `check_as` decides.
    schemas["GraphNode"]["properties"]["data"] = {"type": "object"}
    # Column lineage has nodes of a third kind, by Marquez's enum NodeType.
    schemas["NodeType"]["enum"].append("DATASET_FIELD")
    # Its own example has a list.
    schemas["DatasetVersion"]["properties"]["tags"] = {"type": "array", "items": {"type": "string"}}
    # Facets are objects, in the models InputDatasetVersion and OutputDatasetVersion.
    for name in ("InputDatasetVersion", "OutputDatasetVersion"):
        schemas[name]["properties"]["facets"] = {"$ref": "#/components/schemas/RunFacets"}
    # All facets together, by the record RunFacets.
    schemas["FacetsResult"]["properties"]["facets"] = {"$ref": "#/components/schemas/RunFacets"}
    # Marquez answers null for missing values, as in the examples of Run and Dataset, and in its model of fields.
    for schema in schemas.values():
        _allow_null(schema)
    return {"answers": stored["answers"], "components": {"schemas": schemas}}


def _allow_null(schema: dict[str, Any]) -> None:
    for part in (*schema.get("allOf", ()), *schema.get("anyOf", ())):
        _allow_null(part)
    if "items" in schema:
        _allow_null(schema["items"])
    for name, about in schema.get("properties", {}).items():
        _allow_null(about)
        if name not in schema.get("required", ()):
            schema["properties"][name] = {"anyOf": [about, {"type": "null"}]}
