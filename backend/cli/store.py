"""`headwater store`: administers the graph and its log: migrate, check, repair, retry, prune, rebuild, back up, restore, export, import."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import ExitCode, Format, emit, note
from headwater.backend.home.settings import DEFAULT_TENANT, Settings, load_settings
from headwater.backend.operate.repair import repair as mend
from headwater.backend.operate.soundness.store import Finding, check_home
from headwater.backend.operate.upkeep.backup import TenantBackup, back_up
from headwater.backend.operate.upkeep.backup import restore as restore_backup
from headwater.backend.operate.upkeep.graph_file import export_graph, import_graph
from headwater.backend.operate.upkeep.pruning import policy_of, prune_home, report_rows
from headwater.backend.process.garbage_collection import settle
from headwater.backend.worker.retry import retry_set_aside
from headwater.backend.workspace import Workspace, graph_store
from headwater.graph.stores.portable import Tail

app = typer.Typer(
    cls=NamingGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Maintain the store: migrate, check, repair, retry, prune, rebuild, back up, restore, export, import.",
)


_File = Annotated[Path, typer.Argument(metavar="FILE", help="The graph file; a name that ends in .gz is packed.", show_default=False)]
_Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The backup's folder.", show_default=False)]


@app.command()
def migrate(home: Home = None) -> None:
    """Bring the graph store's tables, constraints and indexes up to date.

    Every start of the service does the same. This command does it before a start, because a large store may need
    long. It prints the numbers of the migrations that ran.
    """
    taken = asyncio.run(_migrate(load_settings(home=home)))
    note("The store is up to date." if not taken else f"Migrations taken: {', '.join(map(str, taken))}.")


@app.command()
def backup(folder: _Folder, home: Home = None, format: OutputFormat = Format.TABLE) -> None:
    """Copy log, associations and graph into a new folder. The service may run on.

    The key and the contents of the spool are not in the backup.

    """
    kept = asyncio.run(_back_up(load_settings(home=home), folder))
    emit(_kept_rows(kept), columns=_KEPT, format=format)


@app.command()
def restore(folder: _Folder, home: Home = None, format: OutputFormat = Format.TABLE) -> None:
    """Bring a backup into a new home and its graph store, and compare the graph's fingerprint with the backup's."""
    kept = asyncio.run(restore_backup(load_settings(home=home), folder))
    emit(_kept_rows(kept), columns=_KEPT, format=format)


@app.command(name="export")
def export_(file: _File, home: Home = None) -> None:
    """Write the graph to a file, which any store can import. Prints its fingerprint."""
    tail = asyncio.run(_export(load_settings(home=home), file))
    note(f"{tail.nodes} nodes and {tail.edges} edges are in {file}.")
    typer.echo(tail.fingerprint)


@app.command(name="import")
def import_(file: _File, home: Home = None) -> None:
    """Merge the graph in a file into the home's store.

    Prints the store's fingerprint. No service may run on the home.

    To move a graph to Neo4j: export it, set HEADWATER_STORE to the new store, import it. Importing a file twice
    changes nothing.
    """
    tail, fingerprint = asyncio.run(_import(load_settings(home=home), file))
    note(f"{tail.nodes} nodes and {tail.edges} edges came from {file}.")
    typer.echo(fingerprint)


@app.command()
def rebuild(home: Home = None) -> None:
    """Drop the graph and make it again from the log.

    The log has everything, so nothing is lost. An interrupted rebuild goes on with the next start. No service may run
    on the home.
    """
    entries, fingerprint = asyncio.run(_rebuild(load_settings(home=home)))
    note(f"Rebuilt from {entries} log entries.")
    typer.echo(fingerprint)


@app.command()
def repair(
    from_: Annotated[
        Path | None, typer.Option("--from", metavar="FOLDER", help="A backup, for what nothing else can bring back.", show_default=False)
    ] = None,
    home: Home = None,
    format: OutputFormat = Format.TABLE,
) -> None:
    """Mend the damaged files of a home, and retry the entries that they refused. No service may run on the home.

    A damaged file is moved aside, never deleted. The command ends with 1 if a file could not be mended.
    docs/guide/operations.md describes each repair, and what may be lost. `headwater store check` finds damaged files.
    """
    done = asyncio.run(mend(load_settings(home=home), from_))
    emit(
        [{"file": str(each.path), "ok": each.ok, "done": each.did, "lost": each.lost} for each in done],
        columns=("file", "ok", "done", "lost"),
        format=format,
        empty="No file is damaged. What was refused before was tried again.",
    )
    if not all(each.ok for each in done):
        raise typer.Exit(ExitCode.FAILURE)


@app.command()
def retry(
    tenant: Annotated[str, typer.Option(help="Whose entries.")] = DEFAULT_TENANT,
    home: Home = None,
    format: OutputFormat = Format.TABLE,
) -> None:
    """Project the entries again that were set aside because the worker crashed on them.

    Each entry is projected in a process of its own. The service may run on. The command ends with 1 if an entry stays
    set aside. Other entries that could not be projected need no command: each start retries them.
    """
    outcomes = retry_set_aside(load_settings(home=home), tenant)
    emit(
        [{"entry": each.offset, "ok": each.ok, "detail": each.detail} for each in outcomes],
        columns=("entry", "ok", "detail"),
        format=format,
        empty="No entry is set aside.",
    )
    if not all(each.ok for each in outcomes):
        raise typer.Exit(ExitCode.FAILURE)


@app.command()
def prune(
    replaced_days: Annotated[
        float | None, typer.Option(help="Prune what was replaced so many days ago.", show_default="HEADWATER_PRUNE_REPLACED_DAYS, else 30")
    ] = None,
    older_days: Annotated[
        float | None, typer.Option(help="Keep what a run made in the last so many days.", show_default="HEADWATER_PRUNE_OLDER_DAYS")
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Only datasets of namespaces that match (* and ?).", show_default="HEADWATER_PRUNE_NAMESPACE")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Only datasets whose names match (* and ?).", show_default="HEADWATER_PRUNE_DATASET")
    ] = None,
    most_bytes: Annotated[
        int | None,
        typer.Option(min=0, help="Prune only until kept tables have no more bytes.", show_default="HEADWATER_PRUNE_MOST_BYTES"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be pruned, and change nothing.")] = False,
    home: Home = None,
    format: OutputFormat = Format.TABLE,
) -> None:
    """Drop record lineage of replaced data if no kept data can be traced back to it.

    Traces stay as they are if they go back from data that was not replaced, or was replaced later. A trace that
    reaches pruned lineage names the person, the time and the policy of the prune. The service may run on. A stopped
    prune goes on with the next one.

    For example:

      headwater store prune --replaced-days 90 --dataset '/lake/tmp/*' --dry-run
    """
    settings = load_settings(
        home=home, prune_replaced_days=replaced_days, prune_older_days=older_days, prune_namespace=namespace, prune_dataset=dataset,
        prune_most_bytes=most_bytes,
    )  # fmt: skip
    report = prune_home(settings, policy_of(settings, days=30.0), dry_run=dry_run)
    emit(report_rows(report), columns=("namespace", "dataset", "captures", "bytes"), format=format, empty="Nothing may go.")
    pruned, size = sum(report.captures.values()), sum(report.bytes.values())
    note(f"{'Would prune' if dry_run else 'Pruned'} {pruned} captures, {size:,} bytes of tables. {report.bytes_left:,} bytes are left.")


@app.command()
def check(home: Home = None, format: OutputFormat = Format.TABLE) -> None:
    """Check every durable file, compare the graph with the log, and list refused entries.

    The command projects the log into a second graph, compares the two, and drops the second. It ends with 1 if
    anything is wrong.
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
    settle()  # as in the worker of a service
    async with await Workspace.open(settings) as workspace:
        workspace.keep_services_out()
        entries = await workspace.projector.rebuild(DEFAULT_TENANT)
        return entries, await workspace.graph.fingerprint(DEFAULT_TENANT)


async def _check(settings: Settings) -> list[Finding]:
    return await check_home(settings, DEFAULT_TENANT)


_KEPT = ("tenant", "nodes", "edges", "fingerprint")


def _kept_rows(kept: Mapping[str, TenantBackup]) -> list[dict[str, object]]:
    return [
        {"tenant": tenant, "nodes": entry.nodes, "edges": entry.edges, "fingerprint": entry.fingerprint} for tenant, entry in kept.items()
    ]


async def _migrate(settings: Settings) -> list[int]:
    settings.folder.create()
    store = graph_store(settings)
    try:
        return await store.open()
    finally:
        await store.close()


async def _back_up(settings: Settings, folder: Path) -> Mapping[str, TenantBackup]:
    async with await Workspace.open(settings) as workspace:
        return await back_up(workspace, folder)


async def _export(settings: Settings, file: Path) -> Tail:
    async with await Workspace.open(settings) as workspace:
        return await export_graph(workspace.log, workspace.graph, DEFAULT_TENANT, file)


async def _import(settings: Settings, file: Path) -> tuple[Tail, str]:
    async with await Workspace.open(settings) as workspace:
        workspace.keep_services_out()
        tail = await import_graph(workspace.log, workspace.graph, DEFAULT_TENANT, file)
        return tail, await workspace.graph.fingerprint(DEFAULT_TENANT)
