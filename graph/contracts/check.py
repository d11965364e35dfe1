"""Checks the datasets of a graph against a contract.

Each demand of the contract is a clause: kept, broken, or unknown, if nobody stated what the clause is about. A check reads the nodes of the
datasets that the contract names, and no rows. For a quality rule it reads the last results that a run reported.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeGuard

from headwater.errors import InvalidQueryError
from headwater.graph.contracts.data_types import fits_logical, fits_physical
from headwater.graph.contracts.document import Contract, ContractColumn, ContractTable, QualityRule
from headwater.graph.model import EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.names import nodes_named
from headwater.graph.quality import quality_of
from headwater.graph.standard_facts import sizes_of_datasets
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.stores.write_times import WRITTEN_AT, with_ends

_VERSIONS = 20  # the latest versions of a dataset among which the last finished write is looked for
_NO_NULLS = ("not_null", "expect_column_values_to_not_be_null", "notnull", "is_complete")
_NO_DUPLICATES = ("unique", "expect_column_values_to_be_unique", "is_unique")
_METRICS = {"nullValues": "nullCount", "rowCount": "rowCount"}
_COMPARISONS = {
    "mustBe": operator.eq, "mustNotBe": operator.ne, "mustBeGreaterThan": operator.gt, "mustBeGreaterOrEqualTo": operator.ge,
    "mustBeLessThan": operator.lt, "mustBeLessOrEqualTo": operator.le,
}  # fmt: skip
_DEEPEST = 20  # levels of fields that are read
_Judgement = tuple[bool | None, str]
_Permitted = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Outcome(StrEnum):
    """The state of a clause."""

    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Clause:
    """A demand of a contract. `dataset` is the id of the checked dataset, or None. `detail` states what the check found."""

    table: str
    column: str | None
    demand: str
    outcome: Outcome
    detail: str
    dataset: str | None = None


@dataclass(slots=True)
class _Facts:
    """The facts of the graph about a dataset."""

    dataset: str
    types: dict[str, str | None]  # of columns and their fields, by name in lower case; None: not stated
    opaque: set[str]  # columns in lower case whose fields are not stated
    rows: int | None = None
    written: datetime | None = None
    writer: str | None = None  # the run that wrote last
    stale: bool = False  # whether a result is older than the last write
    results: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)  # by column ("": the dataset) and check, in lower case

    @property
    def not_measured(self) -> _Judgement:
        text = "The last results are older than the last write." if self.stale else "No run reported a result that you may see."
        return None, text


async def check_contract(
    graph: GraphStore, tenant: str, contract: Contract, named: Mapping[str, str], permitted: _Permitted, now: datetime
) -> list[Clause]:
    """Return the clauses of a contract, in its order.

    `named` gives datasets for tables of the contract whose names are other ones in the graph. `permitted` removes values from results of
    quality checks that the caller may not know.

    Raises:
        InvalidQueryError: several datasets have the name of a table, or `named` has a table that is not in the contract.
    """
    found: list[Clause] = []
    for table, dataset in await find_datasets(graph, tenant, contract, named):
        if dataset is None:
            text = f"Nothing is known of {' or '.join(table.called)}."
            found.append(Clause(table.name, None, "the dataset exists", Outcome.BROKEN, text))
            continue
        facts = await _read_facts(graph, tenant, dataset, permitted)
        found += _check_table(table, facts, now)
    return found


async def find_datasets(
    graph: GraphStore, tenant: str, contract: Contract, named: Mapping[str, str]
) -> list[tuple[ContractTable, Node | None]]:
    """Return the dataset of each table of a contract. Raises as `check_contract`."""
    if unknown := named.keys() - {table.name for table in contract.tables}:
        raise InvalidQueryError(
            f"The contract has no table {min(unknown)}.",
            field="datasets",
            hint=f"It has {', '.join(table.name for table in contract.tables[:5])}.",
        )
    found: list[tuple[ContractTable, Node | None]] = []
    for table in contract.tables:
        dataset: Node | None = None
        for name in (named[table.name],) if table.name in named else table.called:
            nodes = await nodes_named(graph, tenant, name, (NodeKind.DATASET,))
            if len(nodes) > 1:
                ids = ", ".join(node.id for node in nodes[:3])
                raise InvalidQueryError(
                    f"{name} names several datasets: {ids}.", field="datasets", hint="Give the id of one for this table."
                )
            if nodes:
                dataset = nodes[0]
                break
        found.append((table, dataset))
    return found


async def columns_of(graph: GraphStore, tenant: str, dataset: str) -> list[Node]:
    edges = await graph.neighbours(tenant, [dataset], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS])
    return await graph.get(tenant, [edge.dst for edge in edges if edge.dst.startswith(f"{NodeKind.COLUMN}:")])


async def _read_facts(graph: GraphStore, tenant: str, dataset: Node, permitted: _Permitted) -> _Facts:
    facts = _Facts(dataset.id, {}, set())
    for column in await columns_of(graph, tenant, dataset.id):
        _add_types(facts, "", {"name": column.name, **column.properties}, 0)
    size = (await sizes_of_datasets(graph, tenant, [dataset.id])).get(dataset.id)
    facts.rows = size.rows if size else None
    for versions in (await graph.latest_at(tenant, [(dataset.id, None)], NodeKind.VERSION, first=_VERSIONS)).values():
        for version in await with_ends(graph, tenant, versions):
            time = version.properties.get(WRITTEN_AT)
            if isinstance(time, str) and (facts.written is None or datetime.fromisoformat(time) > facts.written):
                facts.written, facts.writer = datetime.fromisoformat(time), node_id(NodeKind.RUN, parse_id(version.id)[1][2])
    for check in await quality_of(graph, tenant, dataset.id):
        last = check.results[-1] if check.results else None
        if last is None or "partition" in last.values:  # a result about a part says nothing of the rest
            continue
        if facts.written and last.run != facts.writer and datetime.fromisoformat(last.at) < facts.written:
            facts.stale = True  # another run wrote since
            continue
        facts.results[(check.column or "").lower(), check.assertion.lower()] = permitted(last.values)
    return facts


def _add_types(facts: _Facts, prefix: str, stated: Mapping[str, Any], depth: int) -> None:
    """Add the type of a column or field, and of the fields in it."""
    name, kind, fields = stated.get("name"), stated.get("type"), stated.get("fields")
    if not isinstance(name, str) or depth > _DEEPEST:
        return
    key = f"{prefix}{name}".lower()
    facts.types[key] = kind if isinstance(kind, str) else None
    if not isinstance(fields, list) or not fields:
        facts.opaque.add(key)
        return
    for each in fields:
        if isinstance(each, Mapping):
            _add_types(facts, f"{key}.", each, depth + 1)


def _check_table(table: ContractTable, facts: _Facts, now: datetime) -> Iterator[Clause]:
    def clause(column: str | None, demand: str, kept: bool | None, detail: str) -> Clause:
        outcome = Outcome.UNKNOWN if kept is None else Outcome.KEPT if kept else Outcome.BROKEN
        return Clause(table.name, column, demand, outcome, detail, facts.dataset)

    if table.age is not None:
        age = None if facts.written is None else now - facts.written
        demand = f"the last write is at most {_in_words(table.age)} old"
        detail = "No finished write is recorded." if age is None else f"It is {_in_words(age)} old."
        yield clause(None, demand, None if age is None else age <= table.age, detail)
    for rule in table.quality:
        yield clause(None, _demand(rule), *_judge(rule, facts, ""))
    for column in table.columns:
        kind = facts.types.get(column.name.lower())
        if column.name.lower() not in facts.types:
            outer = column.name.lower().rpartition(".")[0]
            if outer in facts.opaque:
                yield clause(column.name, "the field exists", None, f"The fields of {outer} are not stated.")
            elif not facts.types:
                yield clause(column.name, "the column exists", None, "No run stated the columns of the dataset.")
            elif not outer or outer in facts.types:
                yield clause(column.name, "the column exists", False, "The dataset has no such column.")
            continue
        yield clause(column.name, "the column exists", True, f"Its type is {kind or 'not stated'}.")
        yield from _check_column(column, kind, facts, clause)


def _check_column(column: ContractColumn, kind: str | None, facts: _Facts, clause: Callable[..., Clause]) -> Iterator[Clause]:
    found = f"It is {kind}." if kind else "No run stated the type."
    if column.logical_type:
        yield clause(column.name, f"the logical type is {column.logical_type}", kind and fits_logical(kind, column.logical_type), found)
    if column.physical_type:
        yield clause(column.name, f"the type is {column.physical_type}", kind and fits_physical(kind, column.physical_type), found)
    name = column.name.lower()
    if column.required:
        yield clause(column.name, "there are no nulls", *_judge_no_nulls(facts, name))
    if column.unique:
        yield clause(column.name, "no value is repeated", *_judge_unique(facts, name))
    for rule in column.quality:
        yield clause(column.name, _demand(rule), *_judge(rule, facts, name))


def _judge_no_nulls(facts: _Facts, column: str) -> _Judgement:
    count = facts.results.get((column, "metrics"), {}).get("nullCount")
    if _is_number(count):
        return count == 0, f"The last run that counted found {count:,} null values."
    return _judge_check(facts, column, _NO_NULLS)


def _judge_unique(facts: _Facts, column: str) -> _Judgement:
    metrics, rows = facts.results.get((column, "metrics"), {}), facts.results.get(("", "metrics"), {}).get("rowCount")
    distinct, nulls = metrics.get("distinctCount"), metrics.get("nullCount", 0)
    if _is_number(distinct) and _is_number(rows) and _is_number(nulls):
        return distinct == rows - nulls, f"The last run that counted found {distinct:,} values in {rows - nulls:,} rows."
    return _judge_check(facts, column, _NO_DUPLICATES)


def _judge_check(facts: _Facts, column: str, names: Sequence[str]) -> _Judgement:
    for name in names:
        success = facts.results.get((column, name), {}).get("success")
        if isinstance(success, bool):
            return success, f"The last result of {name} says so."
    return facts.not_measured


def _judge(rule: QualityRule, facts: _Facts, column: str) -> _Judgement:
    """Judge a rule by the last result of a check of its name, or by the metric that it names."""
    success = facts.results.get((column, rule.name.lower()), {}).get("success")
    if isinstance(success, bool):
        return success, f"The last result of {rule.name} says so."
    if rule.metric == "duplicateValues" and rule.operator == "mustBe" and rule.limit == 0:
        return _judge_unique(facts, column)
    metric = _METRICS.get(rule.metric or "")
    if metric is None or rule.operator is None:
        return None, "Headwater does not measure this, and no run reported a result of this name."
    value = facts.rows if metric == "rowCount" else facts.results.get((column, "metrics"), {}).get(metric)
    if rule.unit.lower() in ("percent", "%") and metric != "rowCount":
        rows = facts.results.get(("", "metrics"), {}).get("rowCount")
        value = 100 * value / rows if _is_number(value) and _is_number(rows) and rows else None
    if not _is_number(value):
        return facts.not_measured
    if rule.operator in _COMPARISONS and not _is_number(rule.limit):
        return None, "The limit of the rule is no number."
    return _compare(value, rule), f"The last run that counted found {value:,}."


def _compare(value: float, rule: QualityRule) -> bool:
    if compare := _COMPARISONS.get(rule.operator or ""):
        return bool(compare(value, rule.limit))
    return bool(rule.limit[0] <= value <= rule.limit[1]) is (rule.operator == "mustBeBetween")


def _demand(rule: QualityRule) -> str:
    if rule.metric is None or rule.operator is None:
        return rule.name
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in rule.operator)
    return f"{rule.metric} {words} {rule.limit}{' percent' if rule.unit.lower() in ('percent', '%') else ''}"


def _in_words(age: timedelta) -> str:
    seconds = age.total_seconds()
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size or (seconds >= size and not seconds % size):
            return f"{seconds / size:.1f} {unit}".replace(".0 ", " ")
    return f"{seconds:.0f} seconds"


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
