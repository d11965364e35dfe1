"""`headwater admin`: keys, roles, tenants, people and the audit log, of a home or of the service in HEADWATER_URL."""

from __future__ import annotations

from typing import Any

import typer

from headwater.backend.cli import audit, keys
from headwater.backend.cli.admin_client import told_of
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.graph.access.scopes import ROLES

app = typer.Typer(
    cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Administer keys, roles, tenants and people, and read the audit log."
)
app.add_typer(keys.app, name="keys")


@app.callback()
def _group() -> None:
    """Administer keys, roles, tenants and people, and read the audit log.

    The command administers a home. If HEADWATER_URL names a service and no home is named, the command asks the
    service, with a key that has the scope `admin` (for `audit`: `audit`). The service shows the tenant of that key
    only. The page has the same, under Administration.
    """


@app.command()
def roles(format: OutputFormat = Format.TABLE) -> None:
    """List the roles: named sets of what a key, or a person, may do.

    Example: headwater admin roles
    """
    rows = [{"role": name, "may": _listed(sorted(scopes), format)} for name, scopes in ROLES.items()]
    emit(rows, columns=("role", "may"), format=format)


@app.command()
def tenants(format: OutputFormat = Format.TABLE, home: Home = None) -> None:
    """List the tenants that have a key, a grant or data roots, with how many valid keys and grants each has.

    Example: headwater admin tenants
    """
    rows = [{"tenant": one["name"], "keys": one["keys"], "grants": one["grants"]} for one in told_of(home, "tenants", "name keys grants")]
    emit(rows, columns=("tenant", "keys", "grants"), format=format)


@app.command()
def people(format: OutputFormat = Format.TABLE, home: Home = None) -> None:
    """List the rights of people who sign in at an issuer: the rules of `people.toml`, which the operator writes.

    Example: headwater admin people

    """
    found = told_of(home, "people", "issuer fault grants { claim value tenant scopes }")
    if found["fault"]:
        note(f"Nobody can sign in: {found['fault']}", label="warning")
    elif found["issuer"]:
        note(f"People sign in at {found['issuer']}.")
    rows = [
        {"claim": ".".join(grant["claim"]), "value": grant["value"], "tenant": grant["tenant"], "may": _listed(grant["scopes"], format)}
        for grant in found["grants"]
    ]
    emit(rows, columns=("claim", "value", "tenant", "may"), format=format, empty="Nothing is granted to people: there is no people.toml.")


app.command("audit")(audit.audit)


def _listed(scopes: list[str], format: Format) -> Any:
    return scopes if format is Format.JSON else " ".join(scopes)
