"""Facts about a SparkContext, read once when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.spark_listener.spark_conf import SparkConf


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts about a SparkContext. `started` is in seconds since the epoch.

    `obstacle` is the reason why records cannot be captured on this master, or None.
    """

    id: str
    name: str
    spark_version: str
    started: float
    obstacle: Mapping[str, Any] | None
    conf: SparkConf = field(default_factory=lambda: SparkConf({}, {}))
