"""`headwater store`: rebuild the graph from the log, or check that it is what the log says."""

from __future__ import annotations

import asyncio

import typer

from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import ExitCode, Format, emit, note
from headwater.backend.settings import DEFAULT_TENANT, Settings, load_settings
from headwater.backend.store_check import Finding, check_store
from headwater.backend.workspace import Workspace
from headwater.errors import UnavailableError

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Rebuild or check the graph.")


@app.command()
def rebuild(home: Home = None) -> None:
    """Drop the graph and make it again from the log.

    The log has everything, so nothing is lost; an interrupted rebuild goes on with the next start. No service may run on the home.
    """
    entries, fingerprint = asyncio.run(_rebuild(load_settings(home=home)))
    note(f"Rebuilt from {entries} log entries.")
    typer.echo(fingerprint)


@app.command()
def check(home: Home = None, format: OutputFormat = Format.TABLE) -> None:
    """Compare the graph with what the log says, and list what was refused.

    The log is projected into a second graph beside the first, which is then compared and dropped. Exits with 1 if anything is wrong.
    """
    findings = asyncio.run(_check(load_settings(home=home)))
    emit(
        [{"check": finding.check, "ok": finding.ok, "detail": finding.detail} for finding in findings],
        columns=("check", "ok", "detail"),
        format=format,
    )
    if not all(finding.ok for finding in findings):
        raise typer.Exit(ExitCode.FAILURE)


async def _rebuild(settings: Settings) -> tuple[int, str]:
    async with await Workspace.open(settings) as workspace:
        if not workspace.role.take():
            raise UnavailableError("Another process projects the log of this home.", hint="Stop the service (Ctrl-C), then try again.")
        entries = await workspace.projector.rebuild(DEFAULT_TENANT)
        return entries, await workspace.graph.fingerprint(DEFAULT_TENANT)


async def _check(settings: Settings) -> list[Finding]:
    async with await Workspace.open(settings) as workspace:
        await workspace.settle()
        return await check_store(workspace, DEFAULT_TENANT)
