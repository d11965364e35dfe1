"""The requests of the clients for culprits: the records at which a program fails, or that make its result wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from headwater.answers import CulpritSearch, culprit_search
from headwater.errors import UnavailableError
from headwater.replay_requests import wait_for_end
from headwater.subscriptions import CULPRITS


class _Asks(Protocol):
    def execute(self, document: str, **variables: Any) -> dict[str, Any]: ...


class CulpritRequests:
    """The methods of `Client` that search for culprits."""

    def why(
        self: _Asks, run: str | None = None, *, seconds: float = 300.0, progress: Callable[[CulpritSearch], None] = lambda _: None
    ) -> CulpritSearch:
        """Name the input record at which a run failed, and wait for the result. `run` is a run or a job, or None for the last failed run.

        The service runs the registered program again on parts of its input, next to the real data. `progress` is called at each change.
        """
        document = "mutation ($r: String, $s: Float!) { startWhy(run: $r, seconds: $s) { id } }"
        return _search(self, progress, document, r=run, s=seconds)

    def blame(
        self: _Asks,
        dataset: str,
        *,
        assertion: str | None = None,
        where: str | None = None,
        seconds: float = 300.0,
        progress: Callable[[CulpritSearch], None] = lambda _: None,
    ) -> CulpritSearch:
        """Find the smallest set of input records that makes rows of a dataset wrong, and wait for the result.

        A row is wrong if `assertion` is false for it, or if `where` selects it. Give one of the two.

            client.blame("out/report", assertion="max_wind_mph < 250").records
        """
        document = (
            "mutation ($d: String!, $a: String, $w: String, $s: Float!)"
            " { startBlame(dataset: $d, assertion: $a, where: $w, seconds: $s) { id } }"
        )
        return _search(self, progress, document, d=dataset, a=assertion, w=where, s=seconds)

    def witness(
        self: _Asks,
        dataset: str,
        *,
        where: str,
        columns: Sequence[str] = (),
        seconds: float = 300.0,
        progress: Callable[[CulpritSearch], None] = lambda _: None,
    ) -> CulpritSearch:
        """Find the smallest set of input records that still gives a row, and wait for the result. `where` selects the row.

        Only the values in `columns` must stay, or those in all columns, if none is named.

            client.witness("out/sessions", where="user = 'u17'").records
        """
        document = (
            "mutation ($d: String!, $w: String!, $c: [String!], $s: Float!)"
            " { startWitness(dataset: $d, where: $w, columns: $c, seconds: $s) { id } }"
        )
        return _search(self, progress, document, d=dataset, w=where, c=list(columns), s=seconds)

    def compare(
        self: _Asks,
        first: str,
        second: str,
        *,
        replays: bool = True,
        seconds: float = 600.0,
        progress: Callable[[CulpritSearch], None] = lambda _: None,
    ) -> CulpritSearch:
        """Attribute the difference between the results of two runs of a job to what changed between them, and wait for the result.

        Each change is tested by replays, unless `replays` is false.

            client.compare("run:01a22530…", "run:01a22530…").comparison.causes
        """
        document = (
            "mutation ($a: String!, $b: String!, $s: Float!, $r: Boolean!)"
            " { startCompare(first: $a, second: $b, seconds: $s, replays: $r) { id } }"
        )
        return _search(self, progress, document, a=first, b=second, s=seconds, r=replays)

    def clean(
        self: _Asks,
        dataset: str,
        quality: str,
        *,
        below: float | None = None,
        count: int = 10,
        seconds: float | None = None,
        dry_run: bool = False,
        progress: Callable[[CulpritSearch], None] = lambda _: None,
    ) -> CulpritSearch:
        """Leave out the records behind the worst rows of a dataset in a replay, and wait for the result.

        A row is worse if `quality`, an expression in DuckDB SQL, is lower. The worst rows are those `below` a limit, or `count` rows.

            client.clean("out/contigs", "coverage", below=3).cleaning.after
        """
        document = (
            "mutation ($d: String!, $q: String!, $b: Float, $c: Int!, $s: Float, $n: Boolean!)"
            " { startClean(dataset: $d, quality: $q, below: $b, count: $c, seconds: $s, dryRun: $n) { id } }"
        )
        asked = {"d": dataset, "q": quality, "b": below, "c": count, "s": seconds, "n": dry_run}
        return _search(self, progress, document, **asked)

    def cancel_culprit_search(self: _Asks, identifier: str) -> None:
        """Ask a waiting or running search to end: of `why`, `blame`, `witness`, `compare` or `clean`. The smallest set so far stays."""
        self.execute("mutation ($i: ID!) { cancelCulpritSearch(id: $i) { id } }", i=identifier)


class AsyncCulpritRequests:
    """The methods of `AsyncClient` that search for culprits. Each calls the method of `Client` on a thread."""

    _client: Any

    async def why(self, run: str | None = None, **asked: Any) -> CulpritSearch:
        """Run `Client.why` on a thread, on which `progress` is called too."""
        found: CulpritSearch = await asyncio.to_thread(self._client.why, run, **asked)
        return found

    async def blame(self, dataset: str, **asked: Any) -> CulpritSearch:
        """Run `Client.blame` on a thread, on which `progress` is called too."""
        found: CulpritSearch = await asyncio.to_thread(self._client.blame, dataset, **asked)
        return found

    async def witness(self, dataset: str, **asked: Any) -> CulpritSearch:
        """Run `Client.witness` on a thread, on which `progress` is called too."""
        found: CulpritSearch = await asyncio.to_thread(self._client.witness, dataset, **asked)
        return found

    async def compare(self, first: str, second: str, **asked: Any) -> CulpritSearch:
        """Run `Client.compare` on a thread, on which `progress` is called too."""
        found: CulpritSearch = await asyncio.to_thread(self._client.compare, first, second, **asked)
        return found

    async def clean(self, dataset: str, quality: str, **asked: Any) -> CulpritSearch:
        """Run `Client.clean` on a thread, on which `progress` is called too."""
        found: CulpritSearch = await asyncio.to_thread(self._client.clean, dataset, quality, **asked)
        return found

    async def cancel_culprit_search(self, identifier: str) -> None:
        await asyncio.to_thread(self._client.cancel_culprit_search, identifier)


def _search(asks: _Asks, progress: Callable[[CulpritSearch], None], document: str, **variables: Any) -> CulpritSearch:
    """Start a search by a mutation, and wait for its result."""
    (started,) = asks.execute(document, **variables).values()
    return wait_for_end(lambda: _find(asks, started["id"]), progress)


def _find(asks: _Asks, identifier: str) -> CulpritSearch:
    found = asks.execute(f"query ($i: ID!) {{ culpritSearch(id: $i) {{ {CULPRITS} }} }}", i=identifier)["culpritSearch"]
    if found is None:
        raise UnavailableError("The service does not know this search any more.", hint="It was started anew. Ask again.")
    return culprit_search(found)
