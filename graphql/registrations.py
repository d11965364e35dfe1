"""Programs that replays may run, as the schema shows them.

They are registered on the home alone, by the program itself or by an operator; nothing here can add one. What a command line, a folder or a
variable of a program holds may be secret, so none of it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import strawberry

from headwater.errors import UnsupportedError
from headwater.graph.model import NodeKind, node_id
from headwater.graphql.types import Info


@dataclass(frozen=True, slots=True)
class RegistrationView:
    """What must be known of a registered program. `script` is the name of its file; `at` is ISO 8601 in UTC."""

    id: str
    namespace: str
    job: str
    script: str
    sha256: str
    by_operator: bool
    is_unchanged: bool
    at: str


class RegistrationService(Protocol):
    """Knows the programs of a home."""

    async def programs(self, tenant: str) -> Sequence[RegistrationView]:
        """All of a tenant, by job."""


@strawberry.type(description="A program that replays may run: for every run of its job where an operator registered it, else for its own.")
class Registration:
    """See `RegistrationView`."""

    id: strawberry.ID
    job: strawberry.ID
    namespace: str
    name: str
    script: str
    sha256: str
    by_operator: bool
    is_unchanged: bool = strawberry.field(description="Whether the script can be read and still has this hash; no other is run.")
    registered_at: str

    @classmethod
    def of(cls, view: RegistrationView) -> Registration:
        """The program as it is registered."""
        return cls(
            id=strawberry.ID(view.id),
            job=strawberry.ID(node_id(NodeKind.JOB, view.namespace, view.job)),
            namespace=view.namespace,
            name=view.job,
            script=view.script,
            sha256=view.sha256,
            by_operator=view.by_operator,
            is_unchanged=view.is_unchanged,
            registered_at=view.at,
        )


def registration_service(info: Info) -> RegistrationService:
    """Who knows the registered programs.

    Raises:
        UnsupportedError: nobody does here.
    """
    if info.context.registrations is None:
        raise UnsupportedError("Registered programs are not told here.", hint="Ask a running service, or use: headwater jobs list")
    return info.context.registrations
