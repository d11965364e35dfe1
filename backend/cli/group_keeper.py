"""Stores records that the next overwrite of a source could lose, after a query on a home without a service.

A service does this work in its worker. The work takes a second at most, never fails the command, and continues after the next query.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Timer

from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.home.quick_settings import settings_of
from headwater.graph.records import AssociationStore

_SECONDS = 1.0
_log = logging.getLogger("headwater.keeping")


def keep_what_may_be_lost(home: Path | None, *, seconds: float = _SECONDS) -> int:
    """Store groups of records whose sources were written by a known run, within the time limit. Returns their number."""
    from headwater.backend.workspace import association_store
    from headwater.spark_listener.delivery.route import live_service

    deadline, kept = time.monotonic() + seconds, 0
    try:
        settings = settings_of(home)
        if live_service(settings.folder.path) is not None:
            return 0
        with closing(settings.folder.registry) as registry, closing(association_store(settings, registry)) as records:
            waiting = records.catalog.next_unkept(DEFAULT_TENANT, 0)
            while waiting is not None and (left := deadline - time.monotonic()) > 0:
                kept += _keep(records, *waiting, left)
                waiting = records.catalog.next_unkept(DEFAULT_TENANT, waiting[0])
    except Exception as error:  # noqa: BLE001 - the question is answered; the next one tries again
        _log.debug("what may be lost is not kept", exc_info=error)
    return kept


def _keep(records: AssociationStore, number: int, capture: str, seconds: float) -> int:
    from headwater.graph.trace.recompute.group_keeper import keep_groups

    timers: list[Timer] = []

    def begun(end_statement: Callable[[], None]) -> None:
        timers.append(Timer(seconds, end_statement))
        timers[-1].daemon = True
        timers[-1].start()

    try:
        kept = keep_groups(records, DEFAULT_TENANT, capture, start_task=begun)
    finally:
        for timer in timers:
            timer.cancel()
    if not records.wanted.waits_for(DEFAULT_TENANT, capture):
        records.catalog.looked_at(number)
    return kept
