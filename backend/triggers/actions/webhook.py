"""`webhook`: a signed request to a webhook that the operator listed, with the cause as JSON. The request holds no value of a record."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from headwater.backend.targets import MailTarget, WebhookTarget, call_webhook
from headwater.backend.triggers.actions.action import PARENT, Order, Site
from headwater.backend.triggers.conditions import NameLookup
from headwater.backend.triggers.conditions.condition import refuse_unknown, text_of
from headwater.backend.triggers.model import FactKind, instant
from headwater.errors import ConfigurationError, NotFoundError, UnavailableError
from headwater.graph.access.scopes import Scope
from headwater.graph.stores import GraphStore


class Webhook:
    repeats = True  # with the same Idempotency-Key

    async def check(self, stated: Mapping[str, Any], known: NameLookup, site: Site, tenant: str) -> Mapping[str, Any]:  # noqa: ARG002
        refuse_unknown(stated, ("target",), "webhook")
        target = await asyncio.to_thread(site.targets)
        return {"target": target.webhook(text_of(stated, "target", "webhook")).name}

    def retry_seconds(self, parts: Mapping[str, Any], site: Site) -> float:
        return target_of(site, parts["target"]).retry_seconds

    def needs(self, parts: Mapping[str, Any]) -> frozenset[Scope]:  # noqa: ARG002
        return frozenset({Scope.REPLAY})

    def is_possible(self, parts: Mapping[str, Any], site: Site) -> bool:  # noqa: ARG002
        return True

    async def run(self, parts: Mapping[str, Any], order: Order, site: Site) -> str:
        target = await asyncio.to_thread(webhook_of, site, parts["target"])
        send = partial(call_webhook, target, document_of(order), key=order.key)
        return f"the webhook {parts['target']} answered {await asyncio.to_thread(send)}"

    async def effects(self, parts: Mapping[str, Any], graph: GraphStore, tenant: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002
        return []

    def describe(self, parts: Mapping[str, Any]) -> str:
        return f"call the webhook {parts['target']}"


def target_of(site: Site, name: str) -> WebhookTarget | MailTarget:
    """Return a target for a delivery.

    Raises:
        UnavailableError: the list of targets is invalid at the moment. The operator may be writing it.
        NotFoundError: the operator removed the target.
    """
    try:
        return site.targets().any(name)
    except ConfigurationError as error:
        raise UnavailableError(error.message, hint=f"{error.hint} The delivery waits for it.") from error


def webhook_of(site: Site, name: str) -> WebhookTarget:
    """Return a webhook for a delivery. Raises like `target_of`."""
    target = target_of(site, name)
    if isinstance(target, MailTarget):
        raise NotFoundError(f"There is no webhook {name!r}.", hint="The target with this name is for mail.")
    return target


def document_of(order: Order) -> dict[str, Any]:
    """Return an execution as the JSON document for a receiver.

    A scheduler that starts a run for the execution states `parent` as the parent of the run. The chain of causes then includes the run.
    """
    return {
        "execution": order.key, "trigger": order.trigger, "tenant": order.tenant, "cause": order.cause, "depth": order.depth,
        "attempt": order.attempt, "parent": {"namespace": PARENT, "name": order.trigger, "runId": order.key},
        "facts": [
            {"kind": str(fact.kind), "subject": fact.subject, "id": fact.id, "at": instant(fact.at), "run": fact.run, **fact.details}
            for fact in order.facts
        ],
    }  # fmt: skip
