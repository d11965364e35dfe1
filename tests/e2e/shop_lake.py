"""The lake of a shop as other tools report it, two nights of OpenLineage events: for tests of what people look for in the page.

    postgres public.orders, public.customers → staging/orders, staging/customers → clean/orders → marts/revenue → exports/board
                                                       staging/manual_fixes (first night only) ↗   clean/discounts (second night) ↗

The last run of the second night failed. `count_visits` ran in twelve nights, and wrote very few rows in the last of them.
`HOSTILE` are names that attack or overflow a page; a dataset, a column and a job have each.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headwater.graph.model.ids import node_id

LAKE, SHOP, AIRFLOW = "s3://lake", "postgres://shop:5432", "airflow"
PRODUCER = "https://example.org/shop"
FIRST_NIGHT, SECOND_NIGHT = "2026-02-02", "2026-02-03"
HOSTILE = {
    "markup": "<script>document.title='owned'</script><img src=x onerror=alert(1)>",
    "long": "a_name_of_500_characters_" + "x" * 475,
    "right-to-left": "تقرير المبيعات اليومي \u202egpj.exe",
    "emoji": "📊 sales 👩🏽‍🚀/🏳️‍🌈 report",
    "words": "the quick brown fox " * 8 + "end",
}
ERROR = {
    "message": "Table marts.revenue has no column vat_rate",
    "programmingLanguage": "PYTHON",
    "stackTrace": "Traceback (most recent call last):\n  File \"/opt/board.py\", line 61, in export\nKeyError: 'vat_rate'",
}

Field = tuple[str, str]
Dataset = dict[str, Any]


def hostile_ids() -> dict[str, str]:
    """The id of one dataset with each hostile name."""
    return {kind: node_id("dataset", LAKE, f"odd/{name}/target") for kind, name in HOSTILE.items()}


def events() -> list[dict[str, Any]]:
    return [*_night(FIRST_NIGHT, first=True), *_night(SECOND_NIGHT, first=False), *_visits(), *_hostile()]


def unusual_run() -> str:
    """Return the id of the node of the run that counts far fewer visits than the runs before it."""
    return node_id("run", _run_id("count_visits", "2026-01-22T02:00"))


def _run_id(job: str, minute: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job} {minute}"))


def _visits() -> Iterator[dict[str, Any]]:
    clicks = _dataset(SHOP, "shop.public.clicks", ["id", "page"])
    for night, rows in enumerate([1000, 1010, 990, 1005, 995, 1002, 998, 1008, 992, 1001, 999, 31], 1):
        visits = _dataset(LAKE, "marts/visits", ["page", "visits"], owner="team:web", rows=rows)
        yield from _run("count_visits", f"2026-01-{night + 10}T02:00", [clicks], [visits])


def _night(day: str, *, first: bool) -> Iterator[dict[str, Any]]:
    orders = _dataset(SHOP, "shop.public.orders", ["id", "customer", "amount", "vat"], owner="team:sales")
    customers = _dataset(SHOP, "shop.public.customers", ["id", "city", "email"], owner="team:sales", personal=["email"])
    staged_orders, staged_customers = _copy(orders, "staging/orders"), _copy(customers, "staging/customers", personal=["email"])
    fixes = _dataset(LAKE, "staging/manual_fixes", ["id", "amount"])
    discounts = _dataset(LAKE, "clean/discounts", ["id", "discount"], owner="team:pricing")
    clean = _dataset(
        LAKE,
        "clean/orders",
        ["id", "city", "amount"],
        owner="team:data",
        made={
            "id": [(staged_orders, "id")],
            "city": [(staged_customers, "city")],
            "amount": [(staged_orders, "amount"), *([(fixes, "amount")] if first else [])],
        },
    )
    sources = [(clean, "amount"), *([] if first else [(discounts, "discount")])]
    revenue = _dataset(
        LAKE,
        "marts/revenue",
        ["city", "revenue"],
        owner="team:finance",
        made={"city": [(clean, "city")], "revenue": sources},
        description="Revenue by city, the number of the monthly report.",
        rows=42,
    )
    board = _dataset(
        LAKE,
        "exports/board",
        ["city", "revenue"],
        made={"city": [(revenue, "city")], "revenue": [(revenue, "revenue")]},
        owner="team:finance",
    )
    letters = _dataset(LAKE, "exports/letters", ["email"], made={"email": [(staged_customers, "email")]}, personal=["email"])
    yield from _run("load_orders", f"{day}T01:00", [orders], [staged_orders])
    yield from _run("load_customers", f"{day}T01:10", [customers], [staged_customers])
    yield from _run("clean_orders", f"{day}T01:20", [staged_orders, staged_customers, *([fixes] if first else [])], [clean], sql=_CLEAN)
    yield from _run("revenue", f"{day}T01:30", [clean, *([] if first else [discounts])], [revenue], sql=_REVENUE)
    yield from _run("newsletter", f"{day}T01:40", [staged_customers], [letters])
    yield from _run("export_board", f"{day}T01:50", [revenue], [board], error=None if first else ERROR)


_CLEAN = "SELECT o.id, c.city, o.amount\nFROM staging.orders o\nJOIN staging.customers c ON c.id = o.customer\nWHERE o.amount > 0"
_REVENUE = "SELECT city, sum(amount) AS revenue -- gross\nFROM clean.orders\nGROUP BY city"


def _hostile() -> Iterator[dict[str, Any]]:
    for kind, name in HOSTILE.items():
        source = _dataset(LAKE, f"odd/{name}", [name, "plain"], owner=name, description=name)
        target = _dataset(LAKE, f"odd/{name}/target", [name], made={name: [(source, name)]}, personal=[name])
        error = {"message": name, "programmingLanguage": "SQL", "stackTrace": name} if kind == "markup" else None
        yield from _run(f"job of {name}", f"{FIRST_NIGHT}T03:00", [source], [target], sql=f"select '{name}'", error=error)


def _dataset(
    namespace: str,
    name: str,
    columns: Iterable[str],
    *,
    owner: str | None = None,
    personal: Iterable[str] = (),
    made: Mapping[str, list[tuple[Dataset, str]]] | None = None,
    description: str | None = None,
    rows: int | None = None,
) -> Dataset:
    facets: dict[str, Any] = {"schema": {"fields": [{"name": column, "type": "string"} for column in columns]}}
    if owner:
        facets["ownership"] = {"owners": [{"name": owner, "type": "OWNER"}]}
    if tags := [{"key": "pii", "value": "true", "source": "shop", "field": column} for column in personal]:
        facets["tags"] = {"tags": [*tags, {"key": "personal", "value": "true", "source": "shop"}]}
    if description:
        facets["documentation"] = {"description": description}
    if made:
        fields = {column: {"inputFields": [_input(source, field) for source, field in sources]} for column, sources in made.items()}
        facets["columnLineage"] = {"fields": fields}
    dataset: Dataset = {"namespace": namespace, "name": name, "facets": {key: _facet(value) for key, value in facets.items()}}
    if rows is not None:
        dataset["outputFacets"] = {"outputStatistics": _facet({"rowCount": rows, "size": rows * 30})}
    return dataset


def _copy(source: Dataset, name: str, personal: Iterable[str] = ()) -> Dataset:
    columns = [field["name"] for field in source["facets"]["schema"]["fields"]]
    return _dataset(LAKE, name, columns, personal=personal, made={column: [(source, column)] for column in columns})


def _input(source: Dataset, field: str) -> dict[str, Any]:
    transformation = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "", "masking": False}
    return {"namespace": source["namespace"], "name": source["name"], "field": field, "transformations": [transformation]}


def _facet(value: dict[str, Any]) -> dict[str, Any]:
    return {"_producer": PRODUCER, "_schemaURL": "https://openlineage.io/spec/1-0-0/OpenLineage.json#/$defs/BaseFacet", **value}


def _run(
    job: str, minute: str, inputs: list[Dataset], outputs: list[Dataset], *, sql: str | None = None, error: dict[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the start and the end of a run. The end of a failed run has no outputs that were written."""
    run = {"runId": _run_id(job, minute)}
    facets = {"sql": _facet({"query": sql, "dialect": "spark"})} if sql else {}
    reads = [{key: value for key, value in each.items() if key != "outputFacets"} for each in inputs]
    for kind, second in (("START", "00"), ("FAIL" if error else "COMPLETE", "40")):
        facet = {"facets": {"errorMessage": _facet(error)}} if error and kind == "FAIL" else {}
        yield {
            "eventType": kind,
            "eventTime": f"{minute}:{second}Z",
            "producer": PRODUCER,
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": run | facet,
            "job": {"namespace": AIRFLOW, "name": job, "facets": facets},
            "inputs": reads,
            "outputs": outputs,
        }
