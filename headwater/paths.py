"""Paths as Hadoop writes them: what says where data lies, everywhere in Headwater.

A path is the text of Hadoop's `Path.toString()`: `/a/b`, `file:/a/b`, `s3a://bucket/key`. It looks like a URI, and is none: nothing in it
is escaped. `%`, `#`, `?`, spaces and line ends are characters of a name, so `run #1` and `run%20#1` are two folders. Whoever has a real
URI must decode it first; whoever needs one must escape the path.

The name of a dataset holds its path as it is, so different paths have different names. `dataset_name` (spark_listener/lineage/naming.py)
makes the name of a path, `path_of_dataset` the path of a name; nothing else does either.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# A slash must follow: `run:1.csv` is a file. Of one letter it is a drive of Windows.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)|(file):")
_OF_PATTERNS = re.compile(r"\\(.)|[{}\[\]*?]", re.DOTALL)
_OF_PATTERN = re.compile(r"[{}\[\]*?\\]")
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


class PathParts(NamedTuple):
    """The parts of a path. `scheme` is in small letters, and empty where there is none; so is `authority`."""

    scheme: str
    authority: str
    path: str


def split_path(text: str) -> PathParts:
    """The parts of a path, as Hadoop's `Path` tells them apart."""
    found = _SCHEME.match(text)
    if found is None:
        return PathParts("", "", text)
    scheme, rest = (found[1] or found[2]).lower(), text[found.end() :]
    if not rest.startswith("//"):
        return PathParts(scheme, "", rest)
    authority, slash, path = rest[2:].partition("/")
    return PathParts(scheme, authority, f"{slash}{path}")


def path_of_pattern(pattern: str) -> str:
    """The one path that a pattern of Hadoop's stands for, without its backslashes; the pattern itself where it may stand for several."""
    if any(found[1] is None for found in _OF_PATTERNS.finditer(pattern)):
        return pattern
    return _OF_PATTERNS.sub(r"\1", pattern)


def pattern_of_path(path: str) -> str:
    """A path for a reader of Spark, which takes it for a pattern."""
    return _OF_PATTERN.sub(r"\\\g<0>", path)


def partition_text(folder: str) -> str:
    """The name or the value of a partition column as the name of a folder holds it: Spark escapes single characters there, as `%3A`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), folder)


def path_of_dataset(namespace: str, name: str) -> str:
    """The path at which a dataset lies, by its name: `file:/a/b`, `s3://bucket/key`."""
    if namespace == "file":
        return f"file:/{name.lstrip('/')}"
    return f"{namespace.rstrip('/')}/{name.lstrip('/')}"
