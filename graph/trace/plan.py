"""The plan of a capture: operators by id, boundaries by operator, and the columns that each operator must provide.

For a witness of chosen columns, this module computes which columns each operator below must provide. None stands for all columns. An
operator with unknown behaviour needs all columns: the witness may get larger, but never too small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headwater.graph.associations import Behaviour, Boundary, Definition, Expression, Manifest, Operator

Needed = frozenset[int] | None
Branches = tuple[tuple[int, int], ...]  # the projection of an Expand that made a row: (operator, number)

_ROW_KINDS = ("group", "window", "semi", "rows")  # boundaries of an operator's own rows; an operator has at most one
# Each output row is one input row with its columns. The windows next below may be reached through these operators.
_ROW_BY_ROW = frozenset({Behaviour.PASSES, Behaviour.DEFINES, Behaviour.KEPT})
WINDOWED = frozenset({Behaviour.PASSES, Behaviour.KEPT, Behaviour.WINDOW})  # a reference to one of these may lead to windows next below
_GIVING = frozenset({Behaviour.SOURCE, Behaviour.CONSTANT, Behaviour.PASSES})  # they need the same columns of their input
_CONDITIONAL = frozenset({Behaviour.FILTER, Behaviour.JOIN, Behaviour.MATCH, Behaviour.ABSENCE})


@dataclass(frozen=True, slots=True)
class Column:
    """A `ref` column of a kept boundary: its name, and the operator to whose rows it refers."""

    name: str
    operator: int


class Plan:
    """The plan of a manifest. Immutable, and shared between traces."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.operators = {operator.id: operator for operator in manifest.operators}
        self.order: dict[int, int] = {}
        if manifest.operators:
            inputs_first = self._order_inputs_first(manifest.operators[0].id)
            self.order = {operator: place for place, operator in enumerate(reversed(inputs_first))}
        self.opaque = [operator for operator in manifest.operators if operator.behaviour is Behaviour.OPAQUE]
        self._boundaries = {(boundary.kind, boundary.operator): boundary for boundary in manifest.boundaries}
        self._unread: dict[int, frozenset[int]] = {}
        self._carried: dict[tuple[int, Needed, Branches], dict[int, Needed]] = {}

    @property
    def sink(self) -> Boundary | None:
        number = self.manifest.sink.boundary if self.manifest.sink else None
        return next((boundary for boundary in self.manifest.boundaries if boundary.boundary == number), None)

    def boundary(self, operator: Operator) -> Boundary | None:
        """Return the boundary with the own rows of an operator: a group, a window, a semi-join with a condition, or a cache."""
        candidates = (self._boundaries.get((kind, operator.id)) for kind in _ROW_KINDS)
        return next((boundary for boundary in candidates if boundary is not None), None)

    def match(self, operator: Operator) -> Boundary | None:
        """Return the boundary with the right side of a semi-join, or with the rows of a scalar subquery."""
        return self._boundaries.get(("match", operator.id))

    def check(self, operator: Operator) -> Boundary | None:
        """Return the boundary above an aggregate that has each group's second hash, or the values of its keys."""
        return self._boundaries.get(("check", operator.id))

    def choice(self, operator: Operator) -> Boundary | None:
        """Return the boundary above an aggregate that has the rows chosen by `first`, `last` or `any_value`."""
        return self._boundaries.get(("chosen", operator.id))

    def knows_branches(self, operator: Operator) -> bool:
        """Return whether the capture records which rows pass an OR without a match of this existence join."""
        return any(column.operator == operator.id for boundary in self.manifest.boundaries for column in list_branches(boundary))

    def has_own_rows(self, operator: Operator) -> bool:
        """Return whether a reference to the operator names one row or group. Otherwise it names matches, or a subquery's row."""
        is_own_kind = operator.behaviour in {Behaviour.SOURCE, Behaviour.GROUP, Behaviour.WINDOW}
        return is_own_kind or self.boundary(operator) is not None

    def children(self, operator: Operator) -> list[Operator]:
        return [self.operators[child] for child in operator.children]

    def upstream(self, operator: Operator) -> Iterator[Operator]:
        """Yield the operator and all operators that feed it, each once, the nearest first."""
        visited: set[int] = set()
        queue = [operator.id]
        while queue:
            identifier = queue.pop()
            if identifier not in visited:
                visited.add(identifier)
                yield self.operators[identifier]
                queue.extend(reversed(self.operators[identifier].inputs))

    def scans(self, operator: Operator) -> list[Operator]:
        return [source for source in self.upstream(operator) if source.behaviour is Behaviour.SOURCE]

    def between_windows(self, operator: Operator) -> bool:
        """Return whether the operator is between two windows. The upper window may need only some columns of the lower window."""
        windows_above = (
            window_operator
            for window_operator in self.operators.values()
            if window_operator.behaviour is Behaviour.WINDOW and window_operator is not operator
        )
        is_below_window = any(feeding_operator is operator for window in windows_above for feeding_operator in self.upstream(window))
        return is_below_window and any(
            feeding_operator.behaviour is Behaviour.WINDOW
            for feeding_operator in self.upstream(operator)
            if feeding_operator is not operator
        )

    def type_of(self, operator: Operator, attr: int) -> str | None:
        """Return Spark's type of an attribute that the operator or an operator below it defines. None if no such operator defines it."""
        for feeding_operator in self.upstream(operator):
            types = {column.attr: column.type for column in feeding_operator.attributes} | {
                definition.attr: definition.type for definition in feeding_operator.defines
            }
            if attr in types:
                return types[attr]
        return None

    def find_operators_above(self, scans: Iterable[int]) -> frozenset[int]:
        scan_ids = set(scans)
        return frozenset(
            o.id for o in self.operators.values() if any(feeding_operator.id in scan_ids for feeding_operator in self.upstream(o))
        )

    def find_unread_windows(self, window: Operator) -> frozenset[int]:
        """Return the windows directly below, through projections only, whose results this window does not read.

        The semantics treats all of them as one window.
        """
        if window.id not in self._unread:
            self._unread[window.id] = frozenset(self._compute_unread_windows(window))
        return self._unread[window.id]

    def skippable(self, window: Operator) -> frozenset[int]:
        """Return the ids of a window and of the windows directly below it, through projections only."""
        return frozenset({window.id, *(operator.id for operator in self._chain(window) if operator.behaviour is Behaviour.WINDOW)})

    def list_carried_columns(self, operator: Operator, inputs: Needed, row_branches: Branches = ()) -> dict[int, Needed]:
        """Return the columns that each operator below must provide if `operator` needs the columns `inputs`.

        `row_branches` restricts the result to rows of these branches.
        """
        key = (operator.id, inputs, row_branches)
        if key not in self._carried:
            needed_by_operator: dict[int, Needed] = dict.fromkeys(operator.inputs, inputs)
            for identifier in sorted(
                {feeding_operator.id for feeding_operator in self.upstream(operator)} - {operator.id}, key=self.order.__getitem__
            ):
                of_union = self.operators[identifier].behaviour is Behaviour.UNION
                operator_needs = (
                    None
                    if of_union
                    else find_needs(self.operators[identifier], needed_by_operator[identifier], dict(row_branches).get(identifier))
                )
                for place, child in enumerate(self.operators[identifier].inputs):
                    if of_union:
                        operator_needs = find_needs(self.operators[identifier], needed_by_operator[identifier], place)
                    earlier_needs = needed_by_operator.get(child, frozenset())
                    needed_by_operator[child] = None if operator_needs is None or earlier_needs is None else earlier_needs | operator_needs
            self._carried[key] = needed_by_operator
        return self._carried[key]

    def _compute_unread_windows(self, window: Operator) -> Iterator[int]:
        read_attributes: Needed = find_window_reads(window, window.defines)
        for operator in self._chain(window):
            if operator.behaviour is Behaviour.WINDOW:
                used_definitions = [
                    definition for definition in operator.defines if read_attributes is None or definition.attr in read_attributes
                ]
                if not used_definitions:
                    yield operator.id
            read_attributes = find_needs(operator, read_attributes)

    def _chain(self, window: Operator) -> Iterator[Operator]:
        operator = window
        while len(operator.children) == 1:
            operator = self.operators[operator.children[0]]
            if operator.behaviour is not Behaviour.WINDOW and operator.behaviour not in _ROW_BY_ROW:
                return
            yield operator

    def _order_inputs_first(self, root: int) -> dict[int, None]:
        """Return operator ids so that each operator follows all of its inputs. Otherwise the order is preorder.

        There is no recursion, because a plan may be deeper than Python's stack.
        """
        ordered_ids: dict[int, None] = {}
        stack = [(root, False)]
        while stack:
            operator, are_inputs_ordered = stack.pop()
            if are_inputs_ordered:
                ordered_ids[operator] = None
            elif operator not in ordered_ids:
                stack.append((operator, True))
                stack.extend((child, False) for child in self.operators[operator].inputs)
        return ordered_ids


def list_references(boundary: Boundary) -> list[Column]:
    columns = (column for column in boundary.columns if column.role == "ref" and column.operator is not None)
    return [Column(f"r{index}", column.operator) for index, column in enumerate(columns) if column.operator is not None]


def format_columns(alias: str, columns: Iterable[Column]) -> str:
    """Return columns as SQL for a SELECT, each with the table alias and a leading comma."""
    return "".join(f", {alias}.{column.name}" for column in columns)


def list_names(columns: Iterable[Column]) -> list[str]:
    return [column.name for column in columns]


def list_partitions(boundary: Boundary) -> list[Column]:
    """Return the `partition` columns of a window boundary, which name the partition before a limit of ranks dropped rows."""
    columns = (column.operator for column in boundary.columns if column.role == "partition")
    return [Column(f"partition{operator}", operator) for operator in columns if operator is not None]


def list_branches(boundary: Boundary) -> list[Column]:
    """Return the `branch` columns of a boundary: the projection of an Expand that made a row, or 1 if a row needs no match."""
    columns = (column.operator for column in boundary.columns if column.role == "branch")
    return [Column(f"branch{operator}", operator) for operator in columns if operator is not None]


def find_needs(operator: Operator, provided: Needed, branch: int | None = None) -> Needed:
    """Return the attributes that an operator needs of its inputs to provide the attributes `provided`.

    `branch` restricts an Expand to the rows of one projection, and a Union to one input.
    """
    behaviour = operator.behaviour
    if provided is None or behaviour in _GIVING:
        return provided
    if behaviour is Behaviour.UNION and operator.defines:
        # Columns match by position. The names are those of the first input, and other inputs may use them for other columns.
        sides = [definition.expr.args for definition in select_definitions(operator, provided)]
        return list_attributes(expr for args in sides for expr in (args if branch is None else args[branch : branch + 1]))
    if behaviour in {Behaviour.DEFINES, Behaviour.KEPT, Behaviour.BRANCHES}:
        exprs = [definition.expr for definition in select_definitions(operator, provided)]
        return _remove_defined(operator, provided) | list_attributes(exprs if branch is None else [expr.args[branch] for expr in exprs])
    if behaviour is Behaviour.GENERATES:
        # Its arguments decide whether there is a row at all.
        return _remove_defined(operator, provided) | frozenset(operator.reads)
    if behaviour in _CONDITIONAL:
        return provided | frozenset(operator.reads) | (operator.condition.attrs if operator.condition else frozenset())
    if behaviour is Behaviour.GROUP:
        # The keys decide whether the group exists, so they are always needed.
        return list_attributes(operator.keys) | list_attributes(
            d.expr for d in (operator.defines if operator.whole else select_definitions(operator, provided))
        )
    if behaviour is Behaviour.WINDOW:
        definitions = select_definitions(operator, provided)
        return _remove_defined(operator, provided) | (find_window_reads(operator, definitions) if definitions else frozenset())
    return None


def select_definitions(operator: Operator, provided: Needed) -> list[Definition]:
    """Return the definitions with which an operator computes the attributes `provided`."""
    return [definition for definition in operator.defines if provided is None or definition.attr in provided]


def list_attributes(expressions: Iterable[Expression]) -> frozenset[int]:
    return frozenset().union(*(expression.attrs for expression in expressions))


def _remove_defined(operator: Operator, provided: frozenset[int]) -> frozenset[int]:
    return provided - {definition.attr for definition in operator.defines}


def find_window_reads(window: Operator, definitions: Iterable[Definition]) -> frozenset[int]:
    """Return the attributes that a window reads to compute some of its results."""
    return (
        list_attributes(d.expr for d in definitions)
        | list_attributes(window.partition)
        | list_attributes(ordering.expr for ordering in window.order)
    )
