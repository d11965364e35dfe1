"""Column lineage of one query, out of the description of its plan (docs: capture format, operators and expressions).

For the `columnLineage` facet of an output (OpenLineage facet 1-2-0). Each output column lists the source columns it depends on:
DIRECT (IDENTITY, TRANSFORMATION, AGGREGATION) where their values flow into it, INDIRECT (CONDITIONAL, WINDOW) where they decide about
it; what decides about rows (JOIN, FILTER, SORT, GROUP_BY) is listed once, for the whole output. Where values pass through
several steps, the strongest word stands. What the plan does not describe is left out, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Field = tuple[str, str, str]  # namespace and name of the dataset, column
_RANK = {"IDENTITY": 0, "TRANSFORMATION": 1, "AGGREGATION": 2}
_MASKING = {"count", "crc32", "hash", "hive_hash", "mask", "md5", "murmur3hash", "sha", "sha1", "sha2", "xxhash64", "approx_count_distinct"}
_PASSING = {"alias", "literal", "union"}  # a column of a union is that of one branch or another, unchanged
_RANKS = {"rank", "dense_rank", "percent_rank", "row_number", "cume_dist", "ntile"}  # made of the order alone: no value flows into them
_FIRST_KNOWN = {"coalesce", "nvl", "ifnull"}
_ROW_SUBTYPES = {"Filter": "FILTER", "Join": "JOIN", "Sort": "SORT"}


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """How one field has a part in a column (OpenLineage's type, subtype and masking)."""

    type: str
    subtype: str
    masking: bool = False


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """For each output column, and for the output as a whole: source fields and how they have a part."""

    columns: Mapping[str, Mapping[Field, frozenset[Step]]]
    dataset: Mapping[Field, frozenset[Step]]


_Dependencies = dict[Field, set[Step]]


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns of a source that is a query of several tables: fields by column, and those that decide about its rows."""

    columns: Mapping[str, Mapping[Field, frozenset[Step]]]
    rows: Mapping[Field, frozenset[Step]]


_Read = Sequence[tuple[str, str]] | Fields  # datasets, each with its columns, or what these are
Sources = Mapping[Any, _Read]  # by the number of a source


def column_lineage(plan: Mapping[str, Any], sources: Sources) -> ColumnLineage:
    """Lineage of the columns that the plan's sink writes. `sources` maps a source's number to its datasets, or to its fields."""
    operators = list(plan.get("operators") or ())
    known: dict[int, _Dependencies] = {}
    whole: _Dependencies = {}
    known_only: _Dependencies = {}
    by_id = {operator["id"]: operator for operator in operators}
    for operator in _children_first(operators):
        if operator.get("op") == "CTERelationRef":
            _refer(operator, by_id, known)
        _visit(operator, known, whole, known_only, sources)
    for field, steps in known_only.items():
        if field not in whole:
            whole[field] = steps
    columns: dict[str, Mapping[Field, frozenset[Step]]] = {}
    for column in (plan.get("sink") or {}).get("columns") or ():
        columns[column["name"]] = _frozen(known.get(column.get("attr"), {}))
    return ColumnLineage(columns, _frozen(whole))


def column_accesses(plan: Mapping[str, Any], sources: Sources) -> Mapping[Field, frozenset[str]]:
    """Which source columns a query reads whose result goes to the driver, and in which ways (the subtypes of `Step`).

    A query that writes says so by its column lineage.
    """
    result = [{"name": column.get("name"), "attr": column.get("attr")} for column in plan.get("output") or ()]
    found = column_lineage({**plan, "sink": {"columns": [{**column, "name": number} for number, column in enumerate(result)]}}, sources)
    accesses: dict[Field, set[str]] = {}
    for dependencies in (*found.columns.values(), found.dataset):
        for field, steps in dependencies.items():
            accesses.setdefault(field, set()).update(step.subtype for step in steps)
    return {field: frozenset(ways) for field, ways in sorted(accesses.items())}


def _refer(reference: Mapping[str, Any], by_id: Mapping[Any, Mapping[str, Any]], known: dict[int, _Dependencies]) -> None:
    """The columns of a reference to a common table expression are those of its definition: each reference has attributes of its own."""
    for child in reference.get("children") or ():
        defined = by_id.get(child, {}).get("columns") or ()
        for column, there in zip(reference.get("columns") or (), defined, strict=False):
            if there["attr"] in known:
                known.setdefault(column["attr"], known[there["attr"]])


def _visit(
    operator: Mapping[str, Any], known: dict[int, _Dependencies], whole: _Dependencies, known_only: _Dependencies, sources: Sources
) -> None:
    """`known_only`: fields of which a filter asks nothing but whether they are null, as Spark adds for the columns of joins and filters."""
    if operator.get("op") == "Scan":
        _scan(operator, known, whole, sources.get(operator.get("source"), ()))
        return
    defined: dict[int, _Dependencies] = {}
    for definition in operator.get("defines") or ():
        found: _Dependencies = {}
        expression = definition.get("expr") or {}
        ranks = operator.get("op") == "Window" and expression.get("fn") in _RANKS
        _collect(expression, "IDENTITY", False, "WINDOW" if ranks else None, known, found)
        if operator.get("op") == "Window":
            for expression in [*(operator.get("partition") or ()), *((item.get("expr") or {}) for item in operator.get("order") or ())]:
                _collect(expression, "IDENTITY", False, "WINDOW", known, found)
        defined[definition["attr"]] = found
    known.update(defined)
    for key in operator.get("keys") or ():
        _collect(key, "IDENTITY", False, "GROUP_BY", known, whole)
    subtype = _ROW_SUBTYPES.get(str(operator.get("op")))
    if subtype:
        read = {*(operator.get("reads") or ()), *_attributes(operator.get("condition") or {})}  # what it reads of subqueries is no `reads`
        about_null = _not_null(operator.get("condition") or {}) if subtype == "FILTER" else frozenset()
        for attribute in sorted(read):
            _add(known.get(attribute, {}), "IDENTITY", False, subtype, known_only if attribute in about_null else whole)


def _scan(operator: Mapping[str, Any], known: dict[int, _Dependencies], whole: _Dependencies, read: _Read) -> None:
    for column in operator.get("columns") or ():
        if isinstance(read, Fields):
            known[column["attr"]] = {field: set(steps) for field, steps in read.columns.get(column["name"], {}).items()}
        else:
            known[column["attr"]] = {(*dataset, column["name"]): {Step("DIRECT", "IDENTITY")} for dataset in read}
    for field, steps in read.rows.items() if isinstance(read, Fields) else ():
        whole.setdefault(field, set()).update(steps)


def _collect(
    expression: Mapping[str, Any],
    subtype: str,
    masking: bool,
    indirect: str | None,
    known: Mapping[int, _Dependencies],
    into: _Dependencies,
) -> None:
    function = str(expression.get("fn", ""))
    if function == "attr":
        _add(known.get(expression["attr"], {}), subtype, masking, indirect, into)
        return
    if function not in _PASSING:
        subtype = "AGGREGATION" if expression.get("aggregate") else max(subtype, "TRANSFORMATION", key=_RANK.__getitem__)
    masking = masking or function in _MASKING
    count = len(expression.get("args") or ())
    for position, argument in enumerate(_arguments(expression)):
        decides = _is_condition(function, position, count)
        _collect(argument, subtype, masking, indirect or ("CONDITIONAL" if decides else None), known, into)
        if function in _FIRST_KNOWN and position < count - 1:  # whether it is null decides about those behind it
            _collect(argument, subtype, masking, indirect or "CONDITIONAL", known, into)
    if isinstance(expression.get("filter"), Mapping):
        _collect(expression["filter"], subtype, masking, indirect or "CONDITIONAL", known, into)


def _arguments(expression: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (argument for argument in expression.get("args") or () if isinstance(argument, Mapping))


def _attributes(expression: Mapping[str, Any]) -> Iterator[int]:
    if expression.get("fn") == "attr":
        yield expression["attr"]
    for argument in _arguments(expression):
        yield from _attributes(argument)


def _not_null(condition: Mapping[str, Any]) -> frozenset[int]:
    """The attributes of which a conjunction asks nothing but that they are not null."""
    parts = [condition]
    asked: set[int] = set()
    others: set[int] = set()
    while parts:
        part = parts.pop()
        if part.get("fn") == "and":
            parts += _arguments(part)
        else:
            read = set(_attributes(part))
            is_bare = part.get("fn") == "isnotnull" and [argument.get("fn") for argument in _arguments(part)] == ["attr"]
            (asked if is_bare else others).update(read)
    return frozenset(asked - others)


def _is_condition(function: str, position: int, count: int) -> bool:
    if function == "if":
        return position == 0
    if function in ("case", "case when", "casewhen", "case_when"):
        return position % 2 == 0 and position < count - 1  # condition, value, condition, value, …, else
    return False


def _add(dependencies: Mapping[Field, set[Step]], subtype: str, masking: bool, indirect: str | None, into: _Dependencies) -> None:
    for field, steps in dependencies.items():
        for step in steps:
            into.setdefault(field, set()).add(_after(step, subtype, masking, indirect))


def _after(step: Step, subtype: str, masking: bool, indirect: str | None) -> Step:
    if indirect:
        return Step("INDIRECT", indirect, step.masking or masking)
    if step.type == "INDIRECT":
        return Step("INDIRECT", step.subtype, step.masking or masking)
    return Step("DIRECT", max(step.subtype, subtype, key=_RANK.__getitem__), step.masking or masking)


def _frozen(dependencies: _Dependencies) -> dict[Field, frozenset[Step]]:
    return {field: frozenset(steps) for field, steps in sorted(dependencies.items())}


def _children_first(operators: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    by_id = {operator["id"]: operator for operator in operators}
    done: set[Any] = set()
    for root in operators:
        stack = [(root, False)]
        while stack:
            operator, expanded = stack.pop()
            if operator["id"] in done:
                continue
            if expanded:
                done.add(operator["id"])
                yield operator
            else:
                stack.append((operator, True))
                below = (*(operator.get("subqueries") or ()), *(operator.get("children") or ()))
                stack.extend((by_id[child], False) for child in below if child in by_id and child not in done)
