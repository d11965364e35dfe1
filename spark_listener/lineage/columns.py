"""Column lineage of one query, from the description of its plan (docs: capture format, operators and expressions).

It becomes the `columnLineage` facet of an output (OpenLineage facet 1-2-0). Each output column lists the source columns on which it
depends: DIRECT (IDENTITY, TRANSFORMATION, AGGREGATION) if their values flow into it, INDIRECT (CONDITIONAL, WINDOW) if they decide about
it. Fields that decide about rows (JOIN, FILTER, SORT, GROUP_BY) are listed once for the whole output. If values pass several steps, the
strongest word counts. Facts that the plan does not describe are left out, never guessed. A function like `mapInPandas` may use every column
that it sees: all are listed, and the step is `opaque`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from headwater.spark_listener.lineage.scan_columns import name_table_columns

Field = tuple[str, str, str]  # namespace and name of the dataset, column; with the path if only a part is read (`WITHIN`)
ROWS = "\0rows"  # in place of a namespace: rows of (yet) unknown origin; the name is the number of their attribute
WITHIN = "\0"  # separates the parts of a path; a column's name may hold any visible character
_RANK = {"IDENTITY": 0, "TRANSFORMATION": 1, "AGGREGATION": 2}
_MASKING = {"count", "crc32", "hash", "hive_hash", "mask", "md5", "murmur3hash", "sha", "sha1", "sha2", "xxhash64", "approx_count_distinct"}
# A column of a union is an unchanged column of one branch; a column of MERGE comes from one clause.
_PASSING = {"alias", "literal", "union", "merge"}
# Functions that extract a field of a column, and the prefix of the field in its path.
_FIELDS = {"getstructfield": "", "getarraystructfields": f"{WITHIN}_element"}
_RANKS = {
    "rank",
    "dense_rank",
    "percent_rank",
    "row_number",
    "cume_dist",
    "ntile",
}  # computed from the order only: no value flows into them
_FIRST_KNOWN = {"coalesce", "nvl", "ifnull"}
_AND = ("&&", "and")  # in Spark's text, and in other manifests
_MOST_ROUNDS = 100  # rounds of a recursion, until no round adds anything
_MOST_READ = 200_000  # fields, counted at each read of a column that depends on them
_ROW_SUBTYPES = {"Filter": "FILTER", "Join": "JOIN", "Sort": "SORT", "MergeIntoCommand": "JOIN", "DeleteCommand": "FILTER"}


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """How a field contributes to a column (OpenLineage's type, subtype and masking).

    `opaque`: a function may use it, but that is unknown.
    """

    type: str
    subtype: str
    masking: bool = False
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The source fields of each output column, and of the output as a whole, with the steps between them."""

    columns: Mapping[str, Mapping[Field, frozenset[Step]]]
    dataset: Mapping[Field, frozenset[Step]]
    too_large: bool = False  # the plan is too large to follow columns, so no columns are reported


_Dependencies = dict[Field, set[Step]]


class _TooLargeError(Exception):
    """The plan is too large to follow its columns."""


class _AttributeSources(dict[int, _Dependencies]):
    """The sources of each attribute. Reads are counted and limited, because a column may depend on thousands of fields."""

    fields_read = 0

    def read(self, attribute: int) -> _Dependencies:
        found = self.get(attribute, {})
        self.count(1 + len(found))
        return found

    def count(self, fields: int) -> None:
        self.fields_read += fields
        if self.fields_read > _MOST_READ:
            raise _TooLargeError


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns of a source that is a database query: table fields by column, and the fields that decide about its rows."""

    columns: Mapping[str, Mapping[Field, frozenset[Step]]]
    rows: Mapping[Field, frozenset[Step]]


_Read = Sequence[tuple[str, str]] | Fields  # datasets, each with its columns, or the fields of these
Sources = Mapping[Any, _Read]  # by the number of a source


def column_lineage(plan: Mapping[str, Any], sources: Sources) -> ColumnLineage:
    """Return the lineage of the columns that the plan's sink writes. `sources` maps a source's number to its datasets or its fields."""
    if plan.get("left_out"):  # the description lacks columns
        return ColumnLineage({}, {}, too_large=True)
    try:
        return _followed(plan, sources)
    except _TooLargeError:
        return ColumnLineage({}, {}, too_large=True)


def known_alone(lineage: ColumnLineage) -> tuple[ColumnLineage, bool]:
    """Return the lineage without rows of unknown origin, and whether there were any."""
    every = [*lineage.columns.values(), lineage.dataset]
    if not any(field[0] == ROWS for found in {id(found): found for found in every}.values() for field in found):
        return lineage, False
    columns = {name: _without_rows(found) for name, found in lineage.columns.items()}
    return ColumnLineage(columns, _without_rows(lineage.dataset), lineage.too_large), True


def _without_rows(fields: Mapping[Field, frozenset[Step]]) -> dict[Field, frozenset[Step]]:
    return {field: steps for field, steps in fields.items() if field[0] != ROWS}


def _followed(plan: Mapping[str, Any], sources: Sources) -> ColumnLineage:
    operators = list(_children_first(name_table_columns(plan.get("operators") or (), plan.get("sources") or ())))
    loops = {operator["loop"]: operator for operator in operators if operator.get("loop") is not None and operator.get("defines")}
    known, whole, known_only = _walked(operators, sources, _AttributeSources())
    for _ in range(_MOST_ROUNDS if loops else 0):
        begun = _of_loops(operators, loops, known)
        if begun.items() <= known.items():
            break
        known, whole, known_only = _walked(operators, sources, begun)
    covered = {(namespace, name, above) for namespace, name, path in whole for above in _above(path)}
    for field, steps in known_only.items():
        if field not in covered:
            whole[field] = steps
    columns: dict[str, Mapping[Field, frozenset[Step]]] = {}
    frozen: dict[int, Mapping[Field, frozenset[Step]]] = {}  # all columns of a function have the same sources
    for column in (plan.get("sink") or {}).get("columns") or ():
        made_of = known.get(column.get("attr"), {})
        if id(made_of) not in frozen:
            known.count(len(made_of))
            frozen[id(made_of)] = _frozen(made_of)
        columns[column["name"]] = frozen[id(made_of)]
    return ColumnLineage(columns, _frozen(whole))


def _walked(
    operators: Sequence[Mapping[str, Any]], sources: Sources, begun: _AttributeSources
) -> tuple[_AttributeSources, _Dependencies, _Dependencies]:
    known, whole, known_only = _AttributeSources(begun), dict[Field, set[Step]](), dict[Field, set[Step]]()
    known.count(begun.fields_read)
    by_id = {operator["id"]: operator for operator in operators}
    for operator in operators:
        if operator.get("op") == "CTERelationRef":
            _refer(operator, by_id, known)
        _visit(operator, known, whole, known_only, sources)
    return known, whole, known_only


def _of_loops(
    operators: Sequence[Mapping[str, Any]], loops: Mapping[Any, Mapping[str, Any]], known: _AttributeSources
) -> _AttributeSources:
    """Return the columns of references to a recursion. Each has the columns of the recursion around it, as far as they are known."""
    found = _AttributeSources()
    found.count(known.fields_read)
    for reference in operators:
        defined = loops.get(reference.get("loop"), {}).get("defines") or ()
        for column, there in zip(() if reference.get("defines") else reference.get("columns") or (), defined, strict=False):
            found[column["attr"]] = known.get(there["attr"], {})
    return found


def _above(path: str) -> Iterator[str]:
    parts = path.split(WITHIN)
    return (WITHIN.join(parts[:depth]) for depth in range(1, len(parts) + 1))


def column_accesses(plan: Mapping[str, Any], sources: Sources) -> Mapping[Field, frozenset[str]] | None:
    """Return the source columns that a query without output reads, each with the subtypes of `Step`.

    None if the plan is too large to follow its columns. The column lineage of a query with an output already has this information.
    """
    result = [{"name": column.get("name"), "attr": column.get("attr")} for column in plan.get("output") or ()]
    found = column_lineage({**plan, "sink": {"columns": [{**column, "name": number} for number, column in enumerate(result)]}}, sources)
    if found.too_large:
        return None
    accesses: dict[Field, set[str]] = {}
    for dependencies in (*found.columns.values(), found.dataset):
        for field, steps in dependencies.items():
            accesses.setdefault(field, set()).update(step.subtype for step in steps)
    return {field: frozenset(ways) for field, ways in sorted(accesses.items())}


def _refer(reference: Mapping[str, Any], by_id: Mapping[Any, Mapping[str, Any]], known: _AttributeSources) -> None:
    """Map the new attributes of a reference to a common table expression to the columns of its definition."""
    for child in reference.get("children") or ():
        defined = by_id.get(child, {}).get("columns") or ()
        for column, there in zip(reference.get("columns") or (), defined, strict=False):
            if there["attr"] in known:
                known.setdefault(column["attr"], known[there["attr"]])


def _visit(
    operator: Mapping[str, Any], known: _AttributeSources, whole: _Dependencies, known_only: _Dependencies, sources: Sources
) -> None:
    """Add the columns and deciding fields of an operator.

    `known_only` are fields that a filter only tests for null, like the tests that Spark adds for join and filter columns.
    """
    if operator.get("op") == "Scan":
        _scan(operator, known, whole, sources.get(operator.get("source"), ()))
        return
    if operator.get("kept"):  # rows of an earlier query (`kept`)
        known.update({attribute: {field: set(steps) for field, steps in made.items()} for attribute, made in operator["kept"].items()})
        for field, steps in operator["kept_rows"].items():
            whole.setdefault(field, set()).update(steps)
        return
    _define(operator, known)
    _opaque(operator, known)
    for condition in operator.get("conditions") or ():  # conditions of MERGE clauses decide which clause makes a row, and how
        _collect(condition, "IDENTITY", False, "CONDITIONAL", known, whole)
    for key in operator.get("keys") or ():
        _collect(key, "IDENTITY", False, "GROUP_BY", known, whole)
    subtype = _ROW_SUBTYPES.get(str(operator.get("op")))
    if subtype:
        _decide(operator, subtype, known, whole, known_only)


def _decide(operator: Mapping[str, Any], subtype: str, known: _AttributeSources, whole: _Dependencies, known_only: _Dependencies) -> None:
    condition = operator.get("condition") or {}
    for part in _conjuncts(condition):
        asked = next(_arguments(part), {}) if part.get("fn") == "isnotnull" and subtype == "FILTER" else {}
        is_bare = asked.get("fn") == "attr" or _within(asked, known) is not None
        for read in _reads(part, known):
            _add(read, "IDENTITY", False, subtype, known_only if is_bare else whole)
    for attribute in sorted(
        {*(operator.get("reads") or ())} - set(_attributes(condition))
    ):  # a condition may not show everything that it reads
        _add(known.read(attribute), "IDENTITY", False, subtype, whole)


def _conjuncts(condition: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    parts = [condition]
    while parts:
        part = parts.pop()
        if part.get("fn") in _AND:
            parts += _arguments(part)
        else:
            yield part


def _reads(expression: Mapping[str, Any], known: _AttributeSources) -> Iterator[_Dependencies]:
    if (within := _within(expression, known)) is not None:
        yield within
    elif expression.get("fn") == "attr":
        yield known.read(expression["attr"])
    else:
        for argument in _arguments(expression):
            yield from _reads(argument, known)


def _define(operator: Mapping[str, Any], known: _AttributeSources) -> None:
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


def _scan(operator: Mapping[str, Any], known: _AttributeSources, whole: _Dependencies, read: _Read) -> None:
    for column in operator.get("columns") or ():
        known.count(1 if isinstance(read, Fields) else len(read))
        if isinstance(read, Fields):
            known[column["attr"]] = {field: set(steps) for field, steps in read.columns.get(column["name"], {}).items()}
        else:
            step = Step("DIRECT", "AGGREGATION" if "of" in column else "IDENTITY")
            names = column.get("of", [column["name"]])
            known[column["attr"]] = {(*dataset, name): {step} for dataset in read for name in names}
    for name in operator.get("groups") or ():
        for dataset in () if isinstance(read, Fields) else read:
            whole.setdefault((*dataset, name), set()).add(Step("INDIRECT", "GROUP_BY"))
    for field, steps in read.rows.items() if isinstance(read, Fields) else ():
        whole.setdefault(field, set()).update(steps)


def _opaque(operator: Mapping[str, Any], known: _AttributeSources) -> None:
    """Add the columns of an opaque operator. Each may depend on every column that the operator sees."""
    made = operator.get("makes") or ()
    sees: list[Mapping[str, Any]] = [{"fn": "attr", "attr": attribute} for attribute in operator.get("sees") or ()]
    if operator.get("whole"):  # a function over groups: the first of possibly many columns names its arguments
        made = operator.get("defines") or ()
        sees = list(_arguments(made[0].get("expr") or {})) if made else []
    if made:
        seen = _all_of(sees, False, None, known)
        known.update({column["attr"]: seen for column in made})


def _all_of(expressions: Iterable[Mapping[str, Any]], masking: bool, indirect: str | None, known: _AttributeSources) -> _Dependencies:
    found: _Dependencies = {}
    for expression in expressions:
        _collect(expression, "TRANSFORMATION", masking, indirect, known, found)
    return {field: {replace(step, opaque=True) for step in steps} for field, steps in found.items()}


def _collect(
    expression: Mapping[str, Any],
    subtype: str,
    masking: bool,
    indirect: str | None,
    known: _AttributeSources,
    into: _Dependencies,
) -> None:
    function = str(expression.get("fn", ""))
    if function == "attr":
        _add(known.read(expression["attr"]), subtype, masking, indirect, into)
        return
    if (within := _within(expression, known)) is not None:
        _add(within, subtype, masking, indirect, into)
        return
    if expression.get("opaque"):
        for field, steps in _all_of(_arguments(expression), masking, indirect, known).items():
            into.setdefault(field, set()).update(steps)
        return
    if function not in _PASSING:
        subtype = "AGGREGATION" if expression.get("aggregate") else max(subtype, "TRANSFORMATION", key=_RANK.__getitem__)
    masking = masking or function in _MASKING
    count = len(expression.get("args") or ())
    for position, argument in enumerate(_arguments(expression)):
        decides = _is_condition(function, position, count)
        _collect(argument, subtype, masking, indirect or ("CONDITIONAL" if decides else None), known, into)
        if function in _FIRST_KNOWN and position < count - 1:  # its null test decides about the next arguments
            _collect(argument, subtype, masking, indirect or "CONDITIONAL", known, into)
    condition = expression.get("filter")
    if condition is not None and isinstance(condition, Mapping):  # the test for the abstract type takes ten times as long
        _collect(condition, subtype, masking, indirect or "CONDITIONAL", known, into)


def _within(expression: Mapping[str, Any], known: _AttributeSources) -> _Dependencies | None:
    path: list[str] = []
    subtype = "IDENTITY"
    while (before := _FIELDS.get(str(expression.get("fn")))) is not None and expression.get("field") is not None:
        path.append(f"{before}{WITHIN}{expression['field']}")
        subtype = "TRANSFORMATION" if before else subtype
        expression = next(_arguments(expression), {})
    if not path or expression.get("fn") != "attr":
        return None
    column = known.read(expression["attr"])
    if any(step != Step("DIRECT", "IDENTITY") for steps in column.values() for step in steps):
        return None
    end = "".join(reversed(path))
    return {(namespace, name, f"{field}{end}"): {Step("DIRECT", subtype)} for namespace, name, field in column}


def _arguments(expression: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (argument for argument in expression.get("args") or () if type(argument) is dict or isinstance(argument, Mapping))


def _attributes(expression: Mapping[str, Any]) -> Iterator[int]:
    if expression.get("fn") == "attr":
        yield expression["attr"]
    for argument in _arguments(expression):
        yield from _attributes(argument)


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


@lru_cache(1024)  # a few hundred kinds, used for every field of every column
def _after(step: Step, subtype: str, masking: bool, indirect: str | None) -> Step:
    masking = step.masking or masking
    if indirect:
        return Step("INDIRECT", indirect, masking, step.opaque)
    if step.type == "INDIRECT":
        return Step("INDIRECT", step.subtype, masking, step.opaque)
    return Step("DIRECT", max(step.subtype, subtype, key=_RANK.__getitem__), masking, step.opaque)


def compose(first: Step, then: Step) -> Step:
    """Return the step of a field that contributes by `first` to a column, which contributes by `then` to another column."""
    is_direct = then.type == "DIRECT"
    step = _after(first, then.subtype if is_direct else "IDENTITY", then.masking, None if is_direct else then.subtype)
    return replace(step, opaque=True) if then.opaque else step


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
