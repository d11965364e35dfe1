"""`headwater doctor`: checks this machine, and gives advice."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import ExitCode, Format, emit
from headwater.backend.operate.machine_diagnosis import diagnose
from headwater.backend.operate.service_diagnosis import diagnose_service

app = typer.Typer(add_completion=False)


@app.command()
def doctor(
    service: Annotated[bool, typer.Option("--service", help="Look at the running service instead, by its own endpoints.")] = False,
    home: Home = None,
    format: OutputFormat = Format.TABLE,
) -> None:
    """Check Java, Spark, the home folder, the key, the disk and the service of this machine, and say what to do.

    With --service, the command asks the service that HEADWATER_URL names, or that runs on the home: which parts
    cannot work, how far the graph is behind, whether the key is accepted, and which entries were refused. The command
    ends with 1 if something necessary is missing. Optional parts do not count.
    """
    findings = diagnose_service(home) if service else diagnose(home)
    emit(
        [{"check": finding.check, "state": finding.state, "detail": finding.detail, "advice": finding.advice} for finding in findings],
        columns=("check", "state", "detail", "advice"),
        format=format,
    )
    if any(finding.state == "bad" for finding in findings):
        raise typer.Exit(ExitCode.FAILURE)
