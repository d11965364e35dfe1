"""Runs the intakes of a service, each on a separate thread. Failures are logged, and the intake starts again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from headwater.backend.intakes.entrance import Door
from headwater.backend.intakes.protocol import Intake, Surroundings
from headwater.backend.intakes.settings import read_intakes
from headwater.backend.process.metrics import Metrics

if TYPE_CHECKING:
    from headwater.backend.home.settings import Settings
    from headwater.backend.workspace import Workspace

_PAUSE = 2.0  # seconds between a failure of an intake and its next start
_log = logging.getLogger("headwater.intakes")


def intakes_of(settings: Settings) -> Sequence[Intake]:
    """Return the intakes in the settings.

    Raises:
        ConfigurationError: the file of the intakes is invalid.
    """
    return read_intakes(_file(settings))


def _file(settings: Settings) -> Path:
    return settings.intakes or settings.folder.intakes


class Intakes:
    """The intakes of one service."""

    def __init__(self, settings: Settings, workspace: Workspace, metrics: Metrics) -> None:
        self._intakes = intakes_of(settings)
        self._stopping = Event()
        self._faults: dict[str, str] = {}
        self._threads = [
            Thread(
                target=self._run, args=(intake, self._around(intake, settings, workspace, metrics)), name="headwater-intake", daemon=True
            )
            for intake in self._intakes
        ]
        for intake in self._intakes:
            metrics.intake_lag.labels(intake.name).set_function(partial(_lag, intake))

    @property
    def state(self) -> str:
        """Return the errors of intakes, or "ok". The text may contain names of objects."""
        return "; ".join(f"{name}: {fault}" for name, fault in sorted(self._faults.items())) or "ok"

    @property
    def waiting(self) -> str:
        """Return the failed intakes for `/readyz`, which is public, or "ok"."""
        return "; ".join(f"{name} waits: the service's log says why" for name in sorted(self._faults)) or "ok"

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop all intakes after their current documents."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _around(self, intake: Intake, settings: Settings, workspace: Workspace, metrics: Metrics) -> Surroundings:
        longest = settings.max_body_bytes
        door = Door(workspace.events, metrics, self._stopping, name=intake.name, tenant=intake.tenant, longest=longest)
        return Surroundings(workspace.log, door, workspace.records.sources.remote, self._stopping)

    def _run(self, intake: Intake, around: Surroundings) -> None:
        logged = ""
        while not self._stopping.is_set():
            try:
                intake.run(around)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and the intake begins again
                fault = str(error) or type(error).__name__
                if fault != logged:
                    _log.error("intake %s stopped, and is tried again: %s", intake.name, fault)
                self._faults[intake.name] = logged = fault
                self._stopping.wait(_PAUSE)
                self._faults.pop(intake.name)
            else:  # everything was read
                self._stopping.wait(_PAUSE)


def _lag(intake: Intake) -> float:
    lag = intake.lag()
    return float("nan") if lag is None else float(lag)
