"""The common parts of all CDAP endpoints: the caller, the dataset, and the time window."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from headwater.backend.api.context import Service, graph_of, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.compat.marquez.names import DatasetName, Namespace
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Edge, NodeKind, Stamp, node_id
from headwater.graph.stores import GraphStore

_SECONDS = re.compile(r"\d{1,11}")
_FROM_NOW = re.compile(r"now(?:[+-]\d{1,9}[smhd])*", re.IGNORECASE)
_STEP = re.compile(r"([+-]\d+)([smhd])", re.IGNORECASE)
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class Directions(StrEnum):
    INCOMING = "incoming"
    OUTGOING = "outgoing"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Window:
    """The time from `start` to before `end`, in seconds since 1970."""

    start: int
    end: int

    def touches(self, edge: Edge) -> bool:
        """Whether an event stated an edge within the window. An edge without a time always matches."""
        first, last = edge.first.partition(" ")[0], edge.last.partition(" ")[0]
        return not first or (first < self.until and last >= self.since)

    @property
    def since(self) -> str:
        return _instant(self.start)

    @property
    def until(self) -> str:
        return _instant(self.end)


@dataclass(frozen=True, slots=True)
class CdapRequest:
    """The graph, the tenant, the dataset, and the window of a query."""

    graph: GraphStore
    tenant: str
    namespace: str
    name: str
    window: Window

    @property
    def dataset(self) -> str:
        return node_id(NodeKind.DATASET, self.namespace, self.name)


async def _asked(
    namespace: Namespace,
    dataset: DatasetName,
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    start: Annotated[str, Query(description="Seconds since 1970, or `now-5d`; inclusive.")],
    end: Annotated[str, Query(description="Seconds since 1970, or `now`; exclusive.")],
) -> CdapRequest:
    now = int(time.time())
    window = Window(_seconds(start, "start", now), _seconds(end, "end", now))
    if window.start > window.end:
        raise InvalidQueryError(f"Start time ({start}) should be lesser than end time ({end}).", field="start", hint="Swap them.")
    asked = CdapRequest(graph_of(parts, who), who.tenant, namespace, dataset, window)
    if not await asked.graph.get(asked.tenant, [asked.dataset]):
        raise NotFoundError(f"Nothing is known of {asked.dataset}.", hint="Names are told exactly, in the case that events state them in.")
    return asked


Ask = Annotated[CdapRequest, Depends(_asked)]


def subject_router() -> APIRouter:
    return APIRouter(prefix="/v3/namespaces/{namespace}/datasets/{dataset}/lineage", tags=["cdap"])


def _seconds(stated: str, field: str, now: int) -> int:
    if _SECONDS.fullmatch(stated):
        seconds = int(stated)
    elif _FROM_NOW.fullmatch(stated):
        seconds = now + sum(int(number) * _UNITS[unit.lower()] for number, unit in _STEP.findall(stated))
    else:
        raise InvalidQueryError(f"{field} is {stated[:100]!r}.", field=field, hint="Write seconds since 1970, or now-5d (s, m, h, d).")
    if not 0 <= seconds < 1 << 37:
        raise InvalidQueryError(
            f"{field} is {stated[:100]!r}, which is no year from 1970 on.", field=field, hint="Write seconds, not more."
        )
    return seconds


def _instant(seconds: int) -> str:
    return Stamp.at(datetime.fromtimestamp(seconds, UTC), "").time
