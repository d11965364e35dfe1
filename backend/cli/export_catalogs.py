"""`headwater export datahub` and `headwater export openmetadata`: the contents of the graph as files for other catalogs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.document_output import put_out
from headwater.backend.cli.options import Home
from headwater.backend.exports.request import CatalogRequest
from headwater.backend.exports.systems import System

Namespaces = Annotated[
    list[str] | None,
    typer.Option("--namespace", metavar="PATTERN", help="Namespaces to export, with * and ?. Repeatable.", show_default="all"),
]
KnownAs = Annotated[
    list[str] | None,
    typer.Option("--known-as", metavar="NAMESPACE=NAME", help="What a namespace is called there. Repeatable.", show_default=False),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write; standard output if not given.", show_default=False)]


def datahub(
    namespace: Namespaces = None,
    known_as: KnownAs = None,
    environment: Annotated[str, typer.Option(help="DataHub's environment: the end of each URN.")] = "PROD",
    output: Output = None,
    home: Home = None,
) -> None:
    """Write datasets, jobs, lineage of columns, owners, tags and terms as DataHub's source `file` reads them.

    The file is a JSON array of metadata change proposals. Each replaces one aspect of one entity in DataHub. Aspects
    without any known value are left out. --known-as names a platform instance. Each of several databases of one kind
    needs one, because DataHub's names have no host. docs/reference/catalogs.md describes the names.

    For example:

      headwater export datahub -o lineage.json

      headwater export datahub --namespace 's3://*' --namespace spark --environment DEV -o lineage.json
    """
    asyncio.run(_export(System.DATAHUB, CatalogRequest.of(namespace or (), known_as or (), environment), output, home))


def openmetadata(namespace: Namespaces = None, known_as: KnownAs = None, output: Output = None, home: Home = None) -> None:
    """Write datasets, jobs, lineage of columns, owners and tags as requests of OpenMetadata's REST API (2.0), one a line.

    The lines are in the order in which they can be sent. --known-as names the service that stands for a namespace in
    OpenMetadata. Tables then match those that its own ingestion has found. docs/reference/catalogs.md describes the
    names, and how to send the lines.

    For example:

      headwater export openmetadata --known-as postgres://db.example.org:5432=shop -o lineage.jsonl
    """
    asyncio.run(_export(System.OPENMETADATA, CatalogRequest.of(namespace or (), known_as or (), "PROD"), output, home))


async def _export(system: System, request: CatalogRequest, output: Path | None, home: Path | None) -> None:
    async with open_answers(home) as answers:
        await put_out(answers.catalog(system, request), output)
