"""Names of datasets and jobs, as the OpenLineage naming specification and its Spark integration have them.

For events and manifests, so that lineage from other producers meets ours in the same nodes. A name must not depend on the machine's
state, and must never carry a secret.
"""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlsplit

from headwater.spark_listener.redact import redact_address

# Object stores that are known under several schemes; the specification names one.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_KEY_VALUE = re.compile(r"^[^=/]+=[^/]*$")
_MOST_NAMES = 10_000
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\s\-.]+")


def dataset_name(path: str) -> tuple[str, str]:
    """Namespace and name of what lies at `path` (a path or URI): `file` and the absolute path, or `s3://bucket` and the key."""
    parts = urlsplit(redact_address(path))
    if len(parts.scheme) <= 1 or parts.scheme == "file":  # one letter: a drive of Windows
        local = unquote(parts.path) if parts.scheme == "file" else path
        return "file", os.path.abspath(local)
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    authority = parts.netloc.rpartition("@")[2] if not parts.scheme.startswith(("abfs", "wasb")) else parts.netloc
    name = re.sub(r"/{2,}", "/", unquote(parts.path)).rstrip("/")
    return f"{scheme}://{authority}", (name.lstrip("/") if scheme in ("s3", "gs") else name) or "/"


def folder_of(file: str) -> str:
    """The dataset's folder of a data file: its parent, above the folders of a partition (`key=value`)."""
    folder = file.rsplit("/", 1)[0]
    while _KEY_VALUE.match(folder.rsplit("/", 1)[-1]):
        folder = folder.rsplit("/", 1)[0]
    return folder


def base_name(name: str) -> str:
    """The last part of a dataset's name, for the name of the job that writes it."""
    return name.rstrip("/").rsplit("/", 1)[-1] or "root"


def snake_case(text: str) -> str:
    """`InsertIntoHadoopFsRelationCommand` is `insert_into_hadoop_fs_relation_command`, `My App` is `my_app`."""
    return re.sub(r"_+", "_", _CAMEL.sub("_", text.strip())).lower().strip("_") or "application"


def job_name(application: str, operation: str, output: str | None = None) -> str:
    """Name of a query's job: `{application}.{operation}.{base name of the output}`."""
    parts = [application, snake_case(operation)]
    return ".".join([*parts, snake_case(base_name(output))] if output else parts)


class JobNames:
    """The names of an application's jobs: `job_name`, with more of the output's path where two outputs would share a name.

    A program that writes `2023/data` and `2024/data` has two jobs: the first is called after `data`, the other after `2024_data`.
    """

    def __init__(self) -> None:
        self._outputs: dict[str, tuple[str, str]] = {}

    def of(self, application: str, operation: str, output: tuple[str, str] | None) -> str:
        """The name of the job that does `operation` to `output`, a dataset's namespace and name."""
        if output is None:
            return job_name(application, operation)
        parts = [part for part in "/".join(output).split("/") if part]
        name = ""
        for depth in range(1, len(parts) + 1):
            name = job_name(application, operation, "_".join(parts[-depth:]))
            if self._outputs.get(name, output) == output:
                break
        if len(self._outputs) < _MOST_NAMES:
            self._outputs[name] = output
        return name
