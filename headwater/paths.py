"""Paths as Hadoop writes them: where data lies, everywhere in Headwater.

A path is the text of Hadoop's `Path.toString()`: `/a/b`, `file:/a/b`, `s3a://bucket/key`. A path is not a URI, because nothing in it is
escaped. The characters `%`, `#` and `?`, spaces and line ends are parts of names: `run #1` and `run%20#1` are two folders.

The name of a dataset holds its path as it is. Different paths therefore have different names. `dataset_name` in
spark_listener/lineage/naming.py makes the name of a path, and `path_of_dataset` makes the path of a name. No other code may do either.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# A slash follows a scheme: `run:1.csv` is a file. One letter is a drive of Windows.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)|(file):")
_OF_PATTERNS = re.compile(r"\\(.)|[{}\[\]*?]", re.DOTALL)
_OF_PATTERN = re.compile(r"[{}\[\]*?\\]")
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


class PathParts(NamedTuple):
    """The parts of a path. `scheme` is in small letters. `scheme` and `authority` are empty if the path has none."""

    scheme: str
    authority: str
    path: str


def split_path(text: str) -> PathParts:
    """Return the parts of a path, as Hadoop's `Path` separates them."""
    found = _SCHEME.match(text)
    if found is None:
        return PathParts("", "", text)
    scheme, rest = (found[1] or found[2]).lower(), text[found.end() :]
    if not rest.startswith("//"):
        return PathParts(scheme, "", rest)
    authority, slash, path = rest[2:].partition("/")
    return PathParts(scheme, authority, f"{slash}{path}")


def path_of_pattern(pattern: str) -> str:
    """Return the one path that a pattern of Hadoop's matches, without backslashes; the pattern itself if it may match several."""
    if any(found[1] is None for found in _OF_PATTERNS.finditer(pattern)):
        return pattern
    return _OF_PATTERNS.sub(r"\1", pattern)


def pattern_of_path(path: str) -> str:
    """Return the pattern that matches one path: readers of Spark expect patterns."""
    return _OF_PATTERN.sub(r"\\\g<0>", path)


def partition_text(folder: str) -> str:
    """Return the name or value of a partition column by its text in a folder's name, where Spark escapes characters as `%3A`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), folder)


def path_of_dataset(namespace: str, name: str) -> str:
    """Return the path of a dataset, by its name: `file:/a/b`, `s3://bucket/key`."""
    if namespace == "file":
        return f"file:/{name.lstrip('/')}"
    return f"{namespace.rstrip('/')}/{name.lstrip('/')}"
