"""`headwater store retry`: projects entries again that were set aside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from headwater.backend.home.settings import Settings
from headwater.backend.ingest.log import Stage
from headwater.backend.ingest.log.registry import open_log
from headwater.backend.worker.messages import Trial
from headwater.backend.worker.trial import LATER, PASSED, STAYS
from headwater.backend.worker.trials import RunningTrial


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for an entry that was set aside."""

    offset: int
    ok: bool
    detail: str


def retry_set_aside(settings: Settings, tenant: str) -> list[Outcome]:
    """Project each set-aside entry of a tenant in a separate process, and return the results.

    Raises:
        UnavailableError: the log does not answer.
    """
    settings.folder.create()
    with closing(open_log(settings)) as log, TemporaryDirectory(prefix="headwater-retry-") as folder:
        return list(_outcomes(settings, tenant, log.buried_at(tenant, Stage.QUARANTINE), Path(folder) / "note"))


def _outcomes(settings: Settings, tenant: str, offsets: list[int], note: Path) -> Iterator[Outcome]:
    for offset in offsets:
        trial = Trial(settings, (settings.log_level, settings.log_format), note, tenant, offset, offset, again=True)
        running = RunningTrial(trial, seconds=settings.entry_seconds)
        code = running.wait()
        detail = {
            PASSED: "is in the graph now",
            STAYS: "cannot be projected still; HEADWATER_LOG_LEVEL=debug says why",
            LATER: "cannot be tried now: the store does not answer",
        }.get(code, f"the process ended again: {running.how()}")
        yield Outcome(offset, code == PASSED, detail)
