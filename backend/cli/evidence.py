"""`headwater evidence`: keys, checkpoints and bundles that prove what the log of a home contains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from headwater.backend.cli.document_output import put_out
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.home.quick_settings import settings_of
from headwater.errors import ConfigurationError, InvalidInputError, UnsupportedError
from headwater.graph.prov import ProvFormat
from headwater.graph.trace import Semantics, TraceRequest

if TYPE_CHECKING:
    from headwater.backend.erasure.log_entries import FoundEntry
    from headwater.backend.evidence.bundle import Subject
    from headwater.backend.evidence.keys import SigningKey
    from headwater.backend.evidence.tree import Tree
    from headwater.backend.evidence.verify import Checkpoint
    from headwater.backend.workspace import Workspace

app = typer.Typer(
    cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Prove to others what is in the log, with signed evidence."
)
T = TypeVar("T")
_LONGEST_CHECKPOINT = 10_000  # bytes


@app.command()
def key(
    name: Annotated[str | None, typer.Option(help="Name of the log, for the first call. A random one by default.")] = None,
    home: Home = None,
) -> None:
    """Print the public key of the home's evidence. Give it to those who verify bundles.

    The first call makes the key. The private key is in the file evidence.pem of the home.

    Example: headwater evidence key --name acme/lineage
    """
    typer.echo(_with_key(home, lambda _, signing: signing.public.text, name))


@app.command()
def rotate(home: Home = None) -> None:
    """Replace the key by a new one, which the old key signs. The old private key is deleted.

    Whoever trusts an old public key can still verify new bundles.
    """
    from headwater.backend.evidence.keys import rotate as rotate_key

    typer.echo(_with_key(home, lambda tree, _: rotate_key(_folder(home), tree).public.text))


@app.command()
def checkpoint(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write. Standard output, if it is left out.")] = None,
    since: Annotated[
        Path | None, typer.Option(help="An earlier checkpoint: add the proof that the log only grew since, for a witness.")
    ] = None,
    home: Home = None,
) -> None:
    """Sign the present state of the log: the number of its entries, and the root of the tree over them.

    Keep checkpoints in another place. A later bundle proves with `--since` that the log only grew.

    Example: headwater evidence checkpoint -o monday.checkpoint
    """
    asyncio.run(_checkpoint(output, None if since is None else _read_checkpoint(since), home))


@app.command()
def witness(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A file that `headwater evidence checkpoint` wrote.")],
    key: Annotated[Path, typer.Option(help="The file with the private key of the witness.")],
    log: Annotated[str, typer.Option(help="The public key of the log, as `headwater evidence key` printed it.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write. Standard output, if it is left out.")] = None,
    name: Annotated[str | None, typer.Option(help="Make the key first, and give the witness this name.", show_default=False)] = None,
) -> None:
    """Sign a checkpoint of another party's log, with a key of your own. No home and no network is needed.

    The witness remembers what it signed, in a file next to its key. It signs a later checkpoint only with a proof that the log only grew.

    For example:

      headwater evidence witness monday.checkpoint --key witness.pem --name auditor --log 'acme/lineage+…' -o monday.witnessed
    """
    from headwater.backend.evidence.verify import EvidenceError, PublicKey
    from headwater.backend.evidence.witness import cosign, make_witness

    try:
        trusted = PublicKey.parse(log)
    except EvidenceError as error:
        raise InvalidInputError(str(error), field="log") from error
    request = _read_checkpoint(checkpoint)
    if name is not None:
        make_witness(key, name)
    signed, public = cosign(key, request, trusted)
    asyncio.run(put_out(_one(signed.encode()), output))
    note(f"The public key of the witness: {public.text}")


@app.command()
def timestamp(
    authority: Annotated[str, typer.Argument(metavar="AUTHORITY", help="The name of a time-stamp authority in targets.toml.")],
    home: Home = None,
) -> None:
    """Have a time-stamp authority confirm when the log was in its present state (RFC 3161).

    The authority gets a hash only. Bundles about entries before this moment contain its token.

    Example: headwater evidence timestamp authority
    """
    asyncio.run(_timestamp(authority, home))


@app.command()
def export(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset of the records: a path, a table, a name or an id.")],
    where: Annotated[str, typer.Option(help="The predicate that selects the records (DuckDB SQL).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The bundle to write.")],
    column: Annotated[str | None, typer.Option(help="The column to explain; narrows a witness.", show_default=False)] = None,
    semantics: Annotated[Semantics, typer.Option(help="influence: all that had a part; witness: what suffices.")] = Semantics.INFLUENCE,
    to: Annotated[str | None, typer.Option(metavar="DATASET", help="Stop at this dataset.", show_default=False)] = None,
    since: Annotated[Path | None, typer.Option(help="An earlier checkpoint: prove that the log only grew since.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most records to list in the bundle.")] = 10_000,
    home: Home = None,
) -> None:
    """Write a bundle: where records came from, with a proof that the log contains the runs and captures behind the answer.

    Example: headwater evidence export out/report --where "month = 2" -o report.evidence.zip
    """
    request = TraceRequest(dataset=dataset, where=where, column=column, semantics=semantics, to=to, limit=limit)
    asyncio.run(_export(request, output, None if since is None else _read_checkpoint(since), home))


@app.command()
def erase(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to erase, such as a name. Capital and small letters differ.")],
    yes: Annotated[bool, typer.Option("--yes", help="Erase the text. Without it, this is a dry run.")] = False,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Erase a text from the entries of the log, such as a name in a query. All proofs still hold.

    Lists the entries with the text. With --yes, each is replaced by one with a token in the place of the text, and its old contents are
    deleted. Record lineage and refused documents with the text are deleted as a whole. No service may run on the home.

    For example:

      headwater evidence erase "Ann Example"

      headwater evidence erase "Ann Example" --yes
    """
    rows = [asdict(found) for found in asyncio.run(_erase(text, is_dry_run=not yes, home=home))]
    emit(rows, columns=("entry", "kind", "received", "job", "run"), format=format, empty="No entry has the text.")
    if rows and not yes:
        note("Nothing is erased yet. Repeat the command with --yes.")


@app.command()
def verify(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A file that `headwater evidence export` wrote.")],
    key: Annotated[str, typer.Option(help="The public key that you trust, as `headwater evidence key` printed it.")],
    witness: Annotated[
        str | None, typer.Option(help="The public key of a witness that must have signed the earliest checkpoint.", show_default=False)
    ] = None,
    authority: Annotated[
        Path | None,
        typer.Option(help="The certificate of a time-stamp authority (PEM), which must have stamped all entries.", show_default=False),
    ] = None,
) -> None:
    """Verify a bundle. No home, no service and no network is needed.

    The command fails if one bit of the bundle was changed. The module backend/evidence/verify.py does the same on its own.
    """
    from headwater.backend.evidence.timestamp_token import TokenError
    from headwater.backend.evidence.verify import WITNESS_KEY, EvidenceError, PublicKey, read_bundle, summary
    from headwater.backend.evidence.verify import verify as verify_bundle

    try:
        trusted, second = PublicKey.parse(key), PublicKey.parse(witness, WITNESS_KEY) if witness else None
    except EvidenceError as error:
        raise InvalidInputError(str(error), hint="Write a whole public key. The bundle was not verified.") from error
    try:
        content = read_bundle(bundle)
        report = verify_bundle(content, trusted, second)
        stamped = "" if authority is None else _stamped_at(content, report.stamped, authority)
    except (EvidenceError, TokenError) as error:
        raise InvalidInputError(f"{bundle} is NOT valid: {error}", hint="Do not rely on it.") from error
    except OSError as error:
        raise ConfigurationError(f"{bundle} cannot be read: {error.strerror}.") from error
    note(f"Valid. {summary(report)}{stamped}")


def _stamped_at(bundle: bytes, stamped: Checkpoint | None, authority: Path) -> str:
    from headwater.backend.evidence.timestamp_token import TokenError, read_authorities, verify_token
    from headwater.backend.evidence.verify import TOKEN, unpack

    if stamped is None:
        raise TokenError("It has no time stamp that covers all of its entries.")
    at = verify_token(unpack(bundle)[TOKEN], stamped.text.encode(), read_authorities(authority.read_bytes()))
    return f" The authority stamped its first {stamped.size} entries at {at:%Y-%m-%d %H:%M:%S} UTC."


def _folder(home: Path | None) -> Path:
    return settings_of(home).folder.evidence_key


def _with_key(home: Path | None, action: Callable[[Tree, SigningKey], T], name: str | None = None) -> T:
    """Run an action with the tree and the key of a home."""
    from headwater.backend.evidence.keys import open_key
    from headwater.backend.evidence.tree import Tree

    settings = settings_of(home)
    if settings.ingest_log is not None:
        raise UnsupportedError("Replicas share the log of this home, and evidence covers the log of one home only.")
    folder = settings.folder.create()
    with closing(Tree(folder.evidence, DEFAULT_TENANT)) as tree:
        return action(tree, open_key(folder.evidence_key, tree, name))


@asynccontextmanager
async def _open(home: Path | None) -> AsyncIterator[Workspace]:
    """Open a home, and read what programs left in its spool."""
    from headwater.backend.workspace import Workspace

    async with await Workspace.open(settings_of(home)) as workspace:
        delivered, _ = await workspace.take_in()
        for refused in delivered.refused:
            note(f"something in the spool was refused: {refused}", label="warning")
        yield workspace


async def _checkpoint(output: Path | None, since: str | None, home: Path | None) -> None:
    from headwater.backend.evidence.bundle import make_checkpoint, make_grown_checkpoint

    async with _open(home) as workspace:
        signed = await asyncio.to_thread(
            _with_key, home, lambda tree, signing: (
                make_checkpoint(tree, workspace.log, signing)[1]
                if since is None
                else make_grown_checkpoint(tree, workspace.log, signing, since)
            ),
        )  # fmt: skip
    await put_out(_one(signed.encode()), output)


async def _timestamp(authority: str, home: Path | None) -> None:
    from headwater.backend.evidence.stamps import stamp_checkpoint
    from headwater.backend.targets import read_usable_targets

    target = read_usable_targets(settings_of(home).folder.targets).timestamp(authority)
    async with _open(home) as workspace:
        stamped, at = await asyncio.to_thread(_with_key, home, lambda tree, signing: stamp_checkpoint(tree, workspace.log, signing, target))
    note(f"{authority} stamped the state of {stamped.size} entries at {at}.")


async def _export(request: TraceRequest, output: Path, since: str | None, home: Path | None) -> None:
    from headwater.backend.evidence.bundle import make_bundle

    async with _open(home) as workspace:
        subject = await _answer(workspace, request)
        bundle = await asyncio.to_thread(
            _with_key, home, lambda tree, signing: make_bundle(tree, workspace.log, DEFAULT_TENANT, signing, subject, since)
        )
        public = await asyncio.to_thread(_with_key, home, lambda _, signing: signing.public.text)
    await put_out(_one(bundle), output)
    note(f"Verify it with: headwater evidence verify {quote(str(output))} --key '{public}'")


async def _erase(text: str, *, is_dry_run: bool, home: Path | None) -> Sequence[FoundEntry]:
    from headwater.backend.erasure.log_entries import TextErasure
    from headwater.backend.ingest.log.sqlite import SqliteLog

    async with _open(home) as workspace:
        if not isinstance(workspace.log, SqliteLog):
            raise UnsupportedError("Replicas share the log of this home. Only the log of one home can be erased.")
        erasure = TextErasure(workspace.log, DEFAULT_TENANT, text)
        if not is_dry_run:
            workspace.keep_services_out()
        found = erasure.find()
        if not is_dry_run:
            await asyncio.to_thread(_with_key, home, lambda tree, key: erasure.erase(workspace, tree, key))
            await workspace.projector.rebuild(DEFAULT_TENANT)
    return found


async def _answer(workspace: Workspace, request: TraceRequest) -> Subject:
    """Trace the records, and return the answer with its provenance."""
    from headwater.backend.evidence.subject import subject_of
    from headwater.backend.exports.provenance import chunks_of, open_export

    answer = await workspace.trace(DEFAULT_TENANT, request)
    if not answer.selected:
        raise InvalidInputError("No record meets the predicate.", hint=f"headwater trace {request.dataset} --where … shows records.")
    async with open_export(workspace.graph, workspace.records, DEFAULT_TENANT, request) as opened:
        provenance = b"".join([chunk async for chunk in chunks_of(opened, ProvFormat.JSON)])
    return subject_of(request, answer, provenance)


def _read_checkpoint(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST_CHECKPOINT).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is no checkpoint: {error}.", hint="`headwater evidence checkpoint` writes one.") from error


async def _one(document: bytes) -> AsyncIterator[bytes]:
    yield document
