"""Settings of the Spark side: resolved once, when capture starts, from options, then `HEADWATER_…` variables, then defaults.

The launcher, `attach` and delivery use them. Standard library only, because a cluster installs nothing more. Under `attach`, an invalid
value never stops the user's job; `headwater run` reports it before the job starts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from headwater.errors import ConfigurationError
from headwater.spark_listener.redact import redact

_MIB = 1024 * 1024
_MOST_SKIPPED = 100_000


class Mode(StrEnum):
    """The amount of capture: nothing; datasets and columns; or records too, which the job writes or a trace computes again."""

    OFF = "off"
    COARSE = "coarse"
    LAZY = "lazy"
    ACTIVE = "active"
    AUTO = "auto"

    @property
    def records(self) -> bool:
        return self in {Mode.LAZY, Mode.ACTIVE, Mode.AUTO}


class LeaveOut(StrEnum):
    """Kinds of queries that are not separate runs.

    A reader's query to infer a schema, a command that makes a view, a command around another write, a checkpoint, a query without datasets;
    jobs outside of SQL that read no dataset, and repeated ones with the same inputs; the batches of a stream.
    """

    SCHEMA = "schema"
    VIEWS = "views"
    NESTED = "nested"
    CHECKPOINTS = "checkpoints"
    OWN = "own"
    LOCAL = "local"
    REPEATED = "repeated"
    BATCHES = "batches"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, each with its variable. `segments` is a folder or URI that executors and service both reach."""

    mode: Mode = Mode.AUTO  # HEADWATER_MODE
    trace_budget: float = 1.0  # HEADWATER_TRACE_BUDGET: seconds that a trace may take to find records that mode auto does not write
    home: Path  # HEADWATER_HOME
    namespace: str = "default"  # HEADWATER_NAMESPACE, OPENLINEAGE_NAMESPACE
    name: str | None = None  # HEADWATER_NAME: the pipeline's name, instead of Spark's application name
    url: str | None = None  # HEADWATER_URL: the service; None: the home folder
    api_key: str | None = None  # HEADWATER_API_KEY
    segments: str | None = None  # HEADWATER_SEGMENTS
    readable: tuple[str, ...] = ()  # HEADWATER_READABLE: URIs of remote storage below which the service reads data too
    jdbc_keys: tuple[tuple[str, str], ...] = ()  # HEADWATER_JDBC_KEYS: tables, as the program names them, each with its key
    look_seconds: float = 2.0  # HEADWATER_LOOK_SECONDS: seconds that a query may wait for the answer of a database or broker
    exit_wait: float = 5.0  # HEADWATER_EXIT_WAIT: seconds that the end of a program may wait for delivery
    spool_bytes: int = 4096 * _MIB  # HEADWATER_SPOOL_BYTES: bound of one application's spool, segments included
    rdd_records: bool | None = None  # HEADWATER_RDD_RECORDS: whether records of RDD programs are captured, too; None: by the mode
    environment: tuple[str, ...] = ()  # HEADWATER_RECORD_ENV: further variables that a run may record
    leave_out: tuple[LeaveOut, ...] = tuple(LeaveOut)  # HEADWATER_LEAVE_OUT: queries that are counted instead of reported
    skip_failing: int = 0  # HEADWATER_SKIP_FAILING: failing records that may be set aside; 0: a failing record fails the job
    source_code: bool = False  # HEADWATER_SOURCE_CODE: whether to send the program's text, without secrets
    quiet: bool = False  # HEADWATER_QUIET: no summary
    apart: bool = False  # set by a recapture only: captures stay in the spool, and Spark's configuration has no effect
    chosen: frozenset[str] = frozenset()  # settings from an option or a variable, which win over Spark's configuration

    @property
    def derivation_budget(self) -> float:
        """Return the seconds that a trace may take to compute a group's records again. The record modes differ only in this number."""
        return {Mode.LAZY: float("inf"), Mode.AUTO: self.trace_budget}.get(self.mode, 0.0)

    @property
    def records_rdds(self) -> bool:
        """Return whether records of RDD programs are captured. A trace cannot compute them again, so all are written."""
        return self.mode.records and (self.mode is not Mode.LAZY if self.rdd_records is None else self.rdd_records)

    @property
    def spares_rdds(self) -> bool:
        """Return whether records of RDDs are captured only if that costs the job little."""
        return self.mode is Mode.AUTO and self.rdd_records is None

    def __repr__(self) -> str:
        # Shown in logs and tracebacks, where the key must not appear.
        shown = replace(self, api_key="…") if self.api_key else self
        return f"Settings({', '.join(f'{name}={getattr(shown, name)!r}' for name in self.__slots__)})"


def load_settings(environ: Mapping[str, str] | None = None, **options: Any) -> Settings:
    """Return settings from `options` that are not None, then the environment, then the defaults.

    Raises:
        ConfigurationError: a value is invalid; the message names the variable.
    """
    env = os.environ if environ is None else environ
    chosen: dict[str, Any] = {"home": env.get("HEADWATER_HOME") or "~/.headwater", "namespace": env.get("OPENLINEAGE_NAMESPACE")}
    for field, variable in _VARIABLES.items():
        if env.get(variable):
            chosen[field] = env[variable]
    unknown = set(options) - set(_VARIABLES)
    if unknown:
        raise ConfigurationError(f"There is no option {', '.join(sorted(unknown))}.", hint=f"The options are {', '.join(_VARIABLES)}.")
    chosen.update({field: value for field, value in options.items() if value is not None})
    given = {field: value for field, value in chosen.items() if value is not None}
    set_by_user = frozenset(given) - (set() if env.get("HEADWATER_HOME") or options.get("home") else {"home"})
    return Settings(**{field: parsed(field, value) for field, value in given.items()}, chosen=set_by_user)


_FLAGS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False, "on": True, "off": False}
_URI = re.compile(r"[a-z0-9]+://[A-Za-z0-9][A-Za-z0-9._:@-]*(/[^\x00-\x1f\x7f]*)?")
_VARIABLES = {
    "mode": "HEADWATER_MODE",
    "trace_budget": "HEADWATER_TRACE_BUDGET",
    "home": "HEADWATER_HOME",
    "namespace": "HEADWATER_NAMESPACE",
    "name": "HEADWATER_NAME",
    "url": "HEADWATER_URL",
    "api_key": "HEADWATER_API_KEY",
    "segments": "HEADWATER_SEGMENTS",
    "readable": "HEADWATER_READABLE",
    "jdbc_keys": "HEADWATER_JDBC_KEYS",
    "look_seconds": "HEADWATER_LOOK_SECONDS",
    "exit_wait": "HEADWATER_EXIT_WAIT",
    "spool_bytes": "HEADWATER_SPOOL_BYTES",
    "rdd_records": "HEADWATER_RDD_RECORDS",
    "environment": "HEADWATER_RECORD_ENV",
    "leave_out": "HEADWATER_LEAVE_OUT",
    "skip_failing": "HEADWATER_SKIP_FAILING",
    "source_code": "HEADWATER_SOURCE_CODE",
    "quiet": "HEADWATER_QUIET",
}


def parsed(field: str, value: Any) -> Any:
    """Convert the text of a setting to its value.

    Raises:
        ConfigurationError: the value is invalid; the message names the variable.
    """
    parse = _PARSERS.get(field)
    try:
        return value if parse is None else parse(value)
    except ValueError as error:
        choices = {"mode": f"The modes are {', '.join(Mode)}.", "leave_out": f"Choose of {', '.join(LeaveOut)}, or nothing."}
        hint = choices.get(field) or f"Correct {_VARIABLES[field]} or the option of that name."
        raise ConfigurationError(f"{field} cannot be {_shown(value)}: {error}.", hint=hint) from error


def _shown(value: Any) -> str:
    """Return a value for a message. The text before an @ may be a user and a password."""
    text = repr(value)
    return redact(f"'…{text[text.rindex('@') :]}" if "@" in text else text)


def _at_least_zero(number: float) -> float:
    if not 0 <= number < float("inf"):
        raise ValueError("it must be a number from 0 up")
    return number


def _records(number: int) -> int:
    if not 0 <= number <= _MOST_SKIPPED:
        raise ValueError(f"it must be a whole number from 0 to {_MOST_SKIPPED:,}")
    return number


def _url(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("a service's address begins with http:// or https://")
    return value.rstrip("/")


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else tuple(value)


def _uris(value: str | Iterable[str]) -> tuple[str, ...]:
    uris = _names(value)
    if odd := next((uri for uri in uris if not _URI.fullmatch(uri)), None):
        raise ValueError(f"{odd!r} is no URI of a folder, such as s3://lake/data")
    return uris


def _keys(value: str | Iterable[Any]) -> tuple[tuple[str, str], ...]:
    """Parse tables with their keys: `orders=id, sales.items=order_id+line`."""
    if not isinstance(value, str):
        return tuple((str(pair[0]), str(pair[1])) for pair in value)
    pairs = tuple((table.strip(), key.strip()) for table, _, key in (name.rpartition("=") for name in _names(value)))
    if not all(table and key for table, key in pairs):
        raise ValueError("each table has a key, of one column or of several: orders=id, sales.items=order_id+line")
    return pairs


def _left_out(value: str | Iterable[str]) -> tuple[LeaveOut, ...]:
    return tuple(LeaveOut(name) for name in _names(value) if name != "nothing")


def _flag(value: Any) -> bool:
    text = str(value).lower()
    if text not in _FLAGS:
        raise ValueError(f"it must be one of {', '.join(_FLAGS)}")
    return _FLAGS[text]


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "mode": Mode,
    "home": lambda value: Path(value).expanduser().absolute(),
    "look_seconds": lambda value: _at_least_zero(float(value)),
    "exit_wait": lambda value: _at_least_zero(float(value)),
    "trace_budget": lambda value: _at_least_zero(float(value)),
    "spool_bytes": lambda value: int(_at_least_zero(int(value))),
    "quiet": _flag,
    "rdd_records": _flag,
    "skip_failing": lambda value: _records(int(value)),
    "source_code": _flag,
    "environment": _names,
    "leave_out": _left_out,
    "url": _url,
    "readable": _uris,
    "jdbc_keys": _keys,
}
