"""Saved views in the schema: names for addresses of the page."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry import UNSET

from headwater.graph.access.scopes import Scope
from headwater.graphql.root_fields import mutation, query
from headwater.graphql.services import SavedViewDocument, available
from headwater.graphql.types import Info


@strawberry.type(description="A name for an address of the page. `mine`: the caller saved it. `shared`: all readers see it.")
class SavedView:
    """A saved view. `location` is the address within the page, and `owner` is the person who saved it."""

    id: strawberry.ID
    name: str
    location: str
    shared: bool
    mine: bool
    owner: str
    created_at: str
    changed_at: str

    @classmethod
    def of(cls, found: SavedViewDocument) -> SavedView:
        return cls(
            id=strawberry.ID(found["id"]), name=found["name"], location=found["location"], shared=found["shared"], mine=found["mine"],
            owner=found["owner"], created_at=found["created_at"], changed_at=found["changed_at"],
        )  # fmt: skip


@strawberry.type
class SavedViewQuery:
    @query("The views that the caller saved, and those that others share, by name.", scope=Scope.READ, costly=False, in_namespaces=True)
    async def saved_views(self, info: Info) -> list[SavedView]:
        views = available(info.context.services.saved_views, "Saved views")
        return [SavedView.of(one) for one in await views.list(info.context.tenant)]


@strawberry.type
class SavedViewMutation:
    @mutation(
        "Save an address of the page under a name. Sharing needs the scope `declare`. Without `replace`, a name that you use is refused.",
        scope=Scope.READ,
        costly=False,
        in_namespaces=True,
    )
    async def save_view(self, info: Info, name: str, location: str, shared: bool = False, replace: bool = False) -> SavedView:
        """Save a view. A view of the caller with the same name is replaced only if `replace` is true; otherwise the name is refused."""
        views = available(info.context.services.saved_views, "Saved views")
        async with info.context.audited("view.save", name[:200], changes=True):
            return SavedView.of(await views.save(info.context.tenant, name, location, shared=shared, replace=replace))

    @mutation("Rename a view that you saved, or share it or not.", scope=Scope.READ, costly=False, in_namespaces=True)
    async def change_view(self, info: Info, id: strawberry.ID, name: str | None = UNSET, shared: bool | None = UNSET) -> SavedView:
        views = available(info.context.services.saved_views, "Saved views")
        async with info.context.audited("view.change", id, changes=True):
            found = await views.change(
                info.context.tenant, id, name=None if name is UNSET else name, shared=None if shared is UNSET else shared
            )
        return SavedView.of(found)

    @mutation("Remove a view that you saved.", scope=Scope.READ, costly=False, in_namespaces=True)
    async def remove_view(self, info: Info, id: strawberry.ID) -> SavedView:
        views = available(info.context.services.saved_views, "Saved views")
        async with info.context.audited("view.remove", id, changes=True):
            return SavedView.of(await views.remove(info.context.tenant, id))
