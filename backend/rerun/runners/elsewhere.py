"""Programs that another machine launches: the files through which it and this process talk.

The other machine has the home, the data and the programs under the same paths. A scheduler or Kubernetes starts
`headwater jobs launch FOLDER` there. The command has no other argument. The program is described in the folder, which only the owner of
the home may read.

    launch.json    the program, written before the request
    started        made by the first process that launches; later ones do nothing
    alive          a number that grows while the program runs
    cancel         made here: the program has to end
    ended.json     the exit code
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from headwater.backend.rerun.runners.launch import Launch, StopReason
from headwater.backend.rerun.runners.this_machine import ThisMachine
from headwater.errors import HeadwaterError, InvalidInputError, UnsupportedError
from headwater.graph.records.atomic_files import write_durably
from headwater.spark_listener.invocation import script_sha256

POLL = 0.5  # seconds between two looks at the files
_BEAT = 5.0  # seconds between two signs of life
SILENCE = 120.0  # seconds without a sign of life after which a program counts as lost
_LAUNCH, _STARTED, _ALIVE, _CANCEL, _ENDED = "launch.json", "started", "alive", "cancel", "ended.json"
COMMAND = ("jobs", "launch")


class LostProgramError(HeadwaterError):
    """The other machine did not start a program, or gave no sign of life."""


def offer(launch: Launch) -> Path:
    """Write the program for the other machine, and return its folder."""
    launch.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in (_STARTED, _ALIVE, _CANCEL, _ENDED):
        (launch.folder / name).unlink(missing_ok=True)
    write_durably(launch.folder / _LAUNCH, launch.model_dump_json().encode())
    return launch.folder


def await_end(launch: Launch, *, stop: StopReason, start_seconds: float) -> int:
    """Wait until the program ended on the other machine, and return its exit code.

    Raises:
        LostProgramError: the program did not start in time, or gives no sign of life.
    """
    folder, began = launch.folder, time.monotonic()
    beat, heard = "", began
    while not (folder / _ENDED).exists():
        if stop() and not (folder / _CANCEL).exists():
            (folder / _CANCEL).touch()
        now = time.monotonic()
        if not (folder / _STARTED).exists():
            if stop():
                return -9
            if now - began > start_seconds:
                (folder / _CANCEL).touch()
                raise LostProgramError(
                    f"Nobody started the program of {launch.job} within {start_seconds:g} s.", hint="Look at the scheduler."
                )
            heard = now
        elif (latest := _read(folder / _ALIVE)) != beat:
            beat, heard = latest, now
        elif now - heard > SILENCE:
            (folder / _CANCEL).touch()
            raise LostProgramError(
                f"The program of {launch.job} gives no sign of life since {SILENCE:g} s.", hint="Look at the machine that started it."
            )
        time.sleep(POLL)
    return int(json.loads((folder / _ENDED).read_text(encoding="utf-8"))["code"])


def launch_folder(folder: Path, replays: Path) -> int | None:
    """Run the program of a folder on this machine, and return its exit code, or None if another process has launched it.

    Raises:
        InvalidInputError: the folder is not one that the service of the home wrote.
        UnsupportedError: the script changed since it was registered.
    """
    real, root = folder.resolve(), replays.resolve()
    if root not in real.parents or not (real / _LAUNCH).is_file():
        raise InvalidInputError(f"{folder} holds no program of this home.", field="FOLDER", hint=f"Folders of programs are in {root}.")
    launch = Launch.model_validate_json((real / _LAUNCH).read_bytes())
    try:
        os.close(os.open(real / _STARTED, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return None
    if (real / _CANCEL).exists():  # it waited too long
        return None
    code = 1
    over = Event()
    beats = Thread(target=_show_life, args=(real / _ALIVE, over), daemon=True)
    beats.start()
    try:
        if script_sha256(launch.script) != launch.script_sha256:
            raise UnsupportedError(f"{launch.script} has changed since it was registered, or is missing.", hint="Register it again.")
        code = ThisMachine().run(launch, stop=lambda: "cancelled" if (real / _CANCEL).exists() else None)
    except HeadwaterError as error:  # the service shows the end of the log to its user
        with launch.log.open("a", encoding="utf-8") as log:
            log.write(f"{error}\n")
        raise
    finally:
        over.set()
        beats.join()
        write_durably(real / _ENDED, json.dumps({"code": code}).encode())
    return code


def _show_life(file: Path, over: Event) -> None:
    number = 0
    while not over.is_set():
        number += 1
        with suppress(OSError):  # a full disk: the next beat may succeed
            file.write_text(str(number), encoding="utf-8")
        over.wait(_BEAT)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
