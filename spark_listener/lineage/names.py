"""Names of jobs, as in OpenLineage's Spark integration, so that lineage from other producers has the same nodes.

`naming` makes the names of datasets.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256

_MOST_NAMES = 10_000
_BATCH = re.compile(r"(?<=[^/])-\d{13}(?=(?:\.[^./]*)?$)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\s\-.]+")


def base_name(name: str) -> str:
    """Return the last part of a dataset's name, for the name of the job that writes it."""
    return name.rstrip("/").rsplit("/", 1)[-1] or "root"


def without_time(name: str) -> str:
    """Return the folder name that the program gave to `saveAsTextFiles` of a stream.

    The batch folder `out-1767225600000.txt` gives `out.txt`.
    """
    return _BATCH.sub("", name)


def snake_case(text: str) -> str:
    """Convert `InsertIntoHadoopFsRelationCommand` to `insert_into_hadoop_fs_relation_command`, `My App` to `my_app`."""
    return re.sub(r"_+", "_", _CAMEL.sub("_", text.strip())).lower().strip("_") or "application"


def job_name(application: str, operation: str, output: str | None = None) -> str:
    """Return the name of a query's job: `{application}.{operation}.{base name of the output}`."""
    parts = [application, snake_case(operation)]
    return ".".join([*parts, snake_case(base_name(output))] if output else parts)


class JobNames:
    """The names of an application's jobs. If two outputs would give the same name, it contains more of the output's path.

    A program that writes `2023/data` and `2024/data` has two jobs: the first is named after `data`, the other after `2024_data`.
    """

    def __init__(self) -> None:
        self._outputs: dict[str, tuple[str, str]] = {}

    def of(self, application: str, operation: str, output: tuple[str, str] | None) -> str:
        if output is None:
            return job_name(application, operation)
        parts = [part for part in "/".join(output).split("/") if part]
        name = ""
        for depth in range(1, len(parts) + 1):
            name = job_name(application, operation, "_".join(parts[-depth:]))
            if self._outputs.get(name, output) == output:
                break
        else:  # names differ only in characters that job names lack: `a b` and `a_b`
            name = f"{name}_{sha256(json.dumps(output).encode()).hexdigest()[:8]}"
        if len(self._outputs) < _MOST_NAMES:
            self._outputs[name] = output
        return name
