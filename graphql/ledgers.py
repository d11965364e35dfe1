"""A run's ledger in the schema: which operators were captured, and what is missing."""

from __future__ import annotations

import strawberry

from headwater.graph import ledger


@strawberry.type(description="Something that is not known of a run, or not exactly. `kind`: refused, superset, missing, influence, fault.")
class Problem:
    """A problem of capture. `operator` is an operator, a dataset or a part of the run."""

    operator: str | None
    reason: str
    kind: str


@strawberry.type(
    description="What was captured of a run, and what is missing. `status` is complete, partial, refused, failed or unknown (nobody said)."
    " A key that is restricted to namespaces is told no problems."
)
class Ledger:
    """The ledger of a run. `rows` and `bytes` count written associations. `recaptured` is the time at which a second run found them."""

    status: str
    mode: str | None
    problems: list[Problem]
    rows: float | None
    bytes: float | None
    recaptured: str | None

    @classmethod
    def of(cls, found: ledger.Ledger) -> Ledger:
        problems = [Problem(operator=one.operator, reason=one.reason, kind=one.kind) for one in found.problems]
        return cls(status=found.status, mode=found.mode, problems=problems, rows=found.rows, bytes=found.bytes, recaptured=found.recaptured)
