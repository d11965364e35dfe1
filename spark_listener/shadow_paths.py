"""Redirects the paths of a replayed program: it writes below a shadow root, and reads there the files that it wrote.

The shadow is a folder of this machine, even for object stores and HDFS: `s3a://b/k` becomes `SHADOW/s3@b/k`. A written path never leads to
the original.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote

from headwater.errors import UnsupportedError
from headwater.paths import path_of_pattern, pattern_of_path, split_path

_PATTERN = re.compile(r"[*?\[{\\]")
_MARKS = ("_SUCCESS", "_delta_log", "metadata/version-hint.text")
_STORES = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "abfs": "abfss",
    "abfss": "abfss",
    "gs": "gs",
    "hdfs": "hdfs",
    "webhdfs": "webhdfs",
    "swebhdfs": "swebhdfs",
}  # redirected schemes


class ShadowPaths:
    """The redirected paths of a replay: a written `/a/b` becomes `SHADOW/a/b`, and so does a read one if the replay wrote it."""

    def __init__(self, shadow: str) -> None:
        self.shadow = Path(shadow)

    def write(self, path: str) -> str:
        return self._for_spark(path, self._shadow_of(path))

    def read(self, path: str) -> str:
        """Return the shadow of a read path, or the path itself if this replay wrote nothing there. Both may be patterns.

        Raises:
            UnsupportedError: the replay wrote only a part of the data below the path, so neither place is right.
        """
        if _is_pattern(path):
            fixed = os.path.dirname(_PATTERN.split(path, maxsplit=1)[0]) or "/"
            if self._shadow_of(fixed).exists():
                raise UnsupportedError(f"The pattern {path} reaches into data that this replay wrote again.", hint="Read the folder.")
            return path
        shadow = self._shadow_of(path_of_pattern(path))
        if self._is_dataset(shadow):
            return pattern_of_path(self._for_spark(path, shadow))
        if not shadow.exists():
            return path
        raise UnsupportedError(
            f"{path} was written again only in part ({', '.join(sorted(p.name for p in shadow.iterdir())[:5])}).",
            hint="Read each written folder by its own path.",
        )

    @staticmethod
    def place(path: str) -> str:
        """Return a path in the normal form for comparisons: `/a/b`, or `s3://b/k`.

        Raises:
            UnsupportedError: the storage is not supported, or a part of the path is `.` or `..`, which stores treat as names.
        """
        scheme, authority, inner = split_path(path)
        if authority and scheme in _STORES:
            parts = [part for part in inner.split("/") if part]
            if {".", ".."} & set(parts):
                raise UnsupportedError(f"Replay cannot tell where {path} lies.")
            return "/".join([f"{_STORES[scheme]}://{authority}", *parts])
        if not scheme and ":" in path.partition("/")[0]:  # Hadoop treats it as a scheme
            raise UnsupportedError(f"Replay cannot tell where {path} lies.")
        if scheme not in ("", "file"):
            raise UnsupportedError(f"Replay leads paths of files to a shadow; {path} is on {scheme}.")
        return os.path.abspath(inner)

    def reaches(self, path: str, place: str) -> bool:
        """Return whether a read path, or a match of a read pattern, may be or contain a place."""
        if _is_pattern(path):
            fixed = _PATTERN.split(path, maxsplit=1)[0]
            return place.startswith(self.place(fixed).rstrip("/"))
        return f"{place}/".startswith(self.place(path_of_pattern(path)).rstrip("/") + "/")

    def folder(self, path: str) -> Path:
        return self._shadow_of(path)

    def _shadow_of(self, path: str) -> Path:
        place = self.place(path)
        if "://" in place:
            store, _, key = place.partition("://")
            authority, _, key = key.partition("/")
            return self.shadow / f"{store}@{quote(authority, safe='')}" / key
        if place == str(self.shadow) or place.startswith(f"{self.shadow}/"):
            return Path(place)
        if "@" in place.split("/", 2)[1]:  # it would look like the place of a bucket
            raise UnsupportedError(f"Replay cannot lead {path} to a shadow: its first folder has an @ in its name.")
        return self.shadow / place.lstrip("/")

    @staticmethod
    def _for_spark(path: str, shadow: Path) -> str:
        """Return a shadow as a path for Spark. A remote path gets a scheme, because the program's default file system may differ."""
        return f"file:{shadow}" if "://" in ShadowPaths.place(path) else str(shadow)

    @staticmethod
    def _is_dataset(folder: Path) -> bool:
        """Return whether a folder is in a dataset. Spark's committers leave `_SUCCESS` in it, and tables have a folder for their log."""
        if folder.is_file():
            return True
        return any((place / name).exists() for place in (folder, *folder.parents) for name in _MARKS)


def _is_pattern(path: str) -> bool:
    return path_of_pattern(path) == path and _PATTERN.search(path) is not None
