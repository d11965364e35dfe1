"""What a SparkContext says of itself, asked once, when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.spark_listener.spark_conf import SparkConf


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """`started` is in seconds since the epoch; `obstacle` says why records cannot be captured on this master, if they cannot."""

    id: str
    name: str
    spark_version: str
    started: float
    obstacle: Mapping[str, Any] | None
    conf: SparkConf = field(default_factory=lambda: SparkConf({}, {}))
