"""The plan of a capture, for traces: operators by id, boundaries by operator, and the columns that each operator must provide.

This module carries down C, the chosen columns of a witness (docs: semantics). None stands for all columns. An opaque operator passes None
down: the witness may get larger, but never too small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headwater.graph.associations import Behaviour, Boundary, Definition, Expression, Manifest, Operator

Needed = frozenset[int] | None
Made = tuple[tuple[int, int], ...]  # the projection of an Expand that made a row: (operator, number)

_ROW_KINDS = ("group", "window", "semi", "rows")  # boundaries of an operator's own rows; an operator has at most one
# Each output row is one input row with its columns. The windows next below may be reached through these operators.
_ROW_BY_ROW = frozenset({Behaviour.PASSES, Behaviour.DEFINES, Behaviour.KEPT})
WINDOWED = frozenset({Behaviour.PASSES, Behaviour.KEPT, Behaviour.WINDOW})  # a reference to one of these may lead to windows next below
_GIVING = frozenset({Behaviour.SOURCE, Behaviour.CONSTANT, Behaviour.PASSES})  # they need the same columns of their input
_CONDITIONAL = frozenset({Behaviour.FILTER, Behaviour.JOIN, Behaviour.MATCH, Behaviour.ABSENCE})


@dataclass(frozen=True, slots=True)
class Column:
    """A `ref` column of a kept boundary: its name, and the operator whose records it references."""

    name: str
    operator: int


class Plan:
    """The plan of a manifest: immutable, and shared between traces."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.operators = {operator.id: operator for operator in manifest.operators}
        self.order: dict[int, int] = {}
        if manifest.operators:
            inputs_first = self._inputs_first(manifest.operators[0].id)
            self.order = {operator: place for place, operator in enumerate(reversed(inputs_first))}
        self.opaque = [operator for operator in manifest.operators if operator.behaviour is Behaviour.OPAQUE]
        self._boundaries = {(boundary.kind, boundary.operator): boundary for boundary in manifest.boundaries}
        self._unread: dict[int, frozenset[int]] = {}
        self._carried: dict[tuple[int, Needed, Made], dict[int, Needed]] = {}

    @property
    def sink(self) -> Boundary | None:
        number = self.manifest.sink.boundary if self.manifest.sink else None
        return next((boundary for boundary in self.manifest.boundaries if boundary.boundary == number), None)

    def boundary(self, operator: Operator) -> Boundary | None:
        """Return the boundary of an operator that has rows of its own: a group, a window, a match with a condition."""
        found = (self._boundaries.get((kind, operator.id)) for kind in _ROW_KINDS)
        return next((boundary for boundary in found if boundary is not None), None)

    def match(self, operator: Operator) -> Boundary | None:
        """Return the boundary of the rows that join a row: those of a semi-join's right side, or of a subquery."""
        return self._boundaries.get(("match", operator.id))

    def check(self, operator: Operator) -> Boundary | None:
        """Return the boundary above an aggregate that has each group's second hash, or the values of its keys."""
        return self._boundaries.get(("check", operator.id))

    def chosen(self, operator: Operator) -> Boundary | None:
        """Return the boundary above an aggregate that has the rows which `first` and its like took of each group."""
        return self._boundaries.get(("chosen", operator.id))

    def knows_branches(self, operator: Operator) -> bool:
        """Return whether the capture records the rows that pass an OR by another branch and need no match of this existence join."""
        return any(column.operator == operator.id for boundary in self.manifest.boundaries for column in branches(boundary))

    def has_own_rows(self, operator: Operator) -> bool:
        """Return whether a reference to the operator names a row or a group. Otherwise it names matches, or a subquery's row."""
        own = operator.behaviour in {Behaviour.SOURCE, Behaviour.GROUP, Behaviour.WINDOW}
        return own or self.boundary(operator) is not None

    def children(self, operator: Operator) -> list[Operator]:
        """Return the children of an operator, left to right."""
        return [self.operators[child] for child in operator.children]

    def upstream(self, operator: Operator) -> Iterator[Operator]:
        """Yield the operator and all operators that feed it, each once, the nearest first."""
        seen: set[int] = set()
        waiting = [operator.id]
        while waiting:
            identifier = waiting.pop()
            if identifier not in seen:
                seen.add(identifier)
                yield self.operators[identifier]
                waiting.extend(reversed(self.operators[identifier].inputs))

    def scans(self, operator: Operator) -> list[Operator]:
        """Return the source operators that feed an operator, each once."""
        return [one for one in self.upstream(operator) if one.behaviour is Behaviour.SOURCE]

    def between_windows(self, operator: Operator) -> bool:
        """Return whether the operator is between two windows. The upper one may need only some columns of the lower one."""
        above = (other for other in self.operators.values() if other.behaviour is Behaviour.WINDOW and other is not operator)
        over = any(one is operator for window in above for one in self.upstream(window))
        return over and any(one.behaviour is Behaviour.WINDOW for one in self.upstream(operator) if one is not operator)

    def type_of(self, operator: Operator, attr: int) -> str | None:
        """Return Spark's type of an attribute that is made at an operator or below it, or None if it is made elsewhere."""
        for one in self.upstream(operator):
            types = {column.attr: column.type for column in one.attributes} | {made.attr: made.type for made in one.defines}
            if attr in types:
                return types[attr]
        return None

    def above(self, scans: Iterable[int]) -> frozenset[int]:
        """Return the ids of the scans and of the operators that they feed."""
        wanted = set(scans)
        return frozenset(o.id for o in self.operators.values() if any(one.id in wanted for one in self.upstream(o)))

    def unread(self, window: Operator) -> frozenset[int]:
        """Return the windows next below, with only projections in between, whose results this one does not read.

        All count as one window.
        """
        if window.id not in self._unread:
            self._unread[window.id] = frozenset(self._find_unread(window))
        return self._unread[window.id]

    def skippable(self, window: Operator) -> frozenset[int]:
        """Return a window (or its limit) and the windows next below, with only projections in between."""
        return frozenset({window.id, *(operator.id for operator in self._chain(window) if operator.behaviour is Behaviour.WINDOW)})

    def carried(self, operator: Operator, inputs: Needed, made: Made = ()) -> dict[int, Needed]:
        """Return the columns that each operator below must provide if `operator` needs `inputs`, for rows of the branches `made`."""
        key = (operator.id, inputs, made)
        if key not in self._carried:
            given: dict[int, Needed] = dict.fromkeys(operator.inputs, inputs)
            for identifier in sorted({one.id for one in self.upstream(operator)} - {operator.id}, key=self.order.__getitem__):
                of_union = self.operators[identifier].behaviour is Behaviour.UNION
                needed = None if of_union else needs_of(self.operators[identifier], given[identifier], dict(made).get(identifier))
                for place, child in enumerate(self.operators[identifier].inputs):
                    if of_union:
                        needed = needs_of(self.operators[identifier], given[identifier], place)
                    known = given.get(child, frozenset())
                    given[child] = None if needed is None or known is None else known | needed
            self._carried[key] = given
        return self._carried[key]

    def _find_unread(self, window: Operator) -> Iterator[int]:
        read: Needed = window_reads(window, window.defines)
        for operator in self._chain(window):
            if operator.behaviour is Behaviour.WINDOW:
                picked = [definition for definition in operator.defines if read is None or definition.attr in read]
                if not picked:
                    yield operator.id
            read = needs_of(operator, read)

    def _chain(self, window: Operator) -> Iterator[Operator]:
        """Yield the operators below a window, down to the first that is neither a window nor works row by row."""
        operator = window
        while len(operator.children) == 1:
            operator = self.operators[operator.children[0]]
            if operator.behaviour is not Behaviour.WINDOW and operator.behaviour not in _ROW_BY_ROW:
                return
            yield operator

    def _inputs_first(self, root: int) -> dict[int, None]:
        """Order operators after all that feed them, otherwise in preorder. Several operators may refer to one.

        The order is computed without recursion, because a plan may be deeper than Python's stack.
        """
        done: dict[int, None] = {}
        waiting = [(root, False)]
        while waiting:
            operator, fed = waiting.pop()
            if fed:
                done[operator] = None
            elif operator not in done:
                waiting.append((operator, True))
                waiting.extend((child, False) for child in self.operators[operator].inputs)
        return done


def references(boundary: Boundary) -> list[Column]:
    """Return the `ref` columns of a boundary, named as in the kept table."""
    named = (column for column in boundary.columns if column.role == "ref" and column.operator is not None)
    return [Column(f"r{index}", column.operator) for index, column in enumerate(named) if column.operator is not None]


def listed(alias: str, columns: Iterable[Column]) -> str:
    """Return columns of a table with an alias as SQL for a SELECT, each after a comma."""
    return "".join(f", {alias}.{column.name}" for column in columns)


def names(columns: Iterable[Column]) -> list[str]:
    return [column.name for column in columns]


def limited(boundary: Boundary) -> list[Column]:
    """Return the `partition` columns of a window: the partition of a row before a limit of ranks dropped rows from it."""
    named = (column.operator for column in boundary.columns if column.role == "partition")
    return [Column(f"partition{operator}", operator) for operator in named if operator is not None]


def branches(boundary: Boundary) -> list[Column]:
    """Return the `branch` columns of a boundary: the projection of an Expand that made a row, or whether the row needs no match (1)."""
    named = (column.operator for column in boundary.columns if column.role == "branch")
    return [Column(f"branch{operator}", operator) for operator in named if operator is not None]


def needs_of(operator: Operator, given: Needed, branch: int | None = None) -> Needed:
    """Return the attributes that an operator needs of its inputs to provide the attributes `given`.

    `branch` restricts an Expand to the rows of one projection, and a Union to one input.
    """
    does = operator.behaviour
    if given is None or does in _GIVING:
        return given
    if does is Behaviour.UNION and operator.defines:
        # Columns match by position. The names are those of the first input, and other inputs may use them for other columns.
        sides = [definition.expr.args for definition in picked(operator, given)]
        return attrs(expr for args in sides for expr in (args if branch is None else args[branch : branch + 1]))
    if does in {Behaviour.DEFINES, Behaviour.KEPT, Behaviour.BRANCHES}:
        exprs = [definition.expr for definition in picked(operator, given)]
        return _without_defined(operator, given) | attrs(exprs if branch is None else [expr.args[branch] for expr in exprs])
    if does is Behaviour.GENERATES:
        # Its arguments decide whether there is a row at all.
        return _without_defined(operator, given) | frozenset(operator.reads)
    if does in _CONDITIONAL:
        return given | frozenset(operator.reads) | (operator.condition.attrs if operator.condition else frozenset())
    if does is Behaviour.GROUP:
        # The keys decide whether the group exists, so they are always needed.
        return attrs(operator.keys) | attrs(d.expr for d in (operator.defines if operator.whole else picked(operator, given)))
    if does is Behaviour.WINDOW:
        chosen = picked(operator, given)
        return _without_defined(operator, given) | (window_reads(operator, chosen) if chosen else frozenset())
    return None


def picked(operator: Operator, given: Needed) -> list[Definition]:
    """Return the definitions of an operator for the attributes `given`."""
    return [definition for definition in operator.defines if given is None or definition.attr in given]


def attrs(expressions: Iterable[Expression]) -> frozenset[int]:
    return frozenset().union(*(expression.attrs for expression in expressions))


def _without_defined(operator: Operator, given: frozenset[int]) -> frozenset[int]:
    return given - {definition.attr for definition in operator.defines}


def window_reads(window: Operator, definitions: Iterable[Definition]) -> frozenset[int]:
    """Return the attributes that a window reads for some of its results."""
    return attrs(d.expr for d in definitions) | attrs(window.partition) | attrs(ordering.expr for ordering in window.order)
