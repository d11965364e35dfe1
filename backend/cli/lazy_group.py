"""A command group that imports a command when it is called.

`headwater --help` must be quick, and `headwater run` must work without the server's libraries. A module with a
command has `app`, a `typer.Typer`. An app with one command becomes that command, an app with several becomes a group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer import BadParameter
from typer.core import TyperGroup

from headwater.errors import MissingExtraError

_EXAMPLE = re.compile(r"^\s*(?:Example: )?(headwater .+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """The module of a command, and its line in the list of commands.

    `extra` is the optional dependency that the command needs. A `hidden` command is another name of a command, and is not listed.
    """

    module: str
    help: str
    extra: str | None = "server"
    group: bool = False
    hidden: bool = False


class NamingGroup(TyperGroup):
    """A group that lists its commands if an unknown command is called."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = {name for option in self.get_params(ctx) for name in option.opts}
        first = args[0].partition("=")[0] if args else ""
        if first.startswith("--") and first not in own:
            ctx.fail(f"Name a command first, then {first}. There are: {', '.join(self._shown())}.")
        return super().parse_args(ctx, args)

    def _shown(self) -> list[str]:
        return [name for name, command in self.commands.items() if not command.hidden]

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BadParameter as error:
            _explain(error)
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if not (name in self.commands or name.startswith("-") or get_close_matches(name, self.commands)):
            ctx.fail(f"No such command {name!r}. There are: {', '.join(self._shown())}.")
        return super().resolve_command(ctx, args)


class LazyGroup(NamingGroup):
    """Lists the commands in `lazy` without importing them, and imports the called command."""

    lazy: ClassVar[Mapping[str, LazyCommand]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: _stand_in(name, entry) for name, entry in self.lazy.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, stand_in, rest = super().resolve_command(ctx, args)
        return (name, _loaded(name, self.lazy[name]), rest) if name else (name, stand_in, rest)


def _explain(error: BadParameter) -> None:
    """Add an example to the message about a missing argument, and remove pydantic's prefix from other messages."""
    error.message = error.message.removeprefix("Value error, ")
    example = next(iter(_EXAMPLE.findall((error.ctx.command.help if error.ctx else None) or "")), None)
    if example and type(error) is not BadParameter and not error.message:
        error.message = f"For example: {example}"


def _stand_in(name: str, entry: LazyCommand) -> Any:
    app = typer.Typer(add_completion=False)
    app.command(name, help=entry.help, hidden=entry.hidden)(lambda: None)
    return typer.main.get_command(app)


def _loaded(name: str, entry: LazyCommand) -> Any:
    try:
        app: typer.Typer = import_module(entry.module).app
    except ModuleNotFoundError as error:
        # A missing module of Headwater is a fault of the build, not of the user's environment.
        if entry.extra is None or (error.name or "").startswith("headwater"):
            raise
        raise MissingExtraError(f"`headwater {name}`", extra=entry.extra) from error
    command = typer.main.get_group(app) if entry.group else typer.main.get_command(app)
    command.name = name
    return command
