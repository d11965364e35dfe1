"""Operations on fields that a program records for its run, as programs in CDAP do: reads, transformations and writes.

Each operation reads a dataset, makes fields of fields, or writes a dataset. An input
names the operation that made the field. A recording is a declaration, and is not checked against data. It becomes an
OpenLineage event. The event's column lineage has a derivation from each read field to each written field that depends
on it, and the event's run has the unchanged operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError

import headwater
from headwater.backend.ingest.intake.events import Instant, Text, describe
from headwater.errors import InvalidInputError
from headwater.graph.views.recorded_steps import RECORDED

_PRODUCER = f"headwater:/{headwater.__version__}/recorder"
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_RUN_FACET = {"_producer": _PRODUCER, "_schemaURL": f"{_SCHEMA}RunFacet"}
_INPUT_FACET = {"_producer": _PRODUCER, "_schemaURL": f"{_SCHEMA}InputDatasetFacet"}
_COLUMN_LINEAGE = "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet"
_MOST_OPERATIONS = 1_000
_MOST_FIELDS = 10_000  # limit of fields of one operation
_MOST_DERIVATIONS = 20_000
_MOST_STEPS = 2_000_000  # limit of operations on the paths of all derivations
_NAMED = 20  # limit of operations that one derivation names
_GREGORIAN = datetime(1582, 10, 15, tzinfo=UTC)  # start of the time in UUIDs of version 1
_UNIX = datetime(1970, 1, 1, tzinfo=UTC)
_TIMED, _OF_UNIX_TIME = 1, 7  # versions of UUIDs that hold a time


class Kind(StrEnum):
    READ = "read"
    TRANSFORM = "transform"
    WRITE = "write"


class _Closed(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class EndPoint(_Closed):
    """A dataset."""

    namespace: Text
    name: Text


class InputField(_Closed):
    """A field, and the operation that made it."""

    origin: Text
    name: Text


class Inputs(_Closed):
    """The inputs of an operation: a dataset, or fields."""

    end_point: EndPoint | None = Field(default=None, alias="endPoint")
    fields: Annotated[list[InputField], Field(max_length=_MOST_FIELDS)] | None = None


class Outputs(_Closed):
    """The outputs of an operation: a dataset, or fields."""

    end_point: EndPoint | None = Field(default=None, alias="endPoint")
    fields: Annotated[list[Text], Field(max_length=_MOST_FIELDS)] | None = None


class Operation(_Closed):
    """One operation. A read has a dataset as input, a write has one as output. All other inputs and outputs are fields."""

    name: Text
    description: Annotated[StrictStr, Field(max_length=8192)] = ""
    inputs: Inputs
    outputs: Outputs

    @property
    def kind(self) -> Kind:
        if self.inputs.end_point is not None:
            return Kind.READ
        return Kind.TRANSFORM if self.outputs.end_point is None else Kind.WRITE

    @property
    def taken(self) -> Sequence[InputField]:
        """Return the input fields."""
        return self.inputs.fields or ()

    @property
    def given(self) -> Sequence[str]:
        """Return the output fields."""
        return self.outputs.fields or ()


class Recording(_Closed):
    """The operations that a run recorded. `time` is the time of the run if the run's id contains none."""

    operations: Annotated[list[Operation], Field(min_length=1, max_length=_MOST_OPERATIONS)]
    time: Instant | None = None


def read_recording(document: Any) -> Recording:
    """Parse a recording. Each operation comes after the operations that made its input fields.

    Raises:
        InvalidInputError: the recording is invalid. `field` is the path of the fault.
    """
    try:
        recording = Recording.model_validate(document)
    except ValidationError as error:
        field, reason = describe(error, "$")
        raise InvalidInputError(f"{field}: {reason}.", field=field, hint="See docs/reference/other-clients.md for the form.") from error
    _check(recording.operations)
    return Recording(operations=_in_order(recording.operations), time=recording.time)


def event_of(recording: Recording, *, namespace: str, application: str, program: str, kind: str, run: str) -> dict[str, Any]:
    """Convert a recording to an OpenLineage event.

    Raises:
        InvalidInputError: the number of derivations exceeds the limit.
    """
    operations = [operation.model_dump(by_alias=True, exclude_none=True) for operation in recording.operations]
    facet: dict[str, Any] = {**_RUN_FACET, "declared": True, "programType": kind, "operations": operations}
    if application != program:
        facet["application"] = {"namespace": namespace, "name": application}
    return {
        "eventType": "OTHER",  # the recording does not tell how the run ended
        "eventTime": recording.time or _time_of(run) or datetime.now(UTC).isoformat(timespec="microseconds"),
        "producer": _PRODUCER,
        "schemaURL": f"{_SCHEMA}RunEvent",
        "run": {"runId": run, "facets": {RECORDED: facet}},
        "job": {"namespace": namespace, "name": program},
        "inputs": _inputs(recording.operations),
        "outputs": _outputs(recording.operations),
    }


def recorded_of(properties: Mapping[str, Any]) -> list[Operation]:
    """Return the operations in a run's properties. Any event may set them, so an invalid recording gives none."""
    stated = properties.get(RECORDED)
    try:
        return list(read_recording({"operations": stated.get("operations")}).operations) if isinstance(stated, Mapping) else []
    except InvalidInputError:
        return []


def operations_about(operations: Sequence[Operation], endpoint: EndPoint, field: str, *, incoming: bool) -> list[Operation]:
    """Return the operations that made a field of a dataset (`incoming`), or that made other fields from it, in order.

    A write lists only requested fields, or fields that derive from them.
    """
    found: dict[str, Operation] = {}
    if incoming:
        wanted: set[tuple[str, str]] = set()
        for operation in reversed(operations):
            if operation.kind is Kind.WRITE:
                taken = [one for one in operation.taken if one.name == field] if operation.outputs.end_point == endpoint else []
                if not taken:
                    continue
                found[operation.name] = operation.model_copy(update={"inputs": Inputs(fields=taken)})
            else:
                given = [name for name in operation.given if (operation.name, name) in wanted]
                if not given:
                    continue
                found[operation.name] = operation
                taken = list(operation.taken)
            wanted |= {(one.origin, one.name) for one in taken}
        return [found[operation.name] for operation in operations if operation.name in found]
    made: set[tuple[str, str]] = set()
    for operation in operations:
        if operation.kind is Kind.READ:
            if operation.inputs.end_point == endpoint and field in operation.given:
                found[operation.name] = operation.model_copy(update={"outputs": Outputs(fields=[field])})
                made.add((operation.name, field))
            continue
        taken = [one for one in operation.taken if (one.origin, one.name) in made]
        if taken:
            is_write = operation.kind is Kind.WRITE
            found[operation.name] = operation.model_copy(update={"inputs": Inputs(fields=taken)}) if is_write else operation
            made |= {(operation.name, name) for name in operation.given}
    return list(found.values())


def _check(operations: Sequence[Operation]) -> None:
    twice = next((name for name, count in Counter(operation.name for operation in operations).items() if count > 1), None)
    if twice is not None:
        raise InvalidInputError(f"Two operations are called {twice!r}.", field="$.operations", hint="Inputs refer to operations by name.")
    given = {operation.name: set(operation.given) for operation in operations if operation.kind is not Kind.WRITE}
    for index, operation in enumerate(operations):
        path = f"$.operations[{index}]"
        inputs, outputs = operation.inputs, operation.outputs
        if (inputs.end_point is None) == (inputs.fields is None) or (outputs.end_point is None) == (outputs.fields is None):
            raise InvalidInputError(f"{path} has not one of endPoint and fields on each side.", field=path, hint=_FORMS)
        if inputs.end_point is not None and outputs.end_point is not None:
            raise InvalidInputError(f"{path} goes from a dataset to a dataset.", field=path, hint=_FORMS)
        for place, one in enumerate(operation.taken):
            if one.name not in given.get(one.origin, ()):
                raise InvalidInputError(
                    f"{path}.inputs.fields[{place}]: no operation {one.origin!r} gives a field {one.name!r}.",
                    field=f"{path}.inputs.fields[{place}]", hint="The origin of a field is the operation among whose outputs it is.",
                )  # fmt: skip
    missing = {Kind.READ, Kind.WRITE} - {operation.kind for operation in operations}
    if missing:
        raise InvalidInputError(f"No operation is a {min(missing)}.", field="$.operations", hint=_FORMS)


_FORMS = "A read has inputs.endPoint and outputs.fields, a write inputs.fields and outputs.endPoint, any other fields on both sides."


def _in_order(operations: Sequence[Operation]) -> list[Operation]:
    """Sort the operations so that each comes after the operations that made its input fields. The order is otherwise kept.

    Raises:
        InvalidInputError: operations depend on each other in a cycle.
    """
    waiting, found = list(operations), list[Operation]()
    missing = {operation.name: {one.origin for one in operation.taken} for operation in operations}
    takers: dict[str, list[str]] = {}
    for name, origins in missing.items():
        for origin in origins:
            takers.setdefault(origin, []).append(name)
    while waiting:
        later = []
        for operation in waiting:
            if not missing[operation.name]:
                found.append(operation)
                for taker in takers.get(operation.name, ()):
                    missing[taker].discard(operation.name)
            else:
                later.append(operation)
        if len(later) == len(waiting):
            raise InvalidInputError(
                f"{later[0].name!r} takes fields that are made of its own.", field="$.operations", hint="Operations must not form a circle."
            )
        waiting = later
    return found


def _inputs(operations: Iterable[Operation]) -> list[dict[str, Any]]:
    read: dict[EndPoint, dict[str, None]] = {}
    for operation in operations:
        if operation.inputs.end_point is not None:
            read.setdefault(operation.inputs.end_point, {}).update(dict.fromkeys(operation.given))
    return [
        {
            **endpoint.model_dump(),
            "inputFacets": {"headwater_fieldAccess": {**_INPUT_FACET, "fields": [{"name": field, "ways": []} for field in fields]}},
        }
        for endpoint, fields in read.items()
    ]


def _outputs(operations: Sequence[Operation]) -> list[dict[str, Any]]:
    sources: list[tuple[EndPoint, str]] = []  # the read fields; their indexes are bits of the masks
    made_of: dict[str, bytes] = {}  # by operation: mask of the sources on which its inputs depend, lowest bits first
    field_of: dict[tuple[str, str], int] = {}
    through: dict[str, int] = {}  # by operation: the operations on the paths to its outputs, as a mask
    ways: dict[str, list[str]] = {}  # by operation: the names of these operations
    written: dict[EndPoint, dict[str, dict[str, Any]]] = {}
    count = counted = 0
    for place, operation in enumerate(operations):
        mask = passed = 0
        for one in operation.taken:
            mask |= field_of[one.origin, one.name]
            passed |= through[one.origin]
        made_of[operation.name] = mask.to_bytes(mask.bit_length() // 8 + 1, "little")
        if operation.kind is Kind.READ:
            assert operation.inputs.end_point is not None  # noqa: S101 - so a read is told
            for name in dict.fromkeys(operation.given):
                field_of[operation.name, name] = 1 << len(sources)
                sources.append((operation.inputs.end_point, name))
            through[operation.name] = 0
        elif operation.kind is Kind.TRANSFORM:
            field_of |= {(operation.name, name): mask for name in operation.given}
            through[operation.name] = passed | 1 << place
        else:
            assert operation.outputs.end_point is not None  # noqa: S101 - so a write is told
            fields = written.setdefault(operation.outputs.end_point, {})
            for one in operation.taken:
                if one.origin not in ways:
                    ways[one.origin] = [operations[bit].name for bit in _bits(through[one.origin])]
                steps, of = ways[one.origin], field_of[one.origin, one.name]
                pairs = of.bit_count()
                count, counted = count + pairs, counted + pairs * len(steps)
                _check_work(count, counted)
                made = [_made(sources[bit], bit, steps, made_of) for bit in _bits(of)]
                fields.setdefault(one.name, {"inputFields": []})["inputFields"] += made
    return [
        {
            **endpoint.model_dump(),
            "facets": {"columnLineage": {"_producer": _PRODUCER, "_schemaURL": _COLUMN_LINEAGE, "fields": fields}},
        }
        for endpoint, fields in written.items()
    ]


def _check_work(pairs: int, steps: int) -> None:
    """Check the limits before the work begins, because a small recording may state very many derivations."""
    if pairs > _MOST_DERIVATIONS:
        raise InvalidInputError(
            f"More than {_MOST_DERIVATIONS:,} fields are made of fields.", field="$.operations", hint="Record fewer at once."
        )
    if steps > _MOST_STEPS:
        raise InvalidInputError(
            f"The fields are made of each other by more than {_MOST_STEPS:,} steps.", field="$.operations", hint="Record fewer at once."
        )


def _made(source: tuple[EndPoint, str], bit: int, steps: Sequence[str], made_of: Mapping[str, bytes]) -> dict[str, Any]:
    at, place = bit >> 3, bit & 7
    names = [step for step in steps if at < len(of := made_of[step]) and of[at] >> place & 1]
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return {
        **source[0].model_dump(), "field": source[1],
        "transformations": [{
            "type": "DIRECT", "subtype": "TRANSFORMATION" if names else "IDENTITY",
            "description": ", ".join(names[:_NAMED]) + more, "masking": False, "declared": True,
        }],
    }  # fmt: skip


def _bits(mask: int) -> Iterable[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _time_of(run: str) -> str | None:
    """Return the time in a run's id (UUIDs of version 1 and 7), as CDAP's ids have it."""
    identifier = UUID(run)
    try:
        if identifier.version == _TIMED:
            at = _GREGORIAN + timedelta(microseconds=identifier.time // 10)
        elif identifier.version == _OF_UNIX_TIME:
            at = _UNIX + timedelta(milliseconds=identifier.int >> 80)
        else:
            return None
    except OverflowError:
        return None
    is_likely = _UNIX < at < datetime.now(UTC) + timedelta(days=1)
    return at.isoformat(timespec="microseconds") if is_likely else None
