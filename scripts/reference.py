"""Write docs/reference/{commands,capture-settings}.md from the code: `make docs`. A test fails where the files are not what this writes.

Every command, option and setting must say what it does; what does not is listed, and nothing is written. The service has a page of its own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "reference"

# The Spark side reads its settings with the standard library alone, so what they mean is said here.
_SPARK_SETTINGS = {
    "mode": "How much is captured: `off`, `coarse` (datasets, columns and runs) or `active` (records too).",
    "home": "Folder where lineage is kept without a service, and where a service's spool lies.",
    "namespace": "OpenLineage namespace of the jobs; `OPENLINEAGE_NAMESPACE` is read where it is not set.",
    "name": "Name of the pipeline, instead of Spark's application name.",
    "url": "The service to send to. Without one, lineage stays in the home folder.",
    "api_key": "The key to show to the service.",
    "segments": "On a cluster: folder or URI that executors and service both reach.",
    "exit_wait": "Seconds that the end of a program may wait for delivery. What is left is sent by the next start.",
    "spool_bytes": "Most bytes that one application may spool, segments included. What does not fit is counted and reported.",
    "environment": "Further environment variables that a run may record, separated by commas.",
    "quiet": "`1`: no summary at the end of the program.",
}


def commands() -> str:
    """The command line: every command with its arguments and options."""
    codes = "Exit codes are those of [the service's page](service.md#exit-codes); `headwater run` exits as its program does."
    intro = f"Every command has `--help`. {codes}"
    return _page("Commands", intro, _commands())


def capture_settings() -> str:
    """The settings of the Spark side."""
    intro = (
        "As options of `headwater run`, keywords of `headwater.attach`, or variables. Options win over variables, variables over defaults."
    )
    return _page("Settings of capture", intro, _settings())


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
        _, loaded, _ = group.resolve_command(context, [name])
        inner = getattr(loaded, "commands", None)
        yield from ([(name, loaded)] if inner is None else [(f"{name} {each}", command) for each, command in inner.items()])


def _settings() -> Iterator[str]:
    from headwater.spark_listener.settings import _VARIABLES, Settings

    yield "| variable | keyword | meaning | default |\n|---|---|---|---|"
    for name, variable in _VARIABLES.items():
        default = Settings.__dataclass_fields__[name].default
        stated = "~/.headwater" if name == "home" else _default(str(default) if name == "mode" else default)
        yield f"| `{variable}` | `{name}` | {_cell(_require(name, _SPARK_SETTINGS.get(name)))} | {_cell(stated)} |"
    yield ""


_undescribed: list[str] = []


def _require(what: str, text: str | None) -> str:
    if not text:
        _undescribed.append(what)
    return text or ""


def _split_default(text: str) -> tuple[str, str | None]:
    """A help text, and the default that it ends with: `… [default: active]`."""
    found = re.fullmatch(r"(.*?)\s*\[default: (.*)\]", text, flags=re.DOTALL)
    return (found[1], found[2]) if found else (text, None)


def _default(value: object) -> str:
    if value is None or value in ((), ""):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _page(title: str, intro: str, lines: Iterator[str]) -> str:
    body = "\n".join(lines)
    return f"# {title}\n\n<!-- Written by `make docs` from the code: change the code's own text. -->\n\n{intro}\n\n{body}"


def pages() -> Mapping[str, str]:
    """Every page, by its file name.

    Raises:
        SystemExit: something does not say what it does.
    """
    _undescribed.clear()
    written = {"commands.md": commands(), "capture-settings.md": capture_settings()}
    if _undescribed:
        sys.exit("Nothing says what these do: " + ", ".join(_undescribed))
    return written


if __name__ == "__main__":
    for name, text in pages().items():
        (TARGET / name).write_text(text, encoding="utf-8")
        print(f"written: docs/reference/{name}")
