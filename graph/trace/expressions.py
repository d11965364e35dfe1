"""The expressions that a trace went through: for each run on its path, operator by operator, what made the columns that are needed.

From the plan as it was described, not from its text, which Spark cuts short where there are many columns. A column is followed through the
plan as a witness is (`plan.carried`), and across runs through the files that join them. Where nothing is chosen, or a plan does not tell,
every expression between is listed: too many, never too few.
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
    """Spark's text without the numbers that it gives to columns."""
    return _NUMBERED.sub(r"\1", text)


def columns_needed(captures: Sequence[Capture], start: Collection[str], names: Names) -> dict[str, Names]:
    """Which columns of its output each capture of a path must give, for `names` of what wrote the datasets `start`; None: all."""
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
    """What the operators do for the columns `names` of the capture's output, in the order of the operators."""
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
    """The attributes that each operator must give."""
    sink, operators = capture.manifest.sink, capture.manifest.operators
    if not operators or sink is None:
        return {}
    root = operators[0]
    needed = attributes_of(sink, names)
    return {root.id: needed, **capture.plan.carried(root, needed)}


def _deciding(operator: Operator) -> Iterator[Expression]:
    """What decides which rows are there, or go together."""
    if operator.condition is not None:
        yield operator.condition
    yield from operator.keys
    yield from operator.partition
    yield from (ordering.expr for ordering in operator.order)
