"""Keeps secrets out of what leaves the process: arguments, environment, descriptions, configuration, paths, messages.

For everything that becomes part of an event. It knows secrets by the names they go by and by their form; intake applies its own
rules again. What it takes out it replaces by `[redacted]`, so that nobody mistakes the rest for the whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

REDACTED = "[redacted]"

_NAME = (
    r"(?:pass(?:word|wd|phrase)|secret|token(?![a-z])|api[-_.]?key|access[-_.]?key|account[-_.]?key|private[-_.]?key|credentials?"
    r"|authorization|(?<![a-z])(?:pwd|pass|sas|sig|signature)(?![a-z]))"
)
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_USERINFO = re.compile(r"(?P<head>[a-z][a-z0-9+.\-]*://)[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (_USERINFO, rf"\g<head>{REDACTED}@"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL), REDACTED),
    (re.compile(r"(?P<head>\b(?:Bearer|Basic)\s+)[A-Za-z0-9+/=._~\-]{8,}", re.IGNORECASE), rf"\g<head>{REDACTED}"),
    # key=value and key: value, quoted or not, as in queries of URLs, JDBC addresses, options and JSON
    (
        re.compile(
            rf"(?P<head>[\"']?[\w.\-]{{0,64}}{_NAME}[\w.\-]{{0,64}}[\"']?\s*[=:]\s*)(?P<quote>[\"']?)[^\s\"'&;,}})]+(?P=quote)",
            re.IGNORECASE,
        ),
        rf"\g<head>\g<quote>{REDACTED}\g<quote>",
    ),
    # tokens that announce themselves by their prefix
    (
        re.compile(
            r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bxox[abprs]-[A-Za-z0-9-]{10,}\b|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+|\bhw_[\w-]{20,}"
        ),
        REDACTED,
    ),
)


def redact(text: str) -> str:
    """`text` with every secret that shows replaced."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def redact_address(address: str) -> str:
    """A path or URI without userinfo. Names are identities, so nothing else goes: a partition folder `token=7` is no secret."""
    return _USERINFO.sub(r"\g<head>", address)


def is_secret_name(name: str) -> bool:
    """Whether a setting, option or variable of this name holds a secret."""
    return bool(_SECRET_NAME.search(name))


def redact_mapping(values: Mapping[str, str]) -> dict[str, str]:
    """Settings or variables: values of secret names go altogether, the others are searched."""
    return {name: REDACTED if is_secret_name(name) else redact(value) for name, value in values.items()}


def redact_arguments(arguments: Sequence[str]) -> list[str]:
    """A command line: also `--password VALUE`, in two words."""
    kept: list[str] = []
    secret_follows = False
    for argument in arguments:
        if secret_follows and not argument.startswith("-"):
            kept.append(REDACTED)
            secret_follows = False
            continue
        secret_follows = argument.startswith("-") and "=" not in argument and is_secret_name(argument)
        kept.append(redact(argument))
    return kept


def redact_deep(value: Any) -> Any:
    """Any JSON value: texts are searched, values under secret names go."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: REDACTED if isinstance(item, str) and is_secret_name(str(key)) else redact_deep(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_deep(item) for item in value]
    return value
