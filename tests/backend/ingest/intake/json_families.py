"""Inputs of the readers of JSON bodies and of gzip, of any size: each makes one thing many, long, wide or deep."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from tests.backend.captures import capture
from tests.backend.events import run_event
from tests.backend.ingest.intake.growth import Make


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _facets(**facets: Any) -> bytes:
    return _json(run_event(outputs=[{"namespace": "n", "name": "d", "facets": facets}]))


def _of_run(text: Any) -> bytes:
    """An event with a facet of somebody's own, in which any text may be."""
    return _json({**run_event(), "run": {"runId": run_event()["run"]["runId"], "facets": {"own": {"a": text}}}})


def _columns(count: int) -> list[dict[str, Any]]:
    return [{"name": f"c{number}", "type": "string"} for number in range(count)]


def _sources(count: int) -> list[dict[str, Any]]:
    return [{"namespace": "n", "name": "i", "field": f"c{number}"} for number in range(count)]


EVENTS: Mapping[str, Make] = {
    "inputs": lambda n: _json(run_event(inputs=[{"namespace": "n", "name": f"d{number}"} for number in range(n)])),
    "one input again": lambda n: _json(run_event(inputs=[{"namespace": "n", "name": "d"}] * n)),
    "columns": lambda n: _facets(schema={"fields": _columns(n)}),
    "columns made of columns": lambda n: _facets(columnLineage={"fields": {f"c{k}": {"inputFields": _sources(1)} for k in range(n)}}),
    "a column of many columns": lambda n: _facets(columnLineage={"fields": {"c": {"inputFields": _sources(n)}}}),
    "columns by many columns": lambda n: _facets(
        columnLineage={"fields": {f"c{k}": {"inputFields": []} for k in range(n)}, "dataset": _sources(n)}
    ),
    "identifiers": lambda n: _facets(symlinks={"identifiers": [{"namespace": "n", "name": f"s{k}", "type": "TABLE"} for k in range(n)]}),
    "owners": lambda n: _facets(ownership={"owners": [{"name": f"o{k}", "type": "t"} for k in range(n)]}),
    "tags": lambda n: _facets(tags={"tags": [{"key": f"k{k}", "value": "v", "field": f"c{k}"} for k in range(n)]}),
    "measures": lambda n: _facets(dataQualityMetrics={"columnMetrics": {f"c{k}": {"nullCount": k} for k in range(n)}}),
    "facets": lambda n: _facets(**{f"f{k}": {"a": 1} for k in range(n)}),
    "members": lambda n: _json({**run_event(), **{f"m{k}": 1 for k in range(n)}}),
    "names that differ in their secrets": lambda n: _of_run({f"password=p{k}": 1 for k in range(n)}),
    "settings of secret names": lambda n: _of_run([{"name": "password", "value": "x"}] * n),
    "a text of names of secrets": lambda n: _of_run("password=" * n),
    "a text of quotes": lambda n: _of_run('password:"' * n),
    "a text of escaped quotes": lambda n: _of_run('password:\\"' * n),
    "a text of backslashes": lambda n: _of_run('password:"' + "\\" * n),
    "a text of brackets": lambda n: _of_run("password:{" * n),
    "a text of JSON": lambda n: _of_run('{"password":1}' * n),
    "a text of beginnings of keys": lambda n: _of_run("-----BEGIN " + "A " * n),
    "a text of tokens": lambda n: _of_run("eyJaaaaaaaaaaaa." * n),
    "a text of addresses": lambda n: _of_run("://a:" * n),
    "a text of options": lambda n: _of_run("--a-password " * n),
    "a text of elements": lambda n: _of_run("<password>" * n),
    "a text of values before names": lambda n: _of_run('"value":"' * n + '"key":"password"'),
    "escapes": lambda n: _of_run("").replace(b'""', b'"' + b"\\u0041" * n + b'"'),
    "events": lambda n: _json([run_event()] * n),
    "documents that are no events": lambda n: b"[" + b"{}," * n + b"{}]",
    "objects that do not end": lambda n: b"[" + b'{"a":' * n,
    "a text that does not end": lambda n: b'{"a":"' + b'\\"' * n,
    "fractions": lambda n: _of_run([0.1] * n),
    "large integers": lambda n: _of_run([10**30] * n),
    "a number of many digits": lambda n: _of_run(0).replace(b'"a": 0', b'"a": ' + b"1" * n),
    "a member that stands twice": lambda n: _of_run(0).replace(b'"a": 0', b",".join([b'"a": 0'] * n)),
    "no UTF-8": lambda n: b"\xff" * n,
    "blanks": lambda n: b" " * n,
}


def _manifest(change: Callable[[dict[str, Any]], None]) -> bytes:
    manifest, _ = capture()
    change(manifest)
    return _json(manifest)


def _with_files(manifest: dict[str, Any], paths: list[str]) -> None:
    (file, *_) = manifest["sources"][0]["files"]
    manifest["sources"][0]["files"] = [{**file, "ordinal": place, "path": path} for place, path in enumerate(paths)]


def _with_plan(manifest: dict[str, Any], children: list[list[int]]) -> None:
    scan = manifest["operators"][1]
    above = [{"id": place, "op": "Union", "children": listed, "text": "u"} for place, listed in enumerate(children)]
    manifest["operators"] = [*above, {**scan, "id": len(above)}]


def _with_segments(manifest: dict[str, Any], count: int) -> None:
    (segment, *_) = manifest["segments"]
    manifest["segments"] = [
        {**segment, "name": f"b0-s1.0-p{number}-a{number}.seg", "partition": number, "attempt": number} for number in range(count)
    ]


MANIFESTS: Mapping[str, Make] = {
    "files": lambda n: _manifest(lambda manifest: _with_files(manifest, [f"file:/in/{k}" for k in range(n)])),
    "one file again": lambda n: _manifest(lambda manifest: _with_files(manifest, ["file:/in/0"] * n)),
    "segments": lambda n: _manifest(lambda manifest: _with_segments(manifest, n)),
    "a chain of operators": lambda n: _manifest(lambda manifest: _with_plan(manifest, [[k + 1] for k in range(n)])),
    "operators used twice": lambda n: _manifest(lambda manifest: _with_plan(manifest, [[k + 1, k + 1] for k in range(n)])),
    "an operator of many": lambda n: _manifest(lambda manifest: _with_plan(manifest, [[1] * n])),
    "a circle of operators": lambda n: _manifest(lambda manifest: _with_plan(manifest, [[(k + 1) % n] for k in range(n)])),
    "columns": lambda n: _manifest(lambda manifest: manifest["sources"][0].update(columns=_columns(n))),
    "a text of names of secrets": lambda n: _manifest(lambda manifest: manifest["operators"][0].update(text="password=" * n)),
    "options": lambda n: _manifest(lambda manifest: manifest["sources"][0].update(options={f"password=p{k}": "x" for k in range(n)})),
}

DECLARATIONS: Mapping[str, Make] = {
    "types": lambda n: _json({"types": [{"name": f"t{k}", "axis": "data"} for k in range(n)]}),
    "a type within many": lambda n: _json({"types": [{"name": "t", "axis": "data", "within": [f"t{k}" for k in range(n)]}]}),
    "a chain of containers": lambda n: _json({"containment": [{"container": f"data:t:{k}", "child": f"data:t:{k + 1}"} for k in range(n)]}),
    "links": lambda n: _json({"links": [{"from": "data:t:a", "to": f"data:t:{k}"} for k in range(n)]}),
    "tags": lambda n: _json({"descriptions": [{"id": "dataset:n:d", "aspect": "tag", "value": f"v{k}"} for k in range(n)]}),
    "properties": lambda n: _json({"instances": [{"id": "data:t:a", "properties": {f"password=p{k}": 1 for k in range(n)}}]}),
}


def _operations(*between: Any, last: str = "r", fields: int = 1) -> bytes:
    end_point, names = {"namespace": "n", "name": "d"}, [f"f{k}" for k in range(fields)]
    read = {"name": "r", "inputs": {"endPoint": end_point}, "outputs": {"fields": names}}
    write = {"name": "w", "inputs": {"fields": [{"origin": last, "name": name} for name in names]}, "outputs": {"endPoint": end_point}}
    return _json({"operations": [write, *reversed(between), read]})


def _chain_of_operations(count: int) -> bytes:
    names = ["r", *(f"o{number}" for number in range(count))]
    chain = [
        {"name": name, "inputs": {"fields": [{"origin": origin, "name": "f0"}]}, "outputs": {"fields": ["f0"]}}
        for origin, name in pairwise(names)
    ]
    return _operations(*chain, last=names[-1])


def _crossed_fields(count: int) -> bytes:
    names = [f"f{number}" for number in range(count)]
    crossed = {"name": "t", "inputs": {"fields": [{"origin": "r", "name": name} for name in names]}, "outputs": {"fields": names}}
    return _operations(crossed, last="t", fields=count)


RECORDINGS: Mapping[str, Make] = {
    "fields": lambda n: _operations(fields=n),
    "a chain of operations": _chain_of_operations,
    "fields of all fields": _crossed_fields,
}

PACKED: Mapping[str, Make] = {
    "members without content": lambda n: gzip.compress(b"") * n,
    "members of a byte": lambda n: gzip.compress(b"a") * n,
    "what unpacks to much": lambda n: gzip.compress(b"a" * (100 * n)),
    "what does not unpack to more": lambda n: gzip.compress(os.urandom(n)),
    "zeros behind the end": lambda n: gzip.compress(b"a") + bytes(n),
}
