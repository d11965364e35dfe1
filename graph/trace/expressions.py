"""The expressions on the path of a trace: for each run and operator, how the needed columns were computed.

The expressions come from the plan in the manifest, because Spark cuts the text of a plan with many columns. A column is followed down the
plan as for a witness (`plan.carried`), and across runs through the files in between. If no column is requested, or a plan is incomplete,
all expressions in between are listed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from headwater.graph.associations import Behaviour, Expression, Operator
from headwater.graph.trace.answer import ColumnExpression, Step
from headwater.graph.trace.links import Names, find_attributes, list_datasets, list_needed_names, list_scans, translate_to_writer
from headwater.graph.trace.plan import Needed, select_definitions
from headwater.graph.trace.session import Capture

_NUMBERED = re.compile(r"(\w)#\d+L?\b")


def remove_numbers(text: str) -> str:
    """Return Spark's text of an expression without the ids of columns, such as `#12`."""
    return _NUMBERED.sub(r"\1", text)


def find_needed_columns(captures: Sequence[Capture], start: Collection[str], names: Names) -> dict[str, Names]:
    """Return the output columns that each capture of a path must provide, to compute the columns `names` of the datasets `start`.

    None stands for all columns.
    """
    by_output: dict[str, list[Capture]] = {}
    for capture in captures:
        by_output.setdefault(list_datasets(capture)[0] or "", []).append(capture)
    needed_columns: dict[str, Names] = {capture.id: names for dataset in start for capture in by_output.get(dataset, ())}
    queue = [capture for dataset in start for capture in by_output.get(dataset, ())]
    while queue:
        reader = queue.pop()
        inputs = list_datasets(reader)[1]
        needed_attributes = _find_needed_attributes(reader, needed_columns[reader.id])
        for scan in list_scans(reader):
            source = reader.source(scan.source)
            scan_columns = list_needed_names(scan, needed_attributes.get(scan.id, frozenset()))
            for writer in by_output.get(inputs.get(scan.id, ""), ()):
                if writer.manifest.sink is None:
                    continue
                writer_columns = translate_to_writer(source, writer.manifest.sink, scan_columns)
                earlier_columns = needed_columns.get(writer.id, frozenset())
                all_columns = None if earlier_columns is None or writer_columns is None else earlier_columns | writer_columns
                if writer.id not in needed_columns or all_columns != earlier_columns:
                    needed_columns[writer.id] = all_columns
                    queue.append(writer)
    return needed_columns


def list_steps(capture: Capture, operators: Iterable[Operator], names: Names) -> list[Step]:
    """Return the steps of operators that compute the output columns `names` of a capture, in the order of the operators."""
    needed_attributes = _find_needed_attributes(capture, names)
    steps: list[Step] = []
    for operator in operators:
        definitions = select_definitions(operator, needed_attributes.get(operator.id, frozenset()))
        columns = [ColumnExpression(definition.name, remove_numbers(definition.expr.text)) for definition in definitions]
        computed = [column for column in columns if column.expression != column.column]
        is_unused_window = operator.behaviour is Behaviour.WINDOW and not definitions
        decided = [] if is_unused_window else [remove_numbers(expression.text) for expression in _list_deciding_expressions(operator)]
        if computed or decided:
            steps.append(Step(operator.op, computed, decided))
    return steps


def _find_needed_attributes(capture: Capture, names: Names) -> Mapping[int, Needed]:
    sink, operators = capture.manifest.sink, capture.manifest.operators
    if not operators or sink is None:
        return {}
    root = operators[0]
    needed_attributes = find_attributes(sink, names)
    return {root.id: needed_attributes, **capture.plan.list_carried_columns(root, needed_attributes)}


def _list_deciding_expressions(operator: Operator) -> Iterator[Expression]:
    if operator.condition is not None:
        yield operator.condition
    yield from operator.keys
    yield from operator.partition
    yield from (ordering.expr for ordering in operator.order)
