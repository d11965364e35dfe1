"""`headwater trace` without typer and pandas, which take longer to load than most traces.

This module handles commands whose options are written in full. All others (help, a mistake, a missing library) go to the `trace` of the
full command line. Both use `trace_command`. A test compares the options here with the options of that command.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwater.backend.cli.output import Format
from headwater.backend.process.pandas_guard import without_pandas

VALUES = {
    "--where": "where", "--row": "rows", "--column": "column", "--semantics": "semantics", "--to": "to",
    "--as-of": "as_of", "--limit": "limit", "--format": "format", "-f": "format", "--home": "home", "--on-spark": "on_spark",
    "--since": "since", "--until": "until",
}  # fmt: skip
FLAGS = {"--forward": "forward", "--rank": "rank"}


def quick_trace(arguments: Sequence[str]) -> bool:
    """Answer `headwater trace …`. Returns false without an answer if the full command line must read the options.

    Raises:
        HeadwaterError: the trace failed.
    """
    options = _options(arguments)
    if options is None or "on_spark" in options or "rank" in options or _may_run_on_spark():  # Spark may use pandas
        return False
    without_pandas()
    try:
        from headwater.backend.cli.trace_command import answer_and_print, asked
    except ModuleNotFoundError:  # the full command line names the missing extra
        return False
    printed = {"format": options.pop("format", Format.TABLE), "home": options.pop("home", None)}
    printed |= {name: options.pop(name, None) for name in ("since", "until")}
    answer_and_print(asked(**options), **printed)
    return True


def _may_run_on_spark() -> bool:
    return any(name.upper() == "HEADWATER_SPARK_MASTER" for name in os.environ)


def _options(arguments: Sequence[str]) -> dict[str, Any] | None:
    from headwater.graph.trace.answer import Semantics

    if not arguments or arguments[0] != "trace":
        return None
    found: dict[str, Any] = {}
    rows: list[str] = []
    waiting = list(arguments[1:])
    while waiting:
        name = waiting.pop(0)
        option, equals, value = name.partition("=")
        if name in FLAGS:
            found[FLAGS[name]] = True
        elif option in VALUES and (waiting or equals) and not (equals and len(option) == 2):
            found[VALUES[option]] = value if equals else waiting.pop(0)
            rows += [found["rows"]] if VALUES[option] == "rows" else []
        elif name.startswith("-") or "dataset" in found:
            return None
        else:
            found["dataset"] = name
    try:
        return {**found, **_read(found, Semantics), **({"rows": rows} if rows else {})} if "dataset" in found else None
    except ValueError:
        return None


def _read(found: dict[str, Any], semantics: Any) -> dict[str, Any]:
    """Convert the options that are not texts. Raises `ValueError` if one is malformed."""
    kinds = {"semantics": semantics, "format": Format, "home": Path, "limit": _count}
    return {name: kind(found[name]) for name, kind in kinds.items() if name in found}


def _count(text: str) -> int:
    if not text.isdecimal() or not text.isascii():
        raise ValueError(text)
    return int(text)
