"""What a Delta table demands of those who read it, as the action `protocol` of its log says.

For whatever reads a log: a feature that is not known here may change which rows the table has, or where its log is. Such a table is
refused, with the names of the features.
The format: https://github.com/delta-io/delta/blob/master/PROTOCOL.md (table features)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headwater.errors import UnsupportedError

_NEWEST = 3  # version of readers; from it on, features are named
_KNOWN = frozenset({
    "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck",
    "variantType", "variantType-preview",
})  # fmt: skip
# A catalog holds the table's last commits until it writes them to the log. Readers are not told by their own features.
_ELSEWHERE = frozenset({"coordinatedCommits", "coordinatedCommits-preview"})
_MOST, _LONGEST = 5, 60  # features that are named, and characters of a name


def check_protocol(table: str, protocols: Iterable[Mapping[str, Any]]) -> None:
    """See that a table is read here as its protocols demand.

    Raises:
        UnsupportedError: it is not; the features that are not known are named.
    """
    for protocol in protocols:
        version = int(protocol.get("minReaderVersion") or 1)
        if version > _NEWEST:
            raise UnsupportedError(f"The table {table} is for readers of version {version}, and versions up to {_NEWEST} are known here.")
        features = set(map(str, protocol.get("readerFeatures") or ()))
        if unknown := sorted(features - _KNOWN) if version == _NEWEST else []:
            listed = ", ".join(ascii(name[:_LONGEST])[1:-1] for name in unknown[:_MOST])
            more = f" and {len(unknown) - _MOST} more" if len(unknown) > _MOST else ""
            raise UnsupportedError(f"The table {table} has features that are not known here: {listed}{more}.")
        if elsewhere := sorted(_ELSEWHERE & set(map(str, protocol.get("writerFeatures") or ()))):
            raise UnsupportedError(f"The log of {table} may lack the newest versions, which its catalog keeps ({elsewhere[0]}).")
