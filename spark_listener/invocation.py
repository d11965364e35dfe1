"""How this program was started, for the record of a run and for its replay.

Read once, before the program can change its arguments or folder. The record must never contain a secret: only variables in an allow list
are kept, and all values are redacted.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.redact import redact, redact_arguments
from headwater.spark_listener.registry import Program, Registry
from headwater.spark_listener.secrets import is_secret_name

ALLOWED = (
    "JAVA_HOME", "LANG", "LC_ALL", "PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON", "PYSPARK_SUBMIT_ARGS", "PYTHONHASHSEED", "PYTHONPATH",
    "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_IP", "SPARK_SUBMIT_OPTS", "TZ", "VIRTUAL_ENV",
)  # fmt: skip
_LARGEST_SCRIPT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Invocation:
    """How a program was started. `script` is absolute. It is None if the program is not a file (a notebook, a shell, `-m`)."""

    argv: Sequence[str]
    working_directory: str
    interpreter: str
    script: str | None = None
    script_sha256: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def take_invocation(*, script: str | None, argv: Sequence[str], extra_variables: Sequence[str] = ()) -> Invocation:
    return Invocation(
        argv=redact_arguments(argv),
        working_directory=redact(_working_directory()),
        interpreter=sys.executable,
        script=redact(os.path.abspath(script)) if script else None,
        script_sha256=script_sha256(script) if script else None,
        environment=environment_of(extra_variables),
    )


def this_invocation(extra_variables: Sequence[str] = ()) -> Invocation:
    """Return how this process was started, if another launcher started it. `__main__` names the script, if there is one."""
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    return take_invocation(
        script=script if script and os.path.isfile(script) else None, argv=list(sys.argv), extra_variables=extra_variables
    )


def register_program(registry: Registry, invocation: Invocation, run: RunName) -> None:
    """Register the program in its home so that a replay can start it. Do nothing without a script."""
    if invocation.script is None or invocation.script_sha256 is None:
        return
    registry.register(
        Program(
            namespace=run.namespace, job=run.job, argv=invocation.argv, script=invocation.script, script_sha256=invocation.script_sha256,
            working_directory=invocation.working_directory, environment=invocation.environment,
        ),
        run.run_id,
    )  # fmt: skip


def environment_of(extra: Sequence[str]) -> dict[str, str]:
    return {name: redact(os.environ[name]) for name in sorted({*ALLOWED, *extra}) if name in os.environ and not is_secret_name(name)}


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # the folder was deleted; the program may not care


def script_sha256(script: str) -> str | None:
    """Return the SHA-256 of a script. None if it is not a file, cannot be read, or is far larger than a script."""
    try:
        path = Path(script)
        if not path.is_file() or path.stat().st_size > _LARGEST_SCRIPT:
            return None
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None  # unreadable; running it will report the error
