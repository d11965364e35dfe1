"""Checks an event against OpenLineage's published schemas: their fields, types, choices and formats.

The schemas are the classes of openlineage-python (Apache-2.0, a dependency of the project), which are generated from them. Each class is a
definition, with its fields in order, their types, and a validator for a field with a format. The package's validators check almost nothing
(`urlparse` accepts any text), so formats are checked here: `uri` by RFC 3986, `date-time` by RFC 3339, `uuid` by RFC 9562.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any
from uuid import UUID

import attr
from openlineage.client import generated

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")


def faults_of(event: Mapping[str, Any]) -> list[str]:
    """Return the faults of a run event, each with its place."""
    return list(_object(_definitions()[event["schemaURL"]], event, "event"))


@functools.cache
def _definitions() -> dict[str, type]:
    modules = [importlib.import_module(f"{generated.__name__}.{found.name}") for found in pkgutil.iter_modules(generated.__path__)]
    classes = [kind for module in modules for kind in vars(module).values() if isinstance(kind, type)]
    return {vars(kind)["_get_schema"].__func__(): kind for kind in classes if "_get_schema" in vars(kind)}


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _object(kind: type, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{place} is no object: {value!r}"
        return
    for field in attr.fields(kind):
        if field.name in value:
            yield from _value(_hints(kind)[field.name], value[field.name], f"{place}.{field.name}")
            if field.validator is not None:
                yield from _format(field.name, value[field.name], f"{place}.{field.name}")
        elif field.default is attr.NOTHING or field.name in ("_producer", "_schemaURL", "producer", "schemaURL"):
            yield f"{place}.{field.name} is missing"


def _value(kind: Any, value: Any, place: str) -> Iterator[str]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        found = [list(_value(choice, value, place)) for choice in arguments if choice is not type(None)]
        yield from min(found, key=len)
    elif origin in (list, dict):
        yield from _collection(origin, arguments[-1], value, place)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        if value not in [choice.value for choice in kind]:
            yield f"{place} is none of {[choice.value for choice in kind]}: {value!r}"
    elif attr.has(kind):
        yield from _object(kind, value, place)
    elif kind is not Any and not _is(kind, value):
        yield f"{place} is no {kind.__name__}: {value!r}"


def _collection(origin: Any, kind: Any, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, origin):
        yield f"{place} is no {origin.__name__}: {value!r}"
        return
    items: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, Mapping) else enumerate(value)
    for key, item in items:
        yield from _value(_facet_kind(kind, item), item, f"{place}[{key!r}]")


def _facet_kind(kind: Any, value: Any) -> Any:
    """The class of a facet: that which its own schema names, if it is one of OpenLineage's."""
    url = value.get("_schemaURL") if isinstance(value, Mapping) else None
    if not isinstance(url, str) or not url.startswith("https://openlineage.io/"):
        return kind
    known = _definitions()[url]
    assert issubclass(known, kind), f"{url} stands where a {kind.__name__} is to stand"
    return known


def _is(kind: type, value: Any) -> bool:
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    return isinstance(value, kind)


def _format(name: str, value: Any, place: str) -> Iterator[str]:
    if value is None:
        yield f"{place} is null"
    elif name == "runId":
        try:
            UUID(value)
        except ValueError:
            yield f"{place} is no UUID: {value!r}"
    elif re.search("Time|Date|lastUpdated", name):
        if not _DATE_TIME.fullmatch(value):
            yield f"{place} is no date-time: {value!r}"
    elif not _URI.fullmatch(value):
        yield f"{place} is no URI: {value!r}"
