"""Secrets taken out at intake, whatever the sender did about them.

For events of any producer: Spark properties, JDBC addresses, command lines. A secret is known by the name that it stands under or
by its own shape. Only text is replaced, and only the secret part of it, so that an address still names its dataset. It must give the
same result for the same input, since names are identities; and it cannot know a password that looks like a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

MARK = "[redacted]"

_SECRET_NAME = re.compile(
    r"passw(or)?d|passphrase|secret|api[_.-]?key|access[_.-]?key|account[_.-]?key|private[_.-]?key|credential|authorization|auth[_.-]?token|"
    r"(access|session|refresh|bearer|id|sas)[_.-]?token|^token$|[_.-]token$|connection[_.-]?string|cookie",
    re.IGNORECASE,
)
_NAMES = (
    r"(password|passwd|pwd|secret|sig|signature|access_?key|account_?key|secret_?key|api_?key|token|x-amz-signature|x-amz-security-token)"
)
# What may be taken out of a name without making two names one: a partition folder `token=7` is no secret.
_SECRET_ADDRESS = (
    # user:password@ in an address
    (re.compile(r"(?<=://)([^/\s:@?#]*):[^/\s@]+@"), rf"\1:{MARK}@"),
    # ?password=…, ;sig=… of an address
    (re.compile(rf"(?i)(?<=[?&;]){_NAMES}=[^&;,\s\"'\[]+"), rf"\1={MARK}"),
)
_SECRET_TEXT = (
    *_SECRET_ADDRESS,
    # password=… in a connection string or a command line
    (re.compile(rf"(?i)\b{_NAMES}=[^&;,\s\"'\[]+"), rf"\1={MARK}"),
    (re.compile(r"(?i)\b(bearer|basic) [a-z0-9._~+/=-]{12,}"), rf"\1 {MARK}"),
    (re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b"), MARK),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bxox[abprs]-[A-Za-z0-9-]{10,}\b"), MARK),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"), MARK),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), MARK),
)
_IDENTITIES = frozenset({"name", "namespace", "field", "path"})
# No pattern above can match a text without one of these: most text is passed by one look.
_SUSPECT = re.compile(r"@|=|(?i:bearer |basic )|AKIA|ASIA|gh[pousr]_|xox|eyJ|-----BEGIN")


def redact(value: Any) -> Any:
    """The value without its secrets; the very same object where there is none."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return _redact_mapping(value)
    if isinstance(value, list):
        children = [redact(child) for child in value]
        return children if any(new is not old for new, old in zip(children, value, strict=True)) else value
    return value


def redact_text(text: str) -> str:
    """A text without the secrets that are known by their shape."""
    if not _SUSPECT.search(text):
        return text
    return _replaced(text, _SECRET_TEXT)


def _replaced(text: str, patterns: Sequence[tuple[re.Pattern[str], str]]) -> str:
    redacted = text
    for pattern, replacement in patterns:
        redacted = pattern.sub(replacement, redacted)
    return text if redacted == text else redacted


def _redact_mapping(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    children = {name: _redact_member(name, child) for name, child in mapping.items()}
    return children if any(children[name] is not child for name, child in mapping.items()) else mapping


def _redact_member(name: str, child: Any) -> Any:
    if not isinstance(child, str):
        return redact(child)
    if name in _IDENTITIES:
        return _replaced(child, _SECRET_ADDRESS)
    if child and child != MARK and _SECRET_NAME.search(name):
        return MARK
    return redact_text(child)
