"""The request of `headwater trace`, and its printed answer. `quick_trace` and the full command line share this module."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from shlex import quote

import duckdb  # noqa: F401 - traces run on it: where it is missing, the command line says which extra to install

from headwater.backend.cli.actor_trace import begins_at_actor, trace_handled
from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.output import Format, emit, emit_json, note
from headwater.backend.evidence.answer_json import as_json, place_of
from headwater.errors import InvalidQueryError
from headwater.graph.model.ids import dataset_name
from headwater.graph.model.instants import instant_of
from headwater.graph.trace import Grain, Semantics, TraceAnswer, TraceRequest

LIMIT = 10_000  # default limit of listed records
_PLACE = ("dataset", "file", "row", "line", "grain")


def asked(
    dataset: str,
    *,
    where: str | None = None,
    rows: Sequence[str] = (),
    column: str | None = None,
    semantics: Semantics = Semantics.INFLUENCE,
    forward: bool = False,
    to: str | None = None,
    as_of: str | None = None,
    limit: int = LIMIT,
) -> TraceRequest:
    """Return the trace request. `rows` have the form FILE:N. Raises `InvalidQueryError` if no record is selected."""
    if where is None and not rows and not begins_at_actor(dataset):
        raise InvalidQueryError("No record is chosen.", hint="""Say which: --where "origin = 'EWR'" (DuckDB SQL), or --row FILE:N.""")
    return TraceRequest(
        dataset=dataset, where=where, rows=[reference(text) for text in rows], column=column, semantics=semantics, forward=forward, to=to,
        limit=limit, as_of=_here(as_of),
    )  # fmt: skip


def answer_and_print(
    request: TraceRequest, *, format: Format, home: Path | None, on_spark: str | None = None, since: str | None = None,
    until: str | None = None,
) -> None:  # fmt: skip
    """Send a trace request to the home or the service, and print the answer on standard output.

    `on_spark` is the Spark master that follows records. `since` and `until` limit the runs of an actor at which the trace begins.
    """
    if (since or until) and not begins_at_actor(request.dataset):
        raise InvalidQueryError(
            "A time bounds the runs of an actor.", field="since", hint="Name a job, a pipeline, a run or a task; for a dataset --as-of."
        )
    answer = asyncio.run(_ask(request, home, on_spark, since, until))
    if format is Format.JSON:
        emit_json(as_json(answer))
    elif format is Format.CSV:
        names = list(dict.fromkeys(name for record in answer.records for name in record.values))
        emit([{**place_of(record), **record.values} for record in answer.records], columns=[*_PLACE, *names], format=format)
    else:
        from headwater.backend.cli.trace_story import print_story

        print_story(request, answer)
    if home is not None or not os.environ.get("HEADWATER_URL"):
        from headwater.backend.cli.group_keeper import keep_what_may_be_lost

        sys.stdout.flush()
        keep_what_may_be_lost(home)


def _here(as_of: str | None) -> str | None:
    """Convert a local date or instant to UTC. Other names of versions are returned unchanged."""
    if as_of is None or as_of.isdecimal():
        return as_of
    try:
        return instant_of(as_of, "instant", end=True, zone=None)
    except InvalidQueryError:
        return as_of


async def _ask(request: TraceRequest, home: Path | None, on_spark: str | None, since: str | None, until: str | None) -> TraceAnswer:
    async with open_answers(home) as answers:
        if begins_at_actor(request.dataset) and request.where is None and not request.rows:
            begin = None if since is None else instant_of(since, "since", end=False, zone=None)
            end = None if until is None else instant_of(until, "until", end=True, zone=None)
            return await trace_handled(answers, request, begin, end)
        answer = await (answers.trace(request) if on_spark is None else answers.trace_on_spark(request, on_spark))
        if home is not None or not os.environ.get("HEADWATER_URL"):
            await _hint(answers, answer, home)
        return answer


async def _hint(answers: Answers, answer: TraceAnswer, home: Path | None) -> None:
    """Return a hint how to get record lineage, if the trace has only datasets for a program of this home."""
    coarse = [hop.output for hop in answer.path if hop.grain is Grain.DATASET]
    if not coarse:
        return
    from headwater.backend.home.folder import Home
    from headwater.backend.rerun.recapture.candidates import recapturable

    with closing(Home.at(home).registry) as registry:
        where = "" if home is None else f" --home {quote(str(home))}"
        for dataset in await recapturable(answers.graph, answers.tenant, coarse, registry, looks_at_files=True):
            named = dataset_name(dataset)
            note(
                f"running the program of {named} again may tell which of its records had a part: headwater recapture {quote(named)}{where}"
            )


def reference(text: str) -> tuple[str, int]:
    """Parse a record in the form FILE:N. Raises `InvalidQueryError` for any other text."""
    file, colon, number = text.rpartition(":")
    if not colon or not file or not number.isdecimal():
        raise InvalidQueryError(f"{text!r} names no record.", hint="Write FILE:N, N counted from 0: --row raw/weather.csv:1009")
    return file, int(number)
