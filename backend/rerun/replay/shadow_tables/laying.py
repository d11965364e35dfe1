"""Writes the shadow tables of a step before its program runs."""

from __future__ import annotations

from pathlib import Path

from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import Step
from headwater.backend.rerun.replay.shadow_tables.bases import load_layer
from headwater.graph.records import DataRoots
from headwater.spark_listener.shadow_paths import ShadowPaths


def lay_shadow_tables(step: Step, shadow: str, sources: DataRoots) -> None:
    """Write a shadow table for each table that the program of a step needs. A table that an earlier step wrote stays as it is.

    Raises:
        UnsupportedError: a base is gone from the table's log.
    """
    for base in step.tables:
        folder: Path = ShadowPaths(shadow).folder(place_of(base.dataset))
        if base.version is not None and not folder.exists():
            load_layer(base.kind).lay(base, place_of(base.dataset), folder, sources.look())
