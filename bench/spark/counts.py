"""Counts from a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def counts(manifest: Mapping[str, Any]) -> dict[str, float]:
    """Return the number of associations (rows of boundaries), of references in them, of spooled bytes and of input bytes."""
    references = {
        boundary["boundary"]: sum(column["role"] == "ref" for column in boundary["columns"]) for boundary in manifest["boundaries"]
    }
    segments = manifest["segments"]
    # A source without references (the right side of an anti-join) has no files.
    read = {file["path"]: file["length"] for source in manifest["sources"] for file in source.get("files", ())}
    return {
        "associations": float(sum(segment["rows"] for segment in segments)),
        "references": float(sum(segment["rows"] * references[segment["boundary"]] for segment in segments)),
        "spooled_bytes": float(sum(segment["bytes"] for segment in segments)),
        "input_bytes": float(sum(read.values())),
    }
