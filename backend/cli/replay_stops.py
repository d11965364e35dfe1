"""The dialogue of `headwater replay --kind step`: shows the records at a stop, and reads what to do from the standard input.

continue                        run the program
drop FILE:N                     leave a record out, N from 0
edit FILE:N 'wind_speed = 9.8'  give a record another value
stop                            end the replay; so does the end of the input
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from headwater.backend.cli.output import note
from headwater.backend.cli.replay_options import parse_assignment
from headwater.backend.cli.trace_command import reference
from headwater.backend.rerun.replay import Replay
from headwater.backend.rerun.replay.model import ShownDataset
from headwater.backend.rerun.replay.stops import Answer, give_answer
from headwater.errors import InvalidQueryError

_COMMANDS = "continue, drop FILE:N, edit FILE:N 'column = value', or stop"


def ask_at_stop(replay: Replay) -> None:
    """Show the stop at which a replay waits, and read the user's answer. Returns immediately if the replay does not wait."""
    if replay.stop is None:
        return
    folder = Path(replay.shadow).parent
    for shown in replay.stop.outputs:
        _print_dataset(shown, "Output")
    for shown in replay.stop.inputs:
        _print_dataset(shown, "Input")
    note(f"Next: {replay.stop.job}. Answer {_COMMANDS}.")
    while True:
        line = sys.stdin.readline()
        try:
            give_answer(replay, folder, parse_answer(line) if line else Answer(action="stop"))
        except InvalidQueryError as error:
            note(f"{error.message} {error.hint or ''}")
            continue
        return


def parse_answer(line: str) -> Answer:
    """Parse the answer in a line.

    Raises:
        InvalidQueryError: the line is not an answer.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InvalidQueryError(f"{line.strip()!r} is no answer: {error}.", hint=f"Answer {_COMMANDS}.") from error
    match words:
        case ["continue" | "c"]:
            return Answer(action="continue")
        case ["stop" | "s"]:
            return Answer(action="stop")
        case ["drop", record]:
            file, row = reference(record)
            return Answer(action="drop", file=_full(file), row=row)
        case ["edit", record, assignment, *more]:
            file, row = reference(record)
            return Answer(action="edit", file=_full(file), row=row, values=dict(parse_assignment(text) for text in (assignment, *more)))
    raise InvalidQueryError(f"{line.strip()!r} is no answer.", hint=f"Answer {_COMMANDS}.")


def _full(file: str) -> str:
    return file if ":" in file else str(Path(file).absolute())


def _print_dataset(shown: ShownDataset, title: str) -> None:
    note(f"{title} {shown.dataset}: {shown.note or f'the first {len(shown.rows)} records'}")
    for row in shown.rows:
        note(f"  {row.file}:{row.row}  {', '.join(f'{name} = {value}' for name, value in row.values.items())}")
