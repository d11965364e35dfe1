"""Hypothesis strategies for damaged documents: a sound one with parts lost, doubled, or replaced by values that confuse parsers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

TEXTS = st.sampled_from(
    [
        "", " ", "\0", "\ud800", "\udcff", "\U0001f701", "\u2028",
        "\ufeff", "a\r\nb", "../..", "x" * 9_000, "%00", "'", '"', "\\", "{", "[", "]]>",
        "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2013-02-30T00:00:00Z", "dataset", "dataset:", "dataset:%zz",
        "version:a:b", "prov:type", "_:b", "file:", "s3://", "s3://[", "s3a://b/\0", "-1", "1e999", "\u0663", "=1+1", "$", "${x}", "%s%n",
    ]
)  # fmt: skip
NUMBERS = st.sampled_from([0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.sampled_from(["$", "type", "id", "name", "sha256"]), inner, max_size=3)
    ),
    max_leaves=5,
)
_ODD_BYTES = st.sampled_from(
    [b"\0", b"\xff", b"\xed\xa0\x80", b"[" * 5_000, b'{"a":' * 5_000, b"1" * 5_000, b"\\ud800", b'"', b"NaN", b"-", b"1e9", b",,"]
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in inside:
        yield (*path, name)
        yield from _places(child, (*path, name))


@st.composite
def documents(draw: st.DrawFn, sound: dict[str, Any]) -> Any:
    """A sound document with one to three faults."""
    value = deepcopy(sound)
    for _ in range(draw(st.integers(1, 3))):
        if not (places := list(_places(value))):
            break
        *path, last = draw(st.sampled_from(places))
        holder = value
        for name in path:
            holder = holder[name]
        match draw(st.sampled_from(["replaced", "removed", "doubled", "named"])):
            case "replaced":
                holder[last] = draw(VALUES)
            case "removed":
                del holder[last]
            case "doubled" if isinstance(holder, list):
                holder.append(deepcopy(holder[last]))
            case _ if isinstance(holder, dict):
                holder[draw(TEXTS)] = holder.pop(last)
    return value


@st.composite
def damaged(draw: st.DrawFn, sound: bytes) -> bytes:
    """Bytes that were cut, changed, or have others put in."""
    data = sound
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["cut", "changed", "put in", "lost", "moved"])):
            case "cut":
                data = data[:at]
            case "changed":
                data = data[:at] + draw(st.binary(min_size=1, max_size=4)) + data[at + 1 :]
            case "put in":
                data = data[:at] + draw(_ODD_BYTES | st.binary(max_size=8)) + data[at:]
            case "lost":
                data = data[:at] + data[at + draw(st.integers(1, 40)) :]
            case _:
                end = at + draw(st.integers(1, 40))
                data = data[:at] + data[end:] + data[at:end]
    return data


def bodies(*sound: dict[str, Any]) -> st.SearchStrategy[bytes]:
    """JSON of faulty documents, and faulty JSON of sound ones."""
    written = [documents(each).map(lambda value: json.dumps(value).encode()) for each in sound]
    return st.one_of(*written, *(damaged(json.dumps(each).encode()) for each in sound))
