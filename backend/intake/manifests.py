"""What a capture's manifest must look like at the door (docs/reference/capture-format.md, version 1).

For intake. It holds the manifest to what identifies things, and to what file names are made of, so that no text of a sender ever becomes
a path. What the plan means is the business of the association store.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from headwater.backend.intake.documents import Document
from headwater.backend.intake.events import Instant, Open, RunId, Text, describe
from headwater.errors import InvalidCaptureError

_SEGMENT = re.compile(r"b(-1|\d{1,9})-s\d{1,9}\.\d{1,9}-p\d{1,9}-a\d{1,18}\.seg")
_CAPTURE = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def check_segment_name(name: str) -> str:
    """The name, if it is one of the format.

    Raises:
        ValueError: it is not.
    """
    if not _SEGMENT.fullmatch(name):
        raise ValueError("not a segment's name, which reads b{boundary}-s{stage}.{stage attempt}-p{partition}-a{attempt}.seg")
    return name


def check_capture_id(text: str) -> str:
    """The id, if it is a UUID in its usual form (it names a folder).

    Raises:
        ValueError: it is not.
    """
    if not _CAPTURE.fullmatch(text):
        raise ValueError("not a UUID")
    return text.lower()


Name = Annotated[StrictStr, AfterValidator(check_segment_name)]
Count = Annotated[StrictInt, Field(ge=0)]


class _RunName(Open):
    namespace: Text
    job: Text
    run_id: RunId


class _Application(Open):
    id: Text
    name: StrictStr
    spark: Text


class _Problem(Open):
    operator: StrictStr | None = None
    reason: StrictStr
    kind: Literal["refused", "superset", "missing", "fault"]


class _DatasetName(Open):
    namespace: Text
    name: Text


class _Source(Open):
    source: StrictInt
    dataset: _DatasetName
    path: Text
    format: Text
    files: list[dict[str, Any]]
    options: dict[str, Any] = Field(default_factory=dict)


class _Operator(Open):
    id: StrictInt
    op: Text
    children: list[StrictInt]


class _Boundary(Open):
    boundary: StrictInt
    kind: Literal["sink", "group", "window"]
    columns: list[dict[str, Any]]


class _Sink(Open):
    boundary: StrictInt | None = None
    dataset: _DatasetName
    path: Text
    options: dict[str, Any] = Field(default_factory=dict)


class _Segment(Open):
    # The format's names are snake case here, so no alias.
    model_config = ConfigDict(extra="allow", frozen=True, alias_generator=None)

    name: Name
    boundary: StrictInt
    partition: Count
    attempt: Count
    rows: Count
    bytes: Count
    sha256: Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{64}$")]


class _Manifest(Open):
    format: Literal[1]
    capture: Annotated[StrictStr, AfterValidator(check_capture_id)]
    run: _RunName
    application: _Application
    started: Instant
    ended: Instant
    mode: Text
    status: Literal["complete", "partial", "refused"]
    problems: list[_Problem]
    sources: list[_Source]
    operators: list[_Operator]
    boundaries: list[_Boundary]
    sink: _Sink
    segments: list[_Segment]


def check_manifest(document: Document) -> dict[str, Any]:
    """The manifest as a mapping, if it is one.

    Raises:
        InvalidCaptureError: it is not; `field` is the path of the first thing that is wrong, as `$.segments[2].sha256`.
    """
    value = document.value
    if not isinstance(value, dict):
        raise InvalidCaptureError("The body is not a manifest but another JSON value.", field=document.path, hint="Send one manifest.")
    try:
        _Manifest.model_validate(value)
    except ValidationError as error:
        field, reason = describe(error, document.path)
        raise InvalidCaptureError(f"{field}: {reason}.", field=field, hint="See docs/reference/capture-format.md.") from error
    return value
