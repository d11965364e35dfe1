"""A program to launch, and the interface of a runner."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

StopReason = Callable[[], str | None]  # returns the reason to stop a program, or None


class Launch(BaseModel):
    """A registered program with everything that it needs to run.

    `id` is the same for all attempts to start it. `folder` is a folder of the home for this launch, `log` is the file of its output.
    `arguments` are the registered arguments of the script, `options` are those of `headwater run`. `environment` is the whole environment.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    folder: Path
    log: Path
    namespace: str
    job: str
    script: str
    script_sha256: str
    arguments: Sequence[str]
    options: Sequence[str]
    working_directory: str
    environment: Mapping[str, str]


class ProgramRunner(Protocol):
    """The interface of a runner.

    To add a kind, write a file with a class that has these members and `of_table`, and its line in `settings.KINDS`. `of_table` makes a
    runner from the operator's table. A runner must start the script with the registered arguments only, and never through a shell.
    """

    def run(self, launch: Launch, *, stop: StopReason, holding: Collection[int] = ()) -> int:
        """Run a program to its end, and return its exit code. If `stop` returns a reason, the program is ended.

        Files in `holding` stay open until the program ends, if it runs on this machine.

        Raises:
            HeadwaterError: the program cannot be started, or its end is unknown.
        """
