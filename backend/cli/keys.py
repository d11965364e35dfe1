"""`headwater admin keys`: named keys for people and programs other than the owner of a home."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from headwater.backend.access.keys import NamedKey
from headwater.backend.cli.admin_client import keys_of
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.errors import InvalidQueryError
from headwater.graph.access.rights import rights_of
from headwater.graph.access.scopes import ROLES, Scope

app = typer.Typer(cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Give others a key to the service, and take it back.")
_COLUMNS = ("name", "id", "tenant", "may", "state", "created", "expires", "used")
_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0}
Name = Annotated[str, typer.Argument(metavar="NAME", help="Who holds the key: a person, a program.")]
Tenant = Annotated[str | None, typer.Option(help="Whose key is meant, where several tenants have one of that name.", show_default=False)]
Expires = Annotated[
    str | None,
    typer.Option("--expires", metavar="TIME", help="How long it is valid, as 90d or 12h; for ever if not given.", show_default=False),
]


@app.callback()
def _group() -> None:
    """Give others a key to the service, or revoke it.

    The change takes effect at once, without a restart of the service.

    The home's own key (its file `key`) may do everything, and stays with its owner.
    """


@app.command()
def create(
    name: Name,
    role: Annotated[
        list[str] | None, typer.Option("--role", help=f"What it may: {', '.join(ROLES)}; repeatable.", show_default=False)
    ] = None,
    may: Annotated[
        list[str] | None,
        typer.Option("--may", metavar="SCOPE", help=f"One thing more: {', '.join(Scope)}; repeatable.", show_default=False),
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(
            help="Whose data it sees and sends; tenants know nothing of each other.", show_default="default, or your own at a service"
        ),
    ] = None,
    expires: Expires = None,
    home: Home = None,
) -> None:
    """Make a key, and print it. The key itself is not stored, so a lost key cannot be shown again.

    Roles: viewer reads the graph. analyst also records and exports. steward also declares. engineer also replays.
    investigator is an analyst who sees masked columns. producer sends events and captures. operator reads measures.
    auditor reads the graph and the audit log. admin also makes and revokes keys of the tenant, with any of its
    rights.

    A role or scope with a pattern of namespaces is limited to these: viewer:s3://sales*, intake:airflow-*. `*` stands
    for any letters, `?` for one, and a backslash before a letter for that letter. Repeat the option for several
    patterns.

    Example: headwater admin keys create airflow --role producer --expires 90d
    """
    rights = rights_of(role or (), may or (), _unknown)
    _show(*keys_of(home, make=True).create(name, rights, tenant=tenant, expires=_time(expires)))


@app.command()
def rotate(
    name: Name,
    overlap: Annotated[str, typer.Option(metavar="TIME", help="How long the old key stays valid, as 7d or 12h; 0m ends it now.")] = "7d",
    expires: Expires = None,
    tenant: Tenant = None,
    home: Home = None,
) -> None:
    """Make a new key with the rights of an old one, which stays valid for a while.

    Example: headwater admin keys rotate airflow --overlap 1d

    """
    _show(*keys_of(home).rotate(name, overlap=_seconds(overlap, "overlap"), expires=_time(expires), tenant=tenant))


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name, or the id of one key.")], tenant: Tenant = None, home: Home = None
) -> None:
    """Revoke all keys of a name, or the one with an id. Sessions of the page that were opened with them end, too.

    Example: headwater admin keys revoke airflow

    """
    count = keys_of(home).revoke(name, tenant=tenant)
    note(f"Revoked {count} key{'s' if count > 1 else ''}.")


@app.command("list")
def list_keys(format: OutputFormat = Format.TABLE, home: Home = None) -> None:
    """List present and past keys. The secret part of a key is not stored and cannot be shown.

    Example: headwater admin keys list

    """
    now = time.time()
    rows = [_row(key, now, format) for key in keys_of(home).listed()]
    emit(rows, columns=_COLUMNS, format=format, empty="There are no named keys. Make one: headwater admin keys create NAME --role analyst")


def _show(key: NamedKey, text: str) -> None:
    until = f" until {_instant(key.expires)}" if key.expires else ""
    note(f"The key {key.name} ({key.id}) of the tenant {key.tenant} may {', '.join(key.rights.texts())}{until}. It is shown this once:")
    typer.echo(text)


def _row(key: NamedKey, now: float, format: Format) -> dict[str, Any]:
    may: Any = key.rights.texts()
    return {
        "name": key.name,
        "id": key.id,
        "tenant": key.tenant,
        "may": may if format is Format.JSON else " ".join(may),
        "state": key.state(now),
        "created": _instant(key.created),
        "expires": _instant(key.expires),
        "used": _instant(key.used),
    }


def _instant(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _unknown(what: str, name: str) -> InvalidQueryError:
    field, there = ("role", list(ROLES)) if what == "roles" else ("may", [*Scope])
    return InvalidQueryError(f"There is no {what.removesuffix('s')} {name!r}.", field=field, hint=f"There are {', '.join(there)}.")


def _time(text: str | None) -> float | None:
    return None if text is None else time.time() + _seconds(text, "expires")


def _seconds(text: str, field: str) -> float:
    stated = re.fullmatch(r"(\d{1,6})([mhd])", text)
    if stated is None:
        raise InvalidQueryError(f"{text!r} is no length of time.", field=field, hint="Write it as 90d, 12h or 30m.")
    return int(stated[1]) * _UNITS[stated[2]]
