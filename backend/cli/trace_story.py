"""Prints a trace for people: the question, whether the answer is exact, the records, the path, and missing parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from headwater.backend.cli.conditions import plain_condition
from headwater.backend.cli.display_names import dataset_of, job_of
from headwater.backend.cli.output import count, screen
from headwater.graph.model.ids import OWN_ROWS, dataset_name
from headwater.graph.model.instants import shown_instant
from headwater.graph.trace import Grain, Hop, Semantics, TraceAnswer, TracedRecord, TraceRequest

_SHOWN = 20  # limit of records of a dataset; --format csv or json prints all
_MOST_TASKS = 5  # limit of printed tasks of a hop
_CELL = 28


def print_story(request: TraceRequest, answer: TraceAnswer, *, console: Console | None = None) -> None:
    out = console or screen()
    out.print(_question(request), soft_wrap=True)
    out.print(_verdict(request, answer), soft_wrap=True)
    for dataset, records in groupby(answer.records, key=lambda record: record.dataset):
        _print_records(out, dataset, list(records), request.column)
    if answer.path:
        out.print(Text("\nThe way there" if request.forward else "\nThe way back", style="bold"))
        out.print(Padding(_path(answer), (0, 0, 0, 2)))
    if answer.incomplete or answer.total > len(answer.records):
        is_whole = all(item.effect == "version" for item in answer.incomplete) and answer.total <= len(answer.records)
        out.print(Text("\nWhat to know of it" if is_whole else "\nWhat is missing", style="bold yellow"))
        for item in answer.incomplete:
            gap = Text.assemble(("  • ", "yellow"), (_named(item.what), "bold"), f": {item.reason} ", (f"({item.effect})", "dim"))
            out.print(gap, soft_wrap=True)
        if answer.total > len(answer.records):
            out.print(f"  • {answer.total - len(answer.records):,} records beyond --limit {request.limit}", highlight=False)
    if answer.notes:
        out.print(Text("\nNote", style="bold"))
        for text in answer.notes:
            out.print(f"  • {text}", highlight=False, soft_wrap=True, markup=False)


def _question(request: TraceRequest) -> Text:
    which = request.where or ", ".join(f"{file}:{row}" for file, row in request.rows)
    asked = Text.assemble(("What became of " if request.forward else "Where does ", "dim"))
    if request.column and not request.forward:
        asked.append(request.column, "bold cyan").append(" of ", "dim")
    asked.append(dataset_of(request.dataset), "bold")
    if which:  # else the question is about all records of an actor
        asked.append(" where " if request.where else " row ", "dim").append(which, "cyan")
    if not request.forward:
        asked.append(" come from", "dim")
    return asked.append("?", "dim")


def _verdict(request: TraceRequest, answer: TraceAnswer) -> Text:
    if answer.exact and not answer.selected and not answer.total and not answer.incomplete:
        return Text.assemble(("No record of it is so", "bold"), (f": there is nothing to trace.  ({answer.elapsed_ms:,.0f} ms)", "dim"))
    datasets = len({record.dataset for record in answer.records})
    coarse = any(record.grain is not Grain.RECORD for record in answer.records)
    reached, where = count(answer.total, "place" if coarse else "record"), f"in {count(datasets, 'dataset')}"
    shown = len(answer.records)
    reached += f" (below the first {shown:,}, {where})" if answer.total > shown else f" {where}"
    exact = ("exact", "bold green") if answer.exact else ("not exact", "bold yellow")
    semantics = "witness: enough to make it again" if answer.semantics is Semantics.WITNESS else "influence: all that had a part"
    selected = count(len(answer.selected), "record")
    if len(answer.selected) == request.limit:  # the trace begins at all selected records, and the answer lists the first ones
        selected = f"{request.limit:,} or more records"
    story = Text.assemble(f"{selected} {'→' if request.forward else '←'} {reached}, ", exact)
    story.append(f"  ({semantics}; {answer.elapsed_ms:,.0f} ms)", "dim")
    for found in answer.found_again:
        took = f"{found.took_ms:,.0f} ms, estimated {found.estimated_ms:,.0f}"
        story.append(f"\nFound again in the sources, as no run wrote it: {found.operator} ({took})", "dim")
    if answer.as_of is not None:
        first, *others = [run.rpartition(":")[2][:8] for run in answer.as_of.runs] or ["unknown"]
        more = f" and {count(len(others), 'run')} before it" if others else ""
        did = "read" if answer.as_of.is_read else "written"
        story.append(f"\nThe dataset as of {shown_instant(answer.as_of.at)}: as it was {did} by run {first}{more}", "dim")
    if answer.storage_requests:
        megabytes = answer.storage_bytes / 1e6
        story.append(f"\nAsked of remote storage: {count(answer.storage_requests, 'request')}, {megabytes:,.1f} MB", "dim")
    if request.column and answer.semantics is Semantics.INFLUENCE:
        story.append("\nInfluence is of the whole row; --semantics witness narrows it to the column.", "dim")
    if answer.exact and not request.forward and (made := {dataset_of(dataset_name(hop.output)) for hop in answer.path if _is_made(hop)}):
        names = ", ".join(sorted(made))
        story.append(
            f"\nThe records of {names} were made of no record, by the program itself; --to {min(made)} lists those behind it.", "dim"
        )
    return story


def _print_records(out: Console, dataset: str, records: Sequence[TracedRecord], column: str | None) -> None:
    whole = len(records) == 1 and records[0].file is None
    extent = f"as a {records[0].grain.value}: which of its records is not known" if whole else count(len(records), "record")
    out.print(Text.assemble("\n", (dataset_of(dataset_name(dataset)), "bold"), (f"  {extent}", "dim")), soft_wrap=True)
    if whole:
        return
    if len(records) == 1:
        out.print(Padding(_one(records[0]), (0, 0, 0, 2)))
        return
    shown = records[:_SHOWN]
    out.print(Padding(_many(shown, _fitting(shown, column, out.width - 30)), (0, 0, 0, 2)))
    if len(records) > len(shown):
        out.print(Text(f"  … and {len(records) - len(shown):,} more (--format csv lists all)", "dim"))


def _one(record: TracedRecord) -> Table:
    """Print a single record with one line for each column, so that no value is cut."""
    table = Table.grid(padding=(0, 2))
    for name, value in {**_place(record), **record.values}.items():
        table.add_row(Text(name, "dim"), Text(_cell(value)))
    return table


def _many(records: Sequence[TracedRecord], columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    places = [_place(record) for record in records]
    heads = list(dict.fromkeys(name for place in places for name in place))
    left_out = len({name for record in records for name in record.values}) - len(columns)
    for name in (*heads, *columns, *([f"+{left_out} columns"] if left_out else [])):
        table.add_column(Text(name), justify="right" if name in ("row", "line") else "left", no_wrap=True)
    for record, place in zip(records, places, strict=True):
        table.add_row(*(Text(_cell(place.get(name))) for name in heads), *(Text(_short(record.values.get(name))) for name in columns))
    return table


def _fitting(records: Sequence[TracedRecord], first: str | None, width: int) -> list[str]:
    """Return the columns that fit into the width of the terminal. The requested column comes first."""
    names = list(dict.fromkeys(name for record in records for name in record.values))
    names.sort(key=lambda name: name != first)
    fitting: list[str] = []
    for name in names:
        width -= 2 + max(len(name), *(len(_short(record.values.get(name))) for record in records))
        if width < 0 and fitting:
            break
        fitting.append(name)
    return fitting


def _place(record: TracedRecord) -> dict[str, Any]:
    """Return the position of a record at its finest known grain. Text formats have a line, counted from 1, instead of a row."""
    if record.file is None:
        return {"grain": record.grain.value}
    name = PurePosixPath(record.file).name
    dataset = dataset_name(record.dataset)
    place: dict[str, Any] = {} if dataset == OWN_ROWS or PurePosixPath(dataset).name == name else {"file": name}
    if record.row is not None:
        place["row"] = record.row
    if record.line is not None:
        place["line"] = record.line
    return place if record.row is not None else {**place, "grain": record.grain.value}


def _path(answer: TraceAnswer) -> Tree:
    tree = Tree("", hide_root=True, guide_style="dim")
    for hop in answer.path:
        head = Text.assemble((_job(hop.job), "bold magenta"), (f"  run {hop.run.rpartition(':')[2][:8]}" if hop.run else "", "dim"))
        known = count(hop.records, "record") if hop.grain is Grain.RECORD else f"known by {hop.grain.value} only"
        head.append(f"  {known}", "dim")
        branch = tree.add(head)
        by = f"  by {_tasks(hop.tasks)}" if hop.tasks else ""
        branch.add(Text.assemble(("made ", "dim"), dataset_of(dataset_name(hop.output)), (by, "dim")))
        for operation in _operations(hop):
            branch.add(Text(operation, "cyan"))
        for source in hop.inputs:
            branch.add(Text.assemble(("from ", "dim"), dataset_of(dataset_name(source))))
        if answer.exact and _is_made(hop):
            branch.add(Text("from no record", "dim"))
        if hop.recaptured is not None:
            when = shown_instant(hop.recaptured)
            branch.add(Text(f"found by running the program again on {when}, which wrote the same files", "dim"))
    return tree


def _tasks(tasks: Sequence[str]) -> str:
    attempts = [task.rpartition(":")[2] for task in tasks]
    more = f" and {len(attempts) - _MOST_TASKS} more" if len(attempts) > _MOST_TASKS else ""
    return f"task{'s' if len(attempts) > 1 else ''} {', '.join(attempts[:_MOST_TASKS])}{more}"


def _is_made(hop: Hop) -> bool:
    """Whether a job wrote records without reading any, for example from a range or literals."""
    return hop.grain is Grain.RECORD and not hop.inputs


def _operations(hop: Hop) -> list[str]:
    """Return the operations of the run: expressions of the traced column, else of all columns, else Spark's description."""
    steps: list[str] = []
    for step in hop.expressions:
        made = ", ".join(f"{one.column} = {one.expression}" for one in step.made)
        steps.append(f"{step.operator}  {made}{'  by ' if made and step.by else ''}{', '.join(map(plain_condition, step.by))}")
    return steps or list(hop.operations)


def _job(identifier: str) -> str:
    from headwater.graph.model import parse_id

    return job_of(parse_id(identifier)[1][-1])


def _named(what: str) -> str:
    if what.startswith("job:"):
        return _job(what)
    return OWN_ROWS if what.startswith("local:") else what


def _short(value: Any) -> str:
    text = _cell(value)
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return str(dict(value)) if isinstance(value, Mapping) else str(value)
