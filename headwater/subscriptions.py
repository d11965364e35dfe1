"""The subscriptions of a service that `headwater.client` offers: their documents, and the conversion of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from headwater.answers import CulpritSearch, Node, Progress, Recapture, Replay, culprit_search, nodes, recapture, replay
from headwater.following import Subscribed

__all__ = ["CULPRITS", "NODE", "RECAPTURE", "REPLAY", "Subscriptions"]

T = TypeVar("T")
NODE = "id kind name properties"
_SHOWN = "{ dataset note rows { file row values } }"
REPLAY = (
    "id kind output state shadow error notes steps { job state } differing differences { dataset before after columns }"
    " commit { at keptUntil datasets { dataset state old } }"
    f" stop {{ job inputs {_SHOWN} outputs {_SHOWN} }}"
)
_RANKED = "{ file row quality }"
_QUALITIES = "{ rows below least median mean without }"
CULPRITS = (
    "id kind subject state error trials left step function problem isMinimal count notes"
    " records { file row values } origins { file row values } doing"
    " comparison { first second together notes causes { kind verdict changes rows isWhole reason }"
    " results { dataset rows isRebuilt reason differences { dataset before after columns } } }"
    f" cleaning {{ replay differing worst {_RANKED} best {_RANKED} before {_QUALITIES} after {_QUALITIES}"
    " steps { dataset records shared overlap reason } }"
)
RECAPTURE = "id dataset state error outputs files left { dataset reason }"


class Subscriptions:
    """The subscriptions of one service, with one key. `timeout` limits the time to begin one, in seconds."""

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        self._url, self._key, self._timeout = url, key, timeout

    def runs(self, job: str | None, states: Sequence[str]) -> Subscribed[Node]:
        document = f"subscription ($j: ID, $s: [String!]) {{ runs(job: $j, states: $s) {{ {NODE} }} }}"
        return self._subscribed(document, nodes, j=job, s=list(states) or None)

    def captures(self, job: str | None) -> Subscribed[Node]:
        return self._subscribed(f"subscription ($j: ID) {{ captures(job: $j) {{ {NODE} }} }}", nodes, j=job)

    def replays(self, identifier: str | None) -> Subscribed[Replay]:
        document = f"subscription ($i: ID) {{ replays(id: $i) {{ {REPLAY} }} }}"
        return self._subscribed(document, lambda data: map(replay, data), i=identifier)

    def recaptures(self, identifier: str | None) -> Subscribed[Recapture]:
        document = f"subscription ($i: ID) {{ recaptures(id: $i) {{ {RECAPTURE} }} }}"
        return self._subscribed(document, lambda data: map(recapture, data), i=identifier)

    def culprit_searches(self, identifier: str | None) -> Subscribed[CulpritSearch]:
        document = f"subscription ($i: ID) {{ culpritSearches(id: $i) {{ {CULPRITS} }} }}"
        return self._subscribed(document, lambda data: map(culprit_search, data), i=identifier)

    def progress(self) -> Subscribed[Progress]:
        return self._subscribed("subscription { progress { pending captures } }", lambda data: [Progress(**data)])

    def _subscribed(self, document: str, read: Callable[[Any], Iterable[T]], **variables: Any) -> Subscribed[T]:
        return Subscribed(self._url, self._key, self._timeout, document, variables, read)
