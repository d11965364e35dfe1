"""The text of a program for the facet `sourceCode`: sent only on request, without visible secrets.

A statement that mentions a secret by a name or a text (`password`, `fs.s3a.secret.key`) loses all its texts and numbers. Other texts that
look like a secret are removed as everywhere. A secret without such a sign cannot be found.
"""

from __future__ import annotations

import ast
import io
import os
import token
import tokenize
from collections.abc import Iterator
from pathlib import Path

from headwater.spark_listener.lineage.facets import Facet, facet
from headwater.spark_listener.redact import REDACTED, redact
from headwater.spark_listener.secrets import is_secret_name

_LARGEST = 256 * 1024  # bytes; a longer script is not sent
_END = {token.NEWLINE, token.ENDMARKER}
_TEXTS = {token.STRING} | {getattr(token, name) for name in ("FSTRING_MIDDLE", "TSTRING_MIDDLE") if hasattr(token, name)}
_VALUES = {*_TEXTS, token.NUMBER, tokenize.COMMENT}


def source_code(script: str | None) -> Facet | None:
    """Return the facet of a script. None if it is not readable Python, or too long."""
    if script is None or not os.path.isfile(script):
        return None
    try:
        if os.path.getsize(script) > _LARGEST:
            return None
        with tokenize.open(Path(script)) as file:
            text = file.read()
        ast.parse(text)
        text = without_secrets(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return None
    return facet("sourceCode", language="PYTHON", sourceCode=text)


def without_secrets(text: str) -> str:
    """Return a program's text, with the values in statements about secrets replaced.

    Raises:
        SyntaxError, tokenize.TokenError: the text is not Python.
    """
    lines = text.splitlines(keepends=True)
    found = [part for statement in _statements(text) if any(map(_speaks, statement)) for part in statement]
    for part in reversed(found):
        if part.type in _VALUES:
            (first, begin), (last, end) = part.start, part.end
            quoted = f'"{REDACTED}"' if part.type == token.STRING else f"# {REDACTED}" if part.type == tokenize.COMMENT else REDACTED
            lines[first - 1 : last] = [lines[first - 1][:begin] + quoted + lines[last - 1][end:]]
    return redact("".join(lines))


def _statements(text: str) -> Iterator[list[tokenize.TokenInfo]]:
    statement: list[tokenize.TokenInfo] = []
    for part in tokenize.generate_tokens(io.StringIO(text).readline):
        statement.append(part)
        if part.type in _END:
            yield statement
            statement = []
    yield statement


def _speaks(part: tokenize.TokenInfo) -> bool:
    return (part.type == token.NAME or part.type in _TEXTS or part.type == tokenize.COMMENT) and is_secret_name(part.string)
