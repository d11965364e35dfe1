"""Inputs of each reader of bodies, of any size: each makes one thing many, long, wide or deep."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.backend.ingest.intake.growth import Make

_PREFIXES = "document\nprefix ex <http://example.org/>\n"


def _provn(lines: Iterable[str], head: str = _PREFIXES) -> bytes:
    return "\n".join([head, *lines, "endDocument\n"]).encode()


def _json(**members: Any) -> bytes:
    return json.dumps({"prefix": {"ex": "http://example.org/"}, **members}).encode()


def _indented(**members: Any) -> bytes:
    return json.dumps(members, indent=0).encode()


def _each(count: int, *lines: str) -> list[str]:
    """The lines once for each number; `#` stands for it, `##` for the next one."""
    return [line.replace("##", str(number + 1)).replace("#", str(number)) for number in range(count) for line in lines]


def _named_late(count: int) -> list[str]:
    """Starts of one identifier each, by twos: an agent that one leaves out, the other says, and so on to the last of them."""
    numbers = reversed(range(count))
    lines = ("wasStartedBy(ex:s{0}; ex:a{0}, ex:e{0}, -, -)", "wasStartedBy(ex:s{0}; ex:a{0}, -, ex:a{1}, -)")
    return [line.format(number, number + 1) for number in numbers for line in lines]


def _with_prefixes(count: int, *lines: str, most: int = 1 << 30) -> bytes:
    return _provn(_each(count, *lines), "\n".join(["document", *_each(min(count, most), "prefix p# <http://example.org/#/>")]))


def _in_a_namespace_of_namespaces(count: int) -> bytes:
    prefixes = [f"prefix p{number} <http://{'a' * number}>" for number in range(min(count, 900))]
    return _provn(_each(count, "entity(p0:e#)"), "\n".join(["document", *prefixes]))


PROV: Mapping[str, Make] = {
    "one record again": lambda n: _provn(["entity(ex:e, [ex:x=1])"] * n),
    "one record, other attributes": lambda n: _provn(_each(n, 'entity(ex:e, [ex:x="#"])')),
    "one record as a list": lambda n: _json(entity={"ex:e": [{"ex:x": value} for value in range(n)]}),
    "one attribute, many values": lambda n: _json(entity={"ex:e": {"ex:x": list(range(n))}}),
    "many attributes": lambda n: _json(entity={"ex:e": {f"ex:x{number}": "a" for number in range(n)}}),
    "many entities": lambda n: _provn(_each(n, "entity(ex:e#)")),
    "a chain of specializations": lambda n: _provn(_each(n, "specializationOf(ex:e#, ex:e##)")),
    "a chain of specialized entities": lambda n: _provn(_each(n, "entity(ex:e#)", "specializationOf(ex:e#, ex:e##)")),
    "a star of specializations": lambda n: _provn(_each(n, "specializationOf(ex:e#, ex:e)")),
    "a star of makers and readers": lambda n: _provn(_each(n, "wasGeneratedBy(ex:e, ex:a#, -)", "used(ex:b#, ex:e, -)")),
    "a star of derivations": lambda n: _provn(_each(n, "wasDerivedFrom(ex:e, ex:s#, ex:a#, -, -)", "used(ex:b#, ex:e, -)")),
    "a star of members": lambda n: _provn(_each(n, "hadMember(ex:e, ex:m#)")),
    "a star of owners": lambda n: _provn(_each(n, "wasAttributedTo(ex:e, ex:o#)")),
    "a star of starts": lambda n: _provn(_each(n, "wasStartedBy(ex:a, ex:e#, -, -)")),
    "a chain of derivations": lambda n: _provn(_each(n, "wasDerivedFrom(ex:e#, ex:e##, ex:a#, -, -)")),
    "a chain of starts": lambda n: _provn(_each(n, "wasStartedBy(ex:a#, -, ex:a##, -)")),
    "a chain of what becomes one": lambda n: _provn(_named_late(n)),
    "a circle of derivations": lambda n: _provn([*_each(n, "wasDerivedFrom(ex:e#, ex:e##)"), f"wasDerivedFrom(ex:e{n}, ex:e0)"]),
    "one identifier, other things": lambda n: _provn(_each(n, "wasInfluencedBy(ex:i; ex:a#, ex:b#)")),
    "one activity, other times": lambda n: _provn(_each(n, "activity(ex:a, 2026-01-01T00:00:00.#Z, -)")),
    "bundles": lambda n: _provn(_each(n, "bundle ex:b#\nentity(ex:e)\nendBundle")),
    "bundles on lines of their own": lambda n: _indented(bundle={f"ex:b{number}": {"prefix": {"ex": "http://e/"}} for number in range(n)}),
    "prefixes": lambda n: _with_prefixes(n, "entity(p#:e)"),
    "bundles and prefixes": lambda n: _with_prefixes(n, "bundle p#:b\nentity(p#:e)\nendBundle"),
    "some prefixes, many bundles": lambda n: _with_prefixes(n, "bundle p1:b#\nentity(p2:e)\nendBundle", most=900),
    "one prefix, other namespaces": lambda n: _provn(_each(n, "bundle ex:b#\nprefix q <http://q/#/>\nentity(q:e)\nendBundle")),
    "namespaces within each other": _in_a_namespace_of_namespaces,
    "a long name": lambda n: _provn([f"entity(ex:{'a' * n})"]),
    "a long text": lambda n: _provn([f'entity(ex:e, [ex:x="{"a " * n}"])']),
    "a long text of escapes": lambda n: _provn(['entity(ex:e, [ex:x="' + '\\"' * n + '"])']),
    "a text that does not end": lambda n: b'{"entity":{"ex:e":"' + b'\\"' * n,
    "texts that do not end": lambda n: _provn(['entity(ex:e, [ex:x="""' + 'a\\""" ' * n]),
    "comments that do not end": lambda n: _provn(["entity(/*a)"] * n, "document default <http://example.org/>"),
    "comments": lambda n: b"/**/" * n + b"documents",
    "blank lines": lambda n: b"\n" * n + b"document\nendDocument",
    "open brackets": lambda n: b"[" * n,
    "many digits": lambda n: _json(entity={"ex:e": {"ex:x": 0}}).replace(b"0}", b"1" * n + b"}"),
    "numbers of many digits": lambda n: _json(entity={f"ex:e{number}": {"ex:x": 10**1000} for number in range(n // 100)}),
    "a time of many digits": lambda n: _provn([f"activity(ex:a, 2026-01-01T00:00:00.{'1' * n}Z, -)"]),
}
