"""The requests of the clients for replays and recaptures: start one, wait for its end, commit or undo it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from headwater.answers import CulpritSearch, Recapture, Replay, recapture, replay
from headwater.errors import NotFoundError, UnavailableError
from headwater.subscriptions import RECAPTURE, REPLAY

POLL_SECONDS = 1.0  # between two looks at the state of what runs in the service
_FINAL = {"COMPLETE", "FAILED"}
_Ending = TypeVar("_Ending", Replay, Recapture, CulpritSearch)
_SELECTION_TYPES = "$d: String, $w: String, $r: [RowRef!], $o: String, $k: ReplayKind!, $e: [ReplayEdit!]"
_SELECTION = "dataset: $d, where: $w, rows: $r, output: $o, kind: $k, edits: $e"
_DRY_RUN = "kind output starts steps { job script writes seconds } excluded kept edited seconds diskBytes diskFree unknownSizes notes"


class _Asks(Protocol):
    def execute(self, document: str, **variables: Any) -> dict[str, Any]: ...


class ReplayRequests:
    """The methods of `Client` for replays and recaptures."""

    def replay(
        self: _Asks,
        dataset: str,
        *,
        where: str | None = None,
        rows: Sequence[tuple[str, int]] = (),
        output: str | None = None,
        kind: str = "exclusive",
        edits: Mapping[str, str | None] | None = None,
        seconds: float | None = None,
        disk_bytes: int | None = None,
        progress: Callable[[Replay], None] = lambda _: None,
    ) -> Replay:
        """Run a pipeline again without some records of a dataset, and wait for its end.

        `kind` may also be `what-if` (the records get the values in `edits`, by column), `refresh` (the dataset changed), `selective` or
        `verify`. The last two replay `output`; `where` and `rows` then select its rows, and `dataset` may be empty. So does `step`, which
        waits before each program for `answer_replay`: `progress` gets its `stop`.

        `seconds` and `disk_bytes` are limits of the replay. `progress` is called at each change of the replay's state.
        """
        document = f"mutation ({_SELECTION_TYPES}, $l: ReplayLimits) {{ startReplay({_SELECTION}, limits: $l) {{ id }} }}"
        limits = {"seconds": seconds, "diskBytes": disk_bytes}
        started = self.execute(document, l=limits, **_selection(dataset, where, rows, output, kind, edits))
        identifier = started["startReplay"]["id"]
        return wait_for_end(lambda: _find(self, identifier), progress)

    def replay_dry_run(
        self: _Asks,
        dataset: str,
        *,
        where: str | None = None,
        rows: Sequence[tuple[str, int]] = (),
        output: str | None = None,
        kind: str = "exclusive",
        edits: Mapping[str, str | None] | None = None,
    ) -> dict[str, Any]:
        """Return the plan of a `replay`: jobs, numbers of records, time and disk space. Nothing runs."""
        document = f"query ({_SELECTION_TYPES}) {{ replayDryRun({_SELECTION}) {{ {_DRY_RUN} }} }}"
        found: dict[str, Any] = self.execute(document, **_selection(dataset, where, rows, output, kind, edits))["replayDryRun"]
        return found

    def cancel_replay(self: _Asks, identifier: str) -> Replay:
        """Ask a waiting or running replay to end."""
        return _change(self, "cancelReplay", identifier)

    def answer_replay(
        self: _Asks,
        identifier: str,
        action: str,
        *,
        file: str | None = None,
        row: int | None = None,
        edits: Mapping[str, str | None] | None = None,
    ) -> Replay:
        """Answer the stop of a replay of the kind `step`. `action` is `continue`, `drop`, `edit` or `stop`.

        `file` and `row`, from 0, name the record to drop or edit. `edits` are its new values by column, as text.
        """
        document = (
            "mutation ($i: ID!, $a: StopAction!, $f: String, $r: RowNumber, $e: [ReplayEdit!]) {"
            f" answerReplay(id: $i, action: $a, file: $f, row: $r, edits: $e) {{ {REPLAY} }} }}"
        )
        values = [{"column": column, "value": value} for column, value in (edits or {}).items()]
        return replay(self.execute(document, i=identifier, a=action.upper(), f=file, r=row, e=values)["answerReplay"])

    def approve_replay(self: _Asks, identifier: str) -> Replay:
        """Approve the commit of a replay, as a second person."""
        return _change(self, "approveReplay", identifier)

    def commit_replay(self: _Asks, identifier: str, *, keep_days: float = 7) -> Replay:
        """Replace the real data with the changed outputs of a complete replay. The old data is stored for `keep_days`."""
        document = f"mutation ($i: ID!, $k: Float!) {{ commitReplay(id: $i, keepDays: $k) {{ {REPLAY} }} }}"
        return replay(self.execute(document, i=identifier, k=keep_days)["commitReplay"])

    def undo_replay(self: _Asks, identifier: str) -> Replay:
        """Put the old data of a committed replay back."""
        return _change(self, "undoReplay", identifier)

    def recapture(self: _Asks, dataset: str, *, progress: Callable[[Recapture], None] = lambda _: None) -> Recapture:
        """Find the record lineage of a dataset after it was written, and wait for the result. `dataset` is an id or a path.

        The service runs the registered program that wrote the dataset again, next to the real data. If the files are identical, its record
        lineage is stored. `progress` is called at each change of state. In the state `FAILED` nothing is stored, and `error` has the
        reason.
        """
        identifier = self.execute("mutation ($d: String!) { startRecapture(dataset: $d) { id } }", d=dataset)["startRecapture"]["id"]
        return wait_for_end(lambda: _find_recapture(self, identifier), progress)


class AsyncReplayRequests:
    """The methods of `AsyncClient` for replays and recaptures. Each calls the method of `Client` on a thread."""

    _client: Any

    async def replay(self, dataset: str, **asked: Any) -> Replay:
        """Run `Client.replay` on a thread, on which `progress` is called too."""
        found: Replay = await asyncio.to_thread(self._client.replay, dataset, **asked)
        return found

    async def replay_dry_run(self, dataset: str, **asked: Any) -> dict[str, Any]:
        found: dict[str, Any] = await asyncio.to_thread(self._client.replay_dry_run, dataset, **asked)
        return found

    async def cancel_replay(self, identifier: str) -> Replay:
        found: Replay = await asyncio.to_thread(self._client.cancel_replay, identifier)
        return found

    async def answer_replay(self, identifier: str, action: str, **asked: Any) -> Replay:
        """See `Client`."""
        found: Replay = await asyncio.to_thread(self._client.answer_replay, identifier, action, **asked)
        return found

    async def approve_replay(self, identifier: str) -> Replay:
        found: Replay = await asyncio.to_thread(self._client.approve_replay, identifier)
        return found

    async def commit_replay(self, identifier: str, **asked: Any) -> Replay:
        found: Replay = await asyncio.to_thread(self._client.commit_replay, identifier, **asked)
        return found

    async def undo_replay(self, identifier: str) -> Replay:
        found: Replay = await asyncio.to_thread(self._client.undo_replay, identifier)
        return found

    async def recapture(self, dataset: str, **asked: Any) -> Recapture:
        """Run `Client.recapture` on a thread, on which `progress` is called too."""
        found: Recapture = await asyncio.to_thread(self._client.recapture, dataset, **asked)
        return found


def wait_for_end(look: Callable[[], _Ending], progress: Callable[[_Ending], None]) -> _Ending:
    """Look until the state is final, and call `progress` at each change."""
    known: _Ending | None = None
    while True:
        now = look()
        if now != known:
            progress(now)
        if now.state in _FINAL:
            return now
        known = now
        time.sleep(POLL_SECONDS)


def _change(asks: _Asks, mutation: str, identifier: str) -> Replay:
    return replay(asks.execute(f"mutation ($i: ID!) {{ {mutation}(id: $i) {{ {REPLAY} }} }}", i=identifier)[mutation])


def _find(asks: _Asks, identifier: str) -> Replay:
    found = asks.execute(f"query ($i: ID!) {{ replay(id: $i) {{ {REPLAY} }} }}", i=identifier)["replay"]
    if found is None:
        raise NotFoundError(f"There is no replay {identifier}.", hint="Its folder was removed.")
    return replay(found)


def _find_recapture(asks: _Asks, identifier: str) -> Recapture:
    found = asks.execute(f"query ($i: ID!) {{ recapture(id: $i) {{ {RECAPTURE} }} }}", i=identifier)["recapture"]
    if found is None:
        raise UnavailableError("The service does not know this recapture any more.", hint="It was started anew. Ask again.")
    return recapture(found)


def _selection(
    dataset: str, where: str | None, rows: Sequence[tuple[str, int]], output: str | None, kind: str, edits: Mapping[str, str | None] | None
) -> dict[str, Any]:
    places = [{"file": file, "row": row} for file, row in rows]
    values = [{"column": column, "value": value} for column, value in (edits or {}).items()]
    return {"d": dataset or None, "w": where, "r": places or None, "o": output, "k": kind.upper().replace("-", "_"), "e": values or None}
