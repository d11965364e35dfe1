"""The settings of a home if the environment has none. A test compares them with the defaults of `Settings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from headwater.backend.home.folder import Home

DEFAULT_TENANT = "default"


@dataclass(frozen=True)
class DefaultSettings:
    """The default settings of a home."""

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
    trigger_days: float = 90

    @property
    def store_url(self) -> str:
        """Return the graph store's URL: a file of the home."""
        return f"sqlite:///{quote(str(self.folder.graph))}"
