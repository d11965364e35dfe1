"""The path of a trace: for each capture on it, the output, the inputs and the operations in between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from headwater.graph.associations import Behaviour, Operator
from headwater.graph.associations.parts import DatasetName
from headwater.graph.associations.references import FAILED_INPUTS
from headwater.graph.ledger import set_aside_text
from headwater.graph.model import NodeKind, node_id, parse_id, run_key
from headwater.graph.trace.answer import Grain, Hop, TraceAnswer, TracedRecord
from headwater.graph.trace.expressions import find_needed_columns, list_steps, remove_numbers
from headwater.graph.trace.links import Names, list_datasets
from headwater.graph.trace.session import Capture, Session

_OWN_ROWS = "local:"  # prefix of the path of rows that a program made itself; the capture's id follows
_MOST_NAMED = 5  # datasets in a sentence
_FAILED = "Failed in actor "  # prefix of a note
_MOST_FAILURES = 20  # in notes; the records contain all failures
MOST_TASKS = 20  # per hop


@dataclass
class Visit:
    """A capture on the path of a trace: tables `file, row` of its output records, and the scans that the trace reached."""

    capture: Capture
    records: list[str] = field(default_factory=list)
    scans: set[int] = field(default_factory=set)
    effects: list[str | None] = field(default_factory=list)  # effect of the command on the records of each table; None: not known


class Hops:
    """The captures on the path of a trace, in the order in which the trace reached them."""

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}

    def add(self, capture: Capture, records: str, scans: Iterable[int], effect: str | None = None) -> None:
        visit = self._visits.setdefault(capture.id, Visit(capture))
        visit.effects.append(effect)
        visit.records.append(records)
        visit.scans.update(scans)

    def captures(self) -> list[Capture]:
        return [visit.capture for visit in self._visits.values()]

    def visits(self) -> list[Visit]:
        return list(self._visits.values())

    def remove(self, captures: Iterable[Capture]) -> None:
        for capture in captures:
            self._visits.pop(capture.id, None)

    def list_hops(self, session: Session, start: str, names: Names) -> list[Hop]:
        needed_columns = find_needed_columns(self.captures(), [start], names) if names is not None else {}
        return [_make_hop(session, visit, needed_columns.get(visit.capture.id)) for visit in self._visits.values()]


def list_notes(captures: Iterable[Capture], ends: Iterable[str]) -> list[str]:
    """Return a note for each job that set records aside, or that collected earlier results to the driver.

    No plan shows whether a query used these results. `ends` are the files of the records in the answer. If they are rows that
    such a program made itself, the path ends at the program.
    """
    own_rows = {file.removeprefix(_OWN_ROWS).partition("/")[0] for file in ends if file.startswith(_OWN_ROWS)}
    notes: dict[str, None] = {}
    for capture in captures:
        if text := set_aside_text(capture.manifest.set_aside):
            notes[f"Of the run of {capture.manifest.run.job}: {text}. `headwater why {capture.manifest.run.run_id}` lists them."] = None
        if not capture.manifest.collected:
            continue
        job, results = capture.manifest.run.job, _format_datasets(capture.manifest.collected_from or ())
        if capture.id in own_rows:
            text = (
                f"The way ends at the program of {job}: it had read {results} before, and may have put them back "
                "as the rows that it made itself. Which records they came from is not known."
            )
        else:
            text = (
                f"The program of {job} had read {results} before. Values of these that it put into a query itself "
                "(literals, rows, functions) are not traced."
            )
        notes[text] = None
    return list(notes)


def list_failures(captures: Iterable[Capture], records: Iterable[TracedRecord]) -> list[str]:
    """Return a note for each reason why an actor failed on records of the answer."""
    reasons: dict[str, str] = {}
    for capture in captures:
        sink = capture.manifest.sink
        if sink is not None and sink.failure_reasons:
            name = sink.dataset.name.removesuffix(FAILED_INPUTS)
            reasons |= {str(key): f"{_FAILED}{name}: {reason}" for key, reason in sink.failure_reasons.items()}
    failures = {reasons[key]: None for record in records if (key := _make_key(record)) in reasons}
    return list(failures)[:_MOST_FAILURES]


def remove_reasons(answer: TraceAnswer) -> TraceAnswer:
    """Return the answer with only the exception type of each failure. The message of an exception may contain any value of a record."""
    if not any(note.startswith(_FAILED) for note in answer.notes):
        return answer
    kinds: dict[str, None] = {}
    for record in answer.records:
        _, parts = parse_id(record.dataset)
        start = f"{_FAILED}{parts[-1].removesuffix(FAILED_INPUTS)}: "
        if any(note.startswith(start) for note in answer.notes):
            kind = _make_key(record).partition(" ")[0]
            kinds[f"{start}{'the reason is masked' if kind == 'reason' else kind}"] = None
    return replace(answer, notes=[*(note for note in answer.notes if not note.startswith(_FAILED)), *list(kinds)[:_MOST_FAILURES]])


def _make_key(record: TracedRecord) -> str:
    return unquote(record.file.rpartition("/")[2]) if record.file is not None else ""


def _format_datasets(datasets: Sequence[DatasetName]) -> str:
    names = [dataset.name if dataset.namespace == "file" else f"{dataset.namespace}/{dataset.name.lstrip('/')}" for dataset in datasets]
    more_text = f" and {len(names) - _MOST_NAMED} more datasets" if len(names) > _MOST_NAMED else ""
    return f"results of queries over {', '.join(names[:_MOST_NAMED])}{more_text}" if names else "results of queries"


def report_problems(session: Session, capture: Capture, *, witness: bool = False) -> None:
    """Report the problems that a capture's manifest states, and operators with unknown behaviour."""
    for problem in capture.manifest.problems:
        if witness and problem.kind == "influence":
            continue
        effect = "superset" if problem.kind == "superset" else "missing"
        session.report(problem.operator or f"capture {capture.id}", problem.reason, effect)
    explained = {problem.operator for problem in capture.manifest.problems}
    for operator in capture.plan.opaque:
        if operator.unknown:
            operator_text = f" ({operator.stated!r})" if operator.stated else ""
            session.report(operator.label, f"what it does{operator_text} is not known to this release; records may be missing", "missing")
        elif not explained & {operator.op, operator.text}:
            session.report(operator.label, "which rows of its input a row is made of is not told; all that may be are given", "superset")


def _find_effect(visit: Visit) -> list[str]:
    """Return the effect of a command (such as MERGE) on the records, if it was the same for all. Otherwise return an empty list."""
    return [text for text in visit.effects[:1] if text is not None and len(set(visit.effects)) == 1]


def _is_end(capture: Capture, operator: Operator) -> bool:
    return operator.behaviour is Behaviour.SOURCE or (operator is capture.manifest.operators[0] and capture.manifest.sink is not None)


def _make_hop(session: Session, visit: Visit, names: Names) -> Hop:
    manifest = visit.capture.manifest
    output, inputs = list_datasets(visit.capture)
    operator_ids = visit.capture.plan.find_operators_above(visit.scans)
    operators = sorted(
        (visit.capture.plan.operators[identifier] for identifier in operator_ids), key=lambda o: visit.capture.plan.order[o.id]
    )
    return Hop(
        job=node_id(NodeKind.JOB, manifest.run.namespace, manifest.run.job),
        run=node_id(NodeKind.RUN, run_key(manifest.run.run_id)),
        output=output or "",
        inputs=sorted({inputs[scan] for scan in visit.scans}),
        operations=[
            *_find_effect(visit),
            *(remove_numbers(operator.label) for operator in operators if not _is_end(visit.capture, operator)),
        ],
        records=session.count_rows(session.unite_columns(visit.records, ["file", "row"])),
        grain=Grain.RECORD,
        expressions=list_steps(visit.capture, operators, names),
        recaptured=manifest.recaptured.ended if manifest.recaptured is not None else None,
        tasks=_list_tasks(session, visit),
    )


def _list_tasks(session: Session, visit: Visit) -> list[str]:
    attempts: set[int] = set()
    for number in sorted(session.list_files_of(visit.records)):
        place = visit.capture.files.place_of(session.files[number].block)
        attempt = visit.capture.files[place].attempt if place is not None else None
        if attempt is not None:
            attempts.add(attempt)
        if len(attempts) == MOST_TASKS:
            break
    return [node_id(NodeKind.TASK, visit.capture.id, str(attempt)) for attempt in sorted(attempts)]
