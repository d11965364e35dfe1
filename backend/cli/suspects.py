"""`headwater suspects`: values of a run that its earlier runs do not explain, tasks that stand out, and tasks behind wrong rows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.display_names import dataset_of, job_of
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.errors import InvalidQueryError
from headwater.graph.culprits.outliers import LEAST_RUNS
from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.model.ids import dataset_name
from headwater.graph.stores import Direction

app = typer.Typer(add_completion=False)

_COLUMNS = ("job", "metric", "value", "expected", "change", "low", "high", "chance", "compared", "task")
_INSTANCE_COLUMNS = ("instance", "dataset", "bad", "rows", "expected", "chance", "job", "run", "alike")
_INSTANCES = """query ($dataset: String!, $bad: String!, $good: String, $limit: Int!) {
  suspectInstances(dataset: $dataset, bad: $bad, good: $good, limit: $limit) {
    dataset instances bad good incomplete { what reason }
    suspects { bad rows expected chance instance { task file dataset job run } alike { task file } } } }"""
_MOST_OUTPUTS = 1_000
_SUSPECTS = """query ($name: String!, $runs: Int!) { suspects(name: $name, runs: $runs) {
  job jobName run compared metrics runs siblings suspects { subject metric value expected low high chance compared } } }"""


@app.command()
def suspects(
    name: Annotated[
        str,
        typer.Argument(
            metavar="JOB|RUN|DATASET", help="A run by its id. A job or a pipeline: the last complete runs. A dataset, with --bad."
        ),
    ],
    runs: Annotated[int, typer.Option(min=LEAST_RUNS, max=1_000, help="Number of earlier runs to compare with.")] = 60,
    bad: Annotated[str | None, typer.Option(help="A predicate that selects wrong rows of the output (DuckDB SQL).")] = None,
    good: Annotated[
        str | None, typer.Option(help="A predicate that selects right rows. All rows that are not wrong, if it is left out.")
    ] = None,
    limit: Annotated[int, typer.Option(min=2, max=500_000, help="Most rows to compare with --bad.")] = 100_000,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List what is unusual about a run, compared with the earlier complete runs of its job.

    Compares the duration, the sizes of inputs and outputs, the rows of each output for each row read and in each second, the rates of
    nulls and of distinct values, and the skew of stages. Tasks are compared with the other tasks of their stage. `chance` is the
    probability of such a value in a healthy run. At most one healthy run in 50 has a suspect.

    With --bad, the wrong rows of an output and the other rows are traced back. The answer names the tasks and files through which
    more wrong rows passed than chance explains.

    For example:

      headwater suspects nightly_report

      headwater suspects run:01a2223f-4d1c-7cd5-ac20-c4e17231749e --runs 100

      headwater suspects out/report --bad "price < 0" --good "price BETWEEN 1 AND 100"
    """
    if bad is not None:
        asyncio.run(_instances(name, bad, good, limit, format, home))
    elif good is not None:
        raise InvalidQueryError("Right rows were given without wrong ones.", field="good", hint="Give both: --bad and --good.")
    else:
        asyncio.run(_suspects(name, runs, format, home))


async def _instances(name: str, bad: str, good: str | None, limit: int, format: Format, home: Path | None) -> None:
    async with open_answers(home) as answers:
        dataset = await _output_of(answers, name)
        report = (await answers.ask(_INSTANCES, dataset=dataset, bad=bad, good=good, limit=limit))["suspectInstances"]
    rows = [
        {
            "instance": _instance_name(found["instance"]), "dataset": dataset_of(dataset_name(found["instance"]["dataset"])),
            "bad": found["bad"], "rows": found["rows"], "expected": _short(found["expected"]), "chance": float(f"{found['chance']:.1g}"),
            "job": found["instance"]["job"], "run": found["instance"]["run"],
            "alike": ", ".join(_instance_name(other) for other in found["alike"]) or None,
        }
        for found in report["suspects"]
    ]  # fmt: skip
    note(f"{report['bad']:,} wrong rows and {report['good']:,} other rows passed through {report['instances']:,} tasks and files.")
    emit(rows, columns=_INSTANCE_COLUMNS, format=format, empty="No task or file stands out.")
    for item in report["incomplete"]:
        note(f"{item['what']}: {item['reason']}", label="not exact")


def _instance_name(instance: Mapping[str, Any]) -> str:
    return str(instance["task"] or instance["file"])


async def _output_of(answers: Answers, name: str) -> str:
    """Return the dataset that a name means: the dataset itself, or the one output of a run or of a job.

    Raises:
        InvalidQueryError: it has none or several.
    """
    node = await answers.find(name, NodeKind.DATASET, NodeKind.JOB, NodeKind.PIPELINE, NodeKind.RUN)
    if node.kind is NodeKind.DATASET:
        return node.id
    near = await answers.graph.reach(
        answers.tenant, [node.id], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES], depth=1, limit=_MOST_OUTPUTS
    )
    outputs: Sequence[str] = sorted({_dataset_node(each.id) for each in near.nodes if each.kind in (NodeKind.DATASET, NodeKind.VERSION)})
    if len(outputs) != 1:
        names = ", ".join(dataset_of(dataset_name(output)) for output in outputs)
        raise InvalidQueryError(
            f"{node.name} wrote {len(outputs)} datasets{': ' if names else ''}{names}.",
            field="name",
            hint="Name the dataset with the wrong rows.",
        )
    return f"{outputs[0]}@{node.id}" if node.kind is NodeKind.RUN else outputs[0]


async def _suspects(name: str, runs: int, format: Format, home: Path | None) -> None:
    rows: list[dict[str, Any]] = []
    async with open_answers(home) as answers:
        node = await answers.find(name, NodeKind.JOB, NodeKind.PIPELINE, NodeKind.RUN)
        for report in (await answers.ask(_SUSPECTS, name=node.id, runs=runs))["suspects"]:
            job, run = job_of(report["jobName"]), report["run"]
            note(f"{job}: {report['compared']} of {report['metrics']} metrics of {run} compared with {report['runs']} earlier runs.")
            if not report["compared"]:
                note(f"a comparison needs {LEAST_RUNS} earlier complete runs.", label="note")
            if report["siblings"]:
                note(f"{job}: {report['siblings']} comparisons among the tasks of its stages.")
            rows += [_row(job, run, suspect) for suspect in report["suspects"]]
    emit(rows, columns=_COLUMNS, format=format, empty="Nothing is unusual.")


def _dataset_node(identifier: str) -> str:
    """Return the dataset of a version. A dataset is returned unchanged."""
    kind, _, rest = identifier.partition(":")
    return f"{NodeKind.DATASET}:{':'.join(rest.split(':')[:2])}" if kind == NodeKind.VERSION else identifier


def _row(job: str, run: str, suspect: Mapping[str, Any]) -> dict[str, Any]:
    value, expected, chance = suspect["value"], suspect["expected"], suspect["chance"]
    return {
        "job": job,
        "metric": suspect["metric"],
        "value": _short(value),
        "expected": _short(expected),
        "change": f"{100 * (value / expected - 1):+.0f} %" if expected else "new",
        "low": _short(suspect["low"]),
        "high": _short(suspect["high"]),
        "chance": None if chance is None else float(f"{chance:.1g}"),
        "compared": suspect["compared"],
        "task": None if suspect["subject"] == run else suspect["subject"],
    }


def _short(value: float) -> float | int:
    return int(value) if value == int(value) else float(f"{value:.4g}")
