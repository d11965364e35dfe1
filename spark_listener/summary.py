"""The summary at the end of a run: what was captured, its cost, what was refused and why, and where the lineage is."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from headwater.spark_listener.breaker import Breaker
from headwater.spark_listener.delivery.route import Report
from headwater.spark_listener.second_run import is_within, outputs_to_propose
from headwater.spark_listener.settings import Settings
from headwater.spark_listener.tally import Tally

_MOST_REFUSALS = 5
_MOST_COMMANDS = 3
_LEFT_OUT = {
    "schema": ("look of a reader at a schema", "looks of readers at a schema"),
    "views": ("command that made a view", "commands that made a view"),
    "nested": ("command that only frames the query that writes", "commands that only frame the query that writes"),
    "checkpoints": ("checkpoint, whose rows later queries read", "checkpoints, whose rows later queries read"),
    "own": ("query or command that touches no dataset", "queries or commands that touch no dataset"),
    "batches": ("batch of a stream", "batches of streams"),
    "local": ("RDD job that reads no dataset", "RDD jobs that read no dataset"),
    "repeated": ("RDD job like those that were told", "RDD jobs like those that were told"),
}


def summary(tally: Tally, report: Report, settings: Settings, breaker: Breaker, sent: Sequence[str] = ()) -> str:
    """Return the text of the summary. Each line begins with `headwater:`."""
    lines = [_captured(tally, settings), _cost(tally)]
    lines += [f"refused, so known by dataset only: {line}" for line in reasons(tally.refused)]
    lines += [f"records may be missing: {line}" for line in reasons(tally.incomplete)]
    if tally.unheard:
        lines.append(f"queries were not followed, nor what they read and wrote: {tally.unheard}")
    if tally.left_out:
        lines.append("left out: " + ", ".join(_count(count, *_LEFT_OUT[what]) for what, count in tally.left_out.most_common()))
    if tally.dropped:
        lines.append(f"{_count(tally.dropped, 'item')} dropped: the spool was full (HEADWATER_SPOOL_BYTES, {_size(settings.spool_bytes)})")
    if breaker.faults:
        lines.append(f"{len(breaker.faults)} querie(s) were lost to faults of Headwater; the first: {breaker.faults[0]}")
    if breaker.reason:
        lines.append(f"turned off during the run: {breaker.reason}")
    lines += sent
    lines += [f"refused by {report.where}: {reason}" for reason in report.refused[:_MOST_REFUSALS]]
    lines.append(_kept(report, breaker))
    if not report.left and not settings.url and report.where == str(settings.home):
        lines += [*_second_run(tally, settings), *_may_be_lost(tally)]
    if not report.left and tally.outputs:
        lines.append(f"look: {_command(tally, settings)}")
    return "\n".join(f"headwater: {line}" for line in lines if line)


def _may_be_lost(tally: Tally) -> list[str]:
    """Return outputs whose groups a trace computes again from folders that a known job overwrites."""
    found = []
    for output, sources in sorted(tally.found_again_in.items()):
        overwritten = sorted(source for source in sources if any(is_within(source, folder) for folder in tally.overwritten))
        if overwritten:
            found.append(
                f"records of {output} are found again in {overwritten[0]}, which a known job overwrites: the next overwrite loses them, "
                "unless a trace is asked or a service (headwater serve) looks at them before. Later runs write them"
            )
    more = [f"and of {len(found) - _MOST_COMMANDS} more outputs in the same way"] if len(found) > _MOST_COMMANDS else []
    return found[:_MOST_COMMANDS] + more


def _second_run(tally: Tally, settings: Settings) -> list[str]:
    if not tally.has_program:
        return []
    written = {name for _, name in tally.outputs}
    paths = list(islice(outputs_to_propose(tally.for_second_run, written, tally.began * 1000), _MOST_COMMANDS))
    home = _home(settings)
    is_cut = len(paths) == _MOST_COMMANDS < len(tally.for_second_run)
    more = ["and perhaps those of more outputs in the same way"] if is_cut else []
    return [
        f"records of {path} can be found by a second run beside the data: headwater recapture {shlex.quote(path)}{home}"
        for path in paths[:_MOST_COMMANDS]
    ] + more


def _kept(report: Report, breaker: Breaker) -> str:
    if report.left:
        return f"{report.where}: {report.left}"
    if breaker.reason:
        return f"{report.where} has what could be written before that"
    return f"kept in {report.where}"


def reasons(counted: Counter[tuple[str, str]]) -> list[str]:
    """Return the reasons for missing record lineage, the most frequent first: `Generate: not covered yet (3 queries)`."""
    lines = [
        f"{operator or 'query'}: {reason}" + (f" ({count} queries)" if count > 1 else "")
        for (operator, reason), count in counted.most_common()
    ]
    more = len(lines) - _MOST_REFUSALS
    return [*lines[:_MOST_REFUSALS], f"and {more} more reasons, in the ledger of each run"] if more > 0 else lines


def _captured(tally: Tally, settings: Settings) -> str:
    text = f"{_work(tally)} read {_count(len(tally.inputs), 'dataset')} and wrote {len(tally.outputs)}"
    if tally.failed:
        text += f", {tally.failed} failed"
    if not settings.mode.records:
        return f"{text}; records were not asked for (mode {settings.mode})"
    if not tally.captured:
        return f"{text}; none with record lineage"
    return f"{text}; {tally.captured} with record lineage ({tally.associations:,} associations)"


def _work(tally: Tally) -> str:
    counted = {"RDD job": tally.rdd_jobs, "stream": tally.streams, "declared operation": tally.operations}
    others = [_count(number, kind) for kind, number in counted.items() if number]
    queries = [_count(tally.queries, "query", "queries")] if tally.queries or not others else []
    kinds = [*queries, *others]
    return " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 2 else kinds)


def _cost(tally: Tally) -> str:
    waits = {
        "loading": tally.loading_seconds,
        "at the start and end of Spark": tally.hook_seconds,
        "planning": tally.planning_seconds,
        "delivery": tally.delivery_seconds,
    }
    parts = ", ".join(f"{name} {_milliseconds(seconds)}" for name, seconds in waits.items())
    text = f"cost: Headwater added {_milliseconds(sum(waits.values()))} ({parts})"
    text += f"; beside it, our thread took {_milliseconds(tally.thread_seconds)} of processor time"
    if tally.captured:
        text += f", tasks {_milliseconds(tally.task_seconds)} to write {_size(tally.bytes)} of associations"
        text += " (not counted: numbering records as they are read)"
    return text


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"


def _command(tally: Tally, settings: Settings) -> str:
    namespace, name = tally.traceable or max(tally.outputs)
    dataset = name if namespace == "file" else f"{namespace}/{name.lstrip('/')}"
    if settings.url:
        return f"{settings.url}, or headwater trace {shlex.quote(dataset)} --where '…'"
    home = _home(settings)
    verb = f"trace {shlex.quote(dataset)} --where '…'" if tally.traceable else f"lineage {shlex.quote(dataset)}"
    return f"headwater {verb}{home}, or headwater serve{home}"


def _home(settings: Settings) -> str:
    return "" if str(settings.home).endswith("/.headwater") else f" --home {shlex.quote(str(settings.home))}"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    raise AssertionError  # the loop ends at GB
