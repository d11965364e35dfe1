"""Reads a file of a user: plain YAML without tags, anchors and aliases, limited in size and depth.

Untrusted people may write the file. Reading it therefore never runs code, and needs little memory.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import Any, ClassVar

from headwater.errors import InvalidInputError, MissingExtraError
from headwater.graph.storage.open_files import read_small_file

MOST_BYTES = 256 * 1024
_MOST_DEPTH = 20
_MOST_EVENTS = 50_000


def read_document(path: Path, guide: str = "docs/guide/workflows.md") -> tuple[str, dict[str, Any]]:
    """Return the text of a file and its top-level mapping.

    Raises:
        InvalidInputError: the file does not exist, or is not plain YAML.
    """
    try:
        data = read_small_file(path, MOST_BYTES)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}."
        hint = "Divide the file." if error.errno == errno.EFBIG else "Name a YAML file."
        raise InvalidInputError(message, field="FILE", hint=hint) from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not UTF-8: {error}.", field="FILE", hint="Save it as UTF-8.") from None
    return text, parse_document(text, guide)


def parse_document(text: str, guide: str = "docs/guide/workflows.md") -> dict[str, Any]:
    """Return the top-level mapping of a YAML text. Messages name the `guide`.

    Raises:
        InvalidInputError: the text is too long or not YAML, or uses a part of YAML that is not supported.
        MissingExtraError: PyYAML is not installed.
    """
    if len(text) > MOST_BYTES:
        raise InvalidInputError(f"The text has {len(text):,} characters; {MOST_BYTES:,} are the most.", hint="Divide the file.")
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("Reading YAML", extra="server") from None
    try:
        _check_events(yaml, text)
        document = yaml.load(text, Loader=_loader(yaml))  # noqa: S506 - a subclass of SafeLoader
    except yaml.YAMLError as error:
        raise InvalidInputError(f"The file is not valid YAML: {_describe(error)}.", hint=f"See {guide}.") from None
    except (ValueError, RecursionError) as error:  # a number of a million digits, for example
        raise InvalidInputError(f"The file holds a value that cannot be read: {error}.") from None
    if not isinstance(document, dict):
        raise InvalidInputError("The file is not a mapping.", hint=f"See {guide}.")
    return document


def _check_events(yaml: Any, text: str) -> None:
    """Check the limits and the unsupported features of YAML before objects are built from the text."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise InvalidInputError(f"line {line}: anchors and aliases are not supported.", hint="Write the value where it is used.")
        if getattr(event, "tag", None):
            raise InvalidInputError(f"line {line}: the tag {event.tag} is not supported.", hint="Write the value without a tag.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MOST_DEPTH or number > _MOST_EVENTS:
            raise InvalidInputError(f"line {line}: the file is nested too deeply, or has too many values.", hint="Divide the file.")


def _loader(yaml: Any) -> Any:
    """Return a loader for texts, numbers, `true`, `false` and `null`. A key occurs once; `on` and dates are texts."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    for tag, pattern, first in (
        ("bool", r"true|false", "tf"),
        ("null", r"null|~|", "n~\0"),
        ("int", r"[-+]?[0-9]{1,18}", "-+0123456789"),
        ("float", r"[-+]?[0-9]{1,18}\.[0-9]{1,18}", "-+0123456789"),
    ):
        keys = [*first.replace("\0", ""), ""] if "\0" in first else list(first)
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{pattern})\Z"), keys)
    Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))
    Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
    return Loader


def _construct_mapping(loader: Any, node: Any) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise InvalidInputError(f"line {line}: the key {key!r} is not a text.", hint="Put it in quotes.")
        if key in found:
            raise InvalidInputError(f"line {line}: the key {key!r} occurs twice.", hint="Remove one of them.")
        found[key] = loader.construct_object(value_node, deep=True)
    return found


def _describe(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    return f"line {mark.line + 1}: {problem}" if mark is not None else str(problem)
