"""Entries at which a worker crashed, and the rule for setting one aside.

A worker must not crash at the same entry for ever. A crash is any end of the process at an entry, including termination after
too long a time. A worker may crash at an entry by chance, so one crash is no proof. The entries of a crashed worker are projected one by
one in a separate process (`trials`), and an entry with three crashes in a row is set aside. It then is a dead letter that is tried
again only by `headwater store retry`. The log stores the number of crashes, so that it survives a crash of the machine,
and replicas share it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from headwater.backend.ingest.log import DeadLetter, IngestLog, Stage
from headwater.backend.projector.current_entries import Stretch

ENDS = 3  # limit of crashes in a row at one entry
_SOURCE = "entries at which a worker ended"
_log = logging.getLogger("headwater.worker")


@dataclass(frozen=True, slots=True)
class Suspect:
    """Entries of a tenant, one of which may crash a worker.

    `entry` is the entry of the last crash (0: several entries). `ends` is the number of its crashes in a row.
    """

    first: int
    last: int
    entry: int = 0
    ends: int = 0


class Suspects:
    """The entries at which a worker may have crashed, by tenant. The log stores them."""

    def __init__(self, log: IngestLog) -> None:
        self._ingest = log

    def read(self) -> Mapping[str, Suspect]:
        noted = self._ingest.marks(_SOURCE)
        return {tenant: Suspect(**json.loads(state)) for tenant, state in noted.items() if state != "{}"}

    def ended(self, at: Stretch, how: str) -> None:
        """Record that a worker crashed at some entries. `how` describes the crash."""
        known = self.read().get(at.tenant) or Suspect(at.first, at.last)
        suspect = replace(known, first=min(known.first, at.first), last=max(known.last, at.last), entry=0, ends=0)
        if at.first == at.last:
            suspect = replace(suspect, entry=at.first, ends=known.ends + 1 if known.entry == at.first else 1)
        if suspect.ends >= ENDS:
            self._set_aside(at, how)
            # If one entry crashes a worker, others of the tenant may too. All its waiting entries get a trial, and crash no worker of all
            # tenants.
            suspect = replace(suspect, last=max(suspect.last, self._ingest.latest(at.tenant)), entry=0, ends=0)
        self._mark(at.tenant, json.dumps(asdict(suspect)))
        shown = f"entry {at.first}" if at.first == at.last else f"one of the entries {at.first} to {at.last}"
        if suspect.ends or at.first != at.last:
            _log.warning("a worker ended (%s) while it projected %s; what it was at is projected entry by entry, apart", how, shown)

    def passed(self, tenant: str) -> None:
        self._mark(tenant, "{}")

    def _set_aside(self, at: Stretch, how: str) -> None:
        entry = self._ingest.entry_at(at.tenant, at.first)
        reason = f"The worker ended {ENDS} times in a row while it projected this entry, the last time so: {how}."
        body = entry.body if entry is not None else b""
        self._ingest.bury(at.tenant, [DeadLetter(Stage.QUARANTINE, reason, body, None, at.first)]).result()
        self._ingest.forgive(at.tenant, [at.first]).result()
        _log.error("entry %d is set aside, and is tried no more by itself: the worker ended %d times at it (%s)", at.first, ENDS, how)

    def _mark(self, tenant: str, state: str) -> None:
        self._ingest.mark(_SOURCE, tenant, state).result()


def end_of(code: int) -> str:
    """Describe the end of a process by its exit code."""
    import signal

    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
