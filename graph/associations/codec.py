"""Frozen dataclasses from JSON and back, by their type hints alone, with errors that name the field.

For the manifest. Unknown keys are kept in `extra` and written again, so that an older reader loses nothing of a newer manifest.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Self

from headwater.errors import InvalidCaptureError

_HINTS: dict[str, dict[str, Any]] = {}  # reading hints costs far more than reading a field
_NAMES = {str: "a text", int: "an integer", bool: "true or false"}


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A part of the manifest. A subclass declares its fields; `key("runId")` gives a field another name in JSON."""

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, value: Any, path: str = "$") -> Self:
        """Read a JSON object.

        Raises:
            InvalidCaptureError: a field is missing or is of the wrong type; `field` says which.
        """
        if not isinstance(value, Mapping):
            raise wrong(path, "an object", value)
        found: dict[str, Any] = {}
        hints = _hints(cls)
        for item in _fields(cls):
            name = _key(item)
            if name in value and (value[name] is not None or _optional(hints[item.name])):
                found[item.name] = _read(hints[item.name], value[name], f"{path}.{name}")
            elif item.default is MISSING and item.default_factory is MISSING:
                there = ", ".join(sorted(map(str, value))) or "nothing"
                raise InvalidCaptureError(f"{path}.{name} is missing; there is {there}.", field=f"{path}.{name}")
        known = {_key(item) for item in _fields(cls)}
        return cls(**found, extra={name: item for name, item in value.items() if name not in known})

    def to_json(self) -> dict[str, Any]:
        """The JSON object; optional fields that are absent are left out."""
        written = {_key(item): _write(getattr(self, item.name)) for item in _fields(type(self)) if not self._absent(item)}
        return written | dict(self.extra)

    def _absent(self, item: Field[Any]) -> bool:
        return item.default is None and getattr(self, item.name) is None


def key(name: str, **options: Any) -> Any:
    """A field that is called `name` in JSON."""
    return field(metadata={"key": name}, **options)


def wrong(path: str, expected: str, value: Any) -> InvalidCaptureError:
    """The error of a field that holds something else than it must."""
    return InvalidCaptureError(f"{path} must be {expected}, and is {str(value)[:80]!r} ({type(value).__name__}).", field=path)


def _fields(cls: type[Wire]) -> tuple[Field[Any], ...]:
    return tuple(item for item in fields(cls) if item.name != "extra")


def _hints(cls: type[Wire]) -> dict[str, Any]:
    if cls.__qualname__ not in _HINTS:
        _HINTS[cls.__qualname__] = typing.get_type_hints(cls)
    return _HINTS[cls.__qualname__]


def _key(item: Field[Any]) -> str:
    name: str = item.metadata.get("key", item.name)
    return name


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
    if isinstance(value, Wire):
        return value.to_json()
    if isinstance(value, tuple):
        return [_write(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _write(item) for name, item in value.items()}
    return value
