"""Removes secrets from the literals of a manifest's expressions: of `password = 'x'`, the column stays and the text is removed.

A literal is a secret if it looks like one, if its expression has a column with a secret's name, or if it makes such a column. Next to names
with another meaning (`tokens`, `pass_count`), numbers and dates stay, and only texts are removed. A removed literal becomes an expression
without a value (`truncated`), and a trace that needs the value reports that. If a trace computes groups again (`derived`), the literals
of the plan's conditions stay, because the trace needs them. Texts of operators and expressions are for people, and are always redacted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from headwater.spark_listener.redact import redact
from headwater.spark_listener.secrets import MARK, is_secret_name, may_hold_secret

_CONNECTIVES = {"and", "&&", "or", "||", "not", "!"}
_PLAIN = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp")  # types other than text
_HARMLESS = {"attr", "isnotnull", "isnull", "=", "<=>"}  # applied to columns only, these hold no literal


def without_secret_literals(manifest: Mapping[str, Any]) -> dict[str, Any]:
    operators = list(manifest.get("operators") or ())
    if not _may_hold_secret(manifest):
        return {**manifest, "operators": operators}
    keeps = any(boundary.get("derived") for boundary in manifest.get("boundaries") or ())
    clean = {**manifest, "operators": [_operator(operator, keeps) for operator in operators]}
    if manifest.get("boundaries"):
        clean["boundaries"] = [_boundary(boundary, keeps) for boundary in manifest["boundaries"]]
    return clean


def _may_hold_secret(manifest: Mapping[str, Any]) -> bool:
    """Look for words of secrets in all texts at once. That takes a tenth of the time of a walk through the expressions."""
    parts = [manifest.get("operators"), [boundary.get("compared") for boundary in manifest.get("boundaries") or ()]]
    try:
        text = json.dumps(parts, ensure_ascii=False, default=dict)  # `dict` is for other mappings
    except (TypeError, ValueError, RecursionError):
        return True
    # Nearly every manifest has these two texts: a behaviour of operators, and Spark's AND. They look like parts of secrets, but are none.
    return may_hold_secret(text.replace('"passes"', "").replace('"&&"', ""))


def _boundary(boundary: Mapping[str, Any], keeps: bool) -> Mapping[str, Any]:
    compared = boundary.get("compared")
    return {**boundary, "compared": _called(_part(compared, keeps))} if compared else boundary


def _called(expression: Mapping[str, Any]) -> Mapping[str, Any]:
    clean = _with(expression, [_called(child) for child in _arguments(expression)])
    name = expression.get("name")
    return {**clean, "name": MARK} if isinstance(name, str) and "'" in name and (is_secret_name(name) or redact(name) != name) else clean


def _operator(operator: Mapping[str, Any], keeps: bool) -> dict[str, Any]:
    clean = {name: _part(part, keeps) for name, part in operator.items()}
    changed = any(clean[name] is not operator[name] for name in operator)
    if isinstance(operator.get("text"), str):
        clean["text"] = f"{operator.get('op')} {MARK}" if changed else redact(operator["text"])
    return clean


def _part(part: Any, keeps: bool, makes: str = "") -> Any:
    if isinstance(part, list):
        children = [_part(child, keeps, makes) for child in part]
        return children if any(child is not before for child, before in zip(children, part, strict=True)) else part
    if not _is_mapping(part):
        return part
    if "fn" in part:
        return _outermost(part, keeps, makes)
    named = part["name"] if isinstance(part.get("name"), str) else ""
    children_of = {name: _part(child, keeps, named) for name, child in part.items()}
    return children_of if any(children_of[name] is not part[name] for name in part) else part


def _outermost(expression: Mapping[str, Any], keeps: bool, makes: str) -> Mapping[str, Any]:
    clean = expression if keeps else _expression(expression, makes)
    text = expression.get("sql")
    if text is None:
        return clean
    hides = clean is not expression or _holds_secret(expression, makes)
    redacted = MARK if hides else redact(str(text))
    return {**clean, "sql": redacted} if redacted != text else clean


def _holds_secret(expression: Mapping[str, Any], makes: str) -> bool:
    """Return whether the text of an expression may show a secret that its structure does not."""
    if expression.get("fn") in _CONNECTIVES:
        return any(_holds_secret(child, makes) for child in _arguments(expression))
    parts = list(_walk(expression))
    about_secret = is_secret_name(makes) or any(_is_secret_column(part) for part in parts)
    return (about_secret and any(part.get("fn") not in _HARMLESS for part in parts)) or any(_has_form(part) for part in parts)


def _expression(expression: Mapping[str, Any], makes: str) -> Mapping[str, Any]:
    if expression.get("fn") in _CONNECTIVES and not is_secret_name(makes):
        return _with(expression, [_expression(child, "") for child in _arguments(expression)])
    texts = is_secret_name(makes) or any(_is_secret_column(part) for part in _walk(expression))
    every = is_secret_name(makes, of_text=False) or any(_is_secret_column(part, of_text=False) for part in _walk(expression))
    return _hidden(expression, texts=texts, every=every)


def _hidden(expression: Mapping[str, Any], *, texts: bool, every: bool) -> Mapping[str, Any]:
    """Return the expression without literals: only `texts`, `every` literal, or those that look like a secret."""
    if expression.get("fn") == "literal":
        goes = every or (texts and not str(expression.get("type") or "").startswith(_PLAIN)) or _has_form(expression)
        if expression.get("value") is None or not goes:
            return expression
        return {"fn": "truncated", "truncated": True, "args": [], **({"type": expression["type"]} if "type" in expression else {})}
    clean = _with(expression, [_hidden(child, texts=texts, every=every) for child in _arguments(expression)])
    condition = expression.get("filter")
    hidden = _hidden(condition, texts=texts, every=every) if _is_mapping(condition) else condition
    return clean if hidden is condition else {**clean, "filter": hidden}


def _with(expression: Mapping[str, Any], arguments: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    before = _arguments(expression)
    return {**expression, "args": arguments} if any(one is not other for one, other in zip(arguments, before, strict=True)) else expression


def _arguments(expression: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [argument for argument in expression.get("args") or () if _is_mapping(argument)]


def _is_mapping(part: Any) -> TypeGuard[Mapping[str, Any]]:
    return type(part) is dict or (part is not None and isinstance(part, Mapping))  # a test for the abstract type takes ten times as long


def _walk(expression: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += _arguments(part)
        if _is_mapping(condition := part.get("filter")):
            waiting.append(condition)


def _is_secret_column(part: Mapping[str, Any], *, of_text: bool = True) -> bool:
    names = [part.get("name") or ""] if part.get("fn") == "attr" else []
    return any(is_secret_name(str(name), of_text=of_text) for name in [*names, *([part["field"]] if "field" in part else [])])


def _has_form(part: Mapping[str, Any]) -> bool:
    value = part.get("value")
    return part.get("fn") == "literal" and isinstance(value, str) and redact(value) != value
