"""Delivers what dead applications left in the spool: states their end, delivers their items, removes their folders.

The next program that starts does this, and so do the service and commands of a home. Living applications must be left alone, items that
cannot be delivered now must not be lost, and one bad item must not stop the others.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from headwater.errors import InvalidInputError
from headwater.spark_listener.delivery.substitutes import substitute
from headwater.spark_listener.lineage.facets import ACTOR
from headwater.spark_listener.spool import Item, SpoolFolder, applications, has_ended

_log = logging.getLogger("headwater.delivery")
_NOTE = "refused"  # in the spool: a line for each reason
_MOST_NOTED = 64 * 1024  # bytes
_POLL = 0.05
_MOST_REASONS, _LONGEST_REASON = 20, 500


class Delivery(Protocol):
    """Delivers one item, and returns when it is safe at its destination. Raises like `HttpDelivery.send`."""

    def send(self, item: Item, folder: SpoolFolder) -> None: ...


@dataclass(slots=True)
class Delivered:
    """The result for a spool: delivered items, items refused permanently (with the reasons), and unreadable lines."""

    arrived: int = 0
    refused: list[str] = field(default_factory=list)
    damaged: int = 0

    def add(self, other: Delivered) -> None:
        self.arrived += other.arrived
        self.refused += other.refused
        self.damaged += other.damaged


def note_refusals(spool: Path, refusals: Sequence[str]) -> None:
    """Store the reasons of refusals for the summary of the next program, because the program that sent the items has ended."""
    if not refusals:
        return
    with suppress(OSError), (spool / _NOTE).open("a", encoding="utf-8") as file:
        if file.tell() < _MOST_NOTED:
            file.writelines(json.dumps(reason[:_LONGEST_REASON]) + "\n" for reason in refusals[:_MOST_REASONS])


def take_refusals(spool: Path) -> list[str]:
    mine = spool / f"{_NOTE}.{os.getpid()}"
    try:
        (spool / _NOTE).rename(mine)  # later notes are for the next program, and no other program has these
        lines = mine.read_text(encoding="utf-8", errors="replace").splitlines()
        mine.unlink()
    except OSError:
        return []
    reasons = []
    for line in lines:
        with suppress(ValueError):  # a torn line
            reasons.append(str(json.loads(line)))
    return reasons


def deliver_folder(folder: SpoolFolder, delivery: Delivery) -> Delivered:
    """Deliver all waiting items of a folder. If an item cannot be delivered now, raise like `HttpDelivery.send`; the rest stays."""
    result = Delivered()
    for item in folder.pending():
        try:
            delivery.send(item, folder)
            result.arrived += 1
        except InvalidInputError as error:
            result.refused.append(str(error))
            _log.warning("An item of the spool was refused and is not sent again: %s", error)
            _send_substitute(item, error, folder, delivery)
        folder.acknowledge(item)
    result.damaged = folder.log.damaged
    return result


def _send_substitute(item: Item, error: InvalidInputError, folder: SpoolFolder, delivery: Delivery) -> None:
    """Report the loss of an item at its run. If the service refuses that too, only its dead letter remains."""
    smaller = substitute(item, str(error))
    if smaller is not None:
        with suppress(InvalidInputError):
            delivery.send(smaller, folder)


def deliver_leftovers(spool: Path, delivery: Delivery, *, patience: float = 0.0) -> Delivered:
    """Deliver what dead applications left under `spool`, oldest first. Raises like `deliver_folder`.

    If another process is delivering a folder, this waits at most `patience` seconds for it, because the next question needs its content.
    """
    result = Delivered()
    deadline = time.monotonic() + patience
    waiting = applications(spool)
    while waiting:
        with_others = []
        for path in waiting:
            folder = SpoolFolder.take(path)
            if folder is None:
                if has_ended(path):
                    with_others.append(path)
                continue
            try:
                state_end(folder)
                result.add(deliver_folder(folder, delivery))
            finally:
                folder.close()
        if time.monotonic() >= deadline:
            break
        waiting = with_others
        if waiting:
            time.sleep(_POLL)
    return result


def state_end(folder: SpoolFolder) -> None:
    """Spool the end of an application that died without one, and of its running queries: ABORT, at its last sign of life."""
    described = folder.application
    if described.get("ended"):
        return
    if "start" in described:
        last = datetime.fromtimestamp((folder.path / "log").stat().st_mtime, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        for start in list(folder.open_runs()):
            folder.event(start)  # again: it may not have reached the log, and sending twice does no harm
            folder.event(_abort(start, last, folder.log.damaged), durable=True)
            folder.run_ended(str(start["run"]["runId"]))
        folder.event(_abort(described["start"], last, folder.log.damaged), durable=True)
    folder.describe(ended=True)


def _abort(start: Mapping[str, Any], at: str, damaged: int) -> dict[str, Any]:
    """Return the ABORT for a START event. It is made from the event itself, so no OpenLineage package is needed."""
    event = {**start, "eventType": "ABORT", "eventTime": at, "run": {**start["run"], "facets": dict(start["run"].get("facets", {}))}}
    facets = event["run"]["facets"]
    common = {
        "_producer": start.get("producer", "headwater:/spark"),
        "_schemaURL": "https://openlineage.io/spec/facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
    }
    facets["errorMessage"] = {
        **common,
        "message": "The process ended without stating the end of its run (killed, or the machine stopped).",
        "programmingLanguage": "PYTHON",
    }
    if isinstance(facets.get("headwater_capture"), dict):
        lost = [{"operator": None, "reason": f"{damaged} line(s) of the spool's log were damaged", "kind": "missing"}] if damaged else []
        if ACTOR in (event["job"].get("facets") or {}):
            lost.append({"operator": None, "reason": "what it had recorded since its last commit is rolled back", "kind": "missing"})
        ledger = facets["headwater_capture"]
        facets["headwater_capture"] = {**ledger, "status": "partial", "problems": [*ledger.get("problems", []), *lost]}
    return event
