"""Looks up the names in a trigger when it is created."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headwater.backend.policies import Policies
from headwater.backend.triggers.store import TriggerStore
from headwater.errors import InvalidInputError, InvalidQueryError, NotFoundError
from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.names import nodes_named
from headwater.graph.records import AssociationStore
from headwater.graph.stores import GraphStore

_SHOWN = 20  # rules in a hint
_HINT = "`headwater lineage` shows the names. To name one that no run has used yet, give its id: {}."


class Names:
    def __init__(
        self, store: TriggerStore, graph: GraphStore, records: AssociationStore, tenant: str, policies: Callable[[], Policies]
    ) -> None:
        self._store = store
        self._graph = graph
        self._records = records
        self._tenant = tenant
        self._policies = policies

    async def dataset(self, text: str, field: str) -> str:
        found = await nodes_named(self._graph, self._tenant, text, (NodeKind.DATASET,))
        if len(found) > 1:
            raise InvalidQueryError(f"{text} names {', '.join(node.id for node in found)}.", field=field, hint="Give the id of one.")
        if found:
            return found[0].id
        if _is_id(text, NodeKind.DATASET):
            return text
        raise InvalidQueryError(f"No dataset is named {text}.", field=field, hint=_HINT.format("dataset:NAMESPACE:NAME, percent-encoded"))

    async def jobs(self, text: str, field: str) -> Sequence[str]:
        found = await nodes_named(self._graph, self._tenant, text, (NodeKind.JOB, NodeKind.PIPELINE))
        if len(found) > 1:
            raise InvalidQueryError(f"{text} names {', '.join(node.id for node in found)}.", field=field, hint="Give the id of one.")
        identifier = found[0].id if found else text
        for kind in (NodeKind.JOB, NodeKind.PIPELINE):
            if _is_id(identifier, kind):
                return [node_id(NodeKind.JOB, *parse_id(identifier)[1])]
        raise InvalidQueryError(f"No job is named {text}.", field=field, hint=_HINT.format("job:NAMESPACE:NAME, percent-encoded"))

    async def check_predicate(self, dataset: str, where: str) -> None:
        from headwater.backend.triggers.new_rows import check_predicate  # loads DuckDB

        await check_predicate(self._graph, self._records, self._tenant, dataset, where)

    async def trigger(self, name: str, field: str) -> str:
        try:
            return self._store.definitions.get(self._tenant, name).id
        except NotFoundError as error:
            raise InvalidInputError(error.message, field=field, hint="Create that trigger first.") from None

    async def policy(self, name: str, rule: str | None) -> None:
        policies = self._policies()
        try:
            rules = await policies.rules(self._tenant, name)
        except NotFoundError as error:
            raise InvalidInputError(error.message, field="deviation.policy", hint="Apply the policy first.") from None
        finally:
            await policies.close()
        if rule is not None and rule not in rules:
            raise InvalidInputError(
                f"The policy {name} has no rule {rule!r}.", field="deviation.rule", hint=f"Its rules are {', '.join(rules[:_SHOWN])}."
            )


def _is_id(text: str, kind: NodeKind) -> bool:
    try:
        return text.startswith(f"{kind}:") and node_id(kind, *parse_id(text)[1]) == text
    except (InvalidInputError, ValueError):
        return False
