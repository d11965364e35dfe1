"""`headwater completion`: a shell script that completes commands and options when Tab is pressed."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)

PROGRAM = "headwater"
VARIABLE = "_HEADWATER_COMPLETE"  # the script sets this variable when it asks for completions


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)]) -> None:
    """Print a script for a shell, which then completes commands, options and their values.

    Have your shell read it when it starts. In ~/.bashrc: `eval "$(headwater completion bash)"`; in ~/.zshrc, after
    compinit: `eval "$(headwater completion zsh)"`; in ~/.config/fish/config.fish, pipe `headwater completion fish`
    into `source`.

    For example:

      headwater completion bash
    """
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value))


def ready_to_complete() -> None:
    """Answer a shell's request for completions, and exit. Without such a request, do nothing."""
    if VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
