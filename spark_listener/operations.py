"""Declared operations: `headwater.operation` around any code, or `spark.headwater.operation.NAME` in Spark's configuration.

They describe work that no Spark plan shows: a call of a service, a copy by another tool, a model that a library trains. A declared
operation is a separate run with the datasets that its author names. It is marked as declared, because nothing checks the datasets. It never
fails or changes the program: the log reports invalid declarations.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from headwater.spark_listener.lineage.datasets import Dataset, named_dataset
from headwater.spark_listener.lineage.facets import OPERATION, Facet, facet
from headwater.spark_listener.lineage.naming import Name, dataset_name
from headwater.spark_listener.lineage.parents import new_run_id
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.redact import redact

_log = logging.getLogger("headwater")
OPERATIONS = "operation."  # below spark.headwater.
_MOST_DATASETS = 1000
_LONGEST = 10_000
_LONGEST_NAME = 200
_OTHER_ADDRESS = re.compile(
    r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:(?!/)"
)  # jdbc:postgresql://…, mailto:…: neither a path nor the URI of a path

DatasetName = str | Name


@dataclass(frozen=True, slots=True)
class DeclaredOperation:
    """One execution of a declared operation. Instants are in seconds since the epoch; `ended` is None while it runs.

    A dataset is a path or URI, or a namespace and name. Relative paths begin at the program's working folder at the start of the operation.
    """

    name: str
    inputs: Sequence[DatasetName]
    outputs: Sequence[DatasetName]
    description: str | None = None
    declared_in: str = "program"  # or: configuration
    started: float = field(default_factory=time.time)
    ended: float | None = None
    outcome: Outcome = field(default_factory=Outcome)
    run_id: str = field(default_factory=new_run_id)

    def begun(self) -> DeclaredOperation:
        """Return another execution of the operation, which begins now."""
        inputs, outputs = [_named(each) for each in self.inputs], [_named(each) for each in self.outputs]
        return replace(self, inputs=inputs, outputs=outputs, started=time.time(), run_id=new_run_id())

    def job_facets(self) -> dict[str, Facet]:
        """Return the facets that mark a declared job, with the author's description."""
        facets = {OPERATION: facet(OPERATION, declared=True, declaredIn=self.declared_in, name=redact(self.name))}
        if self.description:
            facets["documentation"] = facet("documentation", description=redact(self.description)[:_LONGEST])
        return facets

    def read(self) -> list[Dataset]:
        return [named_dataset(*_named(name)) for name in self.inputs]

    def written(self) -> list[Dataset]:
        return [named_dataset(*_named(name)) for name in self.outputs]


@dataclass(frozen=True, slots=True)
class RecordedOperations:
    """Operations on fields that the program recorded. `event` makes an event for a namespace, job and run."""

    event: Callable[[str, str, str], dict[str, Any]]


def declared(name: Any, inputs: Any, outputs: Any, description: Any, declared_in: str = "program") -> DeclaredOperation | None:
    """Return the operation. None if the declaration is invalid, which the log reports."""
    try:
        text = None if description is None else str(description)
        return DeclaredOperation(_title(name), _names("inputs", inputs), _names("outputs", outputs), text, declared_in)
    except Exception as error:  # noqa: BLE001  # objects of the program's are asked what they are
        reason = str(error) if isinstance(error, ValueError) else type(error).__name__
        _log.warning("A declared operation is left out: %s.", redact(reason))
        return None


def of_configuration(ours: Mapping[str, str]) -> list[DeclaredOperation]:
    """Return the operations in `spark.headwater.operation.NAME`: JSON with `inputs`, `outputs` and `description`."""
    found = []
    for key, value in sorted(ours.items()):
        if key.startswith(OPERATIONS):
            document = _document(value)
            if document is None:
                _log.warning(
                    "spark.headwater.%s is left out: it is no JSON object with inputs, outputs and description alone.", redact(key)
                )
                continue
            parts = (document.get("inputs", ()), document.get("outputs", ()), document.get("description"))
            found.append(declared(key.removeprefix(OPERATIONS), *parts, "configuration"))
    return [operation for operation in found if operation is not None]


def _document(text: str) -> Mapping[str, Any] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and set(document) <= {"inputs", "outputs", "description"} else None


def _title(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"its name is {name!r}, and must be a text")
    return name.strip()[:_LONGEST_NAME]


def _names(part: str, given: Any) -> list[DatasetName]:
    names = (
        [given]
        if isinstance(given, (str, os.PathLike))
        else list(islice(given, _MOST_DATASETS + 1))
        if isinstance(given, Iterable)
        else None
    )
    if names is None or isinstance(given, (bytes, Mapping)) or len(names) > _MOST_DATASETS:
        raise ValueError(f"its {part} must be a list of at most {_MOST_DATASETS} datasets")
    return [_name(part, name) for name in names]


def _name(part: str, name: Any) -> DatasetName:
    if isinstance(name, os.PathLike):
        name = os.fspath(name)
    if _is_text(name) and not _OTHER_ADDRESS.match(name):
        dataset_name(name)  # raises ValueError if it is not a URI
        return str(name)
    if isinstance(name, (tuple, list)) and len(name) == 2 and all(_is_text(each) for each in name):
        return (name[0], name[1])
    raise ValueError(f"its {part} hold {str(name)[:200]!r}, which is neither a path or URI nor a pair of namespace and name")


def _is_text(name: Any) -> bool:
    return isinstance(name, str) and bool(name.strip()) and "\0" not in name and len(name) <= _LONGEST


def _named(name: DatasetName) -> Name:
    return dataset_name(name) if isinstance(name, str) else name
