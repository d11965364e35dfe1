"""`headwater suspects`: values of a run that its earlier runs do not explain."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.display_names import job_of
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.culprits.outliers import LEAST_RUNS, Suspect, find_suspects
from headwater.graph.model import EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.model.ids import dataset_name
from headwater.graph.standard_facts import size_of_version
from headwater.graph.stores import Direction

app = typer.Typer(add_completion=False)

_COLUMNS = ("job", "metric", "value", "expected", "change", "low", "high", "chance", "runs")
_RUNS = """query ($job: ID!, $first: Int!, $after: String) {
  runs(job: $job, states: ["COMPLETE"], first: $first, after: $after) {
    nodes { id name properties } pageInfo { hasNextPage endCursor } } }"""
_MOST_JOBS = 100
_PAGE = 200
_MOST_PAGES = 50
_MOST_NODES = 20_000
Metrics = Mapping[str, float]


@app.command()
def suspects(
    name: Annotated[str, typer.Argument(metavar="JOB|RUN", help="A run by its id. A job or a pipeline: the last complete runs.")],
    runs: Annotated[int, typer.Option(min=LEAST_RUNS, max=1_000, help="Number of earlier runs to compare with.")] = 60,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List what is unusual about a run, compared with the earlier complete runs of its job.

    Compares the duration, the rows and bytes of each output, and the rows of each output for each row read. `chance` is the
    probability of such a value in a healthy run. About one healthy run in 100 or fewer has a suspect.

    For example:

      headwater suspects nightly_report

      headwater suspects run:01a2223f-4d1c-7cd5-ac20-c4e17231749e --runs 100
    """
    asyncio.run(_suspects(name, runs, format, home))


async def _suspects(name: str, runs: int, format: Format, home: Path | None) -> None:
    rows: list[dict[str, Any]] = []
    async with open_answers(home) as answers:
        for job, run, earlier in await _runs_of(answers, name, runs):
            metrics = await _metrics(answers, [*earlier, run])
            history: dict[str, list[float]] = defaultdict(list)
            for each in earlier:
                for metric, value in metrics[each.id].items():
                    history[metric].append(value)
            present = metrics[run.id]
            compared = sum(len(history[metric]) >= LEAST_RUNS for metric in present)
            note(f"{job_of(job.name)}: {compared} of {len(present)} metrics of {run.id} compared with {len(earlier)} earlier runs.")
            rows += [_row(job, suspect) for suspect in find_suspects(history, present)]
            if not compared:
                note(f"a comparison needs {LEAST_RUNS} earlier complete runs.", label="note")
    emit(rows, columns=_COLUMNS, format=format, empty="Nothing is unusual.")


async def _runs_of(answers: Answers, name: str, count: int) -> list[tuple[Node, Node, list[Node]]]:
    """Return each job that a name means, the run to judge, and earlier complete runs, the oldest first.

    The name of an application means the jobs of its pipeline, too.
    """
    node = await answers.find(name, NodeKind.JOB, NodeKind.PIPELINE, NodeKind.RUN)
    if node.kind is NodeKind.RUN:
        if node.properties.get("state") != "COMPLETE":
            raise InvalidQueryError(f"{node.id} is not complete.", hint="Only complete runs can be compared.")
        containers = (await answers.graph.ancestors(answers.tenant, [node.id])).get(node.id, [])
        job = next((container for container in containers if container.kind is NodeKind.JOB), None)
        if job is None:
            raise InvalidQueryError(f"The job of {node.id} is not known.", hint="Name a job.")
        latest = await _latest_runs(answers, job.id, count + 1, node.id)
        return [(job, node, [run for run in latest if run.id != node.id][:count][::-1])]
    pipeline = node_id(NodeKind.PIPELINE, *parse_id(node.id)[1])
    jobs = (await answers.graph.children(answers.tenant, pipeline, kinds=[NodeKind.JOB], first=_MOST_JOBS)).nodes
    found = [
        (job, latest[0], latest[1:][::-1])
        for job in [*([node] if node.kind is NodeKind.JOB else []), *jobs]
        if (latest := await _latest_runs(answers, job.id, count + 1, None))
    ]
    if not found:
        raise NotFoundError(f"{job_of(node.name)} has no complete run.", hint="`headwater lineage` shows the jobs.")
    return found


async def _latest_runs(answers: Answers, job: str, count: int, until: str | None) -> list[Node]:
    """Return the latest complete runs of a job, the latest first. With `until`, only the runs that are not later than this one."""
    found: list[Node] = []
    after: str | None = None
    is_reached = until is None
    for _ in range(_MOST_PAGES):
        page = (await answers.ask(_RUNS, job=job, first=_PAGE, after=after))["runs"]
        for node in page["nodes"]:
            is_reached = is_reached or node["id"] == until
            if is_reached:
                found.append(Node(node["id"], NodeKind.RUN, node["name"], node["properties"]))
        after = page["pageInfo"]["endCursor"]
        if len(found) >= count or not page["pageInfo"]["hasNextPage"]:
            return found[:count]
    raise InvalidQueryError(f"{until} is older than the last {_MOST_PAGES * _PAGE:,} runs of its job.", hint="Name a later run.")


async def _metrics(answers: Answers, runs: Sequence[Node]) -> dict[str, Metrics]:
    """Return the metrics of runs by the id of the run."""
    return {run.id: await _metrics_of(answers, run) for run in runs}


async def _metrics_of(answers: Answers, run: Node) -> Metrics:
    around = await answers.graph.reach(
        answers.tenant, [run.id], direction=Direction.BOTH, kinds=[EdgeKind.READS, EdgeKind.WRITES], depth=1, limit=_MOST_NODES
    )
    versions = {node.id: node for node in around.nodes if node.kind is NodeKind.VERSION}
    written = [versions[edge.dst] for edge in around.edges if edge.src == run.id and edge.dst in versions]
    read = [versions[edge.src] for edge in around.edges if edge.dst == run.id and edge.src in versions]
    metrics: dict[str, float] = {}
    if (duration := _duration(run.properties)) is not None:
        metrics["seconds"] = duration
    rows_read = [size.rows for version in read if (size := size_of_version(version)) is not None and size.rows is not None]
    for version in written:
        output = dataset_name(f"dataset:{':'.join(parse_id(version.id)[1][:2])}")
        size = size_of_version(version)
        rows = size.rows if size is not None else None
        if rows is not None:
            metrics[f"rows of {output}"] = rows
        if size is not None and size.bytes is not None:
            metrics[f"bytes of {output}"] = size.bytes
        if rows is not None and len(rows_read) == len(read) > 0 and sum(rows_read) > 0:
            metrics[f"rows of {output} for each row read"] = rows / sum(rows_read)
    return metrics


def _duration(properties: Mapping[str, Any]) -> float | None:
    try:
        begin, end = (datetime.fromisoformat(str(properties[name])) for name in ("startedAt", "endedAt"))
        return max(0.0, (end - begin).total_seconds())
    except (KeyError, ValueError, TypeError):
        return None


def _row(job: Node, suspect: Suspect) -> dict[str, Any]:
    return {
        "job": job_of(job.name),
        "metric": suspect.metric,
        "value": _short(suspect.value),
        "expected": _short(suspect.expected),
        "change": f"{100 * (suspect.ratio - 1):+.0f} %",
        "low": _short(suspect.low),
        "high": _short(suspect.high),
        "chance": float(f"{suspect.chance:.1g}"),
        "runs": suspect.runs,
    }


def _short(value: float) -> float | int:
    return int(value) if value == int(value) else float(f"{value:.4g}")
