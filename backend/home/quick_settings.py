"""The settings for opening a home, without pydantic if the environment sets none of them.

For short commands: loading the full settings takes a quarter of their time. A test compares the defaults here with those of `Settings`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from headwater.backend.home.folder import Home

if TYPE_CHECKING:
    from headwater.backend.home.settings import Settings

DEFAULT_TENANT = "default"
_PREFIX = "HEADWATER_"
_NOT_HERE = frozenset({"HEADWATER_HOME", "HEADWATER_DEBUG", "HEADWATER_URL"})  # not settings, or read here


@dataclass(frozen=True)
class DefaultSettings:
    """The settings of a home without any in the environment."""

    folder: Home
    store_user: None = None
    store_password: None = None
    ingest_log: None = None
    ingest_log_user: None = None
    ingest_log_password: None = None
    data_roots: tuple[Path, ...] | None = None
    tenant_roots: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    storage: Path | None = None
    associations: str | None = None
    associations_cache_bytes: int = 10 * 1024**3
    spark_master: None = None
    spark_trace_rows: int = 50_000_000
    index_bytes: int = 512 * 1024**2
    staged_bytes: int = 32 * 1024**3
    staged_hours: float = 48.0
    entry_seconds: float = 1800.0

    @property
    def store_url(self) -> str:
        """The graph store's URL: a file of the home."""
        return f"sqlite:///{quote(str(self.folder.graph))}"


HomeSettings: TypeAlias = "DefaultSettings | Settings"


def settings_of(home: str | os.PathLike[str] | None) -> HomeSettings:
    """The settings of a home, by default of the home in the environment.

    Raises:
        ConfigurationError: a variable has an invalid value; the message names it.
    """
    stated = {name for name in os.environ if name.upper().startswith(_PREFIX)} - _NOT_HERE  # a variable's name may be in any case
    if not stated and (home is not None or os.environ.get("HEADWATER_HOME") != ""):
        return DefaultSettings(Home.at(home))
    from headwater.backend.home.settings import load_settings

    return load_settings(home=home)
