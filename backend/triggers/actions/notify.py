"""`notify`: a short text to a webhook or to mail addresses that the operator listed. The text holds no value of a record."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from headwater.backend.targets import MailTarget, call_webhook, send_mail
from headwater.backend.triggers.actions.action import Order, Site
from headwater.backend.triggers.actions.webhook import document_of, target_of
from headwater.backend.triggers.conditions import NameLookup
from headwater.backend.triggers.conditions.condition import refuse_unknown, text_of
from headwater.backend.triggers.model import FactKind, instant
from headwater.graph.access.scopes import Scope
from headwater.graph.stores import GraphStore


class Notify:
    repeats = True  # a mail that is sent again has the same Message-ID

    async def check(self, stated: Mapping[str, Any], known: NameLookup, site: Site, tenant: str) -> Mapping[str, Any]:  # noqa: ARG002
        refuse_unknown(stated, ("target", "text"), "notify")
        targets = await asyncio.to_thread(site.targets)
        parts = {"target": targets.any(text_of(stated, "target", "notify")).name}
        return parts | ({"text": text_of(stated, "text", "notify")[:2_000]} if "text" in stated else {})

    def retry_seconds(self, parts: Mapping[str, Any], site: Site) -> float:
        return target_of(site, parts["target"]).retry_seconds

    def needs(self, parts: Mapping[str, Any]) -> frozenset[Scope]:  # noqa: ARG002
        return frozenset({Scope.REPLAY})

    def is_possible(self, parts: Mapping[str, Any], site: Site) -> bool:  # noqa: ARG002
        return True

    async def run(self, parts: Mapping[str, Any], order: Order, site: Site) -> str:
        target = await asyncio.to_thread(target_of, site, parts["target"])
        text = "\n".join([parts.get("text", f"The trigger {order.trigger} fired."), "", *map(_line, order.facts)])
        if isinstance(target, MailTarget):
            await asyncio.to_thread(partial(send_mail, target, f"Headwater: {order.trigger}", text, key=order.key))
        else:
            await asyncio.to_thread(partial(call_webhook, target, {**document_of(order), "text": text}, key=order.key))
        return f"{parts['target']} was notified"

    async def effects(self, parts: Mapping[str, Any], graph: GraphStore, tenant: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002
        return []

    def describe(self, parts: Mapping[str, Any]) -> str:
        return f"notify {parts['target']}"


def _line(fact: Any) -> str:
    return f"{instant(fact.at)}  {fact.kind}  {fact.id}"
