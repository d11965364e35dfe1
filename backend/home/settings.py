"""Settings of the service and the command line: one model, read once from `HEADWATER_…` variables.

Options of a command override the environment, and the environment overrides the defaults. Secrets are never printed with the settings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from headwater.backend.home.default_settings import DEFAULT_TENANT, DefaultSettings
from headwater.backend.home.folder import Home
from headwater.errors import ConfigurationError

__all__ = ["DEFAULT_TENANT", "Settings", "load_settings"]
_MB = 1024 * 1024


class Settings(BaseSettings):
    """All settings. The variable of a setting is `HEADWATER_` and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="HEADWATER_", frozen=True, extra="ignore")

    home: Path = Field(default=Path("~/.headwater"), description="Folder of all state of one user.")
    host: str = Field(default="127.0.0.1", description="Address that the service binds to.")
    port: int = Field(default=8765, ge=0, le=65535, description="Port of the service; 0 takes any free one.")
    allowed_hosts: tuple[str, ...] = Field(
        default=(), description='Names by which the service may be called besides loopback, as a JSON list: ["lineage.example.org"].'
    )
    trusted_proxies: tuple[str, ...] = Field(
        default=(),
        description="Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, as a JSON list.",
    )
    open_endpoints: tuple[Literal["/metrics", "/openapi.json"], ...] = Field(
        default=(), description='Endpoints that need no key, as a JSON list: ["/metrics", "/openapi.json"] or one of them.'
    )
    api_key: SecretStr | None = Field(default=None, description="The API key, instead of the one in the home folder.")
    store: str | None = Field(
        default=None, description="Where the graph is kept: sqlite:///path or neo4j://host:7687; a file in the home folder if not given."
    )
    store_user: str | None = Field(default=None, description="User of the graph store, where it asks for one.")
    store_password: SecretStr | None = Field(default=None, description="Password of the graph store.")
    ingest_log: str | None = Field(
        default=None,
        description="A log that several replicas share: postgresql://host:5432/database; a file in the home if not given.",
    )
    ingest_log_user: str | None = Field(default=None, description="User of the shared log's database; `headwater` if not given.")
    ingest_log_password: SecretStr | None = Field(default=None, description="Password of the shared log's database.")
    data_roots: tuple[Path, ...] | None = Field(
        default=None,
        description="Folders below which data is read, as a JSON list; not set, what programs run on this home read and wrote.",
    )
    tenant_roots: dict[str, tuple[Path, ...]] = Field(
        default={},
        description='Folders below which data of tenants other than the default one is read, as JSON: {"sales": ["/data/sales"]}.',
    )
    storage: Path | None = Field(
        default=None,
        description="File that names the roots of remote storage (S3, HDFS, …), with credentials; not set, `storage.toml` of the home.",
    )
    intakes: Path | None = Field(
        default=None,
        description="File that says where the service fetches events (Kafka, files, object stores); not set, `intakes.toml` of the home.",
    )
    associations: str | None = Field(
        default=None,
        description="Folder of an object store (s3://…), below a root of `storage`, where services share record lineage; else the home.",
    )
    associations_cache_bytes: int = Field(
        default=DefaultSettings.associations_cache_bytes,
        ge=0,
        description="Most bytes of shared record lineage that are in the home besides, as they are asked for.",
    )
    index_bytes: int = Field(
        default=DefaultSettings.index_bytes,
        ge=0,
        description="Memory that the service may take for its index of the graph; 0: none, the store walks.",
    )
    max_body_bytes: int = Field(
        default=32 * _MB, gt=0, description="Largest request body for events and manifests, before and after it is unpacked."
    )
    bodies_bytes: int = Field(
        default=256 * _MB, gt=0, description="Most bytes of request bodies in memory at once; beyond, a request is told to come again."
    )
    max_segment_bytes: int = Field(default=1024 * _MB, gt=0, description="Largest association segment.")
    staged_bytes: int = Field(
        default=DefaultSettings.staged_bytes,
        gt=0,
        description="Most bytes of segments that wait for their manifest; beyond, segments are told to wait.",
    )
    staged_hours: float = Field(
        default=DefaultSettings.staged_hours,
        gt=0,
        description="Hours after which the segments of a capture are dropped whose manifest has not come.",
    )
    max_connections: int = Field(
        default=512, ge=16, description="Most connections at once; beyond, the one that has waited longest for its client is closed."
    )
    audit_bytes: int = Field(
        default=256 * _MB, ge=0, description="Bytes at which a file of the audit log is full and the next one begins; 0: never."
    )
    audit_files: int = Field(default=8, ge=1, description="How many full files of the audit log are kept; older ones are removed.")
    audit_days: float | None = Field(
        default=None, gt=0, description="Days that replicas keep lines in the audit log that they share; not set: for ever."
    )
    trigger_days: float = Field(
        default=90, ge=1, description="Days that the history of triggers is kept; the last ten causes of each trigger stay."
    )
    prune_replaced_days: float | None = Field(
        default=None,
        ge=0,
        description="Days that the record lineage of replaced data is kept, after which it is pruned; not set: for ever.",
    )
    prune_older_days: float = Field(default=0, ge=0, description="Days that record lineage is kept at least after its run ended.")
    prune_namespace: str | None = Field(
        default=None, description="Pattern (* and ?) of the namespaces whose replaced datasets are pruned; not set: all."
    )
    prune_dataset: str | None = Field(
        default=None, description="Pattern (* and ?) of the names of datasets whose replaced data is pruned; not set: all."
    )
    prune_most_bytes: int | None = Field(
        default=None, ge=0, description="Bytes of kept tables above which is pruned, the earliest replaced first; not set: all that may go."
    )
    worker: Literal["process", "thread"] = Field(
        default="process",
        description="Where the service projects and keeps what it took in: a process of its own, or a thread of the service's.",
    )
    entry_seconds: float = Field(
        default=DefaultSettings.entry_seconds,
        gt=0,
        description="How long the worker may read one entry of the log before it is ended and the entry is tried apart.",
    )
    question_seconds: float = Field(default=30, gt=0, description="How long a question may take before it is ended.")
    question_bytes: int = Field(default=4096 * _MB, ge=1024 * _MB, description="Memory that one question may take before it is ended.")
    question_processes: int = Field(default=3, ge=1, le=64, description="How many questions about records are answered at a time.")
    body_seconds: float = Field(default=30, gt=0, description="Processor time that a request body may take to read before it is refused.")
    body_processes: int = Field(
        default=3, ge=2, le=64, description="How many larger request bodies are read at a time, one fewer of them of one tenant."
    )
    answer_bytes: int = Field(
        default=1024 * _MB,
        gt=0,
        description="Most bytes of disk for exports that wait for slow readers; of it a tenant may take half, and an export a quarter.",
    )
    spark_master: str | None = Field(
        default=None,
        description="Master of the Spark for traces that are too large for the service (local[*], yarn, spark://…); not set: none.",
    )
    spark_trace_rows: int = Field(
        default=DefaultSettings.spark_trace_rows,
        ge=0,
        description="Rows of kept tables from which on a trace that is expected to look at them runs on `spark_master`, as a job.",
    )
    spark_trace_jobs: int = Field(
        default=2, ge=1, le=16, description="How many such jobs are at work at a time, one of each caller; each has a driver of its own."
    )
    spark_trace_seconds: float = Field(default=3600, gt=0, description="How long such a job may take before it is ended.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level of the service's own log lines."
    )
    log_format: Literal["console", "json"] = Field(default="console", description="Form of the service's log lines, on standard error.")

    @field_validator("data_roots")
    @classmethod
    def _whole(cls, roots: tuple[Path, ...] | None) -> tuple[Path, ...] | None:
        """Check that each data root is an absolute path, because services may run in different working folders."""
        if odd := next((root for root in roots or () if not root.expanduser().is_absolute()), None):
            raise ValueError(f"{odd} is no whole path: begin with / or ~")
        return roots

    @property
    def folder(self) -> Home:
        return Home.at(self.home)

    @property
    def store_url(self) -> str:
        return self.store or f"sqlite:///{quote(str(self.folder.graph))}"

    def key(self) -> str:
        return self.api_key.get_secret_value() if self.api_key else self.folder.create().key()


def load_settings(**options: Any) -> Settings:
    """Read the settings from the environment. Options that are not None override them.

    Raises:
        ConfigurationError: a variable or option has an invalid value. The message names it.
    """
    try:
        return Settings(**{name: value for name, value in options.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        raise ConfigurationError(
            f"Setting {name} cannot be used: {first['msg']}; it was {first['input']!r}.",
            hint=f"Correct HEADWATER_{name.upper()} or the option --{name.replace('_', '-')}.",
        ) from error
    except SettingsError as error:
        raise ConfigurationError(
            f"A setting cannot be read: {error}.", hint="Settings that hold several values are written as JSON."
        ) from error
