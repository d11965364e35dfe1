"""Detects at intake documents that projection would refuse, for ids that no store accepts, and times out of range.

An acknowledged document must not become a dead letter for a fault that could be detected before. The whole projection is tried only if
something in the document is unusual, so that an ordinary event costs one search of its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headwater.backend.projection.actors import ACTOR
from headwater.backend.projection.capture import capture_stamp, project_capture
from headwater.backend.projection.declaration import declaration_stamp, project_declaration
from headwater.backend.projection.event import event_stamp, project_event
from headwater.errors import InvalidCaptureError, InvalidEventError, InvalidInputError
from headwater.graph.model.changes import collect
from headwater.graph.model.declaration import Declaration

# A byte becomes at most three characters of an id, and an id has four parts, so shorter texts never make an id that is too long.
_LONG = 300
_LONG_TEXT = re.compile(rb'"[^"]{301}')  # a longer text, or the characters between two texts
# Members whose texts may be long, and are not part of an id.
_PROSE = frozenset({b"query", b"stackTrace", b"message", b"description", b"text", b"sourceCode"})
_ACTOR = ACTOR.encode()  # a facet that contains nodes
_EDGE_OF_TIME = (b'"0000-', b'"0001-', b'"9999-')


def rehearse_event(event: Mapping[str, Any], body: bytes, path: str) -> None:
    """Check that an event can be projected.

    Raises:
        InvalidEventError: the event cannot be projected.
    """
    if not _has_long_name(body) and not any(edge in body for edge in _EDGE_OF_TIME) and _ACTOR not in body:
        return
    try:
        collect([project_event(event, event_stamp(event, ""))])
    except InvalidInputError as error:
        field = path + (error.field or "$").removeprefix("$") if (error.field or "$").startswith("$") else path
        raise InvalidEventError(f"{path}: {error.message}", field=field, hint=error.hint) from error


def _has_long_name(body: bytes) -> bool:
    if b'\\"' in body:
        return True  # an escape hides the end of the text
    if _LONG_TEXT.search(body) is None:
        return False
    texts = body.split(b'"')
    if max(map(len, texts)) <= _LONG:
        return False
    return any(len(text) > _LONG and texts[place - 2] not in _PROSE for place, text in enumerate(texts))


def rehearse_capture(manifest: Mapping[str, Any]) -> None:
    """Check that a manifest can be projected.

    Raises:
        InvalidCaptureError: the manifest cannot be projected.
    """
    try:
        collect([project_capture(manifest, capture_stamp(manifest, ""), [])])
    except InvalidInputError as error:
        raise InvalidCaptureError(error.message, field=error.field, hint=error.hint) from error


def rehearse_declaration(declaration: Declaration) -> None:
    collect([project_declaration(declaration, declaration_stamp(declaration, ""))])
