"""Converts the options of `headwater replay` to a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from headwater.backend.rerun.replay import ReplayRequest
from headwater.backend.rerun.replay.patch_file import read_patch_file
from headwater.errors import InvalidQueryError

_VALUE = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|true|false", re.IGNORECASE)
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_ASSIGNMENT = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^\s="\']+))\s*=\s*(.*?)\s*', re.DOTALL)


def replay_request(
    *, output: str | None, without: str | None, edit: str | None, changed: str | None, where: str | None, rows: Sequence[tuple[str, int]],
    set_values: Sequence[str], script: Path | None, kind: str | None, patch: Path | None = None, keys: Sequence[str] = (),
) -> tuple[str, ReplayRequest]:  # fmt: skip
    """Return the kind of a replay and its request. Without `kind` the other options decide: `--without` is exclusive, and so on.

    Raises:
        InvalidQueryError: options are missing or contradict each other.
    """
    named = {
        "--without": ("exclusive", without),
        "--edit": ("what-if", edit),
        "--changed": ("refresh", changed),
        "--script": ("what-if", script),
    }
    given = {option: each for option, (each, value) in named.items() if value is not None}
    if len(given) > 1:
        raise InvalidQueryError(f"{' and '.join(given)} are different kinds of replay.", hint="Give one of them.")
    implied = next(iter(given.values()), None)
    if kind is not None and implied is not None and kind != implied:
        raise InvalidQueryError(f"{next(iter(given))} belongs to the kind {implied}, not to {kind}.", field="kind")
    chosen = kind or implied or "exclusive"
    if chosen == "exclusive":
        _check_exclusive(output, without, where, rows)
    if patch is not None and edit is None:
        raise InvalidQueryError("Which dataset the patch file is for is not given.", field="edit", hint="Name it with --edit DATASET.")
    if edit is not None and where is None and not rows and patch is None:
        raise InvalidQueryError("Which records to edit is not given.", field="where", hint='Choose them with --where "…" or --row FILE:N.')
    values = dict(parse_assignment(text) for text in set_values)
    patches = read_patch_file(patch, keys) if patch is not None else ()
    request = ReplayRequest(
        output=output, dataset=without or edit or changed, where=where, rows=rows, set_values=values, patches=patches,
        script=script and script.absolute(),
    )  # fmt: skip
    return chosen, request


def parse_assignment(text: str) -> tuple[str, str | None]:
    """Parse an assignment such as `wind_speed = 9.8`, `"a b" = 'text'` or `x = NULL` into a column and its new value.

    Raises:
        InvalidQueryError: the text is not an assignment.
    """
    match = _ASSIGNMENT.fullmatch(text)
    if match is None:
        raise InvalidQueryError(f"{text!r} is no assignment.", field="set", hint="For example: --set 'wind_speed = 9.8'.")
    column = match[1].replace('""', '"') if match[1] else match[2]
    value = match[3]
    if value.upper() == "NULL":
        return column, None
    if quoted := _TEXT.fullmatch(value):
        return column, quoted[1].replace("''", "'")
    if _VALUE.fullmatch(value):
        return column, value
    raise InvalidQueryError(
        f"{value!r} is no constant.", field="set", hint="Write a number, true, false, NULL or text in single quotes; a date is text, too."
    )


def _check_exclusive(output: str | None, without: str | None, where: str | None, rows: Sequence[tuple[str, int]]) -> None:
    if output is not None and without is not None and (where is not None or rows):
        return
    parts = {
        "OUTPUT, the dataset to make again": output,
        "--without, the dataset of the records to leave out": without,
        "--where or --row, which records those are": where or rows,
    }
    raise InvalidQueryError(
        f"A replay lacks {'; '.join(part for part, given in parts.items() if not given)}.",
        hint='For example: headwater replay out/report --without raw/weather.csv --where "wind_speed > 1000". '
        "--list, --show and --remove are about earlier replays, and --kind names other kinds of replay.",
    )
