"""`GET /api/v1/events/lineage`: the accepted OpenLineage events, in the order of their arrival.

The log has this order, and no index by the time in an event. Queries with `before` and `after` read every
event, and are refused if there are too many events.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

from fastapi import Depends, Query
from starlette.responses import Response

from headwater.backend.api.context import Service, service
from headwater.backend.compat.marquez.request import Ask, Page, Place, answer, subject_router
from headwater.backend.ingest.log.model import Entry, EntryKind
from headwater.backend.ingest.log.protocol import IngestLog
from headwater.backend.projection.facets import mapping, objects
from headwater.errors import InvalidInputError, InvalidQueryError
from headwater.graph.model import Stamp
from headwater.graph.quality import holds_values

router = subject_router()

_LOOKED_AT = 20_000  # limit of log entries to read
_LOOKED_AT_BYTES = 512 << 20  # limit of their size
_MOST_BYTES = 32 << 20  # limit of the events of a page


class Sort(StrEnum):
    LAST = "desc"
    FIRST = "asc"


@router.get("/events/lineage")
@router.get("/events")
async def get_events(
    ask: Ask,
    place: Page,
    parts: Annotated[Service, Depends(service)],
    before: Annotated[str | None, Query(description="Whose time is earlier (ISO 8601).")] = None,
    after: Annotated[str | None, Query(description="Whose time is this or later (ISO 8601).")] = None,
    sort: Annotated[Sort, Query(alias="sortDirection", description="`desc`: those that came last come first; or `asc`.")] = Sort.LAST,
) -> Response:
    """Events as they were sent, without secrets: `{"events": […], "totalCount"}`."""
    between = _instant(after, "after"), _instant(before, "before")
    log = parts.workspace.log
    found, total = await asyncio.to_thread(_page, log, ask.tenant, place, between, last=sort is Sort.LAST)
    shown = found if ask.tells_values else [_without_values(event) for event in found]
    return await answer({"events": shown, "totalCount": total})


def _page(log: IngestLog, tenant: str, place: Place, between: tuple[str | None, str | None], *, last: bool) -> tuple[list[Any], int]:
    total = log.counts(tenant)[EntryKind.EVENT]
    if between == (None, None):
        page = islice(_events(log, tenant, last=last), place.offset, place.offset + place.limit)
        return list(_bounded(entry.body for entry in page)), total
    if total > _LOOKED_AT:
        raise InvalidQueryError(
            f"There are {total:,} events, and they are not in the order of their times.",
            field="before",
            hint=f"Ask without `before` and `after`, which look at {_LOOKED_AT:,} at most; or ask for runs of a job.",
        )
    earliest, latest = between
    offsets = [
        entry.offset
        for entry in _events(log, tenant, last=last)
        if (earliest or "") <= (time := Stamp.at(json.loads(entry.body)["eventTime"], "").time) and (latest is None or time < latest)
    ]
    chosen = (log.entry_at(tenant, offset) for offset in offsets[place.offset : place.offset + place.limit])
    return list(_bounded(entry.body for entry in chosen if entry is not None)), len(offsets)


def _events(log: IngestLog, tenant: str, *, last: bool) -> Iterator[Entry]:
    looked_at, size, offset = 0, 0, None if last else 0
    while True:
        entries: list[Entry] = log.read_back(tenant, before=offset) if last else log.read(tenant, after=offset or 0)
        for entry in entries:
            looked_at, size = looked_at + 1, size + len(entry.body)
            if looked_at > _LOOKED_AT or size > _LOOKED_AT_BYTES:
                raise InvalidQueryError(
                    f"More than {_LOOKED_AT:,} entries of the log, or {_LOOKED_AT_BYTES >> 20} MiB, would be looked at.",
                    field="offset",
                    hint="Ask for a smaller offset, and without `before` and `after`.",
                )
            if entry.kind is EntryKind.EVENT:
                yield entry
        if not entries:
            return
        offset = entries[-1].offset


def _bounded(bodies: Iterator[bytes]) -> Iterator[Any]:
    size = 0
    for number, body in enumerate(bodies):
        size += len(body)
        if number and size > _MOST_BYTES:
            raise InvalidQueryError(
                f"The events of this page have more than {_MOST_BYTES >> 20} MiB.", field="limit", hint="Ask for fewer: a smaller limit."
            )
        yield json.loads(body)


def _instant(stated: str | None, field: str) -> str | None:
    if not stated:
        return None
    try:
        return Stamp.at(stated, "").time
    except InvalidInputError as error:
        raise InvalidQueryError(f"{field} is {stated[:100]!r}.", field=field, hint="Write it as 2026-01-31T23:59:59Z.") from error


def _without_values(event: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(event)
    for name in ("run", "job", "dataset"):
        if name in shown:
            shown[name] = _without_facets(mapping(shown[name]))
    for name in ("inputs", "outputs"):
        if name in shown:
            shown[name] = [_without_facets(dataset) for dataset in objects(shown[name])]
    return shown


def _without_facets(holder: Mapping[str, Any]) -> dict[str, Any]:
    maps = ("facets", "inputFacets", "outputFacets")
    return {
        name: {facet: content for facet, content in mapping(value).items() if not holds_values(facet)} if name in maps else value
        for name, value in holder.items()
    }
