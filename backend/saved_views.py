"""Views that people saved: names for addresses of the page, private or shared with everybody who may read everything.

A shared address names nodes. A caller who may read some namespaces only therefore sees only the views that he saved himself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from headwater.backend.tables import Connection, Database
from headwater.errors import InvalidInputError, NotFoundError
from headwater.graph.access.scopes import Scope
from headwater.graph.model.stated_texts import find_fault
from headwater.graphql.services import SavedViewDocument

_LONGEST_NAME = 120
_LONGEST_LOCATION = 8_000
_MOST = 500  # views of one owner
_SHOWN = 1_000  # shared views that are listed
_COLUMNS = "id, name, location, shared, owner, author, created, changed"


@dataclass(frozen=True, slots=True)
class Holder:
    """A caller: `id` owns views, and `name` is for people. `sees_all`: the caller may read all namespaces. `is_admin` removes any view."""

    id: str
    name: str
    sees_all: bool
    is_admin: bool


class CallersViews:
    """The saved views with the rights of one caller. `tables` opens the database; without `create`, it may return None."""

    def __init__(self, tables: Callable[[bool], Database | None], holder: Holder, require: Callable[[Scope], None]) -> None:
        self._tables = tables
        self._holder = holder
        self._require = require

    async def save(self, tenant: str, name: str, location: str, *, shared: bool, replace: bool = False) -> SavedViewDocument:
        """Save a view under a name. Only with `replace`, the view takes the place of another view of the caller with this name."""
        if shared:
            self._require(Scope.DECLARE)
        _check_name(name)
        _check_location(location)
        return await asyncio.to_thread(self._save, tenant, name, location, shared, replace)

    async def change(self, tenant: str, identifier: str, *, name: str | None, shared: bool | None) -> SavedViewDocument:
        """Rename a view of the caller, or share it or stop sharing it."""
        if shared:
            self._require(Scope.DECLARE)
        if name is not None:
            _check_name(name)
        return await asyncio.to_thread(self._change, tenant, identifier, name, shared)

    async def remove(self, tenant: str, identifier: str) -> SavedViewDocument:
        """Remove a view of the caller. An administrator also removes shared views of others."""
        return await asyncio.to_thread(self._remove, tenant, identifier)

    async def list(self, tenant: str) -> Sequence[SavedViewDocument]:
        return await asyncio.to_thread(self._listed, tenant)

    def _listed(self, tenant: str) -> Sequence[SavedViewDocument]:
        database = self._tables(False)
        if database is None:
            return []
        rows = database.ask(
            f"SELECT {_COLUMNS} FROM saved_view WHERE tenant = :tenant AND (owner = :owner OR (shared = 1 AND :all = 1))"
            " ORDER BY CASE WHEN owner = :owner THEN 0 ELSE 1 END, lower(name), name, id LIMIT :most",
            tenant=tenant, owner=self._holder.id, all=int(self._holder.sees_all), most=_MOST + _SHOWN,
        )  # fmt: skip
        return [self._document(row) for row in rows]

    def _save(self, tenant: str, name: str, location: str, shared: bool, replace: bool) -> SavedViewDocument:
        with self._made().transaction() as connection:
            owned = {"tenant": tenant, "owner": self._holder.id}
            rows = connection.run("SELECT name FROM saved_view WHERE tenant = :tenant AND owner = :owner", **owned)
            if len(rows) >= _MOST and name not in {row[0] for row in rows}:
                raise InvalidInputError(f"You have {_MOST} saved views.", field="name", hint="Remove one first.")
            rows = connection.run(
                "INSERT INTO saved_view (id, tenant, name, location, shared, owner, author, created, changed)"
                " VALUES (:id, :tenant, :name, :location, :shared, :owner, :author, :now, :now)"
                " ON CONFLICT (tenant, owner, name) DO UPDATE SET location = excluded.location, shared = excluded.shared,"
                " changed = excluded.changed, author = excluded.author WHERE :replace = 1 RETURNING id",
                id=uuid4().hex, name=name, location=location, shared=int(shared), author=self._holder.name, now=connection.now(),
                replace=int(replace), **owned,
            )  # fmt: skip
            if not rows:
                raise InvalidInputError(f"You have a view {name!r} already.", field="name", hint="Choose another name, or replace it.")
            return self._known(connection, tenant, rows[0][0])

    def _change(self, tenant: str, identifier: str, name: str | None, shared: bool | None) -> SavedViewDocument:
        with self._made().transaction() as connection:
            found = self._known(connection, tenant, identifier)
            if not found["mine"]:
                raise _unknown(identifier)
            wanted = found["name"] if name is None else name
            if connection.run(
                "SELECT 1 FROM saved_view WHERE tenant = :tenant AND owner = :owner AND name = :name AND id <> :id",
                tenant=tenant, owner=self._holder.id, name=wanted, id=identifier,
            ):  # fmt: skip
                raise InvalidInputError(f"You have another view {wanted!r}.", field="name", hint="Choose another name.")
            connection.run(
                "UPDATE saved_view SET name = :name, shared = :shared, changed = :now WHERE id = :id",
                name=wanted, shared=int(found["shared"] if shared is None else shared), now=connection.now(), id=identifier,
            )  # fmt: skip
            return self._known(connection, tenant, identifier)

    def _remove(self, tenant: str, identifier: str) -> SavedViewDocument:
        with self._made().transaction() as connection:
            found = self._known(connection, tenant, identifier)
            if not found["mine"] and not (self._holder.is_admin and found["shared"]):
                raise _unknown(identifier)
            connection.run("DELETE FROM saved_view WHERE id = :id", id=identifier)
            return found

    def _known(self, connection: Connection, tenant: str, identifier: str) -> SavedViewDocument:
        """Return a view that the caller may see.

        Raises:
            NotFoundError: there is none. Views of others that are not shared are answered in the same way.
        """
        rows = connection.run(f"SELECT {_COLUMNS} FROM saved_view WHERE tenant = :tenant AND id = :id", tenant=tenant, id=identifier)
        found = self._document(rows[0]) if rows else None
        if found is None or not (found["mine"] or (found["shared"] and self._holder.sees_all)):
            raise _unknown(identifier)
        return found

    def _made(self) -> Database:
        database = self._tables(True)
        assert database is not None  # noqa: S101 - it was made
        return database

    def _document(self, row: Sequence[Any]) -> SavedViewDocument:
        identifier, name, location, shared, owner, author, created, changed = row
        return {
            "id": identifier, "name": name, "location": location, "shared": bool(shared), "owner": author, "mine": owner == self._holder.id,
            "created_at": _instant(created), "changed_at": _instant(changed),
        }  # fmt: skip


def _check_name(name: str) -> None:
    if (fault := find_fault(name, _LONGEST_NAME)) is not None:
        raise InvalidInputError(f"The name of a view is invalid: {fault}.", field="name", hint="Choose another name.")


def _check_location(location: str) -> None:
    """Check that an address lies within the page. A link to another site must never be saved under a name that people trust."""
    if (fault := find_fault(location, _LONGEST_LOCATION)) is not None:
        raise InvalidInputError(f"The address of a view is invalid: {fault}.", field="location", hint="Save the address of the page.")
    if not location.startswith("/") or location.startswith("//") or "\\" in location:
        raise InvalidInputError("The address is not one of the page.", field="location", hint="It begins with a single /.")


def _unknown(identifier: str) -> NotFoundError:
    return NotFoundError(f"There is no saved view {identifier[:80]!r}.", hint="savedViews lists those that you may use.")


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
