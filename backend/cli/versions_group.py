"""The group of `headwater versions`: `headwater versions DATASET` is the command `list` of the group."""

from __future__ import annotations

from typing import Any

from headwater.backend.cli.lazy_group import NamingGroup

DEFAULT = "list"


class DefaultListGroup(NamingGroup):
    """Passes a first argument that is not a command to the command `list`. A dataset named like a command needs its path."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = {name for option in self.get_params(ctx) for name in option.opts} | {"-h", "--help"}
        if args and args[0].startswith("-") and args[0].partition("=")[0] not in own:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        return super().resolve_command(ctx, args if args[0] in self.commands else [DEFAULT, *args])
