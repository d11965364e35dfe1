"""Erasures in the schema: what was erased, and the certificates. Only a command on the home can erase."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry.scalars import JSON

from headwater.graph.access.scopes import Scope
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.root_fields import query
from headwater.graphql.services import ErasureView, available
from headwater.graphql.types import Info


@strawberry.type(description="An erasure of records and of all that derives from them. Its certificate has no value of a record.")
class Erasure:
    """An erasure. `records` counts the chosen records. `certificate` is null while the erasure is not over, or if it was reverted."""

    id: strawberry.ID
    state: str
    source: strawberry.ID
    records: int
    by: str
    reason: str | None
    began: str
    ended: str | None
    certificate: JSON | None

    @classmethod
    def of(cls, view: ErasureView) -> Erasure:
        certificate = None if view.certificate is None else JSON(dict(view.certificate))
        return cls(
            id=strawberry.ID(view.id), state=view.state, source=strawberry.ID(view.source), records=view.records, by=view.by,
            reason=view.reason, began=view.began, ended=view.ended, certificate=certificate,
        )  # fmt: skip


@strawberry.type
class ErasureQuery:
    @query("The latest erasures of this home, newest first, with their certificates.", scope=Scope.AUDIT, costly=False)
    async def erasures(self, info: Info, first: int = 20) -> list[Erasure]:
        size = bounded(first, "first", low=1, high=MAX_PAGE)
        erasures = available(info.context.services.erasures, "Erasures")
        return [Erasure.of(view) for view in await erasures.list(info.context.tenant, size)]
