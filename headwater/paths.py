"""Paths in the form of Hadoop, for the locations of data everywhere in Headwater.

A path is the text of Hadoop's `Path.toString()`: `/a/b`, `file:/a/b`, `s3a://bucket/key`. A path is not a URI, because nothing in it is
escaped. The characters `%`, `#` and `?`, spaces and line ends are parts of names: `run #1` and `run%20#1` are two folders.

The name of a dataset contains its path unchanged, so different paths have different names. `name_of_path` makes the name of a path,
and `path_of_dataset` makes the path of a name. No other code may do either.

A dataset is a whole folder. Folders of partitions (`year=2026`) and parts of its data (`part-00000…`) are within it, and are no datasets of
their own. `split_root` separates a name into the dataset and the part within it, by the name alone. `dataset_root` decides
which dataset a name means. The Spark side, the projection and the stored records all use it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

# A scheme is followed by a slash, so `run:1.csv` is a file. A single letter is a drive of Windows.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)|(file):")
_OF_PATTERNS = re.compile(r"\\(.)|[{}\[\]*?]", re.DOTALL)
_OF_PATTERN = re.compile(r"[{}\[\]*?\\]")
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")

# Stores with several schemes, and the scheme in OpenLineage's rules. `abfs:` and `wasb:` are the unencrypted forms.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs"}
_OF_KEYS = {"s3", "gs", "wasbs"}  # names in these stores are keys, which do not begin with a slash
_IN_CONTAINERS = {"abfss", "wasbs"}  # the part before the host is a container, not a user
_OF_FOLDERS = {
    "file", "hdfs", "webhdfs", "swebhdfs", "viewfs", "s3", "gs", "abfss", "wasbs", "dbfs", "adl", "o3fs", "ofs", "oss", "cosn", "obs",
    *_SCHEMES,
}  # fmt: skip

# A folder of a partition. Spark, Hive and Arrow escape in names and values what is left out here; a value may be a pattern.
_PAIR = re.compile(r"""([^=/\\"'#?\[\]^\x00-\x1f\x7f]+)=([^=/\\"'#?^\x00-\x1f\x7f]+)""")
# Names that Spark, Hadoop, Hive, Arrow, Flink and Dask give to the files in a dataset. A name that a person may choose too is not one of
# them: `part-2023.csv` and `part-10045.csv` are datasets. Spark writes five digits, and without a UUID no ending but that of a codec.
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PART = re.compile(
    rf"part-\d{{5,}}(?:-{_UUID}.*|-tid-\d+.*|\.c\d{{3}}.*|\.(?:gz|bz2|deflate|lz4|lzo|snappy|zst))?|part-0\d{{4,}}\..*"
    rf"|part-[rm]-\d{{5,}}(?:[-.].*)?|part-\d{{1,3}}\.(?:parquet|orc|arrow|feather)|part-{_UUID}-\d.*|part\.\d+\..*|0\d{{5}}_\d+",
    re.DOTALL,
)
# An entry of a partition's folder with such a name is a file.
_DATA_FILE = re.compile(
    r".+\.(?:parquet|orc|avro|csv|tsv|json|jsonl|ndjson|txt|text|xml|arrow|feather|log|gz|bz2|zst)(?:\.(?:gz|bz2|snappy|zst|lz4|deflate))?",
    re.DOTALL | re.IGNORECASE,
)
_ALL = re.compile(r"\*\*?(?:\.[A-Za-z0-9.*]+)?")  # the pattern of all, or of all with an ending

_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}\Z")
_CHOICE = re.compile(r"(?<!\\)\{([^{}\\]*)\}")
_MOST_CHOICES = 100

TABLE_FORMATS = frozenset({"delta", "iceberg", "hudi", "paimon"})  # the metadata of these tables show where a table begins
_REMEMBERED = 1 << 14


class PathParts(NamedTuple):
    """The parts of a path. `scheme` is in lower case. `scheme` and `authority` are empty if the path has none."""

    scheme: str
    authority: str
    path: str


def split_path(text: str) -> PathParts:
    """Return the parts of a path, separated like by Hadoop's `Path`."""
    found = _SCHEME.match(text)
    if found is None:
        return PathParts("", "", text)
    scheme, rest = (found[1] or found[2]).lower(), text[found.end() :]
    if not rest.startswith("//"):
        return PathParts(scheme, "", rest)
    authority, slash, path = rest[2:].partition("/")
    return PathParts(scheme, authority, f"{slash}{path}")


def path_of_pattern(pattern: str) -> str:
    """Return the only path that a Hadoop pattern matches, without backslashes, or the pattern if it may match several."""
    if any(found[1] is None for found in _OF_PATTERNS.finditer(pattern)):
        return pattern
    return _OF_PATTERNS.sub(r"\1", pattern)


def pattern_of_path(path: str) -> str:
    """Escape a path as a Hadoop pattern, because Spark's readers expect patterns."""
    return _OF_PATTERN.sub(r"\\\g<0>", path)


def partition_text(folder: str) -> str:
    """Decode the name or value of a partition column in a folder's name, where Spark escapes characters as `%3A`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), folder)


def name_of_path(text: str) -> tuple[str, str]:
    """Return namespace and name for a path, which may be a part of a dataset (see `dataset_root`)."""
    parts = split_path(text)
    if parts.scheme in ("", "file"):
        host = parts.authority.rpartition("@")[2].partition(":")[0].lower()
        # Python keeps two slashes at the start.
        return ("file" if host in ("", "localhost") else f"file://{host}"), "/" + os.path.abspath(parts.path).lstrip("/")
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    authority = parts.authority if scheme in _IN_CONTAINERS else parts.authority.rpartition("@")[2]
    name = re.sub(r"/{2,}", "/", parts.path).rstrip("/")
    return f"{scheme}://{authority}", (name.lstrip("/") if scheme in _OF_KEYS else name) or "/"


class Place(NamedTuple):
    """The name of a dataset, and a part of the dataset (`year=2026/month=5`; empty for the whole dataset)."""

    root: str
    within: str


@lru_cache(_REMEMBERED)
def split_root(name: str) -> Place:
    """Split a name into the dataset and the part within it. The dataset is the folder above the last row of `key=value` folders.

    A folder `key=value` further up is an ordinary folder: `/data/env=prod/orders` is a dataset, and
    `/data/env=prod/orders/day=1` is a part of it.
    """
    parts = name.split("/")
    end = len(parts)
    if _PART.fullmatch(parts[-1]) or (end > 1 and _PAIR.fullmatch(parts[-2]) and _DATA_FILE.fullmatch(parts[-1])):
        end -= 1
    while end and (_PAIR.fullmatch(parts[end - 1]) or _ALL.fullmatch(parts[end - 1])):
        end -= 1
    if end == len(parts):
        return Place(name, "")
    return Place("/".join(parts[:end]) or "/", "/".join(parts[end:]))


def is_folder_store(namespace: str) -> bool:
    """Whether the datasets of a namespace are folders and files."""
    return namespace.partition("://")[0].lower() in _OF_FOLDERS


def dataset_root(namespace: str, name: str, *, formats: Iterable[str] = (), tables: Iterable[str] = ()) -> tuple[str, str]:
    """Return the dataset that a name means: the name itself, or the dataset whose folder contains it.

    Metadata have precedence over the form of a name: the name of a table in one of the `TABLE_FORMATS` (`formats`) is a dataset. So is a
    table that a catalog lists in `tables`, unless it has the name of the folder above it.
    """
    if not is_folder_store(namespace):
        return namespace, name
    place = split_root(name)
    if not place.within or not TABLE_FORMATS.isdisjoint(map(str.lower, formats)):
        return namespace, name
    called = [table.rpartition(".")[2].strip('`"').lower() for table in tables]
    if called and place.root.rpartition("/")[2].lower() not in called:
        return namespace, name
    return namespace, place.root


def partition_pairs(within: str) -> dict[str, str]:
    """Return the partition columns in a path within a dataset, with the texts of their values."""
    pairs = (found for part in within.split("/") if (found := _PAIR.fullmatch(part)) is not None)
    return {partition_text(found[1]): partition_text(found[2]) for found in pairs}


def within_dataset(path: str, namespace: str, name: str) -> str:
    """Return the part of a dataset at a path. The result is empty for the whole dataset, and for paths outside of it."""
    there = name_of_path(path)
    above = name.rstrip("/") + "/" if name != "/" else ("/" if there[1].startswith("/") else "")
    return there[1].removeprefix(above) if there[0] == namespace and there[1] != name and there[1].startswith(above) else ""


def is_pattern(text: str) -> bool:
    """Whether a Hadoop pattern may match several paths."""
    return path_of_pattern(text) == text and _OF_PATTERNS.search(text) is not None


def looks_like_file(path: str) -> bool:
    """Whether the last part of a path has an ending like a file name."""
    return _ENDING.search(path.rpartition("/")[2]) is not None


def places_of_pattern(pattern: str) -> list[str]:
    """Return the folders in a Hadoop pattern: a path for each choice in braces. If a path names a file, its folder is returned.

    A path that may still match several folders stays a pattern.
    """
    waiting, found = [pattern], list[str]()
    while waiting:
        text = waiting.pop(0)
        choice = _CHOICE.search(text)
        if choice is not None and len(waiting) + len(found) < _MOST_CHOICES:
            waiting += [text[: choice.start()] + each + text[choice.end() :] for each in choice[1].split(",")]
            continue
        folder, slash, last = text.rpartition("/")
        while slash and is_pattern(last) and (last in ("*", "**") or looks_like_file(last) or last.startswith("part-") or "=" in last):
            text = folder or slash
            folder, slash, last = folder.rpartition("/")
        found.append(path_of_pattern(text))
    return list(dict.fromkeys(found))


def path_of_dataset(namespace: str, name: str) -> str:
    """Return the path of a dataset, such as `file:/a/b` or `s3://bucket/key`."""
    if namespace == "file":
        return f"file:/{name.lstrip('/')}"
    return f"{namespace.rstrip('/')}/{name.lstrip('/')}"
