"""Secrets among the literals of a manifest's expressions: `password = 'x'` keeps the column and loses the text.

A literal is a secret where it has the form of one, or stands in one expression with a column of a secret's name, or makes such a column.
In its place stands an expression that nobody can compute with (`truncated`), so that a trace which needs its value says that it is not
known. Where groups were left to be found again (`derived`), a trace finds them by the very conditions of the plan: those literals stay.
Texts of operators and expressions are for readers alone, and are redacted in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headwater.spark_listener.redact import redact
from headwater.spark_listener.secrets import MARK, is_secret_name

_CONNECTIVES = {"and", "&&", "or", "||", "not", "!"}
_HARMLESS = {"attr", "isnotnull", "isnull", "=", "<=>"}  # over columns alone they hold no literal, told or not


def without_secret_literals(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest, its operators without the secrets that show."""
    keeps = any(boundary.get("derived") for boundary in manifest.get("boundaries") or ())
    return {**manifest, "operators": [_operator(operator, keeps) for operator in manifest.get("operators") or ()]}


def _operator(operator: Mapping[str, Any], keeps: bool) -> dict[str, Any]:
    clean = {name: _part(part, keeps, of_secret=False) for name, part in operator.items()}
    changed = any(clean[name] is not operator[name] for name in operator)
    if isinstance(operator.get("text"), str):
        clean["text"] = f"{operator.get('op')} {MARK}" if changed else redact(operator["text"])
    return clean


def _part(part: Any, keeps: bool, *, of_secret: bool) -> Any:
    """A member of an operator; the very same object where nothing in it is a secret. `of_secret`: it makes a column of a secret's name."""
    if isinstance(part, list):
        children = [_part(child, keeps, of_secret=of_secret) for child in part]
        return children if any(child is not before for child, before in zip(children, part, strict=True)) else part
    if not isinstance(part, Mapping):
        return part
    if "fn" in part:
        return _outermost(part, keeps, of_secret=of_secret)
    named = isinstance(part.get("name"), str) and is_secret_name(part["name"])
    children_of = {name: _part(child, keeps, of_secret=named) for name, child in part.items()}
    return children_of if any(children_of[name] is not part[name] for name in part) else part


def _outermost(expression: Mapping[str, Any], keeps: bool, *, of_secret: bool) -> Mapping[str, Any]:
    clean = expression if keeps else _expression(expression, of_secret=of_secret)
    text = expression.get("sql")
    if text is None:
        return clean
    hides = clean is not expression or _holds_secret(expression, of_secret=of_secret)
    told = MARK if hides else redact(str(text))
    return {**clean, "sql": told} if told != text else clean


def _holds_secret(expression: Mapping[str, Any], *, of_secret: bool) -> bool:
    """Whether the text of an expression may show a secret, though the expression may not."""
    if expression.get("fn") in _CONNECTIVES:
        return any(_holds_secret(child, of_secret=of_secret) for child in _arguments(expression))
    parts = list(_walk(expression))
    about_secret = of_secret or any(_is_secret_column(part) for part in parts)
    return (about_secret and any(part.get("fn") not in _HARMLESS for part in parts)) or any(_has_form(part) for part in parts)


def _expression(expression: Mapping[str, Any], *, of_secret: bool) -> Mapping[str, Any]:
    if expression.get("fn") in _CONNECTIVES and not of_secret:
        return _with(expression, [_expression(child, of_secret=False) for child in _arguments(expression)])
    return _hidden(expression, every=of_secret or any(_is_secret_column(part) for part in _walk(expression)))


def _hidden(expression: Mapping[str, Any], *, every: bool) -> Mapping[str, Any]:
    """The expression without its literals: `every` one, or those that have the form of a secret."""
    if expression.get("fn") == "literal":
        if expression.get("value") is None or not (every or _has_form(expression)):
            return expression
        return {"fn": "truncated", "truncated": True, "args": [], **({"type": expression["type"]} if "type" in expression else {})}
    clean = _with(expression, [_hidden(child, every=every) for child in _arguments(expression)])
    condition = expression.get("filter")
    hidden = _hidden(condition, every=every) if isinstance(condition, Mapping) else condition
    return clean if hidden is condition else {**clean, "filter": hidden}


def _with(expression: Mapping[str, Any], arguments: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    before = _arguments(expression)
    return {**expression, "args": arguments} if any(one is not other for one, other in zip(arguments, before, strict=True)) else expression


def _arguments(expression: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [argument for argument in expression.get("args") or () if isinstance(argument, Mapping)]


def _walk(expression: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += _arguments(part)
        if isinstance(part.get("filter"), Mapping):
            waiting.append(part["filter"])


def _is_secret_column(part: Mapping[str, Any]) -> bool:
    return bool(part.get("fn") == "attr" and is_secret_name(str(part.get("name") or ""))) or (
        "field" in part and is_secret_name(str(part["field"]))
    )


def _has_form(part: Mapping[str, Any]) -> bool:
    value = part.get("value")
    return part.get("fn") == "literal" and isinstance(value, str) and redact(value) != value
