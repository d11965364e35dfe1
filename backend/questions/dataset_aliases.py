"""Finds all datasets that a file may belong to, because rules about datasets must apply whatever an answer calls the file.

A file is in all of the folders above it, and each of them may be a dataset.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from posixpath import normpath
from urllib.parse import unquote

from headwater.graph.model import NodeKind, node_id
from headwater.graph.storage.addresses import other_spellings
from headwater.graph.storage.key_places import is_keyed
from headwater.graph.trace.answer import Origin

_REMEMBERED = 1 << 14


def datasets_with(origins: Iterable[Origin]) -> set[str]:
    """Return the ids of all datasets that files may be part of, by their names and their locations."""
    # The address of a database table is a URI with escaped characters. The path of a file has no escapes.
    spelt = {unquote(uri) if is_keyed(uri) else uri for origin in origins for uri in (origin.file, origin.lies)}
    spelt |= {text for uri in tuple(spelt) for text in other_spellings(uri)}
    return {identifier for uri in spelt for identifier in _at(uri)}


def _at(uri: str) -> frozenset[str]:
    scheme, separator, rest = uri.partition("://")
    if not separator:
        namespace, path = "file", "/" + normpath(uri.removeprefix("file:")).lstrip("/")
    else:
        authority, _, path = rest.partition("/")
        namespace, path = f"{scheme}://{authority}", normpath(f"/{path}")
    folder, _, _ = path.rpartition("/")
    return _named(namespace, path) | _above(namespace, folder)


@lru_cache(_REMEMBERED)
def _above(namespace: str, folder: str) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    while folder:
        found |= _named(namespace, folder)
        folder = folder.rpartition("/")[0]
    return found


def _named(namespace: str, path: str) -> frozenset[str]:
    """Return the ids of a dataset with and without the first `/` of its path, because producers write both for object stores."""
    return frozenset(node_id(NodeKind.DATASET, namespace, name) for name in (path, path.lstrip("/")) if name)
