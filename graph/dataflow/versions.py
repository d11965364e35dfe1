"""Determines which version of a dataset a run read, if its input files are unknown (coarse lineage).

A run read the version that its event names. Otherwise it read the last base that existed at its start, and all later deltas up to then.
Without a known base, reading starts at the first delta. The order in which versions became known does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headwater.graph.model import Node


def versions_read(versions: Iterable[Node], *, began: str | None, stated: Mapping[str, Any] | None = None) -> list[str]:
    """Return the ids of the versions that a run read. `began` is its start, `stated` the version facet of its input.

    A version without `writtenAt` was never finished, and no run reads it. Without `began`, all versions count.
    """
    written = sorted(
        ((str(version.properties["writtenAt"]), version.id, version) for version in versions if version.properties.get("writtenAt")),
        key=lambda entry: entry[:2],
    )
    named = (stated or {}).get("datasetVersion")
    if named is not None:
        found = [identifier for _, identifier, version in written if snapshot_of(version) == str(named)]
        if found:
            return found
    there = [(identifier, version) for at, identifier, version in written if began is None or at <= began]
    last_base = max((place for place, (_, version) in enumerate(there) if version.properties.get("block") == "base"), default=0)
    return [identifier for identifier, _ in there[last_base:]]


def snapshot_of(version: Node) -> str | None:
    """Return the name of a version in its table format, if the producer states one."""
    facet = version.properties.get("facet:version") or version.properties.get("version")
    named = facet.get("datasetVersion") if isinstance(facet, Mapping) else None
    return None if named is None else str(named)
