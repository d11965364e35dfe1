"""`headwater prov`: checks of PROV documents from any source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import OutputFormat
from headwater.backend.cli.output import ExitCode, Format, emit, note
from headwater.errors import ConfigurationError
from headwater.graph.prov import ProvFormat

app = typer.Typer(cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Check PROV documents.")

Notation = Annotated[
    ProvFormat | None, typer.Option("--notation", help="Notation of the document; detected if not given.", show_default=False)
]


@app.callback()
def _group() -> None:
    """Check PROV documents from any source."""


@app.command()
def check(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A document: PROV-JSON, PROV-N; with the extra `prov` also PROV-XML, PROV-O, PROV-JSONLD."),
    ],
    notation: Notation = None,
    format: OutputFormat = Format.TABLE,
) -> None:
    """Check a PROV document against PROV-CONSTRAINTS, and list each broken constraint with its line.

    The command ends with 1 if a constraint is broken, and with 2 if the document is malformed. The document must fit
    in memory.

    For example:

      headwater prov check report.prov.json
    """
    from headwater.graph.prov.constraints import check as broken
    from headwater.graph.prov.read import read

    document = read(contents(file), notation)
    found = broken(document)
    rows = [
        {"line": one.line or None, "constraint": one.clause, "what": one.message, "bundle": one.bundle or "", "number": one.constraint}
        for one in found
    ]
    if found or format is not Format.TABLE:
        emit(rows, columns=("line", "constraint", "what", "bundle"), format=format)
    if found:
        raise typer.Exit(ExitCode.FAILURE)
    number = sum(len(statements) for _, statements in document.instances())
    note(f"Valid: {number} statements in {len(document.bundles)} bundle(s) satisfy PROV-CONSTRAINTS.")


def contents(file: Path) -> bytes:
    """Read a file that the user names.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}.", hint="Name a file that is there.") from error
