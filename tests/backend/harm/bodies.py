"""Bodies, headers and bytes made to harm, for the corpus."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.backend.events import run_event

_JSON = {"Content-Type": "application/json"}
_EVENTS, _CAPTURES, _DECLARED, _PROV, GRAPHQL = "/api/v1/lineage", "/api/v1/captures", "/api/v1/declarations", "/api/v1/prov", "/graphql"


@dataclass(frozen=True, slots=True)
class Harm:
    """A request. `refused`: it must be refused; others may be answered. `raw`: the bytes of a request that no client would send."""

    name: str
    path: str = ""
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: dict(_JSON))
    refused: bool = True
    raw: bytes | None = None
    method: str = "POST"


def bodies() -> list[Harm]:
    """The requests of this module."""
    return [*_bodies(), *_events(), *_packed(), *_headers(), *_raw()]


_SHAPES = {
    "nothing": b"",
    "a null": b"null",
    "an open object": b"{",
    "an open array": b"[" * 5_000,
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "many objects": b"[" + b"{}," * 300_000 + b"{}]",
    "twice": b'{"query": "{ service { version } }", "x": 1, "x": 2}',
    "half a character": b'{"query": "\\ud800"}',
    "no text": b"\xff\xfe\x00",
    "infinite": b'{"query": 1e999}',
    "NaN": b'{"query": NaN}',
    "digits": b'{"query": ' + b"9" * 200_000 + b"}",
    "fraction": b'{"query": 0.' + b"1" * 500_000 + b"e}",
    "commas": b'{"a": [' + b"1," * 700_000 + b"1]}",
    "escapes": b'{"a": "' + b"\\u0041" * 700_000 + b'"}',
    "an open text": b'{"a": "' + b"x" * 900_000,
    "backslashes": b'{"a": "' + b"\\" * 900_001,
    "quotes": b'"' * 900_000,
    "blanks": b" " * 900_000,
    "zero": b'{"a": "\x00"}',
    "a mark": b"\xef\xbb\xbf{}",
    "two documents": b"{}{}",
    "keys": b"{" + b'"":1,' * 50_000 + b'"":1}',
    "numbers": b'{"a": ' + b"[1.5e-300," * 100_000,
}


def _bodies() -> Iterator[Harm]:
    for door in (_EVENTS, _CAPTURES, _DECLARED, _PROV, GRAPHQL):
        for name, body in _SHAPES.items():
            yield Harm(f"{door} {name}", door, body, refused=(door, name) != (_PROV, "a mark"))


def _event(**changes: object) -> bytes:
    return json.dumps(run_event(7_000, **changes)).encode()


_LONG_TEXTS = {
    "names of secrets": "-password" * 50_000,
    "addresses": "://a:b" * 100_000,
    "quotes": "password '" * 50_000,
    "keys": "-----BEGIN A PRIVATE KEY-----" * 20_000,
    "escaped": 'secret\\\\\\"' * 50_000,
    "tokens": "eyJaaaaaaaaaaaaaa." * 50_000,
    "signs": "pass=@=" * 60_000,
    "lists": "password:[" * 50_000,
    "objects": '{"password":' * 50_000,
}


def _events() -> Iterator[Harm]:
    objects, some = b"[" + b"{}," * 150_000 + b"{}]", b"[" + b'{"namespace":"a","name":"b"},' * 50_000 + b"{}]"
    facets = ("{" + ",".join(f'"f{number}":1' for number in range(100_000)) + "}").encode()
    yield Harm("20 MB of objects", _EVENTS, b"[" + b"{}," * 6_600_000 + b"{}]")
    yield Harm("45,000 faults", _EVENTS, b"[" + b"{}," * 45_000 + b"{}]")
    yield Harm("inputs of nothing", _EVENTS, _event(inputs="@").replace(b'"@"', objects))
    yield Harm("inputs of many", _EVENTS, _event(inputs="@").replace(b'"@"', some))
    yield Harm("facets that are none", _EVENTS, _event(job={"namespace": "a", "name": "b", "facets": "@"}).replace(b'"@"', facets))
    for name, text in _LONG_TEXTS.items():
        yield Harm(f"a text of {name}", _EVENTS, _event(x=text), refused=False)
    for at in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0000-01-01T00:00:00Z", "x" * 50_000):
        yield Harm(f"a time {at[:30]}", _EVENTS, _event(eventTime=at))
    for size in (5_000, 100_000):
        yield Harm(f"a name of {size}", _EVENTS, _event(job={"namespace": "a", "name": "x" * size}))
        yield Harm(f"a dataset of {size}", _EVENTS, _event(inputs=[{"namespace": "é" * (size // 2), "name": "b"}]))


def _packed() -> Iterator[Harm]:
    bomb = gzip.compress(b" " * 60_000_000)
    shapes = (
        ("a bomb", bomb, "gzip"),
        ("a bomb in parts", gzip.compress(b" " * 1_000_000) * 60, "gzip"),
        ("half of it", bomb[: len(bomb) // 2], "gzip"),
        ("no gzip", b"x" * 10_000, "gzip"),
        ("deflate", zlib.compress(b"{}"), "deflate"),
        ("packed twice", gzip.compress(b"{}"), "gzip, gzip"),
        ("br", b"{}", "br"),
    )
    for door in (_EVENTS, _CAPTURES, _DECLARED, _PROV):
        for name, body, encoding in shapes:
            yield Harm(f"{door} {name}", door, body, {**_JSON, "Content-Encoding": encoding})


_HOSTS = ("[::1", "[", "]", "[::1]x", "evil.example", "127.0.0.1.evil.example", "a" * 10_000, "[v1.x]", "\u00e9.example", "local host")
_PATHS = (
    "/api/v1/impact?focus=" + "a" * 10_000,
    "/api/v1/impact?depth=" + "9" * 500,
    "/api/v1/%00",
    "/api/v1/../../etc/passwd",
    "/api/v1/descriptions?node=%ff",
)


def _headers() -> Iterator[Harm]:
    for host in _HOSTS:
        yield Harm(f"host {host[:30]}", "/api/v1/descriptions", headers={"Host": host.encode().decode("latin-1")}, method="GET")
    for origin in ("http://[::1", "http://evil.example", "null", "[", "file://", "x" * 5_000):
        yield Harm(f"origin {origin[:30]}", _EVENTS, b"{}", {**_JSON, "Origin": origin})
    for key in ("Bearer ", "Bearer " + "x" * 10_000, "Basic x", "\u00e9", "Bearer \x7f"):
        yield Harm(f"key {key[:12]!r}", "/api/v1/descriptions", headers={"Authorization": key}, method="GET")
    for count, size in ((5, 5_000), (300, 100), (1, 40_000)):
        yield Harm(f"{count} headers of {size}", _EVENTS, b"{}", {**_JSON, **{f"X-{number}": "x" * size for number in range(count)}})
    for accept in ("x" * 5_000, "*/*;q=nan," * 500, "*/*;q=" + "9" * 500, ",,,,;;;;"):
        yield Harm(f"accept {accept[:12]}", "/api/v1/prov?target=dataset:x:y", headers={"Accept": accept}, method="GET")
    for path in _PATHS:
        yield Harm(f"path {path[:40]}", path, method="GET", refused=".." not in path)


_CHUNKED = b"Transfer-Encoding: chunked\r\n"
# The rest of a request after the lines with the key.
_RESTS = {
    "two lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a length and chunks": b"Content-Length: 2\r\n" + _CHUNKED + b"\r\n0\r\n\r\n",
    "no number": b"Content-Length: two\r\n\r\n{}",
    "a negative length": b"Content-Length: -1\r\n\r\n{}",
    "a long length": b"Content-Length: " + b"9" * 400 + b"\r\n\r\n",
    "odd digits": b"Content-Length: \xb2\r\n\r\n{}",
    "odd chunks": _CHUNKED + b"\r\nzz\r\n{}\r\n0\r\n\r\n",
    "twice chunked": b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "a long chunk": _CHUNKED + b"\r\n" + b"f" * 20 + b"\r\n",
    "no header": b"\x00\x01\x02\r\n\r\n",
    "a folded header": b"X-A: 1\r\n  2\r\nContent-Length: 2\r\n\r\n{}",
}
_REQUESTS = {
    "no http": b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    "a long line": b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    "http 9": b"GET / HTTP/9.9\r\nHost: HOST\r\n\r\n",
    "no host": b"GET /api/v1/descriptions HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /api/v1/descriptions HTTP/1.1\r\nHost: a\r\nHost: HOST\r\n\r\n",
    "a method": b"\xff\xff / HTTP/1.1\r\n\r\n",
}


def _raw() -> Iterator[Harm]:
    head = b"POST /api/v1/lineage HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\n"
    for name, rest in _RESTS.items():
        yield Harm(f"raw {name}", raw=head + rest)
    for name, request in _REQUESTS.items():
        yield Harm(f"raw {name}", raw=request)
