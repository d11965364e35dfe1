"""Converts errors to answers of the service: a status code, and a JSON object with the fault, its place, and a hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from headwater.backend.ingest.intake.bodies import BodyTooLargeError
from headwater.backend.ingest.intake.captures import MissingSegmentsError
from headwater.backend.questions import QuestionEndedError, TooManyQuestionsError
from headwater.errors import (
    DamagedError,
    HeadwaterError,
    InvalidEventError,
    InvalidInputError,
    InvalidJsonError,
    InvalidProvenanceError,
    KeyRequiredError,
    NotFoundError,
    SourceChangedError,
    UnavailableError,
    UnsupportedError,
)

_REFUSED = frozenset({401, 403, 413, 429})
_CLIENT_GONE = 499  # for the log only, as in proxies, because the client is gone
_LONGEST = 2_000  # limit of characters in a message, which may quote the request
_log = structlog.get_logger("headwater.api")


class ForbiddenError(HeadwaterError):
    """The caller lacks the right, or the request has a foreign host name or origin."""

    is_refusal = True


class MethodNotAllowedError(HeadwaterError):
    """The endpoint does not support this method."""


class HeadTooLargeError(InvalidInputError):
    """The first line and the headers of a request are too large."""


class UnsupportedMediaTypeError(InvalidInputError):
    """The endpoint does not support the body's media type."""


class AmbiguousLengthError(InvalidInputError):
    """A request states the end of its body in two ways."""


class NotAcceptableError(InvalidInputError):
    """The service has none of the media types that the caller accepts."""


# The first match counts: special errors before general ones.
_STATUS: tuple[tuple[type[HeadwaterError], int], ...] = (
    (BodyTooLargeError, 413),
    (MissingSegmentsError, 409),
    (NotAcceptableError, 406),
    (HeadTooLargeError, 431),
    (UnsupportedMediaTypeError, 415),
    (InvalidJsonError, 422),
    (InvalidEventError, 422),
    (InvalidProvenanceError, 422),
    (InvalidInputError, 400),
    (KeyRequiredError, 401),
    (ForbiddenError, 403),
    (MethodNotAllowedError, 405),
    (NotFoundError, 404),
    (SourceChangedError, 409),
    (UnsupportedError, 422),
    (DamagedError, 503),
    (TooManyQuestionsError, 429),
    (QuestionEndedError, 504),
    (UnavailableError, 503),
)


def status_of(error: HeadwaterError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def error_response(error: HeadwaterError) -> Response:
    status = status_of(error)
    content: dict[str, Any] = {
        "error": type(error).__name__.removesuffix("Error"),
        "message": error.message[:_LONGEST],
        "field": error.field[:_LONGEST] if isinstance(error, InvalidInputError) and error.field else None,
        "hint": error.hint,
        "transient": error.transient,
    }
    if isinstance(error, InvalidProvenanceError):
        content |= {"line": error.line, "clause": error.clause}
    if isinstance(error, MissingSegmentsError):
        content["missing"] = list(error.missing)
    headers = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}, 503: {"Retry-After": "1"}}.get(status)
    return JSONResponse(content, status, headers=headers)


def install(app: FastAPI, *, refused: Callable[[Request, str], None]) -> None:
    """Install the handlers that convert errors. Internal faults are logged with details, and the caller gets one sentence.

    `refused` is called to audit a refusal.
    """

    async def ours(request: Request, error: HeadwaterError) -> Response:
        response = error_response(error)
        if response.status_code in _REFUSED:
            refused(request, error.message)
        return response

    async def http(_: Request, error: HTTPException) -> Response:
        return JSONResponse(
            {"error": "Http", "message": str(error.detail), "field": None, "hint": None, "transient": False},
            error.status_code,
            headers=error.headers,
        )

    async def parameter(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        return error_response(InvalidInputError(f"{field}: {first['msg']}.", field=field, hint="See /openapi.json."))

    async def fault(request: Request, error: Exception) -> Response:
        _log.error("request failed", path=request.url.path, exc_info=error)
        return JSONResponse(
            {
                "error": "Internal",
                "message": "The service failed at this request.",
                "field": None,
                "hint": "Its log has the details.",
                "transient": False,
            },
            500,
        )

    async def gone(_: Request, __: ClientDisconnect) -> Response:
        return Response(status_code=_CLIENT_GONE)

    app.exception_handler(ClientDisconnect)(gone)
    app.exception_handler(HeadwaterError)(ours)
    app.exception_handler(HTTPException)(http)
    app.exception_handler(RequestValidationError)(parameter)
    app.exception_handler(Exception)(fault)
