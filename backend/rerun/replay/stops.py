"""A stop of a step replay: the input records of the next program, the output records of the last one, and the user's answer.

The replay waits for `answer.json` in its folder, which the command line and the service write. An answer continues or ends the replay,
drops a record or edits it. After a dropped or edited record, the replay waits for the next answer. The change affects all programs that
run afterwards, for records of sources as well as for records that this replay wrote.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from headwater.backend.rerun.replay.checks import file_states
from headwater.backend.rerun.replay.compare import first_rows
from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import Replay, ShownDataset, Step, Stop
from headwater.errors import HeadwaterError, InvalidQueryError
from headwater.graph.records import DataRoots, uri_of
from headwater.graph.records.atomic_files import write_durably
from headwater.graph.storage.addresses import is_remote
from headwater.spark_listener.shadow_paths import ShadowPaths

_ANSWER = "answer.json"
_POLL = 0.2  # seconds
_LONGEST = 3600.0  # seconds without an answer; then the replay ends, because others wait
_TAKEN = 10.0  # seconds that an answer waits until the replay has taken the answer before
_SHOWN = 20  # rows of a dataset


class Answer(BaseModel):
    """The answer at a stop. `file` and `row` (from 0) name a record to drop or edit. `values` are new values by column, as text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Literal["continue", "stop", "drop", "edit"]
    file: str = ""
    row: int = -1
    values: Mapping[str, str | None] = {}


class StoppedByUserError(HeadwaterError):
    """The user ended the replay at a stop, or gave no answer."""


def give_answer(replay: Replay, folder: Path, answer: Answer) -> None:
    """Answer the stop at which a replay waits. `folder` is the replay's folder.

    Raises:
        InvalidQueryError: the replay does not wait, or the answer lacks its record or its values.
    """
    if replay.stop is None:
        raise InvalidQueryError(f"The replay {replay.id} waits for no answer.", field="id")
    if answer.action in ("drop", "edit") and (not answer.file or answer.row < 0):
        raise InvalidQueryError(f"Which record to {answer.action} is not given.", field="row", hint="Name it as FILE:N, N from 0.")
    if answer.action == "edit" and not answer.values:
        raise InvalidQueryError("No new value is given.", field="set", hint="For example: edit FILE:N wind_speed=9.8")
    deadline = time.monotonic() + _TAKEN
    while (folder / _ANSWER).exists():
        if time.monotonic() > deadline:
            raise InvalidQueryError(f"The replay {replay.id} has not taken the answer before yet.", field="id", hint="Answer again later.")
        time.sleep(_POLL)
    write_durably(folder / _ANSWER, answer.model_dump_json().encode())


def wait_at_stop(
    replay: Replay,
    step: Step,
    finished: Step | None,
    *,
    folder: Path,
    sources: DataRoots,
    changed: Callable[[Replay], None],
    stop: Callable[[], str | None],
) -> None:
    """Show a stop before `step`, and apply answers until one continues. `stop` returns a reason to end the replay.

    Raises:
        StoppedByUserError: the answer ends the replay, or no answer came in time.
    """
    paths = ShadowPaths(replay.shadow)
    replay.stop = Stop(
        job=step.job, inputs=[_show(dataset, paths, sources) for dataset in step.reads],
        outputs=[_show(dataset, paths, sources) for dataset in finished.writes] if finished else [],
    )  # fmt: skip
    with suppress(FileNotFoundError):
        (folder / _ANSWER).unlink()
    changed(replay)
    try:
        while True:
            answer = _await_answer(folder, stop)
            if answer.action == "continue":
                replay.notes.append(f"Before {step.job}: continued.")
                return
            if answer.action == "stop":
                raise StoppedByUserError(f"The replay was stopped before {step.job}.", hint="Nothing of the real data was touched.")
            _apply(replay, answer, sources)
            replay.notes.append(f"Before {step.job}: {_past(answer)} record {answer.row} of {answer.file}.")
            changed(replay)
    finally:
        replay.stop = None


def _await_answer(folder: Path, stop: Callable[[], str | None]) -> Answer:
    file, began = folder / _ANSWER, time.monotonic()
    while True:
        with suppress(FileNotFoundError, ValidationError):
            answer = Answer.model_validate_json(file.read_text(encoding="utf-8"))
            file.unlink()
            return answer
        if reason := stop():
            raise StoppedByUserError(reason)
        if time.monotonic() - began > _LONGEST:
            raise StoppedByUserError("The replay was stopped, because no answer came for an hour.")
        time.sleep(_POLL)


def _apply(replay: Replay, answer: Answer, sources: DataRoots) -> None:
    file = answer.file if "://" in answer.file or answer.file.startswith("file:") else uri_of(answer.file)
    replay.states = {**replay.states, **file_states([file], sources)}
    if answer.action == "drop":
        rows = sorted({*replay.exclude.get(file, ()), answer.row})
        replay.exclude = {**replay.exclude, file: rows}
        return
    rows_of_file = dict(replay.edits.get(file, {}))
    rows_of_file[str(answer.row)] = {**rows_of_file.get(str(answer.row), {}), **answer.values}
    replay.edits = {**replay.edits, file: rows_of_file}


def _past(answer: Answer) -> str:
    return "dropped" if answer.action == "drop" else f"set {json.dumps(dict(answer.values))} in"


def _show(dataset: str, paths: ShadowPaths, sources: DataRoots) -> ShownDataset:
    """Return the first rows of a dataset: of the replay's output if this replay wrote it, else of the real data."""
    try:
        place = place_of(dataset)
        shadow = paths.folder(place)
        if shadow.exists():
            return ShownDataset(dataset=dataset, rows=first_rows(shadow, DataRoots.of([shadow]), _SHOWN))
        if is_remote(place):
            return ShownDataset(dataset=dataset, note="Its records are on remote storage and are not shown.")
        return ShownDataset(dataset=dataset, rows=first_rows(Path(place), sources, _SHOWN))
    except (HeadwaterError, OSError) as error:
        return ShownDataset(dataset=dataset, note=f"Its records cannot be shown: {error}")
