"""The entry point: the list of commands, their common options, and the output of errors.

Exit codes:

| code | meaning |
|---|---|
| 0 | done |
| 1 | failed |
| 2 | wrong usage (option, predicate, setting) |
| 3 | not found |
| 4 | unavailable now; a retry may work |
| 5 | unsupported |
| 130 | interrupted |

`headwater run` ends with the exit code of its script.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from headwater.backend.cli.completion import PROGRAM, ready_to_complete
from headwater.backend.cli.lazy_group import LazyCommand, LazyGroup
from headwater.backend.cli.output import telling_errors

_COMMANDS = {
    "run": LazyCommand("headwater.backend.cli.run", "Run a PySpark program and capture its lineage.", extra=None),
    "serve": LazyCommand("headwater.backend.cli.serve", "Start the service and the page on one home folder."),
    "demo": LazyCommand("headwater.backend.cli.demo.command", "Run the flight-delay pipeline and trace a wrong number to its record."),
    "search": LazyCommand("headwater.backend.cli.search", "Find datasets, columns, jobs, runs, owners, tags and terms by words."),
    "trace": LazyCommand("headwater.backend.cli.trace", "Find the records that a record came from, or went into."),
    "subject": LazyCommand("headwater.backend.cli.subject", "List all records anywhere that derive from a person's records."),
    "erase": LazyCommand("headwater.backend.cli.erase", "Erase a person's records, and everything that derives from them."),
    "why": LazyCommand("headwater.backend.cli.why", "Name the input record at which a run failed."),
    "blame": LazyCommand("headwater.backend.cli.blame", "Find the smallest set of input records that makes rows of an output wrong."),
    "witness": LazyCommand("headwater.backend.cli.witness", "Find the smallest set of input records that still gives a row."),
    "clean": LazyCommand("headwater.backend.cli.clean", "Leave out the records behind the worst rows of a result."),
    "compare": LazyCommand("headwater.backend.cli.compare", "Find what changed between two runs whose results differ."),
    "explain": LazyCommand("headwater.backend.cli.explain", "Find what the records behind wrong rows have in common."),
    "suspects": LazyCommand("headwater.backend.cli.suspects", "List what is unusual about a run, compared with earlier runs."),
    "lineage": LazyCommand("headwater.backend.cli.lineage", "Show the jobs and datasets around one of them."),
    "impact": LazyCommand("headwater.backend.cli.impact", "List what is affected by something, or its causes."),
    "versions": LazyCommand("headwater.backend.cli.versions", "List what runs wrote to a dataset; drop blocks.", group=True),
    "diff": LazyCommand("headwater.backend.cli.diff", "List the records in which two versions of a dataset differ."),
    "consumers": LazyCommand("headwater.backend.cli.consumers", "List the jobs that read a dataset, and what they have not read yet."),
    "column": LazyCommand("headwater.backend.cli.column", "Show who touched a column, where it comes from, and its tags.", group=True),
    "describe": LazyCommand("headwater.backend.cli.describe", "Show and state owners, tags, terms, retention, legal hold."),
    "glossary": LazyCommand("headwater.backend.cli.glossary", "List business terms, and import them from a file.", group=True),
    "declare": LazyCommand("headwater.backend.cli.declare", "Declare types, containment, links and descriptions from a file."),
    "export": LazyCommand(
        "headwater.backend.cli.export", "Write provenance as W3C PROV, or what is known for DataHub and OpenMetadata.", group=True
    ),
    "import": LazyCommand("headwater.backend.cli.import_documents", "Import OpenLineage events and W3C PROV of other tools.", group=True),
    "contract": LazyCommand("headwater.backend.cli.contract", "Check and apply data contracts.", group=True),
    "policy": LazyCommand("headwater.backend.cli.policy", "State which data may flow where, and find what deviates.", group=True),
    "retention": LazyCommand("headwater.backend.cli.retention", "List data that is kept longer than a term of its sources allows."),
    "tags": LazyCommand("headwater.backend.cli.tags", "Let tags travel along the lineage of columns.", group=True),
    "evidence": LazyCommand("headwater.backend.cli.evidence", "Sign what is in the log, and verify signed bundles.", group=True),
    "prov": LazyCommand("headwater.backend.cli.prov", "Check PROV documents against the W3C's constraints.", group=True),
    "replay": LazyCommand("headwater.backend.cli.replay", "Run a pipeline again without chosen records, into a shadow folder."),
    "recapture": LazyCommand("headwater.backend.cli.recapture", "Find record lineage after the fact: run a program again, and compare."),
    "workflow": LazyCommand("headwater.backend.cli.workflow", "Compose registered programs, and run them block by block.", group=True),
    "triggers": LazyCommand(
        "headwater.backend.cli.triggers", "Run programs, replays and webhooks by themselves when something happens.", group=True
    ),
    "admin": LazyCommand(
        "headwater.backend.cli.admin", "Administer keys, roles, tenants and people; read who asked the service what.", group=True
    ),
    "audit": LazyCommand("headwater.backend.cli.audit", "The same as `headwater admin audit`.", hidden=True),
    "keys": LazyCommand("headwater.backend.cli.keys", "The same as `headwater admin keys`.", group=True, hidden=True),
    "jobs": LazyCommand("headwater.backend.cli.jobs", "Register programs for replay. Nothing else is ever replayed.", group=True),
    "completion": LazyCommand("headwater.backend.cli.completion", "Print the script by which a shell completes commands.", extra=None),
    "doctor": LazyCommand("headwater.backend.cli.doctor", "Check this machine and say what to do.", extra=None),
    "store": LazyCommand(
        "headwater.backend.cli.store", "Maintain the store: migrate, check, rebuild, back up, restore, export, import.", group=True
    ),
}


class _Headwater(LazyGroup):
    lazy = _COMMANDS


app = typer.Typer(
    cls=_Headwater,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 unavailable, 5 unsupported. Start with: headwater demo",
)


def _version(asked: bool) -> None:
    if asked:
        from headwater import __version__

        typer.echo(f"headwater {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", envvar="HEADWATER_DEBUG")] = False,
) -> None:
    """Where did this data come from, exactly? Record-level lineage for unmodified PySpark programs."""
    if debug:
        os.environ["HEADWATER_DEBUG"] = "1"
    else:
        os.environ.pop("HEADWATER_DEBUG", None)


def main() -> None:
    """Run the command line. An error of Headwater becomes a message with a hint and an exit code; `--debug` shows its traceback."""
    ready_to_complete()
    with telling_errors():
        app(prog_name=PROGRAM)
