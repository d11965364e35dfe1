"""The registered programs, which replays may run, in the schema.

Only the program itself or an operator can register a program, on the home. No GraphQL field can. The command line, the folder and the
variables of a program may contain secrets, so they are not shown.
"""

from __future__ import annotations

import strawberry

from headwater.graph.model import NodeKind, node_id
from headwater.graphql.services import RegistrationView


@strawberry.type(description="A program that replays may run: for every run of its job where an operator registered it, else for its own.")
class Registration:
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
