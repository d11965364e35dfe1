"""Which versions of a dataset a run read, where no capture tells it by file (design: coarse lineage).

The version that the event names, else the last base that was there when the run began, and all deltas after it up to then. A dataset of
which no base is known is read from its first delta on. Pure: the same versions give the same answer, in whatever order they became known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headwater.graph.model import Node


def versions_read(versions: Iterable[Node], *, began: str | None, stated: Mapping[str, Any] | None = None) -> list[str]:
    """The ids of the versions that a run read which began at an instant; `stated` is the version facet of its input, if it had one.

    A version without `writtenAt` was never finished, and is read by nobody. Without `began`, all that there is counts.
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
    """Return the table format's own name of a version, as its producer states it."""
    facet = version.properties.get("facet:version") or version.properties.get("version")
    named = facet.get("datasetVersion") if isinstance(facet, Mapping) else None
    return None if named is None else str(named)
