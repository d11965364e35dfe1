"""Removes secrets at intake, even if the sender already removed them.

All stored documents pass through it: events of any producer, manifests, declarations, PROV, and refused documents. The rules
are those of the Spark side (`spark_listener/redact.py`). The same input must give the same result, because names are
identities. A password that is a text of its own and looks like a word cannot be recognised.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from headwater.backend.ingest.intake.scan import EVENT, value_end
from headwater.errors import InvalidJsonError
from headwater.spark_listener import secrets
from headwater.spark_listener.redact import redact_deep
from headwater.spark_listener.secrets import MARK, secret_name_in, without_secrets

__all__ = ["MARK", "kept_of", "may_hold_secret", "redact", "redact_text"]

_EXCERPT = 2_000  # limit of stored characters of an unreadable body
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_UNSEEN = re.compile(r"[^\t\n\r -~\u00a0-\ud7ff\ue000-\U0010ffff]")
_VALUED = re.compile(r"(?i)\"(?:value|values|val|default|default_?value|content|data|setting|text)\\*\"\s*:")
_LEFT_OUT = "[the rest is left out]"
# pydantic's regex engine searches for all words at once, in a quarter of the time.
_SUSPECT = SchemaValidator(core_schema.str_schema(pattern=f"(?i){secrets.SUSPECT}"))


def may_hold_secret(document: str) -> bool:
    """Like `may_hold_secret` of `spark_listener.secrets`, but faster."""
    return _SUSPECT.isinstance_python(document) if document.isascii() else secrets.may_hold_secret(document)


def redact(value: Any) -> Any:
    """Remove secrets from a value. Returns the same object if there are none."""
    return redact_deep(value)


def redact_text(text: str) -> str:
    """Remove secrets from a text that are recognised by their form."""
    return without_secrets(text)


def kept_of(refused: bytes) -> bytes:
    """Return the part of a refused body to store.

    A body without secrets is stored unchanged, and a document with secrets without them. An unreadable body is cut at the
    first name of a secret.
    """
    try:
        value_end(refused, 0, EVENT, "$")
        value = json.loads(refused, object_pairs_hook=_every_member)
        clean = redact(value)
        if clean is value:
            return refused
        return json.dumps(clean, separators=(",", ":")).encode()
    except (ValueError, RecursionError, InvalidJsonError):
        return _beginning(refused)


def _beginning(body: bytes) -> bytes:
    if body[:2] == b"\x1f\x8b":
        # Compressed text could contain a secret that cannot be recognised.
        try:
            body = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(body, 8 * _EXCERPT)
        except zlib.error:
            return _LEFT_OUT.encode()
    try:
        text = whole = body.decode("utf-8")
    except UnicodeDecodeError:
        text, whole = body[: 8 * _EXCERPT].decode("utf-8", "replace"), ""
    # A name may be written with escapes, or in an encoding with two bytes for a letter.
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), _UNSEEN.sub("", text[: 8 * _EXCERPT]))[:_EXCERPT]
    named = secret_name_in(text)
    # `{"value": …, "name": "password"}`: the secret comes before its name, and its name may be cut off.
    if (valued := _VALUED.search(text)) is not None:
        named = min(valued.end(), len(text) if named is None else named)
    shown = redact_text(text if named is None else text[:named])
    if shown == whole:
        return body
    return f"{_UNSEEN.sub('', shown)}{_LEFT_OUT}".encode("utf-8", "replace")


def _every_member(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object with all members. Duplicate members get new names."""
    members = dict(pairs)
    if len(members) != len(pairs):
        members = {}
        for place, (name, value) in enumerate(pairs):
            members[f"{name} ({place})" if name in members else name] = value
    return members
