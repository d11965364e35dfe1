"""Write docs/reference/commands.md from the code: `make docs`. A test fails if the file is outdated.

Every command and option must have a description. Otherwise nothing is written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "reference" / "commands.md"


_HEAD = """# Commands

<!-- Written by `make docs` from the code: change the code's own text. -->

Every command has `--help`. Exit codes are those of [the service's page](service.md#exit-codes); `headwater run` exits as its program does.
"""


def written() -> str:
    """Return the page with every command, its arguments and options.

    Raises:
        SystemExit: a command or option has no description.
    """
    return "\n".join([_HEAD, *_commands()])


def _commands() -> Iterator[str]:
    for path, command in _all_commands():
        _require(f"headwater {path}", command.help)
        arguments = " ".join(
            parameter.metavar or parameter.name.upper() for parameter in command.params if not parameter.opts[0].startswith("-")
        )
        yield f"## headwater {path}\n"
        yield f"{command.help.strip()}\n"
        yield f"```\nheadwater {path} [OPTIONS] {arguments}".rstrip() + "\n```\n"
        yield "| | | default |\n|---|---|---|"
        for parameter in command.params:
            text = _require(f"headwater {path} {parameter.opts[0]}", getattr(parameter, "help", None))
            text, stated = _split_default(text)
            names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
            shown = parameter.metavar or names if not parameter.opts[0].startswith("-") else names
            yield f"| {_cell(shown)} | {_cell(text)} | {_cell(stated or _default(parameter.default))} |"
        yield ""


def _all_commands() -> Iterator[tuple[str, Any]]:
    import typer

    from headwater.backend.cli.main import app

    group: Any = typer.main.get_command(app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        if not group.commands[name].hidden:
            _, loaded, _ = group.resolve_command(context, [name])
            yield from _within(name, loaded)


def _within(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, each in inner.items():
        yield from _within(f"{path} {name}", each)


def _require(what: str, text: str | None) -> str:
    if not text:
        sys.exit(f"Nothing says what {what} does: give it a help text.")
    return text


def _split_default(text: str) -> tuple[str, str | None]:
    """Split a help text and the default at its end: `… [default: active]`."""
    found = re.fullmatch(r"(.*?)\s*\[default: (.*)\]", text, flags=re.DOTALL)
    return (found[1], found[2]) if found else (text, None)


def _default(value: object) -> str:
    if value is None or value in ((), ""):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    TARGET.write_text(written(), encoding="utf-8")
    print(f"written: {TARGET.relative_to(ROOT)}")
