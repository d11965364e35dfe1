"""`headwater erase`: takes a person's records out of a source, and out of everything that derives from them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.backend.cli.display_names import dataset_of
from headwater.backend.cli.machine_user import machine_user
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, count, emit, emit_json, note, progress
from headwater.backend.cli.trace_command import reference
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.errors import HeadwaterError, InvalidQueryError, UnsupportedError
from headwater.graph.model.ids import dataset_name

if TYPE_CHECKING:
    from headwater.backend.erasure.model import Erasure, ErasurePlan
    from headwater.backend.erasure.service import Erasures
    from headwater.backend.workspace import Workspace

app = typer.Typer(add_completion=False)

_PLAN = ("dataset", "records", "former", "action", "jobs", "reasons")
_CERTIFICATE = ("dataset", "action", "found", "left", "checked", "reasons")
_LIST = ("id", "state", "source", "records", "by", "began", "ended")
_ACTIONS = ("approve", "run", "show")


@app.command()
def erase(
    dataset: Annotated[str | None, typer.Argument(metavar="[DATASET]", help="The source of the records: a path, a name or an id.")] = None,
    identifier: Annotated[str | None, typer.Argument(metavar="[ID]", help="After `approve`, `run` or `show`: an earlier erasure.")] = None,
    where: Annotated[str | None, typer.Option(help="The records to erase: an SQL predicate (DuckDB).", show_default=False)] = None,
    row: Annotated[
        list[str] | None, typer.Option(help="A record to erase as FILE:N, N from 0; may be repeated.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "--run", help="Erase the records. Without it, this is a dry run.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, and change nothing. This is the default.")] = False,
    delete: Annotated[
        list[str] | None,
        typer.Option(metavar="DATASET", help="Delete this dataset downstream as a whole; may be repeated.", show_default=False),
    ] = None,
    leave: Annotated[
        list[str] | None,
        typer.Option(metavar="DATASET", help="Leave this dataset downstream to me; may be repeated.", show_default=False),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="A text for the certificate, such as the number of a case. Name no person.", show_default=False)
    ] = None,
    evidence: Annotated[
        Path | None, typer.Option(metavar="FILE", help="show: write the certificate as a signed evidence bundle.", show_default=False)
    ] = None,
    earlier: Annotated[bool, typer.Option("--list", help="List erasures.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Finish or revert an erasure that was interrupted.")] = False,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Erase records of a source, such as those of one person, and every record that derives from them.

    Shows the plan. With --yes, the files of the source are written again without the records, the programs downstream run again, and all
    outputs are replaced together. Old data is deleted at once, and a certificate says what was done, and what remains. If a program fails,
    everything is as it was before.

    For example:

      headwater erase raw/customers.csv --where "customer_id = 42"

      headwater erase raw/customers.csv --where "customer_id = 42" --yes --reason "case 17"
    """
    if os.environ.get("HEADWATER_URL") and home is None:
        raise UnsupportedError("An erasure changes files on this machine; it works on a home.", hint="Name one with --home.")
    if yes and dry_run:
        raise InvalidQueryError("--yes and --dry-run exclude each other.", hint="Leave one of them out.")
    if earlier:
        asyncio.run(_list(home, format))
    elif resume:
        asyncio.run(_resume(home, format))
    elif identifier is not None:
        if dataset not in _ACTIONS:
            raise InvalidQueryError(f"{identifier!r} is one name too many.", hint="Only `approve ID`, `run ID` and `show ID` take two.")
        asyncio.run(_act_on(home, dataset, identifier, evidence, format))
    else:
        if dataset is None:
            raise InvalidQueryError("No dataset is named.", hint="""For example: headwater erase raw/customers.csv --where "id = 42".""")
        options: dict[str, Any] = {
            "dataset": dataset, "where": where, "rows": [reference(text) for text in row or ()], "delete": delete or (),
            "leave": leave or (),
        }  # fmt: skip
        asyncio.run(_erase(home, options, reason, format) if yes else _plan(home, options, format))


@asynccontextmanager
async def _open(home: Path | None) -> AsyncIterator[tuple[Workspace, Erasures]]:
    from headwater.backend.erasure.service import Erasures
    from headwater.backend.home.settings import load_settings
    from headwater.backend.workspace import Workspace

    settings = load_settings(home=home)
    async with await Workspace.open(settings) as workspace:
        await workspace.take_in()
        yield workspace, Erasures(workspace)


async def _plan(home: Path | None, options: dict[str, Any], format: Format) -> None:
    from headwater.backend.erasure.plan import EraseRequest
    from headwater.backend.erasure.service import refuse_plan

    async with _open(home) as (_, erasures):
        plan = await erasures.plan(DEFAULT_TENANT, EraseRequest(**options))
    if format is Format.JSON:
        emit_json(plan.model_dump(mode="json"))
    else:
        _print_plan(plan, format)
    try:
        refuse_plan(plan)
    except HeadwaterError as error:
        note(error.message, label="cannot run")
        if error.hint:
            note(error.hint, label="hint")
    else:
        note("nothing was changed. --yes erases the records.", label="dry run")


async def _erase(home: Path | None, options: dict[str, Any], reason: str | None, format: Format) -> None:
    from headwater.backend.erasure.plan import EraseRequest

    async with _open(home) as (_, erasures):
        for settled in await erasures.settle(DEFAULT_TENANT):
            note(f"The erasure {settled.id} was interrupted earlier. It is {settled.state} now.", label="note")
        erasure = await erasures.request(DEFAULT_TENANT, EraseRequest(**options), by=machine_user(), reason=reason)
        if erasures.needs_approval():
            note(f"The erasure {erasure.id} waits for the approval of a second person: headwater erase approve {erasure.id}")
            note(f"Then run it: headwater erase run {erasure.id}")
            return
        done = await _run(erasures, erasure.id)
    _print_end(done, format)


async def _run(erasures: Erasures, identifier: str) -> Erasure:
    with progress() as bars:
        task = bars.add_task("planning", total=None)
        return await erasures.run(
            DEFAULT_TENANT, identifier, by=machine_user(), progress=lambda text: bars.update(task, description=text)
        )  # fmt: skip


async def _act_on(home: Path | None, action: str, identifier: str, evidence: Path | None, format: Format) -> None:
    async with _open(home) as (workspace, erasures):
        if action == "approve":
            approved = erasures.approve(DEFAULT_TENANT, identifier, by=machine_user())
            note(f"{approved.approved_by} approved the erasure {identifier}.")
            return
        if action == "show":
            found = erasures.get(DEFAULT_TENANT, identifier)
            if evidence is not None:
                await _write_evidence(workspace, found, evidence)
        else:
            found = await _run(erasures, identifier)
    _print_end(found, format)


async def _resume(home: Path | None, format: Format) -> None:
    async with _open(home) as (_, erasures):
        found = await erasures.settle(DEFAULT_TENANT)
    if not found:
        note("No erasure was interrupted.")
    for erasure in found:
        _print_end(erasure, format)


async def _list(home: Path | None, format: Format) -> None:
    async with _open(home) as (_, erasures):
        found = erasures.all(DEFAULT_TENANT)
    rows = [
        {
            "id": one.id, "state": str(one.state), "source": dataset_of(dataset_name(one.plan.source)), "records": one.plan.records,
            "by": one.by, "began": one.began, "ended": one.ended,
        }
        for one in found
    ]  # fmt: skip
    emit(rows, columns=_LIST, format=format, empty="There was no erasure.")


async def _write_evidence(workspace: Workspace, erasure: Erasure, output: Path) -> None:
    from headwater.backend.cli.document_output import put_out
    from headwater.backend.evidence.bundle import Subject, make_bundle
    from headwater.backend.evidence.keys import open_key
    from headwater.backend.evidence.tree import Tree

    if erasure.certificate is None:
        raise InvalidQueryError(f"The erasure {erasure.id} is {erasure.state}, and has no certificate.", field="id")
    if workspace.settings.ingest_log is not None:
        raise UnsupportedError("Replicas share the log of this home, and evidence covers the log of one home only.")
    certificate = erasure.certificate.model_dump(mode="json")
    subject = Subject({"erasure": erasure.id}, [erasure.id], {"certificate": certificate}, b"{}")

    def make() -> tuple[bytes, str]:
        with closing(Tree(workspace.home.evidence, DEFAULT_TENANT)) as tree:
            key = open_key(workspace.home.evidence_key, tree, None)
            return make_bundle(tree, workspace.log, DEFAULT_TENANT, key, subject), key.public.text

    bundle, public = await asyncio.to_thread(make)

    async def content() -> AsyncIterator[bytes]:
        yield bundle

    await put_out(content(), output)
    note(f"Verify it with: headwater evidence verify {quote(str(output))} --key '{public}'")


def _print_plan(plan: ErasurePlan, format: Format) -> None:
    rows = [
        {
            "dataset": dataset_of(dataset_name(one.dataset)), "records": one.records, "former": one.former, "action": str(one.action),
            "jobs": ", ".join(dict.fromkeys(one.jobs)) or None, "reasons": "; ".join(one.reasons) or None,
        }
        for one in plan.datasets
    ]  # fmt: skip
    emit(rows, columns=_PLAN, format=format, empty="No dataset is downstream.")
    note(
        f"{count(plan.records, 'record')} of {dataset_of(dataset_name(plan.source))} in {count(len(plan.files), 'file')}, "
        f"and {count(len(plan.applications), 'program')} to run again."
    )
    for text in plan.notes:
        note(text, label="note")
    for text in plan.blocks:
        note(text, label="blocked")
    for text in plan.remains:
        note(text, label="not reached")


def _print_end(erasure: Erasure, format: Format) -> None:
    certificate = erasure.certificate
    if format is Format.JSON:
        emit_json(
            certificate.model_dump(mode="json") if certificate is not None else erasure.model_dump(mode="json", exclude={"where", "rows"})
        )
    elif certificate is not None:
        rows = [
            {
                "dataset": dataset_of(dataset_name(one.dataset)), "action": str(one.action), "found": one.records_found,
                "left": one.records_left, "checked": one.is_checked, "reasons": "; ".join(one.reasons) or None,
            }
            for one in certificate.datasets
        ]  # fmt: skip
        emit(rows, columns=_CERTIFICATE, format=format, title=f"Erasure {erasure.id}: {certificate.result}")
        for text in certificate.removed:
            note(text, label="removed")
        for text in certificate.remains:
            note(text, label="not reached")
    if certificate is None:
        note(f"The erasure {erasure.id} is {erasure.state}. {erasure.error or ''}".rstrip())
    elif certificate.check:
        for text in certificate.check:
            note(text, label="not erased")
    else:
        note(f"No record that derives from {count(certificate.records, 'erased record')} is left. headwater erase show {erasure.id}")
