"""Checks the requirements that a Delta table states for its readers, in the action `protocol` of its log.

An unknown feature may change the rows of the table, or the place of its log. Such a table is refused with the names of the features.
The format: https://github.com/delta-io/delta/blob/master/PROTOCOL.md (table features)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headwater.errors import UnsupportedError

_NEWEST = 3  # version of readers; from this version on, protocols name features
_KNOWN = frozenset({
    "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck",
    "variantType", "variantType-preview",
})  # fmt: skip
# A catalog keeps the table's last commits until it writes them to the log. The readers' features do not show this.
_ELSEWHERE = frozenset({"coordinatedCommits", "coordinatedCommits-preview"})
_MOST, _LONGEST = 5, 60  # features in a message, and characters of a name


def check_protocol(table: str, protocols: Iterable[Mapping[str, Any]]) -> None:
    """Check that this reader supports the protocols of a table.

    Raises:
        UnsupportedError: a feature is unknown. The message names it.
    """
    for protocol in protocols:
        version = int(protocol.get("minReaderVersion") or 1)
        if version > _NEWEST:
            raise UnsupportedError(f"The table {table} is for readers of version {version}, and versions up to {_NEWEST} are known here.")
        features = set(map(str, protocol.get("readerFeatures") or ()))
        if unknown_features := sorted(features - _KNOWN) if version == _NEWEST else []:
            feature_names = ", ".join(ascii(name[:_LONGEST])[1:-1] for name in unknown_features[:_MOST])
            more_text = f" and {len(unknown_features) - _MOST} more" if len(unknown_features) > _MOST else ""
            raise UnsupportedError(f"The table {table} has features that are not known here: {feature_names}{more_text}.")
        if catalog_features := sorted(_ELSEWHERE & set(map(str, protocol.get("writerFeatures") or ()))):
            raise UnsupportedError(f"The log of {table} may lack the newest versions, which its catalog keeps ({catalog_features[0]}).")
