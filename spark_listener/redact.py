"""Removes secrets from everything that leaves the process: arguments, environment, descriptions, configuration, paths, messages.

All parts of events are redacted here, and again at intake. Secrets are found by their names and by their form (`secrets`), and are replaced
by `[redacted]`, so that the gap is visible.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import eq, is_
from typing import Any, NamedTuple

from headwater.spark_listener.secrets import (
    MARK,
    address_without_userinfo,
    is_secret_name,
    is_suspect,
    name_without_secrets,
    secret_name_in,
    without_secrets,
)

REDACTED = MARK

# Members that hold names and addresses: secrets are removed from an address, but names stay distinct.
_IDENTITIES = frozenset({"name", "namespace", "field", "path"})
# Objects of name and value, as of settings and tags.
_NAMED_BY = ("key", "name", "property", "option", "param", "parameter", "variable", "header", "setting", "field")
_VALUED_BY = frozenset({"value", "values", "val", "default", "defaultvalue", "default_value", "content", "data", "setting", "text"})
# Members with column names as keys, in an object about columns.
_COLUMNS = {"fields": "inputFields", "columnMetrics": None}
_JSON_START = re.compile(r'\A"|[\[{]')
_LONGEST_JSON = 1 << 20
_DECODER = json.JSONDecoder()


def redact(text: str) -> str:
    return without_secrets(text, f"{MARK}@")


def redact_address(address: str) -> str:
    """Return a path or URI without userinfo.

    Nothing else is removed, because names are identities: a partition folder `token=7` is no secret.
    """
    return address_without_userinfo(address)


def redact_mapping(values: Mapping[str, str]) -> dict[str, str]:
    """Redact settings or variables: values of secret names are removed, other values are searched."""
    return {name: REDACTED if is_secret_name(name) else redact(value) for name, value in values.items()}


def redact_arguments(arguments: Sequence[str]) -> list[str]:
    """Redact a command line, including `--password VALUE` in two words."""
    kept: list[str] = []
    secret_follows = False
    for argument in arguments:
        if secret_follows and not argument.startswith("--"):
            kept.append(REDACTED)
            secret_follows = False
            continue
        secret_follows = _is_secret_option(argument)
        kept.append(redact(argument))
    return kept


def redact_deep(value: Any) -> Any:
    """Redact a JSON value at any depth. Return the same object if there is no secret."""
    if isinstance(value, str):
        return _redact_text(value)
    if type(value) is dict or isinstance(value, Mapping):
        return _redact_object(value)
    if isinstance(value, (list, tuple)):
        return _redact_list(value)
    return value


def _redact_text(text: str) -> str:
    if not is_suspect(text):
        return text
    start = _JSON_START.search(text)
    if start is not None and len(text) <= _LONGEST_JSON and secret_name_in(text) is not None:
        # JSON within a text is redacted as a value, which is more exact than the rules for texts.
        try:
            inner, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            return without_secrets(text)
        clean = redact_deep(inner)
        if clean is not inner:
            before, after = text[: start.start()], text[end:]
            return f"{without_secrets(before)}{json.dumps(clean, ensure_ascii=False)}{without_secrets(after)}"
    return without_secrets(text)


class _Facts(NamedTuple):
    """Facts about the name of a JSON member: the name without secrets, and whether its value is secret."""

    clean: str
    identity: bool
    secret_text: bool
    secret: bool
    value: bool


@lru_cache(8_192)  # a producer's names are few
def _facts(name: str) -> _Facts:
    clean = without_secrets(name) if "=" in name else name_without_secrets(name)
    secret_text = is_secret_name(name)
    return _Facts(clean, name in _IDENTITIES, secret_text, secret_text and is_secret_name(name, of_text=False), name.lower() in _VALUED_BY)


def _redact_object(members: Mapping[str, Any]) -> Mapping[str, Any]:
    facts = [_facts(name) for name in members]
    hidden = any(fact.value for fact in facts) and _names_a_secret(members)
    children = [
        _mask(child) if hidden and fact.value else _redact_member(name, child, fact)
        for (name, child), fact in zip(members.items(), facts, strict=True)
    ]
    if all(map(is_, children, members.values())) and all(map(eq, (fact.clean for fact in facts), members)):
        return members
    clean: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for fact, child in zip(facts, children, strict=True):
        name = fact.clean
        while name in clean:  # names that differ only in a secret: name, name', name'2 and so on
            counts[fact.clean] = count = counts.get(fact.clean, 0) + 1
            name = f"{fact.clean}'{count if count > 1 else ''}"
        clean[name] = child
    return clean


def _redact_member(name: str, child: Any, fact: _Facts) -> Any:
    if isinstance(child, str):
        if fact.identity:
            return name_without_secrets(child)
        return MARK if child and fact.secret_text else _redact_text(child)
    if child is None or (name in _COLUMNS and isinstance(child, Mapping)):
        return child if child is None else _redact_columns(child, _COLUMNS[name])
    if fact.secret:
        return _mask(child)
    if fact.secret_text and isinstance(child, (list, tuple)):
        return _same(child, [MARK if isinstance(item, str) and item else redact_deep(item) for item in child])
    return redact_deep(child)


def _redact_columns(columns: Mapping[str, Any], mark: str | None) -> Mapping[str, Any]:
    """Redact objects keyed by column names. A column `password` is no secret, and its description stays."""
    kept = {name: redact_deep(child) for name, child in columns.items() if isinstance(child, Mapping) and _is_of_column(child, mark)}
    if not kept:
        return _redact_object(columns)
    others = {name: child for name, child in columns.items() if name not in kept}
    clean = _redact_object(others)
    if clean is others and all(kept[name] is columns[name] for name in kept):
        return columns
    return {**kept, **clean}


def _is_of_column(child: Mapping[str, Any], mark: str | None) -> bool:
    if mark is not None:
        return mark in child and isinstance(child[mark], list)
    return not any(isinstance(item, str) for item in child.values())


def _redact_list(items: Sequence[Any]) -> Sequence[Any]:
    if items and all(isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[0], str) for item in items):
        # Pairs of name and value, as of settings.
        return _same(items, [[_redact_text(item[0]), _mask(item[1])] if _is_setting(item[0]) else redact_deep(item) for item in items])
    clean: list[Any] = []
    secret_follows = False
    for item in items:
        hidden = secret_follows and not (isinstance(item, str) and item.startswith("--"))
        clean.append(_mask(item) if hidden else redact_deep(item))
        secret_follows = not hidden and isinstance(item, str) and _is_secret_option(item)
    return _same(items, clean)


def _same(before: Sequence[Any], after: list[Any]) -> Sequence[Any]:
    changed = any(_differs(new, old) for new, old in zip(after, before, strict=True))
    return after if changed else before


def _differs(new: Any, old: Any) -> bool:
    return new is not old and new != old


def _mask(value: Any) -> Any:
    return value if value is None or value in ("", MARK) else MARK


def _names_a_secret(members: Mapping[str, Any]) -> bool:
    """Return whether an object is a pair of a secret's name and its value, like `{"key": "password", "value": …}`."""
    for name in _NAMED_BY:
        if name == "field" and "key" in members:
            continue  # the tag of a column: `key` names the value, `field` the column
        named = members.get(name)
        if isinstance(named, str) and _is_setting(named):
            return True
    return False


def _is_setting(name: str) -> bool:
    return len(name) <= 200 and " " not in name and is_secret_name(name)


def _is_secret_option(argument: str) -> bool:
    return argument.startswith("-") and "=" not in argument and " " not in argument and is_secret_name(argument)
