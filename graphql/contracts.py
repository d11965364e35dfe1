"""Data contracts in the schema: checked against what is known, and applied as descriptions."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from headwater.errors import InvalidQueryError
from headwater.graph.access.scopes import Scope
from headwater.graph.contracts import Clause, Contract, Outcome, check_contract, read_contract, statements_of
from headwater.graphql.root_fields import mutation, query
from headwater.graphql.services import available
from headwater.graphql.types import Info

strawberry.enum(Outcome, name="ClauseOutcome", description="UNKNOWN: no run stated what the clause is about.")


@strawberry.input(description="The dataset, by name or id, of a table of a contract.")
class ContractDataset:
    table: str
    dataset: str


@strawberry.type(description="A demand of a contract. `dataset` is null if the table names no known dataset. `detail` says what was found.")
class ContractClause:
    table: str
    column: str | None
    demand: str
    outcome: Outcome
    detail: str
    dataset: strawberry.ID | None

    @classmethod
    def of(cls, clause: Clause) -> ContractClause:
        return cls(
            table=clause.table, column=clause.column, demand=clause.demand, outcome=clause.outcome, detail=clause.detail,
            dataset=None if clause.dataset is None else strawberry.ID(clause.dataset),
        )  # fmt: skip


@strawberry.type(description="A checked contract. `ignored` names its service levels that Headwater does not check.")
class ContractReport:
    name: str
    version: str
    status: str
    clauses: list[ContractClause]
    ignored: list[str]


@strawberry.type
class ContractQuery:
    @query(
        "Check datasets against a contract (Open Data Contract Standard, version 3, as an object or as the text of a file). "
        "Nothing is stored, and no row is read.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def check_contract(self, info: Info, contract: JSON, datasets: list[ContractDataset] | None = UNSET) -> ContractReport:
        found = _read(contract)
        context = info.context
        clauses = await check_contract(context.graph, context.tenant, found, _named(datasets), context.result, datetime.now(UTC))
        return ContractReport(
            name=found.name, version=found.version, status=found.status, clauses=[ContractClause.of(each) for each in clauses],
            ignored=list(found.ignored),
        )  # fmt: skip


@strawberry.type
class ContractMutation:
    @mutation(
        "State the descriptions, owners, stewards and tags of a contract. Returns the number of statements. Nothing is removed.",
        scope=Scope.DECLARE,
        costly=True,
        in_namespaces=True,
    )
    async def apply_contract(self, info: Info, contract: JSON, datasets: list[ContractDataset] | None = UNSET) -> int:
        declarations = available(info.context.services.declarations, "Declarations")
        stated = await statements_of(info.context.graph, info.context.tenant, _read(contract), _named(datasets))
        if not stated:
            return 0
        async with info.context.audited("applyContract", *dict.fromkeys(each["id"] for each in stated), changes=True):
            await declarations.declare(info.context.tenant, {"descriptions": stated})
        return len(stated)


def _read(contract: object) -> Contract:
    return read_contract(contract, datetime.now(UTC).date())


def _named(datasets: Sequence[ContractDataset] | None) -> Mapping[str, str]:
    named = {each.table: each.dataset for each in datasets or ()}
    if len(named) < len(datasets or ()):
        raise InvalidQueryError("A table has two datasets.", field="datasets", hint="Give one dataset for each table.")
    return named
