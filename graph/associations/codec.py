"""Converts frozen dataclasses from and to JSON, by their type hints alone, with errors that name the field.

The manifest uses it. Unknown keys are stored in `extra` and written again, so that an older reader loses nothing of a newer manifest.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Self

from headwater.errors import InvalidCaptureError

_NAMES = {str: "a text", int: "an integer", bool: "true or false"}


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A part of the manifest. A subclass declares its fields; `key("runId")` gives a field another name in JSON."""

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, value: Any, path: str = "$") -> Self:
        """Read a JSON object.

        Raises:
            InvalidCaptureError: a field is missing or has the wrong type; `field` names it.
        """
        if not isinstance(value, Mapping):
            raise wrong(path, "an object", value)
        found: dict[str, Any] = {}
        items = _items(cls)
        for item in items:
            if item.key in value and (value[item.key] is not None or item.optional):
                found[item.name] = _read(item.hint, value[item.key], f"{path}.{item.key}")
            elif item.required:
                there = ", ".join(sorted(map(str, value))) or "nothing"
                raise InvalidCaptureError(f"{path}.{item.key} is missing; there is {there}.", field=f"{path}.{item.key}")
        known = {item.key for item in items}
        return cls(**found, extra={name: value[name] for name in value if name not in known})

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object without optional fields that are absent."""
        values = ((item, getattr(self, item.name)) for item in _items(type(self)))
        return {item.key: _write(value) for item, value in values if value is not None or not item.left_out} | dict(self.extra)


def key(name: str, **options: Any) -> Any:
    """Declare a field that has the name `name` in JSON."""
    return field(metadata={"key": name}, **options)


def wrong(path: str, expected: str, value: Any) -> InvalidCaptureError:
    """Return the error for a field with an invalid value."""
    return InvalidCaptureError(f"{path} must be {expected}, and is {str(value)[:80]!r} ({type(value).__name__}).", field=path)


@dataclass(frozen=True, slots=True)
class _Item:
    """A field of a class: its name here and in JSON, and the type of its values."""

    name: str
    key: str
    hint: Any
    optional: bool  # null is allowed
    required: bool
    left_out: bool  # left out if it is None


_ITEMS: dict[type[Wire], tuple[_Item, ...]] = {}


def _items(cls: type[Wire]) -> tuple[_Item, ...]:
    """Return the fields of a class. The result is cached, because the inspection costs far more than reading an object."""
    if cls not in _ITEMS:
        _ITEMS[cls] = _looked_at(cls)
    return _ITEMS[cls]


def _looked_at(cls: type[Wire]) -> tuple[_Item, ...]:
    hints = typing.get_type_hints(cls)
    return tuple(
        _Item(
            item.name,
            item.metadata.get("key", item.name),
            hints[item.name],
            _optional(hints[item.name]),
            item.default is MISSING and item.default_factory is MISSING,
            item.default is None,
        )
        for item in fields(cls)
        if item.name != "extra"
    )


def _optional(hint: Any) -> bool:
    return hint is Any or type(None) in typing.get_args(hint)


def _read(hint: Any, value: Any, path: str) -> Any:
    if hint is Any:
        return value
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return None
        return _read(next(arm for arm in typing.get_args(hint) if arm is not type(None)), value, path)
    if origin is tuple:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise wrong(path, "a list", value)
        element = typing.get_args(hint)[0]
        return tuple(_read(element, item, f"{path}[{index}]") for index, item in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise wrong(path, "an object", value)
        return {name: _read(typing.get_args(hint)[1], item, f"{path}.{name}") for name, item in value.items()}
    if isinstance(hint, type) and issubclass(hint, Wire):
        return hint.from_json(value, path)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise wrong(path, _NAMES[hint], value)
    return value


def _write(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)):  # the frequent case; the test for a mapping is slow
        return value
    if isinstance(value, Wire):
        return value.to_json()
    if isinstance(value, tuple):
        return [_write(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _write(item) for name, item in value.items()}
    return value
