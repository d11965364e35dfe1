"""Bytes to JSON documents, and a document's key.

A body is one document or an array of them; of an array each element keeps its own bytes, so that the log holds what was sent. A
document must be I-JSON (RFC 7493): UTF-8, no NaN, no lone surrogates. Its key is the SHA-256 of its canonical form (RFC 8785).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import rfc8785

from headwater.errors import InvalidEventError

_SAFE_INTEGER = 2**53 - 1
_BLANK = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value, its bytes as they came, and the path of it in the body: `$`, or `$[n]` in an array."""

    value: Any
    body: bytes
    path: str


def read_documents(body: bytes) -> list[Document]:
    """The documents of a body, in order.

    Raises:
        InvalidEventError: the body is not JSON; the message says where it breaks.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidEventError(
            f"The body is not UTF-8: byte {error.start} is {body[error.start]:#04x}.", field="$", hint="Send JSON in UTF-8."
        ) from error
    try:
        return _array(text) if text.lstrip()[:1] == "[" else [Document(_DECODER.decode(text), body, "$")]
    except json.JSONDecodeError as error:
        raise InvalidEventError(f"The body is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.", field="$") from error
    except RecursionError as error:
        raise InvalidEventError("The body is nested too deeply.", field="$") from error
    except ValueError as error:
        raise InvalidEventError(f"The body is not I-JSON: {error}.", field="$") from error


def document_key(value: Any) -> bytes:
    """The SHA-256 of a document's canonical form: equal for equal documents, however they are written.

    RFC 8785 has no integers beyond 2^53; Spark's statistics do. They enter as `{"integer": text}`: no two of them are taken for one.

    Raises:
        InvalidEventError: a text holds a lone surrogate, or the document is nested too deeply.
    """
    try:
        try:
            canonical = rfc8785.dumps(value)
        except rfc8785.IntegerDomainError:
            canonical = rfc8785.dumps(_with_large_integers(value))
    except rfc8785.CanonicalizationError as error:
        raise InvalidEventError(
            f"The document has no canonical form: {error}.", field="$", hint="Send text without lone surrogates."
        ) from error
    except RecursionError as error:
        raise InvalidEventError("The document is nested too deeply.", field="$") from error
    return sha256(canonical).digest()


def _array(text: str) -> list[Document]:
    documents: list[Document] = []
    place = _skip(text, text.index("[") + 1)
    if text[place : place + 1] == "]":
        return _ended(text, place, documents)
    while True:
        value, end = _DECODER.raw_decode(text, place)
        documents.append(Document(value, text[place:end].encode("utf-8"), f"$[{len(documents)}]"))
        place = _skip(text, end)
        mark = text[place : place + 1]
        if mark == "]":
            return _ended(text, place, documents)
        if mark != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, place)
        place = _skip(text, place + 1)


def _ended(text: str, bracket: int, documents: list[Document]) -> list[Document]:
    rest = _skip(text, bracket + 1)
    if rest != len(text):
        raise json.JSONDecodeError("Extra data", text, rest)
    return documents


def _skip(text: str, place: int) -> int:
    match = _BLANK.match(text, place)
    return match.end() if match else place


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _with_large_integers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_large_integers(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_with_large_integers(child) for child in value]
    if isinstance(value, int) and abs(value) > _SAFE_INTEGER:
        return {"integer": str(value)}
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
