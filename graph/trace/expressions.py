"""The expressions on the path of a trace: for each run, operator by operator, how the needed columns were computed.

The source is the plan in the manifest, because Spark cuts the text of a plan if there are many columns. A column is followed through the
plan in the same way as a witness (`plan.carried`), and across runs through the files that join them. If no column is requested, or a plan
is incomplete, every expression in between is listed: too many, never too few.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from headwater.graph.associations import Behaviour, Expression, Operator
from headwater.graph.trace.answer import Made, Step
from headwater.graph.trace.links import Names, attributes_of, datasets_of, names_at_writer, needed_names, scans_of
from headwater.graph.trace.plan import Needed, picked
from headwater.graph.trace.session import Capture

_NUMBERED = re.compile(r"(\w)#\d+L?\b")


def readable(text: str) -> str:
    """Return Spark's text without the numbers of columns."""
    return _NUMBERED.sub(r"\1", text)


def columns_needed(captures: Sequence[Capture], start: Collection[str], names: Names) -> dict[str, Names]:
    """Return the output columns that each capture of a path must provide for the columns `names` of the datasets `start`.

    None stands for all columns.
    """
    by_output: dict[str, list[Capture]] = {}
    for capture in captures:
        by_output.setdefault(datasets_of(capture)[0] or "", []).append(capture)
    needed: dict[str, Names] = {capture.id: names for dataset in start for capture in by_output.get(dataset, ())}
    waiting = [capture for dataset in start for capture in by_output.get(dataset, ())]
    while waiting:
        reader = waiting.pop()
        inputs = datasets_of(reader)[1]
        given = _given(reader, needed[reader.id])
        for scan in scans_of(reader):
            source = reader.source(scan.source)
            wanted = needed_names(scan, given.get(scan.id, frozenset()))
            for writer in by_output.get(inputs.get(scan.id, ""), ()):
                if writer.manifest.sink is None:
                    continue
                written = names_at_writer(source, writer.manifest.sink, wanted)
                known = needed.get(writer.id, frozenset())
                more = None if known is None or written is None else known | written
                if writer.id not in needed or more != known:
                    needed[writer.id] = more
                    waiting.append(writer)
    return needed


def steps_of(capture: Capture, operators: Iterable[Operator], names: Names) -> list[Step]:
    """Return the effects of operators on the output columns `names` of a capture, in the order of the operators."""
    given = _given(capture, names)
    steps: list[Step] = []
    for operator in operators:
        definitions = picked(operator, given.get(operator.id, frozenset()))
        made = [Made(definition.name, readable(definition.expr.text)) for definition in definitions]
        computed = [one for one in made if one.expression != one.column]
        unread = operator.behaviour is Behaviour.WINDOW and not definitions
        decided = [] if unread else [readable(expression.text) for expression in _deciding(operator)]
        if computed or decided:
            steps.append(Step(operator.op, computed, decided))
    return steps


def _given(capture: Capture, names: Names) -> Mapping[int, Needed]:
    """Return the attributes that each operator must provide."""
    sink, operators = capture.manifest.sink, capture.manifest.operators
    if not operators or sink is None:
        return {}
    root = operators[0]
    needed = attributes_of(sink, names)
    return {root.id: needed, **capture.plan.carried(root, needed)}


def _deciding(operator: Operator) -> Iterator[Expression]:
    """Yield the expressions that decide which rows exist, or belong together."""
    if operator.condition is not None:
        yield operator.condition
    yield from operator.keys
    yield from operator.partition
    yield from (ordering.expr for ordering in operator.order)
