"""The interface of a kind of replay. A kind selects the records and programs to run, and the rows to compare.

A kind must refuse an impossible request before anything runs. It never starts a program and never writes. The service does this.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from headwater.backend.rerun.replay.invocations import Upstream
from headwater.backend.rerun.replay.patch_file import Patch
from headwater.backend.rerun.replay.plan import StartingPoint
from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.model import Node, NodeKind, parse_id
from headwater.graph.names import nodes_named
from headwater.graph.records import DataRoots
from headwater.graph.storage.addresses import is_remote
from headwater.graph.stores import GraphStore
from headwater.graph.trace import Grain, TraceAnswer, TracedRecord, TraceRequest

Edits = Mapping[str, Mapping[str, Mapping[str, str | None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """A request for a replay. `output` is the dataset to make again. `dataset` is the source whose records change.

    `where` and `rows` select records of `dataset`, or of `output` if the kind traces backward. `rows` are (file, 0-based row).
    `set_values` are the new values of the selected records by column, as text; None is NULL. `patches` are new values of single records.
    `script` replaces a registered script. Only the operator of the home may name a script.
    """

    output: str | None = None
    dataset: str | None = None
    where: str | None = None
    rows: Sequence[tuple[str, int]] = ()
    set_values: Mapping[str, str | None] = field(default_factory=dict)
    patches: Sequence[Patch] = ()
    script: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work of a replay: the applications of `start` run in their order. `script` replaces the script of the application `edited`.

    `changed` are paths of datasets; the replay stores partial results of aggregates over them. The other fields are those of `Replay`.
    """

    output: str
    outputs: Sequence[str] = ()
    upstream: Upstream
    start: StartingPoint
    exclude: Mapping[str, Sequence[int]] = field(default_factory=dict)
    keep: Mapping[str, Sequence[int]] = field(default_factory=dict)
    restrict: Sequence[str] = ()
    edits: Edits = field(default_factory=dict)
    changed: Sequence[str] = ()
    chosen: Mapping[str, Sequence[int]] | None = None
    edited: str | None = None
    script: Path | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """The services that a kind may use for one tenant."""

    tenant: str
    graph: GraphStore
    roots: DataRoots
    answer: Callable[[str, TraceRequest], Awaitable[TraceAnswer]]

    async def trace(self, request: TraceRequest) -> TraceAnswer:
        return await self.answer(self.tenant, request)

    async def find_dataset(self, text: str, field: str) -> str:
        """Return the id of the dataset that a text names.

        Raises:
            InvalidQueryError: no dataset or more than one has this name.
        """
        found: Sequence[Node] = await nodes_named(self.graph, self.tenant, text, (NodeKind.DATASET,))
        if not found:
            raise InvalidQueryError(f"No dataset is named {text}.", field=field, hint="`headwater lineage` shows the datasets of a job.")
        if len(found) > 1:
            raise InvalidQueryError(f"{text} names {', '.join(node.id for node in found)}.", field=field, hint="Give the id of one.")
        return found[0].id


class Kind(Protocol):
    """A kind of replay. `takes` names the fields of a request that the kind uses in addition to `output`. Other fields are refused."""

    takes: frozenset[str]

    async def plan(self, request: ReplayRequest, sources: Sources) -> Work:
        """Plan the work of a request. Raises a `HeadwaterError` if the kind cannot do it."""


def refuse_other_parts(request: ReplayRequest, name: str, kind: Kind) -> None:
    """Check that a request has no field that its kind would ignore.

    Raises:
        InvalidQueryError: the request has such a field.
    """
    parts = ("dataset", "where", "rows", "set_values", "patches", "script")
    if extra := [part for part in parts if getattr(request, part) not in (None, (), [], {}) and part not in kind.takes]:
        raise InvalidQueryError(
            f"A replay of the kind {name} takes no {extra[0]}.",
            field=extra[0],
            hint=f"It takes {', '.join(['output', *sorted(kind.takes)])}.",
        )


def require(value: str | None, field: str, hint: str) -> str:
    if not value:
        raise InvalidQueryError(f"The request has no {field}.", field=field, hint=hint)
    return value


def rows_by_file(records: Sequence[TracedRecord], purpose: str) -> dict[str, list[int]]:
    """Return the row numbers of records by file.

    Raises:
        InvalidQueryError: a record is known only at a coarser grain. The message includes `purpose`.
    """
    files: dict[str, list[int]] = {}
    for record in records:
        if record.grain is not Grain.RECORD or record.file is None or record.row is None:
            raise InvalidQueryError(f"{record.dataset} is known at the grain of a {record.grain}; only records can be {purpose}.")
        files.setdefault(record.file, []).append(record.row)
    return files


def file_prefix(dataset: str) -> str:
    """Return the path of a dataset in the form that its files' paths have: `file:/a/b`, `s3://b/k`."""
    namespace, name = parse_id(dataset)[1]
    return f"file:{name}" if namespace == "file" else place_of(dataset)


def place_of(dataset: str) -> str:
    """Return the local path of a dataset, or its URI in remote storage.

    Raises:
        UnsupportedError: the dataset has neither.
    """
    namespace, name = parse_id(dataset)[1]
    if namespace == "file":
        return name
    place = f"{namespace.rstrip('/')}/{name.lstrip('/')}"
    if not is_remote(place):
        raise UnsupportedError(f"{dataset} is neither on a local file system nor on an object store, so a replay cannot compare it.")
    return place
