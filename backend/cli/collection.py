"""`headwater versions enrol`, `withdraw`, `gc`, `compact` and `restore`: collections and compactions of blocks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.backend.cli.answers import no_home
from headwater.backend.cli.machine_user import machine_user
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.model import NodeKind
from headwater.graph.names import nodes_named

if TYPE_CHECKING:
    from headwater.backend.versions.collector import Collector
    from headwater.backend.workspace import Workspace
    from headwater.graph.versions.collection import CollectionPlan
    from headwater.graph.versions.compaction import CompactionPlan

_TENANT = "default"
_COLUMNS = ("sequence", "mode", "verdict", "files", "bytes", "reason")
Dataset = Annotated[str, typer.Argument(metavar="DATASET", help="A path, a name or an id of a dataset.")]


def enrol(dataset: Dataset, home: Home = None) -> None:
    """Allow `gc` and `compact` to drop files of a dataset. Only on the home itself, as its owner.

    The dataset must be a local folder of files below the data roots. Delta and Iceberg tables are refused.

    For example:

      headwater versions enrol out/events
    """

    async def run() -> None:
        async with _open(home) as (workspace, collector):
            made = collector.enrol(await _find(workspace, dataset), by=machine_user())
            note(f"Enrolled {made.dataset}: {made.path}")

    asyncio.run(run())


def withdraw(dataset: Dataset, home: Home = None) -> None:
    """End the enrolment of a dataset.

    For example:

      headwater versions withdraw out/events
    """

    async def run() -> None:
        async with _open(home) as (workspace, collector):
            identifier = await _find(workspace, dataset)
            collector.withdraw(identifier, by=machine_user())
            note(f"{identifier} is not enrolled any more.")

    asyncio.run(run())


def gc(
    dataset: Dataset,
    keep: Annotated[int, typer.Option(min=1, help="How many of the latest versions stay whole.")] = 1,
    apply: Annotated[bool, typer.Option("--apply", help="Move the files. Without it, this is a dry run.")] = False,
    trash_days: Annotated[float, typer.Option(min=0, help="Days for which moved files stay in the trash.")] = 7.0,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List the blocks whose files may be dropped, and why the others stay. With --apply, move these files to a trash folder.

    A block may be dropped if a later base replaced it, every consumer has read it, no legal hold covers it, and no trace of kept data
    needs its values. Only files of enrolled datasets move. A stopped command is finished by the next one.

    For example:

      headwater versions gc out/events

      headwater versions gc out/events --keep 3 --apply
    """

    async def run() -> None:
        async with _open(home) as (workspace, collector):
            identifier = await _find(workspace, dataset)
            if not apply:
                plan, journal = await collector.plan(identifier, keep=keep), None
            else:
                await workspace.compactor().settle()
                done = await collector.collect(identifier, by=machine_user(), keep=keep, trash_days=trash_days)
                plan, journal = done.plan, done.journal
            await workspace.settle()
        _print(plan, format)
        count, size = len(plan.files), sum(file.length for file in plan.files)
        if journal is not None:
            note(f"Collection {journal.id}: {len(journal.moved_files):,} files ({size:,} bytes) moved to {journal.trash}.")
            if journal.skipped:
                note(f"{len(journal.skipped):,} files changed meanwhile, and stay.", label="note")
        elif count and not apply:
            note(f"{count:,} files ({size:,} bytes) could be dropped. --apply moves them to a trash folder.", label="dry run")

    asyncio.run(run())


def compact(
    dataset: Dataset,
    apply: Annotated[bool, typer.Option("--apply", help="Merge the blocks. Without it, this is a dry run.")] = False,
    trash_days: Annotated[float, typer.Option(min=0, help="Days for which the old files are kept.")] = 7.0,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Show what forbids a merge of the current version into one block. With --apply, merge it.

    A Spark job with capture reads the base and its deltas and writes the merged files next to them. Then one step exchanges both folders.
    Traces through the dataset stay the same. Only enrolled datasets of Parquet files are merged.

    For example:

      headwater versions compact out/events

      headwater versions compact out/events --apply
    """

    async def run() -> None:
        async with _open(home) as (workspace, _):
            compactor = workspace.compactor()
            identifier = await _find(workspace, dataset)
            if not apply:
                plan, journal = await compactor.plan(identifier), None
            else:
                done = await compactor.compact(identifier, by=machine_user(), trash_days=trash_days)
                plan, journal = done.plan, done.journal
            await workspace.settle()
        _print_compaction(plan, format)
        if journal is not None:
            count = len(journal.merged_files)
            note(f"Compaction {journal.id}: {len(plan.files):,} files became {count:,}. The old files are in {journal.other}.")
        elif not plan.reasons:
            size = sum(file.length for file in plan.files)
            note(f"{len(plan.files):,} files ({size:,} bytes) could be merged. --apply merges them.", label="dry run")

    asyncio.run(run())


def restore(
    collection: Annotated[str, typer.Argument(metavar="ID", help="The id that gc or compact printed.")],
    home: Home = None,
) -> None:
    """Put the files of a collection back while they are in the trash, or undo a compaction.

    For example:

      headwater versions restore 0f3a5c7e9b1d
    """

    async def run() -> None:
        async with _open(home) as (workspace, collector):
            compactor = workspace.compactor()
            if compactor.has(collection):
                journal = await compactor.restore(collection, by=machine_user())
                note(f"The old data is back in {journal.folder}.")
            else:
                moved = await collector.restore(collection, by=machine_user())
                note(f"{len(moved.moved_files):,} files are back in {moved.folder}.")
            await workspace.settle()

    asyncio.run(run())


def _print(plan: CollectionPlan, format: Format) -> None:
    rows = [
        {
            "sequence": verdict.block.sequence, "mode": str(verdict.block.mode), "files": len(verdict.files),
            "verdict": "drop" if verdict.is_collectable else "keep" if verdict.reasons else "gone",
            "bytes": sum(file.length for file in verdict.files), "reason": "; ".join(verdict.reasons) or None,
            "run": verdict.block.run, "version": verdict.block.version,
        }
        for verdict in plan.verdicts
    ]  # fmt: skip
    emit(rows, columns=_COLUMNS, format=format, empty="No completed run is known to have written it.")


def _print_compaction(plan: CompactionPlan, format: Format) -> None:
    rows = [
        {"sequence": block.sequence, "mode": str(block.mode), "files": block.files, "rows": block.rows, "bytes": block.bytes,
         "run": block.run, "version": block.version}
        for block in plan.blocks
    ]  # fmt: skip
    emit(rows, columns=("sequence", "mode", "rows", "files", "bytes"), format=format, empty="No completed run is known to have written it.")
    for reason in plan.reasons:
        note(f"{reason}.", label="not merged")
    for text in plan.notes:
        note(text, label="note")


async def _find(workspace: Workspace, text: str) -> str:
    named = await nodes_named(workspace.graph, _TENANT, text, [NodeKind.DATASET])
    if len(named) != 1:
        raise NotFoundError(f"{text} names {'several datasets' if named else 'no dataset'}.", hint="Give the id of a dataset.")
    return named[0].id


@asynccontextmanager
async def _open(home: Path | None) -> AsyncIterator[tuple[Workspace, Collector]]:
    """Open a home to change its data. Only the owner of the home may do this, so a service is never asked."""
    from headwater.backend.home.settings import load_settings
    from headwater.backend.workspace import Workspace

    url = os.environ.get("HEADWATER_URL")
    settings = load_settings(home=home)
    if url and home is None and not os.environ.get("HEADWATER_HOME"):
        raise UnsupportedError(
            f"This command changes files of a home, and HEADWATER_URL names a service ({url}).",
            hint="Run it on the machine of the service, with --home or HEADWATER_HOME.",
        )
    if not settings.folder.path.is_dir():
        raise no_home(settings.folder.path)
    async with await Workspace.open(settings) as workspace:
        await workspace.take_in()
        yield workspace, workspace.collector()
