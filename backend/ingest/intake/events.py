"""The accepted form of an OpenLineage event (OpenLineage.json 2-0-2 and the facets that the projection reads).

The form is strict about identifiers and about the facets that become lineage. Everything else is open,
because producers add their own facets. A refusal names the first wrong field as a JSON path. The check must stop
there, because a body may consist of faults only.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, StrictStr, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from headwater.backend.ingest.intake.documents import Document
from headwater.errors import InvalidEventError
from headwater.graph.model import run_uuid

_MOST_AHEAD = timedelta(days=1)  # an event from the future would count as the last one, and hide what later runs do


def _instant(text: str) -> str:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("not a date and time of RFC 3339, as 2013-02-12T03:00:00Z") from error
    try:
        parsed.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("outside of the years 1 to 9999 in UTC") from error
    if parsed.tzinfo is None:
        raise ValueError("a time without its zone; end it in Z or an offset as +01:00")
    if parsed > datetime.now(UTC) + _MOST_AHEAD:
        raise ValueError("more than a day in the future; set the clock of the machine that sends the event")
    return text


def _uuid(text: str) -> str:
    if run_uuid(text) is None:
        raise ValueError("not a UUID")
    return text


def _event_type(text: str) -> str:
    if text not in _EVENT_TYPES:
        raise ValueError(f"not one of {', '.join(_EVENT_TYPES)}")
    return text


_MOST_DATASETS, _MOST_COLUMNS = 20_000, 50_000
_EVENT_TYPES = ("START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER")

Text = Annotated[StrictStr, Field(min_length=1, max_length=8192)]
ColumnName = Annotated[StrictStr, Field(max_length=8192)] | None  # the projection leaves out columns without a name, and reports them
Instant = Annotated[StrictStr, AfterValidator(_instant)]
RunId = Annotated[StrictStr, AfterValidator(_uuid)]
AnyFacet = dict[str, Any] | None


class _FirstFault(FailFast):
    """Ends the check of a list at its first fault. Hashable, because Python needs this if the list may be missing."""

    def __hash__(self) -> int:
        return hash(_FirstFault)


class Open(BaseModel):
    """The base of the models: frozen, with camelCase names. Unknown members are ignored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel)


class _InnerError(ValueError):
    """The first fault in the member `name` of an object."""

    def __init__(self, name: str, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path, self.reason = f".{name}{path}", reason


class _Facets(Open):
    """Facets by name. Each facet is an object."""

    @model_validator(mode="before")
    @classmethod
    def _objects(cls, value: Any) -> Any:
        for name, facet in value.items() if isinstance(value, dict) else ():
            if facet is not None and not isinstance(facet, dict):
                raise _InnerError(name, "", f"must be an object; it was {_shown(facet)}")
        return value


class _Field(Open):
    name: ColumnName = None
    type: StrictStr | None = None
    fields: Annotated[list[_Field], _FirstFault(), Field(max_length=_MOST_COLUMNS)] | None = None


class _SchemaFacet(Open):
    fields: Annotated[list[_Field], _FirstFault(), Field(max_length=_MOST_COLUMNS)] | None = None


class _InputField(Open):
    namespace: Text
    name: Text
    field: ColumnName = None
    transformations: Annotated[list[dict[str, Any]], _FirstFault()] | None = None


class _OutputField(Open):
    input_fields: Annotated[list[_InputField], _FirstFault()]


def _output_fields(fields: dict[str, Any]) -> dict[str, Any]:
    for name, field in fields.items():
        try:
            _OutputField.model_validate(field)
        except ValidationError as error:
            path, reason = describe(error, "")
            raise _InnerError(name, path, reason) from error
    return fields


class _ColumnLineageFacet(Open):
    fields: Annotated[dict[str, Any], AfterValidator(_output_fields)]
    dataset: Annotated[list[_InputField], _FirstFault()] | None = None


class _VersionFacet(Open):
    dataset_version: Text


class _LifecycleFacet(Open):
    lifecycle_state_change: Text


class _DatasetFacets(_Facets):
    schema_: _SchemaFacet | None = Field(default=None, alias="schema")
    column_lineage: _ColumnLineageFacet | None = None
    version: _VersionFacet | None = None
    lifecycle_state_change: _LifecycleFacet | None = None


class _Dataset(Open):
    namespace: Text
    name: Text
    facets: _DatasetFacets | None = None
    input_facets: _Facets | None = None
    output_facets: _Facets | None = None


class _Job(Open):
    namespace: Text
    name: Text
    facets: _Facets | None = None


class _RunRef(Open):
    run_id: RunId


class _ParentFacet(Open):
    run: _RunRef
    job: _Job


class _ErrorMessageFacet(Open):
    message: StrictStr


class _RunFacets(_Facets):
    parent: _ParentFacet | None = None
    error_message: _ErrorMessageFacet | None = None


class _Run(Open):
    run_id: RunId
    facets: _RunFacets | None = None


class _Event(Open):
    event_time: Instant
    producer: Text
    schema_url: Annotated[StrictStr, Field(min_length=1, alias="schemaURL")]


class RunEvent(_Event):
    """An event about the state of a run."""

    run: _Run
    job: _Job
    event_type: Annotated[StrictStr, AfterValidator(_event_type)] | None = None
    inputs: Annotated[list[_Dataset], _FirstFault(), Field(max_length=_MOST_DATASETS)] | None = None
    outputs: Annotated[list[_Dataset], _FirstFault(), Field(max_length=_MOST_DATASETS)] | None = None


class JobEvent(_Event):
    """An event about a job without a run."""

    job: _Job
    inputs: Annotated[list[_Dataset], _FirstFault(), Field(max_length=_MOST_DATASETS)] | None = None
    outputs: Annotated[list[_Dataset], _FirstFault(), Field(max_length=_MOST_DATASETS)] | None = None


class DatasetEvent(_Event):
    """An event about a dataset without a job."""

    dataset: _Dataset


def check_event(document: Document) -> None:
    """Check that a document is an OpenLineage event.

    Raises:
        InvalidEventError: the document is invalid. `field` is the path of the first fault, for example `$.run.runId`.
    """
    value = document.value
    if not isinstance(value, dict):
        raise InvalidEventError(
            f"{document.path} is {_kind(value)}, not an event.", field=document.path, hint="Send an OpenLineage event, or an array of them."
        )
    try:
        _model_for(value, document.path).model_validate(value)
    except ValidationError as error:
        field, reason = describe(error, document.path)
        raise InvalidEventError(
            f"{field}: {reason}.", field=field, hint="This is the first fault that was found; see https://openlineage.io/spec."
        ) from error


def describe(error: ValidationError, path: str) -> tuple[str, str]:
    """Return the JSON path of the first wrong field, and the reason."""
    first = error.errors(include_url=False)[0]
    where = path + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    inner = first.get("ctx", {}).get("error")
    return (where + inner.path, inner.reason) if isinstance(inner, _InnerError) else (where, _reason(first))


def _model_for(value: dict[str, Any], path: str) -> type[_Event]:
    if "run" in value:
        return RunEvent
    if "job" in value:
        return JobEvent
    if "dataset" in value:
        return DatasetEvent
    raise InvalidEventError(
        f"{path} has none of run, job and dataset; it has {', '.join(name[:80] for name in sorted(value)[:8]) or 'nothing'}.",
        field=f"{path}.run",
        hint="A RunEvent has run and job, a JobEvent job, a DatasetEvent dataset.",
    )


def _reason(error: Any) -> str:
    if error["type"] == "missing":
        return "is missing"
    reason = error["msg"].removeprefix("Value error, ")
    return f"{reason}; it was {_shown(error['input'])}"


def _shown(value: Any) -> str:
    return repr(value[:80]) if isinstance(value, str) else _kind(value)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}
    return names[type(value)]
