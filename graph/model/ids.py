"""Node ids: stable, readable, and reversible.

An id is `kind:part:part…`, each part percent-encoded, because namespaces and names contain colons. The tenant is never part of an id.

    platform:{namespace}                         system:{namespace}
    dataset:{namespace}:{name}                   pipeline:{namespace}:{name}
    column:{namespace}:{name}:{column}           job:{namespace}:{name}
    version:{namespace}:{name}:{run}             run:{run}
    partition:{path}:{length}:{modified}         operator:{capture}:{operator}
    data:{type}:{name}                           actor:{type}:{name}
    type:{name}   owner:{name}   tag:{name}   term:{name}   check:{namespace}:{dataset}:{column}:{assertion}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache, partial
from urllib.parse import quote, unquote

from headwater.errors import InvalidInputError, InvalidQueryError
from headwater.graph.model.elements import NodeKind

OWN_ROWS = "rows that the program made itself"
JOB_MARK = " › "  # between the application and the output in the short name of a job
_SPARK_JOB = re.compile(r"(.+)\.(?:execute|save_as)_[a-z_]+\.([^.]+)")
_REMEMBERED = 1 << 15  # events name the same namespaces, datasets and columns again and again
_SAFE = "/._-~=+,@"
_KINDS = {kind.value: kind for kind in NodeKind}

# An index key of Neo4j has at most 8 kB. The limit is the same for every store, so that all accept the same ids.
MAX_ID = 4_096


_UUID = r"([0-9a-f]{8})(-?)([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{12})"
_RUN = re.compile(_UUID, re.IGNORECASE | re.ASCII)


def node_id(kind: str, *parts: str) -> str:
    """Return a node id: `node_id("dataset", "file", "/data/x")` is `dataset:file:/data/x`."""
    return ":".join([kind, *map(_encode, parts)])


def id_ranges(kinds: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """Return the ranges that contain the ids of some kinds, or of all: each is a text before the first id, and one after the last."""
    return [("", chr(0x10FFFF))] if kinds is None else [(f"{kind}:", f"{kind};") for kind in sorted(kinds)]  # `;` follows `:`


def parse_id(identifier: str) -> tuple[str, tuple[str, ...]]:
    """Return kind and parts of an id. The inverse of `node_id`.

    Raises:
        InvalidQueryError: the text is not an id.
    """
    kind, *parts = identifier.split(":")
    if not kind or not parts:
        raise InvalidQueryError(f"{identifier!r} is not a node id.", hint="An id reads kind:part[:part…], as dataset:file:/data/x.")
    return kind, tuple(_decode(part) if "%" in part else part for part in parts)


# Parts are kept instead of whole ids: columns have millions of ids, but few names.
_encode = lru_cache(_REMEMBERED)(partial(quote, safe=_SAFE))
_decode = lru_cache(_REMEMBERED)(unquote)


def run_uuid(text: str) -> str | None:
    """Return a run's UUID in the form of RFC 4122. None if the text is not a UUID.

    A producer may write `urn:uuid:` in front, braces around it, no dashes, or capital letters. All forms are the same run.
    """
    bare = text[9:] if text[:9].lower() == "urn:uuid:" else text[1:-1] if text[:1] == "{" and text[-1:] == "}" else text
    found = _RUN.fullmatch(bare)
    return None if found is None else "-".join(found.group(1, 3, 4, 5, 6)).lower()


@lru_cache(_REMEMBERED)
def run_key(text: str) -> str:
    """Return the name of a run's node, from the producer's id."""
    return run_uuid(text) or text.lower()


@lru_cache(_REMEMBERED)
def kind_of(identifier: str) -> NodeKind:
    """Return the kind with which an id begins.

    Raises:
        InvalidInputError: the id names no kind of node, or is longer than an index can store.
    """
    kind = _KINDS.get(identifier.partition(":")[0])
    if kind is None or ":" not in identifier:
        raise InvalidInputError(
            f"{identifier[:200]!r} is not a node id.", field="id", hint=f"It must begin with one of: {', '.join(_KINDS)}."
        )
    if len(identifier) > MAX_ID:
        raise InvalidInputError(
            f"The id {identifier[:80]}… has {len(identifier)} characters; a graph store holds {MAX_ID}.",
            field="id",
            hint="Shorten the namespace or the name (percent-encoding counts).",
        )
    return kind


def dataset_name(identifier: str) -> str:
    """Return a readable name of a dataset. Outside of the local file system it is the id, which includes the platform.

    Rows that a program made of its own values are a dataset without a name.
    """
    _, parts = parse_id(identifier)
    if parts[0] == "local":
        return OWN_ROWS
    return parts[-1] if parts[0] == "file" else identifier


def short_job_name(name: str) -> str:
    """Return a readable name of a job. The name that OpenLineage gives Spark's jobs loses the name of the operation."""
    found = _SPARK_JOB.fullmatch(name)
    return f"{found[1]}{JOB_MARK}{found[2]}" if found else name


@lru_cache(_REMEMBERED)
def bare_name(identifier: str) -> str:
    """Return the name of a node without a stated name: the path of a partition, else the last part of the id."""
    kind, parts = parse_id(identifier)
    return parts[0] if kind == NodeKind.PARTITION else parts[-1]
