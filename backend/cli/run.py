"""`headwater run`: runs a program with capture on. Needs the light install only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.spark_listener.settings import Mode, load_settings

app = typer.Typer(add_completion=False)


@app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False})
def run(
    context: typer.Context,
    program: Annotated[str, typer.Argument(metavar="SCRIPT", help="The program, as one would give it to python.")],
    mode: Annotated[
        Mode | None,
        typer.Option(
            help="off: nothing. coarse: datasets and columns. active: records too, while the job runs. lazy: what a trace can find again "
            "exactly is not written. auto: nor is it where that takes a trace no longer than its budget.  [default: auto]"
        ),
    ] = None,
    trace_budget: Annotated[
        float | None, typer.Option(help="In mode auto: seconds that a trace may spend on recomputing what was not written.  [default: 1]")
    ] = None,
    home: Annotated[Path | None, typer.Option(help="Folder where lineage is kept without a service.  [default: ~/.headwater]")] = None,
    namespace: Annotated[str | None, typer.Option(help="OpenLineage namespace of the jobs.  [default: default]")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the pipeline, instead of Spark's application name.")] = None,
    url: Annotated[str | None, typer.Option(help="Service to send to; its key is read from HEADWATER_API_KEY.")] = None,
    segments: Annotated[
        str | None, typer.Option(help="On a cluster: a folder or URI that both the executors and the service can reach.")
    ] = None,
    exit_wait: Annotated[
        float | None, typer.Option(help="Seconds that the end of the program may wait for delivery.  [default: 5]")
    ] = None,
    quiet: Annotated[bool | None, typer.Option("--quiet", "-q", help="No summary at the end.")] = None,
    module: Annotated[bool, typer.Option("--module", "-m", help="SCRIPT is a module, as with python -m.")] = False,
) -> None:
    """Run a PySpark program and capture its lineage.

    The program is not changed, and behaves and exits as under python. Everything after SCRIPT is its own.

    headwater run job.py --date 2013-02-12

    headwater run --mode coarse -m pytest tests/
    """
    from headwater.spark_listener.launch import run as launch

    settings = load_settings(
        mode=mode,
        trace_budget=trace_budget,
        home=home,
        namespace=namespace,
        name=name,
        url=url,
        segments=segments,
        exit_wait=exit_wait,
        quiet=quiet,
    )
    launch(program, context.args, settings, module=module)
