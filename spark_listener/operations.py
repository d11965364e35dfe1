"""Operations that the program declares: `headwater.operation` around any code, or `spark.headwater.operation.NAME` in its configuration.

For what no plan of Spark shows: a call of a service, a copy by another tool, a model that a library trains. A declared operation is a run
of its own, with the datasets that its author names. It is marked as declared, since nobody checked them. It never fails or changes the
program: what cannot be used is said in the log.
"""

from __future__ import annotations

import functools
import inspect
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ContextDecorator
from dataclasses import dataclass, field, replace
from itertools import islice
from types import TracebackType
from typing import Any, Protocol, Self

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
_OTHER_ADDRESS = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:(?!/)")  # jdbc:postgresql://…, mailto:…: neither a path nor a URI of one
_CANCELLED = ("CancelledError", "GeneratorExit", "KeyboardInterrupt")

DatasetName = str | Name


@dataclass(frozen=True, slots=True)
class DeclaredOperation:
    """One execution of a declared operation. Instants are in seconds since the epoch; `ended` None: it goes on.

    A dataset is a path or URI, or a namespace and name. Relative paths are those of the folder that the program is in when it begins.
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
        """Another execution, which begins now."""
        inputs, outputs = [_named(each) for each in self.inputs], [_named(each) for each in self.outputs]
        return replace(self, inputs=inputs, outputs=outputs, started=time.time(), run_id=new_run_id())

    def job_facets(self) -> dict[str, Facet]:
        """What marks the job as declared, and the words of its author."""
        facets = {OPERATION: facet(OPERATION, declared=True, declaredIn=self.declared_in, name=redact(self.name))}
        if self.description:
            facets["documentation"] = facet("documentation", description=redact(self.description)[:_LONGEST])
        return facets

    def read(self) -> list[Dataset]:
        """The inputs that were named."""
        return [named_dataset(*_named(name)) for name in self.inputs]

    def written(self) -> list[Dataset]:
        """The outputs that were named."""
        return [named_dataset(*_named(name)) for name in self.outputs]


class Recorder(Protocol):
    """Who is told of operations. It never raises."""

    def operation(self, operation: DeclaredOperation) -> None: ...


class Operation(ContextDecorator):
    """A declared operation around a block of code or, as a decorator, around each call of a function; several threads may be in it.

    `recorder` is asked each time, since capture may begin after a function was decorated; None while nothing is captured.
    """

    def __init__(self, recorder: Callable[[], Recorder | None], declared: DeclaredOperation | None) -> None:
        self._recorder = recorder
        self._declared = declared
        self._here = threading.local()

    def __call__(self, function: Any) -> Any:
        """The function, with each of its calls as an operation; one that is `async` ends when it has been awaited."""
        if not inspect.iscoroutinefunction(function):
            return super().__call__(function)

        @functools.wraps(function)
        async def awaited(*arguments: Any, **named: Any) -> Any:
            with Operation(self._recorder, self._declared):  # of its own: calls that wait for one another are of one thread
                return await function(*arguments, **named)

        return awaited

    def __enter__(self) -> Self:
        begun = None
        try:
            recorder = self._recorder()
            if recorder is not None and self._declared is not None:
                begun = self._declared.begun()
                recorder.operation(begun)
        except Exception as error:  # noqa: BLE001  # the folder that relative paths begin at may be gone
            _log.warning("A declared operation is left out: %s: %s.", type(error).__name__, error)
        self._stack().append(begun)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        begun, recorder = self._stack().pop(), self._recorder()
        if recorder is not None and begun is not None:
            recorder.operation(replace(begun, ended=time.time(), outcome=_outcome(error)))

    def _stack(self) -> list[DeclaredOperation | None]:
        stack: list[DeclaredOperation | None] = self._here.__dict__.setdefault("stack", [])  # a function may call itself
        return stack


def declared(name: Any, inputs: Any, outputs: Any, description: Any, declared_in: str = "program") -> DeclaredOperation | None:
    """The operation, or None where it cannot be used, which the log says."""
    try:
        text = None if description is None else str(description)
        return DeclaredOperation(_title(name), _names("inputs", inputs), _names("outputs", outputs), text, declared_in)
    except Exception as error:  # noqa: BLE001  # objects of the program's are asked what they are
        reason = str(error) if isinstance(error, ValueError) else type(error).__name__
        _log.warning("A declared operation is left out: %s.", redact(reason))
        return None


def of_configuration(ours: Mapping[str, str]) -> list[DeclaredOperation]:
    """Those of `spark.headwater.operation.NAME`: JSON with `inputs`, `outputs` and `description`."""
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
        dataset_name(name)  # raises ValueError where it is no URI
        return str(name)
    if isinstance(name, (tuple, list)) and len(name) == 2 and all(_is_text(each) for each in name):
        return (name[0], name[1])
    raise ValueError(f"its {part} hold {str(name)[:200]!r}, which is neither a path or URI nor a pair of namespace and name")


def _is_text(name: Any) -> bool:
    return isinstance(name, str) and bool(name.strip()) and "\0" not in name and len(name) <= _LONGEST


def _named(name: DatasetName) -> Name:
    return dataset_name(name) if isinstance(name, str) else name


def _outcome(error: BaseException | None) -> Outcome:
    """How a block of code ended. To leave the program by `sys.exit()` is to end well."""
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return Outcome()
    kind = type(error).__name__
    try:
        text = f"{kind}: {error}"
    except Exception:  # noqa: BLE001  # an error of the program's that has no text; the program must see that one, not this
        text = kind
    return Outcome(error=text, cancelled=kind in _CANCELLED)
