"""The triggers with the rights of one caller. This is the service behind the GraphQL schema, and behind the command line on a home."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from headwater.backend.home.quick_settings import HomeSettings
from headwater.backend.triggers.actions import Site
from headwater.backend.triggers.document import definition_document, entry_document, trigger_document
from headwater.backend.triggers.service import Entry, Triggers
from headwater.backend.triggers.store import TriggerStore, has_store, open_store
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.access.scopes import Scope

_VALUES = ("where", "set")  # parts of a definition that may contain values of records


class StoreOnDemand:
    """Opens the trigger store at its first use. A home without triggers has no store. Thread-safe."""

    def __init__(self, settings: HomeSettings) -> None:
        self._settings = settings
        self._lock = Lock()
        self._store: TriggerStore | None = None

    def get(self, *, create: bool) -> TriggerStore | None:
        """Return the store, or None if it does not exist and `create` is false."""
        with self._lock:
            if self._store is None and (create or has_store(self._settings)):
                self._store = open_store(self._settings)
            return self._store

    def close(self) -> None:
        with self._lock:
            if self._store is not None:
                self._store.close()


class CallersTriggers:
    """Implements the schema's `TriggerService` for one caller.

    `owner` describes the caller as an owner of triggers. `require` raises an error if the caller lacks a scope. If `tells_values` is false,
    answers have no predicates. `audit` records each change that the schema does not audit itself.
    """

    def __init__(
        self, stores: StoreOnDemand, site: Site, owner: Callable[[], Mapping[str, Any]], *, require: Callable[[Scope], None],
        tells_values: bool, audit: Callable[[str, str], None] = lambda *_: None,
    ) -> None:  # fmt: skip
        self._stores = stores
        self._site = site
        self._owner = owner
        self._require = require
        self._tells_values = tells_values
        self._audit = audit

    async def list(self, tenant: str) -> Sequence[dict[str, Any]]:
        triggers = await self._triggers()
        found = await triggers.all(tenant) if triggers is not None else []
        return [trigger_document(one, has_values=self._tells_values) for one in found]

    async def get(self, tenant: str, name: str) -> dict[str, Any] | None:
        try:
            found = await (await self._known(name)).get(tenant, name)
        except NotFoundError:
            return None
        return trigger_document(found, has_values=self._tells_values)

    async def history(self, tenant: str, name: str, *, first: int, before: str | None) -> Sequence[dict[str, Any]]:
        triggers = await self._known(name)
        trigger = await triggers.get(tenant, name)
        entries = await triggers.history(trigger, first=first, before=parse_time(before, "before") if before else None)
        return [entry_document(entry, has_values=self._tells_values) for entry in entries]

    async def create(self, tenant: str, definition: Mapping[str, Any]) -> dict[str, Any]:
        self._check_values(definition)
        triggers = await self._made()
        await self._note("trigger.create", str(definition.get("name")))
        return trigger_document(await triggers.create(tenant, definition, self._owner()), has_values=self._tells_values)

    async def fire(self, tenant: str, name: str, *, key: str | None, parent: str | None = None) -> dict[str, Any]:
        """Fire a trigger by hand (see `TriggerService`). `parent` is the execution whose action asks for it, if any."""
        triggers = await self._known(name)
        await self._note("trigger.fire_by_hand", name)
        cause = await triggers.fire(tenant, name, key=key, by=str(self._owner().get("name")), parent=parent)
        execution = await triggers.execution(tenant, cause.execution) if cause.execution else None
        return entry_document(Entry(cause, execution), has_values=self._tells_values)

    async def pause(self, tenant: str, name: str, reason: str | None) -> dict[str, Any]:
        triggers = await self._known(name)
        await self._note("trigger.pause", name)
        return trigger_document(await triggers.pause(tenant, name, reason=reason), has_values=self._tells_values)

    async def resume(self, tenant: str, name: str) -> dict[str, Any]:
        """Resume a trigger (see `TriggerService`). A caller who may not see values cannot own a trigger with a predicate."""
        triggers = await self._known(name)
        self._check_values(trigger_document(await triggers.get(tenant, name))["definition"])
        await self._note("trigger.resume", name)
        return trigger_document(await triggers.resume(tenant, name, self._owner()), has_values=self._tells_values)

    async def remove(self, tenant: str, name: str) -> dict[str, Any]:
        triggers = await self._known(name)
        await self._note("trigger.remove", name)
        return trigger_document(await triggers.remove(tenant, name), has_values=self._tells_values)

    async def test(
        self, tenant: str, *, since: str, until: str | None, name: str | None, definition: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if definition is not None:
            self._check_values(definition)
        triggers = await self._made()
        for tested in await triggers.tested(tenant, name=name, document=definition):
            self._check_values(definition_document(tested))
        begin, end = parse_time(since, "since"), parse_time(until, "until") if until else time.time()
        found = await triggers.test(tenant, since=begin, until=end, name=name, document=definition)
        causes = [entry_document(Entry(cause, None), has_values=self._tells_values) for cause in found.causes]
        return {"causes": causes, "entries": found.entries, "notes": list(found.notes)}

    async def targets(self) -> dict[str, str]:
        found = await asyncio.to_thread(self._site.targets)
        return {**dict.fromkeys(found.webhooks, "webhook"), **dict.fromkeys(found.mails, "mail")}

    def _check_values(self, definition: Mapping[str, Any]) -> None:
        if _has_values(definition):
            self._require(Scope.RECORDS)
            if not self._tells_values:  # columns are masked for the caller
                self._require(Scope.UNMASKED)

    async def _triggers(self) -> Triggers | None:
        store = await asyncio.to_thread(lambda: self._stores.get(create=False))
        return Triggers(store, self._site) if store is not None else None

    async def _known(self, name: str) -> Triggers:
        triggers = await self._triggers()
        if triggers is None:
            raise NotFoundError(f"There is no trigger {name!r}.", hint="`headwater triggers list` names them.")
        return triggers

    async def _made(self) -> Triggers:
        store = await asyncio.to_thread(lambda: self._stores.get(create=True))
        assert store is not None  # noqa: S101 - it was made
        return Triggers(store, self._site)

    async def _note(self, operation: str, name: str) -> None:
        await asyncio.to_thread(self._audit, operation, name)


def parse_time(text: str, field: str) -> float:
    """Parse a time as seconds since 1970. A time without a zone is in UTC.

    Raises:
        InvalidQueryError: the text is not a time.
    """
    try:
        stated = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidQueryError(f"{text!r} is not a time.", field=field, hint="Write it as 2026-02-28 or 2026-02-28T06:00:00Z.") from None
    return (stated if stated.tzinfo else stated.replace(tzinfo=UTC)).timestamp()


def _has_values(stated: Any) -> bool:
    if isinstance(stated, Mapping):
        return any((name in _VALUES and part is not None) or _has_values(part) for name, part in stated.items())
    return isinstance(stated, list) and any(map(_has_values, stated))
