"""Triggers of a service, for both clients: list, create, change, fire and test them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.errors import NotFoundError

_CAUSE = "id at outcome reason depth facts execution { id state attempts createdAt startedAt endedAt result error }"
_TRIGGER = f"id name state reason condition action owner createdAt lastFiredAt definition history(first: $first) {{ {_CAUSE} }}"


@dataclass(frozen=True, slots=True)
class TriggerExecution:
    """One run of a trigger's action. `state` is WAITING, RUNNING, COMPLETE, FAILED or INTERRUPTED; times are ISO 8601."""

    id: str
    state: str
    attempts: int
    created_at: str
    started_at: str | None
    ended_at: str | None
    result: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class TriggerCause:
    """A cause of a trigger. `outcome` is FIRED or SKIPPED; `reason` explains a skipped cause; `facts` fulfilled the condition."""

    id: str
    at: str
    outcome: str
    reason: str | None
    depth: int
    facts: Sequence[Mapping[str, Any]]
    execution: TriggerExecution | None


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger. `state` is ACTIVE, PAUSED or STOPPED; `condition` and `action` are sentences.

    `history` has the last causes, latest first.
    """

    id: str
    name: str
    state: str
    reason: str | None
    condition: str
    action: str
    owner: str
    created_at: str
    last_fired_at: str | None
    definition: Mapping[str, Any] = field(repr=False)
    history: Sequence[TriggerCause] = field(repr=False)


class _Asks(Protocol):
    def execute(self, document: str, **variables: Any) -> dict[str, Any]: ...


class TriggerRequests:
    """The methods of `Client` for triggers."""

    def triggers(self: _Asks, *, first: int = 10) -> list[Trigger]:
        """Return the triggers by name, each with its last `first` causes."""
        found = self.execute(f"query ($first: Int!) {{ triggers {{ {_TRIGGER} }} }}", first=first)["triggers"]
        return [_trigger(one) for one in found]

    def trigger(self: _Asks, name: str, *, first: int = 10) -> Trigger:
        """Return a trigger by its name or id.

        Raises:
            NotFoundError: there is no such trigger.
        """
        document = f"query ($name: String!, $first: Int!) {{ trigger(name: $name) {{ {_TRIGGER} }} }}"
        found = self.execute(document, name=name, first=first)["trigger"]
        if found is None:
            raise NotFoundError(f"There is no trigger {name!r}.", hint="client.triggers() lists them.")
        return _trigger(found)

    def create_trigger(self: _Asks, definition: Mapping[str, Any]) -> Trigger:
        """Create a trigger of {name, when, do, limits}, as docs/guide/triggers.md describes. Its owner is the holder of the key."""
        document = f"mutation ($definition: JSON!, $first: Int!) {{ createTrigger(definition: $definition) {{ {_TRIGGER} }} }}"
        return _trigger(self.execute(document, definition=dict(definition), first=1)["createTrigger"])

    def fire_trigger(self: _Asks, name: str, *, key: str | None = None) -> TriggerCause:
        """Fire a trigger by hand. Calls with the same `key` fire it once."""
        document = f"mutation ($name: String!, $key: String) {{ fireTrigger(name: $name, key: $key) {{ {_CAUSE} }} }}"
        return _cause(self.execute(document, name=name, key=key)["fireTrigger"])

    def pause_trigger(self: _Asks, name: str, *, reason: str | None = None) -> Trigger:
        """Pause a trigger. Events before it is resumed never fire it."""
        arguments = "$name: String!, $reason: String, $first: Int!"
        document = f"mutation ({arguments}) {{ pauseTrigger(name: $name, reason: $reason) {{ {_TRIGGER} }} }}"
        return _trigger(self.execute(document, name=name, reason=reason, first=1)["pauseTrigger"])

    def resume_trigger(self: _Asks, name: str) -> Trigger:
        """Start a paused or stopped trigger again. The holder of the key becomes its owner."""
        document = f"mutation ($name: String!, $first: Int!) {{ resumeTrigger(name: $name) {{ {_TRIGGER} }} }}"
        return _trigger(self.execute(document, name=name, first=1)["resumeTrigger"])

    def remove_trigger(self: _Asks, name: str) -> None:
        self.execute("mutation ($name: String!) { removeTrigger(name: $name) { id } }", name=name)

    def test_trigger(
        self: _Asks, *, since: str, until: str | None = None, name: str | None = None, definition: Mapping[str, Any] | None = None
    ) -> list[TriggerCause]:
        """Return the causes that a trigger or a definition would have had between two times (ISO 8601)."""
        arguments = "$since: String!, $until: String, $name: String, $definition: JSON"
        given = "since: $since, until: $until, name: $name, definition: $definition"
        document = f"query ({arguments}) {{ testTrigger({given}) {{ causes {{ {_CAUSE} }} }} }}"
        stated = dict(definition) if definition is not None else None
        found = self.execute(document, since=since, until=until, name=name, definition=stated)["testTrigger"]
        return [_cause(one) for one in found["causes"]]


class AsyncTriggerRequests:
    """The methods of `AsyncClient` for triggers. Each calls the method of `Client` on a thread."""

    _client: Any

    async def triggers(self, *, first: int = 10) -> list[Trigger]:
        return await asyncio.to_thread(TriggerRequests.triggers, self._client, first=first)

    async def trigger(self, name: str, *, first: int = 10) -> Trigger:
        return await asyncio.to_thread(TriggerRequests.trigger, self._client, name, first=first)

    async def create_trigger(self, definition: Mapping[str, Any]) -> Trigger:
        return await asyncio.to_thread(TriggerRequests.create_trigger, self._client, definition)

    async def fire_trigger(self, name: str, *, key: str | None = None) -> TriggerCause:
        return await asyncio.to_thread(TriggerRequests.fire_trigger, self._client, name, key=key)

    async def pause_trigger(self, name: str, *, reason: str | None = None) -> Trigger:
        return await asyncio.to_thread(TriggerRequests.pause_trigger, self._client, name, reason=reason)

    async def resume_trigger(self, name: str) -> Trigger:
        return await asyncio.to_thread(TriggerRequests.resume_trigger, self._client, name)

    async def remove_trigger(self, name: str) -> None:
        await asyncio.to_thread(TriggerRequests.remove_trigger, self._client, name)

    async def test_trigger(self, **asked: Any) -> list[TriggerCause]:
        return await asyncio.to_thread(TriggerRequests.test_trigger, self._client, **asked)


def _cause(found: Mapping[str, Any]) -> TriggerCause:
    execution = found["execution"]
    made = TriggerExecution(
        execution["id"], execution["state"], execution["attempts"], execution["createdAt"], execution["startedAt"], execution["endedAt"],
        execution["result"], execution["error"],
    ) if execution else None  # fmt: skip
    return TriggerCause(found["id"], found["at"], found["outcome"], found["reason"], found["depth"], found["facts"], made)


def _trigger(found: Mapping[str, Any]) -> Trigger:
    return Trigger(
        found["id"], found["name"], found["state"], found["reason"], found["condition"], found["action"], found["owner"],
        found["createdAt"], found["lastFiredAt"], found["definition"], [_cause(one) for one in found["history"]],
    )  # fmt: skip
