"""`/api/v1/stats/…`: the number of events in each hour or day, and the number of jobs, datasets and sources at its end.

The dashboard of Marquez's page shows these numbers. They are not counted in advance. Each answer reads the events of the period, or all
jobs or datasets, and is refused if these are too many.
"""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import Annotated, Any
from zoneinfo import ZoneInfo, available_timezones

from fastapi import Depends, Query

from headwater.backend.api.context import Service, service
from headwater.backend.compat.marquez.facts import NEVER, when_stated
from headwater.backend.compat.marquez.request import Ask, MarquezRequest, subject_router
from headwater.backend.ingest.log.model import EntryKind
from headwater.backend.ingest.log.protocol import IngestLog
from headwater.errors import InvalidQueryError
from headwater.graph.model import NodeKind, Stamp, parse_id

router = subject_router()

_TYPES = ("FAIL", "START", "COMPLETE", "ABORT")
_EVENTS = 50_000  # limit of log entries to read
_EVENT_BYTES = 256 << 20  # limit of their size
_NODES = 20_000  # limit of jobs or datasets
_PORTION = 1_000
_AHEAD = timedelta(minutes=15)  # a producer's clock may be ahead of this machine's clock by this much

_Period = Annotated[str, Query(description="`DAY`: the last 24 hours, by hour; `WEEK`: the last seven days, by day. In any case.")]
_Zone = Annotated[str | None, Query(description="Whose days, as `Europe/Berlin`; UTC where it is left out.")]


def _bounds(period: _Period, timezone: _Zone = None) -> list[datetime]:
    zone = _zone_of(timezone)
    now = datetime.now(zone)
    if period.upper() == "DAY":
        hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        return [hour + timedelta(hours=step) for step in range(-23, 2)]
    if period.upper() == "WEEK":
        days = [now.date() + timedelta(days=step) for step in range(-6, 2)]
        return [datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC) for day in days]
    raise InvalidQueryError(f"period is {period[:100]!r}.", field="period", hint="It is DAY or WEEK.")


_Bounds = Annotated[list[datetime], Depends(_bounds)]


@router.get("/stats/lineage-events")
async def get_events(ask: Ask, parts: Annotated[Service, Depends(service)], bounds: _Bounds) -> list[dict[str, Any]]:
    """Return how many events say that a run began, ended, failed or was aborted, by the time that they state."""
    counted = await asyncio.to_thread(_counted, parts.workspace.log, ask.tenant, bounds)
    return [_interval(bounds, place) | {kind.lower(): counts[kind] for kind in _TYPES} for place, counts in enumerate(counted)]


@router.get("/stats/jobs")
async def get_jobs(ask: Ask, bounds: _Bounds) -> list[dict[str, Any]]:
    """Return the number of jobs at the end of each interval."""
    return _grown(bounds, list((await _created(ask, NodeKind.JOB)).values()))


@router.get("/stats/datasets")
async def get_datasets(ask: Ask, bounds: _Bounds) -> list[dict[str, Any]]:
    """Return the number of datasets at the end of each interval."""
    return _grown(bounds, list((await _created(ask, NodeKind.DATASET)).values()))


@router.get("/stats/sources")
async def get_sources(ask: Ask, bounds: _Bounds) -> list[dict[str, Any]]:
    """Return the number of namespaces of datasets at the end of each interval.

    A namespace exists since its first dataset.
    """
    first: dict[str, str] = {}
    for dataset, at in (await _created(ask, NodeKind.DATASET)).items():
        namespace = parse_id(dataset)[1][0]
        first[namespace] = min(at, first.get(namespace, at))
    return _grown(bounds, list(first.values()))


def _counted(log: IngestLog, tenant: str, bounds: Sequence[datetime]) -> list[dict[str, int]]:
    begins = [_text(bound) for bound in bounds]
    until = _text(bounds[0] - _AHEAD)
    counts = [dict.fromkeys(_TYPES, 0) for _ in bounds[1:]]
    looked_at, size, before = 0, 0, None
    while entries := log.read_back(tenant, before=before):
        for entry in entries:
            if entry.received < until:
                return counts
            looked_at, size = looked_at + 1, size + len(entry.body)
            if looked_at > _EVENTS or size > _EVENT_BYTES:
                raise InvalidQueryError(
                    f"More than {_EVENTS:,} entries of the log, or {_EVENT_BYTES >> 20} MiB, came in this time.",
                    field="period",
                    hint="Ask for a DAY, or count by the service's measures (headwater_events_total).",
                )
            if entry.kind is EntryKind.EVENT:
                event = json.loads(entry.body)
                place = bisect_right(begins, Stamp.at(event["eventTime"], "").time) - 1
                if 0 <= place < len(counts) and (kind := event.get("eventType")) in _TYPES:
                    counts[place][kind] += 1
        before = entries[-1].offset
    return counts


async def _created(ask: MarquezRequest, kind: NodeKind) -> dict[str, str]:
    """Return the time of the first event about each node of a kind, or "" if it is unknown."""
    found: dict[str, str] = {}
    after: str | None = None
    while page := await ask.graph.listed_after(ask.tenant, f"{kind}:", after, first=_PORTION):
        ids = [node.id for node in page]
        stated = await when_stated(ask, ids)
        found |= {identifier: stated.get(identifier, NEVER).created or "" for identifier in ids}
        after = ids[-1]
        if len(found) > _NODES:
            raise InvalidQueryError(
                f"There are more than {_NODES:,} {kind}s, and when they came is in no index.",
                field="period",
                hint="How many there are now is `totalCount` of /api/v1/jobs and /api/v1/sources.",
            )
    return found


def _grown(bounds: Sequence[datetime], created: Sequence[str]) -> list[dict[str, Any]]:
    ordered = sorted(created)
    ends = [_text(bound) for bound in bounds[1:]]
    return [_interval(bounds, place) | {"count": bisect_right(ordered, end)} for place, end in enumerate(ends)]


def _interval(bounds: Sequence[datetime], place: int) -> dict[str, Any]:
    return {"startInterval": _shown(bounds[place]), "endInterval": _shown(bounds[place + 1])}


def _zone_of(name: str | None) -> tzinfo:
    if name is None or name.upper() in ("", "UTC"):
        return UTC
    # Only names in the list are accepted, because the name becomes a part of a path.
    if name not in _zones():
        raise InvalidQueryError(f"timezone is {name[:100]!r}.", field="timezone", hint="Name it as the IANA does: Europe/Berlin.")
    return ZoneInfo(name)


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _text(instant: datetime) -> str:
    return Stamp.at(instant.isoformat(), "").time


def _shown(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
