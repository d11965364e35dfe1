"""`headwater jobs`: the registered programs, which replays may run. A file of the home lists them. No network request can add one."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.backend.home.settings import load_settings
from headwater.errors import InvalidInputError, NotFoundError
from headwater.spark_listener.invocation import environment_of, script_sha256
from headwater.spark_listener.registry import Program

app = typer.Typer(cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Register programs for replay.")
_COLUMNS = ["id", "namespace", "job", "by", "command", "folder", "registered"]


@app.callback()
def _group() -> None:
    """Register programs for replay.

    `headwater run` registers what it runs on this home; nothing else is ever run again.
    """


@app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False})
def register(
    context: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB", help="The pipeline's name: Spark's application name, or that of --name.")],
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="The program, as one would give it to python.")],
    namespace: Annotated[str, typer.Option(help="OpenLineage namespace of the job.")] = "default",
    folder: Annotated[Path | None, typer.Option(help="The folder to run it in; the current one if not given.", show_default=False)] = None,
    variable: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME", help="A variable to keep, as it is now; repeatable.", show_default=False),
    ] = None,
    home: Home = None,
) -> None:
    """Register the program of a job, for every run of it, with its arguments and the hash of its script.

    A replay runs the script only while it has this hash. Imported modules are not checked. A new registration
    replaces the one before. Everything after SCRIPT belongs to the script. It is kept unchanged, including secrets,
    in a file that only you can read.

    For example:

      headwater jobs register report jobs/report.py --month 2
    """
    path = Path(os.path.abspath(script))
    digest = script_sha256(str(path))
    if digest is None:
        raise InvalidInputError(f"There is no script {path} that can be read.", field="SCRIPT", hint="Name a file of at most 16 MB.")
    if missing := [name for name in variable or () if name not in os.environ]:
        raise InvalidInputError(f"{', '.join(missing)} is not set now.", field="env", hint="Set it, or leave --env out.")
    where = (folder or Path.cwd()).absolute()
    if not where.is_dir():
        raise InvalidInputError(f"There is no folder {where}.", field="folder", hint="Name the folder to run the program in.")
    kept = {**environment_of(()), **{name: os.environ[name] for name in variable or ()}}
    program = Program(
        namespace=namespace, job=job, argv=[str(script), *context.args], script=str(path), script_sha256=digest,
        working_directory=str(where), environment=kept, operator=True,
    )  # fmt: skip
    load_settings(home=home).folder.create().registry.register(program)
    note(f"Registered {program.id}: {_command(program)}")


@app.command(hidden=True)
def launch(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that a runner of the service wrote.")], home: Home = None
) -> None:
    """Run the program of a replay or a trigger on this machine, for the service of the home. A scheduler or a Kubernetes Job calls this.

    A second call for the same folder does nothing. Exits with the code of the program.
    """
    from headwater.backend.rerun.runners.elsewhere import launch_folder

    code = launch_folder(folder, load_settings(home=home).folder.replays)
    if code is None:
        note("Another process has launched this program.")
    elif code:
        raise typer.Exit(code if 0 < code < 256 else 1)


@app.command("list")
def list_jobs(format: OutputFormat = Format.TABLE, home: Home = None) -> None:
    """List the registered programs by job.

    A program that you registered replays every run of its job; others replay their own runs.
    """
    rows = [
        {
            "id": program.id, "namespace": program.namespace, "job": program.job, "by": "operator" if program.operator else "run",
            "command": _command(program), "folder": program.working_directory, "script_sha256": program.script_sha256, "registered": at,
        }
        for program, at in load_settings(home=home).folder.registry.programs()
    ]  # fmt: skip
    emit(rows, columns=_COLUMNS, format=format, empty="No program is registered on this home; `headwater run` registers what it runs.")


@app.command()
def remove(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="What `headwater jobs list` calls it.")],
    home: Home = None,
) -> None:
    """Forget a program. Replays of its runs are then refused."""
    if not load_settings(home=home).folder.registry.remove(identifier):
        raise NotFoundError(f"No program {identifier} is registered.", hint="`headwater jobs list` names them.")
    note(f"Forgot {identifier}.")


def _command(program: Program) -> str:
    return shlex.join([program.script, *program.argv[1:]])
