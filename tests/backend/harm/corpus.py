"""Requests made to harm a service: the list, as data, to be extended.

Each must be refused, or end within its deadline, while the service stays small and answers others. Half-open connections are tested with
connections (tests/backend/api), and names in predicates in tests/graph/trace. The list has some predicates that ended a service once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.backend.harm.bodies import GRAPHQL, Harm, bodies

DATASET = "DATASET"  # stands for the id of the one dataset that has rows


def corpus() -> list[Harm]:
    """All of them."""
    return [*_documents(), *_lists(), *_predicates(), *bodies()]


def _query(name: str, query: str, *, refused: bool = True, **variables: object) -> Harm:
    return Harm(f"graphql {name}", GRAPHQL, json.dumps({"query": query, "variables": variables}).encode(), refused=refused)


def _bomb(steps: int, times: int, inner: str) -> str:
    spread = "\n".join(f"fragment F{step} on Query {{ {f'...F{step + 1} ' * times}}}" for step in range(steps))
    return f"{{ ...F0 }}\n{spread}\nfragment F{steps} on Query {{ {inner} }}"


_COSTLY = {
    "trace": '(dataset: "x") { exact }',
    "rows": '(dataset: "x") { exact }',
    "view": '(view: {focus: ["dataset:file:x"]}) { cursor }',
    "lineage": '(focus: ["dataset:file:x"]) { truncated }',
    "impact": '(focus: ["dataset:file:x"]) { total }',
    "fieldLineage": '(column: "column:a:b:c") { truncated }',
    "search": '(text: "") { total }',
    "dataflow": '(container: "x") { generations }',
    "__schema": "{ types { name } }",
    "__type": '(name: "Query") { name }',
}
_DOCUMENTS = {
    "brackets": "{ search(text: " + "[" * 20_000 + "]" * 20_000 + ") { total } }",
    "objects": "{ view(view: " + "{a: " * 5_000 + "1" + "}" * 5_000 + ") { cursor } }",
    "selections": "{ a " * 10_000 + "}" * 10_000,
    "open braces": "{" * 60_000,
    "inline fragments": "{ " + "... on Query { " * 300 + "service { version }" + " }" * 300 + " }",
    "containers": '{ node(id: "x") ' + "{ containers " * 90 + "{ id }" + " }" * 90 + " }",
    "introspection": "{ __schema { types " + "{ fields { type " * 40 + "{ name }" + "} }" * 40 + " } }",
    "fields": "{ service { " + "version " * 3_000 + "} }",
    "conflicts": "{ " + " ".join(f'node(id: "{number}") {{ id }}' for number in range(500)) + " }",
    "unknown fields": "{ " + " ".join(f"f{number}" for number in range(1_500)) + " }",
    "unknown fragments": "{ " + " ".join(f"...F{number}" for number in range(1_500)) + " }",
    "variables": "query (" + " ".join(f"$v{number}: Int" for number in range(900)) + ") { service { version } }",
    "directives": "{ service " + "@skip(if: false) " * 700 + "{ version } }",
    "operations": " ".join(f"query Q{number} {{ service {{ version }} }}" for number in range(500)),
    "comments": "#\n" * 30_000 + "{ service { version } }",
    "a long text": '{ search(text: "' + "x" * 100_000 + '") { total } }',
    "escapes": '{ search(text: "' + "\\u0041" * 20_000 + '") { total } }',
    "an open text": '{ search(text: "' + "(" * 60_000,
    "an open block": '{ search(text: """' + '\\"' * 30_000,
    "quotes": '"' * 60_000,
    "a number": "{ search(first: " + "9" * 60_000 + ") { total } }",
    "blanks": " " * 60_000,
    "half a character": "{ \ud83d }",
    "a subscription": "subscription { x }",
}


def _documents() -> Iterator[Harm]:
    for steps in (9, 12, 18, 25, 40, 80):
        for times in (2, 3, 8):
            yield _query(f"bomb {steps}x{times}", _bomb(steps, times, "service { version nodes runs }"))
    for size in (2, 3, 10, 60):
        ring = " ".join(f"fragment F{number} on Query {{ ...F{(number + 1) % size} }}" for number in range(size))
        yield _query(f"ring of {size}", f"{{ ...F0 }} {ring}")
    for name, rest in _COSTLY.items():
        for count in (11, 100):
            yield _query(f"{count} of {name}", "{ " + " ".join(f"a{number}: {name}{rest}" for number in range(count)) + " }")
    for name, document in _DOCUMENTS.items():
        yield _query(name, document)


def _lists() -> Iterator[Harm]:
    view = "query ($view: ViewInput!) { view(view: $view) { cursor } }"
    focus = {"focus": [DATASET]}
    for by in ("NAME", "NAMESPACE"):
        for count in (51, 1_000, 20_000):
            masks = [{"by": by, "values": [f"*{number}*x*" for number in range(count)]}]
            yield _query(f"{count} patterns by {by}", view, view={**focus, "masks": masks})
        yield _query(f"a long pattern by {by}", view, view={**focus, "masks": [{"by": by, "values": ["*a" * 5_000]}]})
        yield _query(f"stars by {by}", view, refused=False, view={**focus, "masks": [{"by": by, "values": ["*a" * 200 + "b"]}]})
        yield _query(f"brackets by {by}", view, refused=False, view={**focus, "masks": [{"by": by, "values": ["[" * 500, "[!a-z]" * 80]}]})
    for count in (51, 5_000):
        yield _query(f"{count} masks", view, view={**focus, "masks": [{"by": "TAG", "values": ["a"]}] * count})
    many = [f"dataset:file:/{number}" for number in range(2_000)]
    yield _query("a focus of many", view, view={"focus": many})
    yield _query("many ends", view, view={"between": {"from": many, "to": many}})
    yield _query("many opened", view, view={**focus, "open": [{"id": each, "level": "COLUMN"} for each in many]})
    yield _query("a depth", view, view={**focus, "depth": 2**31 - 1})
    yield _query("impact of many", "query ($focus: [ID!]) { impact(focus: $focus) { total } }", focus=many)
    yield _query("lineage of many", "query ($focus: [ID!]!) { lineage(focus: $focus) { truncated } }", focus=many)
    rows = [{"file": "x", "row": number} for number in range(15_000)]
    yield _query("many rows", 'query ($rows: [RowRef!]) { trace(dataset: "x", rows: $rows) { exact } }', rows=rows)
    yield _query("a cursor", '{ impact(focus: ["dataset:file:x"], after: "' + "9" * 5_000 + '") { total } }')
    yield _query("a cursor in other digits", '{ impact(focus: ["dataset:file:x"], after: "\u0663") { total } }')
    yield _query("many kinds", "query ($k: [NodeKind!]) { search(kinds: $k) { total } }", refused=False, k=["DATASET"] * 5_000)
    for limit in (-1, 100_001, 2**31 - 1):
        yield _query(f"a limit of {limit}", f'{{ trace(dataset: "x", limit: {limit}) {{ exact }} }}')
        yield _query(f"a page of {limit}", f'{{ rows(dataset: "x", first: {limit}) {{ exact }} }}')


_PREDICATES = (
    "length(repeat(origin, 1000000000)) > 0",
    "list_sum(range(20000000)) > 0",
    "sleep_ms(60000) IS NULL",
    "len(range(100000000)) > 1",
    "(SELECT count(*) FROM range(10000000000)) > 0",
    "origin IN (SELECT content FROM read_text('/etc/passwd'))",
    "EXISTS (SELECT 1 FROM glob('/**'))",
    "getenv('HOME') = 'x'",
    "1=1; ATTACH '/tmp/x.db'",
    "1=1; COPY (SELECT 1) TO '/tmp/harm'",
    "random() > 0.5",
    "nextval('s') > 0",
    "current_setting('x') = 'y'",
    "regexp_matches(repeat('a', 100000), '(a+)+b')",
    "lpad(origin, 2000000000, 'x') = ''",
    "rpad('', 2000000000, 'x') = origin",
    "array_length(generate_series(1, 50000000)) > 0",
    "hash(repeat('x', 500000000)) > 0",
    "origin || repeat('x', 2000000000) = ''",
    "list_transform(range(9999999), x -> x) = []",
    "bitstring(origin, 2000000000) = '1'::BIT",
    "exp(exp(exp(10))) > repeat('1', 1000000)::DOUBLE",
    "string_split(repeat('a,', 100000000), ',') = []",
    "printf('%2000000000d', 1) = ''",
    "format('{:2000000000d}', 1) = ''",
    "COLUMNS(*) = 1",
    "row_number() OVER () = 1",
    "pg_sleep(60) IS NULL",
    "write_log('x') IS NULL",
    "(" * 2_000 + "1=1" + ")" * 2_000,
    "NOT " * 5_000 + "true",
    "origin = '" + "x" * 20_000 + "'",
    "-" * 5_000 + "1 = 1",
    "[" * 1_000 + "1" + "]" * 1_000 + " = []",
    "CASE WHEN true THEN " * 500 + "1" + " END" * 500 + " = 1",
    "1=1" + " OR 1=1" * 4_000,
    "'",
    "/*",
    "\x00",
    "$1 = 1",
    "? = 1",
)
# DuckDB decides whether these are answered or refused.
_HARMLESS = ("", "1 = 1 --", "wind = 1e999999", "wind = " + "9" * 9_000, "wind::HUGEINT * 99999999999999999999999999999999999999 > 0")


def _predicates() -> Iterator[Harm]:
    rows = "query ($d: ID!, $w: String) { rows(dataset: $d, where: $w) { exact } }"
    trace = "query ($d: String!, $w: String) { trace(dataset: $d, where: $w) { exact } }"
    for number, where in enumerate((*_PREDICATES, *_HARMLESS)):
        for name, query in (("rows", rows), ("trace", trace)):
            yield _query(f"{name} where {number}: {where[:40]}", query, refused=where not in _HARMLESS, d=DATASET, w=where)
