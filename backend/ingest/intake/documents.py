"""Parses bytes to JSON documents, and computes a document's key.

A body is one document or an array of them. Each element of an array keeps its
original bytes, because the log contains exactly what was sent. Elements are read one at a time, so that memory holds one of
them. A document must be I-JSON (RFC 7493): UTF-8, no NaN, no lone surrogates, no duplicate member. Its key is the SHA-256
of its canonical form (RFC 8785). A document beyond its limits is not parsed.

Most documents are plain: no escapes, fractions or large integers. The standard library's C code alone parses and
writes a plain document. Its canonical form serves every later step: it shows duplicate members, and whether a text
may be a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import rfc8785

from headwater.backend.ingest.intake.scan import EVENT, MAX_DEPTH, Bounds, is_within, value_end
from headwater.errors import InvalidJsonError

MAX_DOCUMENTS = 50_000
_SAFE_INTEGER = 2**53 - 1
_SAFE_DIGITS = 15
_BLANK = re.compile(rb"[ \t\r\n]*")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# Matches numbers that are fractions or may be large. Similar characters within a text match, too.
_NOT_PLAIN = re.compile(r'(?:":|[\[,])-?(?:\d+[.eE]|\d{16})')
_RARE = re.compile("[\U00010000-\U0010ffff]")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value, its original bytes, and its path in the body: `$`, or `$[n]` in an array.

    `fault` is set if the text is JSON but not I-JSON. `canonical` is the canonical form, if parsing produced it.
    """

    value: Any
    body: bytes
    path: str
    fault: InvalidJsonError | None = None
    canonical: str | None = None


def read_documents(body: bytes, bounds: Bounds = EVENT) -> Iterator[Document]:
    """Yield the documents of a body, in order. Each one is parsed when it is requested.

    Raises:
        InvalidJsonError: the body is not JSON (the message names the position), or has too many or too large documents.
    """
    place = _skip(body, 0)
    if body[place : place + 1] != b"[":
        if not is_within(body, bounds):
            value_end(body, place, bounds, "$")
        yield _document(body, 0, len(body), "$")
        return
    place, number = _skip(body, place + 1), 0
    if body[place : place + 1] == b"]":
        _require_end(body, place)
        return
    while True:
        if number == MAX_DOCUMENTS:
            raise InvalidJsonError(f"The body holds more than {MAX_DOCUMENTS:,} documents.", field="$", hint="Send fewer at once.")
        end = value_end(body, place, bounds, f"$[{number}]")
        yield _document(body, place, end, f"$[{number}]")
        place, number = _skip(body, end), number + 1
        mark = body[place : place + 1]
        if mark == b"]":
            _require_end(body, place)
            return
        if mark != b",":
            raise _not_json(body, place, "Expecting ',' delimiter")
        place = _skip(body, place + 1)


def read_document(body: bytes, bounds: Bounds) -> Any:
    """Return the one JSON value of a body. An array counts as one value.

    Raises:
        InvalidJsonError: the body is not I-JSON, or exceeds its limits.
    """
    value_end(body, _skip(body, 0), bounds, "$")
    document = _document(body, 0, len(body), "$")
    if document.fault is not None:
        raise document.fault
    return document.value


def document_key(value: Any) -> bytes:
    """Return the SHA-256 of a document's canonical form. Equal documents have equal keys, however they are formatted.

    RFC 8785 has no integers beyond 2^53. Spark's statistics have such integers. They become `{"integer": text}`, and
    stay distinct.

    Raises:
        InvalidJsonError: a text contains a lone surrogate, or the document is nested too deeply.
    """
    if (canonical := _canonical_at_once(value)) is not None:
        return sha256(canonical).digest()
    return _key_by_the_letter(value)


def key_of(document: Document) -> bytes:
    """Return the key of a document without a fault (see `document_key`)."""
    canonical = document.canonical
    return document_key(document.value) if canonical is None else sha256(canonical.encode("utf-8")).digest()


def _key_by_the_letter(value: Any) -> bytes:
    try:
        try:
            canonical = rfc8785.dumps(value)
        except rfc8785.IntegerDomainError:
            canonical = rfc8785.dumps(_with_large_integers(value))
    except rfc8785.CanonicalizationError as error:
        raise InvalidJsonError(
            f"The document has no canonical form: {error}.", field="$", hint="Send text without lone surrogates."
        ) from error
    except RecursionError as error:
        raise InvalidJsonError("The document is nested too deeply.", field="$") from error
    return sha256(canonical).digest()


def _canonical_at_once(value: Any) -> bytes | None:
    """Return the canonical form from the standard library, which is ten times faster, or None if it would differ.

    RFC 8785 differs for fractions, large integers, and names with characters outside of the basic plane.
    """
    if not isinstance(value, dict):
        return None
    try:
        text = _written(value)
        if _has_rare(text) or _NOT_PLAIN.search(text):
            return None
        return text.encode("utf-8")
    except (ValueError, TypeError, RecursionError):
        return None  # the slow path reports the error


def _has_rare(text: str) -> bool:
    """Whether a text has characters that change the order of names, because RFC 8785 compares their UTF-16 code units."""
    return not text.isascii() and _RARE.search(text) is not None


def _document(body: bytes, start: int, end: int, path: str) -> Document:
    raw = body if end - start == len(body) else body[start:end]
    if b"\\" not in raw and (plain := _plain_document(raw, path)) is not None:
        return plain
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
        if _SURROGATE.search(raw):
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails at a lone surrogate
    except UnicodeDecodeError as error:
        at = start + error.start
        raise InvalidJsonError(f"The body is not UTF-8: byte {at} is {body[at]:#04x}.", field="$", hint="Send JSON in UTF-8.") from error
    except json.JSONDecodeError as error:
        raise _not_json(body, start + len(error.doc[: error.pos].encode("utf-8", "surrogatepass")), error.msg) from error
    except UnicodeEncodeError as error:
        return Document(None, raw, path, _fault(path, f"{path} holds a lone surrogate, \\u{ord(error.object[error.start]):04x}", None))
    except RecursionError:
        return Document(None, raw, path, _fault(path, f"{path} is nested too deeply: more than {MAX_DEPTH} levels", None))
    except _TwiceError as error:
        return Document(None, raw, path, _fault(path, f"{path} has the member {error.name!r} twice in one object", error.name))
    except ValueError as error:
        return Document(None, raw, path, _fault(path, f"{path} is not I-JSON: {error}", None))
    return Document(value, raw, path)


def _plain_document(raw: bytes, path: str) -> Document | None:
    """Parse a plain object: no escapes, fractions, large integers or duplicate members. Returns None if the object may not be plain."""
    try:
        value = _PLAIN_DECODER.decode(raw.decode("utf-8"))
        if type(value) is not dict:
            return None
        text = _written(value)
    except (ValueError, RecursionError):
        return None  # the slow path reports the error
    # Without escapes each quote begins or ends a text. The parser drops duplicate members, which changes the number of quotes.
    if text.count('"') != raw.count(b'"') or _has_rare(text):
        return None
    return Document(value, raw, path, canonical=text)


def _fault(path: str, what: str, name: str | None) -> InvalidJsonError:
    return InvalidJsonError(f"{what}.", field=name or path, hint="Send JSON that every parser reads alike (RFC 7493).")


class _TwiceError(ValueError):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name[:_LONGEST]


def _not_json(body: bytes, place: int, reason: str) -> InvalidJsonError:
    line = body.count(b"\n", 0, place) + 1
    column = len(body[body.rfind(b"\n", 0, place) + 1 : place].decode("utf-8", "replace")) + 1
    return InvalidJsonError(f"The body is not JSON: {reason} in line {line}, column {column}.", field="$")


def _require_end(body: bytes, bracket: int) -> None:
    rest = _skip(body, bracket + 1)
    if rest != len(body):
        raise _not_json(body, rest, "Extra data")


def _skip(body: bytes, place: int) -> int:
    match = _BLANK.match(body, place)
    return match.end() if match else place


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        raise _TwiceError(next(name for name, _ in pairs if name in seen or seen.add(name)))  # type: ignore[func-returns-value]
    return members


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(f"{text[:_LONGEST]} is no number that a computer has")
    return value


def _refuse_fraction(text: str) -> Any:
    raise ValueError(text[:_LONGEST])


def _small_integer(text: str) -> int:
    if len(text) > _SAFE_DIGITS:
        raise ValueError(text[:_LONGEST])
    return int(text)


def _writer() -> Callable[[Any], str]:
    """Return a function that writes the canonical form of a plain document.

    The standard library's encoder makes an inner encoder for each call, which takes longer than writing a small
    event. This function makes one encoder for all calls.
    """
    whole = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)
    make = getattr(json.encoder, "c_make_encoder", None)  # written in C; not every Python has it
    if make is None:
        return whole.encode
    inner = make(None, whole.default, json.encoder.encode_basestring, None, ":", ",", True, False, False)
    return lambda value: "".join(inner(value, 0))


def _with_large_integers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_large_integers(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_with_large_integers(child) for child in value]
    if isinstance(value, int) and abs(value) > _SAFE_INTEGER:
        return {"integer": str(value)}
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_members)
_PLAIN_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_refuse_fraction, parse_int=_small_integer)
_written = _writer()
