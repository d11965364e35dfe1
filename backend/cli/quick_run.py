"""`headwater run` without typer, which takes longer to load than capture.

This module handles commands whose options are written in full. All others (help, a mistake) go to the `run` of the full command line. A
test compares the options here with the options of that command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.errors import ConfigurationError

VALUES = {
    "--mode": "mode", "--trace-budget": "trace_budget", "--home": "home", "--namespace": "namespace", "--name": "name", "--url": "url",
    "--segments": "segments", "--exit-wait": "exit_wait",
}  # fmt: skip
FLAGS = {"--quiet": "quiet", "-q": "quiet", "--module": "module", "-m": "module"}


def quick_run(arguments: Sequence[str]) -> None:
    """Run a `headwater run …` command, and exit with the code of the program. Returns if the full command line must read the options."""
    asked = _asked(arguments)
    if asked is None:
        return
    from headwater.spark_listener.launch import run
    from headwater.spark_listener.settings import load_settings

    program, rest, options = asked
    module = options.pop("module", False)
    try:
        settings = load_settings(**options)
    except ConfigurationError:
        return
    run(program, rest, settings, module=module)


def _asked(arguments: Sequence[str]) -> tuple[str, list[str], dict[str, Any]] | None:
    """Return the program, its arguments and the options of Headwater, or None if an option is not written in full."""
    if not arguments or arguments[0] != "run":
        return None
    options: dict[str, Any] = {}
    waiting = list(arguments[1:])
    while waiting and waiting[0].startswith("-"):
        name = waiting.pop(0)
        option, equals, value = name.partition("=")
        if name in FLAGS:
            options[FLAGS[name]] = True
        elif option in VALUES and (equals or waiting):
            options[VALUES[option]] = value if equals else waiting.pop(0)
        else:
            return None
    return (waiting[0], waiting[1:], options) if waiting else None
