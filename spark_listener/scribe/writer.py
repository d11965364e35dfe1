"""Writes runs and captures into an application's spool, and sends events to further receivers that the program names.

If the spool has no room for an item, the item is counted. The next delivered event reports the count, so that a gap is never silent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwater.errors import HeadwaterError
from headwater.spark_listener.delivery.transports import Transports
from headwater.spark_listener.lineage.events import EventMaker, Work, now
from headwater.spark_listener.lineage.facets import CAPTURE, Facet, Ledger
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.second_run import outputs_for
from headwater.spark_listener.settings import Settings
from headwater.spark_listener.spool import SpoolFolder
from headwater.spark_listener.tally import Tally

_log = logging.getLogger("headwater.listener")
_FULL = {"operator": None, "reason": "the spool is full (HEADWATER_SPOOL_BYTES), so its record lineage was dropped", "kind": "missing"}


class Writer:
    """Writes the runs and captures of one application."""

    def __init__(self, folder: SpoolFolder, settings: Settings, tally: Tally, events: EventMaker, transports: Transports | None) -> None:
        self._folder = folder
        self._shared_segments = settings.segments
        self._tally = tally
        self._events = events
        self._transports = transports
        self._registry = Registry(settings.home)

    @property
    def events(self) -> EventMaker:
        return self._events

    @property
    def segments(self) -> Path | None:
        """Return the local folder with the segments of captures. None if tasks write them to shared storage."""
        return None if self._shared_segments else self._folder.segments

    def run_facets(self, facets: Mapping[str, Facet]) -> None:
        self._events = replace(self._events, run_facets=facets)

    def start(self, work: Work) -> None:
        """Write the START of a run, and store it so that another process can end the run after a crash."""
        event = self._events.work_start(work)
        self._folder.run_began(work.run.run_id, event)  # first, so that every visible START gets an end
        self.write(event, durable=True)

    def progress(self, work: Work) -> None:
        self.write(self._events.work_runs(work, now()))

    def end(self, work: Work, *, started: bool = False) -> None:
        """Write the end of a run. `started` means that its START was written when it began."""
        if not started:
            self.write(self._events.work_start(work))
        self.write(self._events.work_end(work), durable=True)
        self._tally.spared(outputs_for(work), work.inputs)
        self._folder.run_ended(work.run.run_id)
        paths = [place for dataset in (*work.inputs, *work.outputs) if dataset.namespace == "file" for place in dataset.places]
        self.register(lambda registry: registry.add_roots(paths))  # last, because a new root waits for the disk

    def capture(self, manifest: Mapping[str, Any], ledger: Ledger) -> Ledger:
        """Write a capture. Return the ledger of its run, which reports a full spool."""
        if self._folder.capture(manifest, segments=self._shared_segments):
            self._tally.capture(manifest)
            return ledger
        self._tally.dropped += 1
        return Ledger(status="refused", mode=ledger.mode, problems=[*ledger.problems, _FULL])

    def register(self, note: Callable[[Registry], None]) -> None:
        """Write to the home's registry. After a failure, the program continues; replays and values are refused later with a hint."""
        try:
            note(self._registry)
        except (HeadwaterError, OSError) as error:
            _log.warning("This run could not be registered for replays and for reading its data: %s", error)

    def write(self, event: dict[str, Any], *, durable: bool = False) -> None:
        """Write one event. `durable` syncs it to the disk at once."""
        dropped = self._with_drops(event)
        self._send_on(event)
        if not self._folder.event(event, durable=durable):
            self._tally.dropped += 1
        elif dropped:
            self._folder.drops_stated(dropped)

    def write_last(self, event: dict[str, Any]) -> None:
        """Write the last event of the application. The spool always has room for it."""
        self._with_drops(event)
        self._send_on(event)
        self._folder.last_event(event)
        self._folder.describe(ended=True)
        self._registry.close()

    def _send_on(self, event: dict[str, Any]) -> None:
        if self._transports is not None:
            self._transports.put(event)

    def _with_drops(self, event: dict[str, Any]) -> dict[str, int]:
        """Add the unreported drops to the event's ledger, if it has one."""
        ledger = event["run"]["facets"].get(CAPTURE)
        if ledger is None or not self._folder.dropped:
            return {}
        ledger["dropped"] = dict(self._folder.dropped)
        return dict(self._folder.dropped)
