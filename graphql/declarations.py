"""Declarations, descriptions, data quality and dataflow in the schema. Each type is a view of a domain object."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import strawberry
from strawberry.scalars import JSON

from headwater.graph import dataflow, quality
from headwater.graph.dataflow import LinkKind
from headwater.graph.model import Node
from headwater.graph.model.descriptions import descriptions_of, statements_of

strawberry.enum(
    LinkKind, description="How a link between actors is known: from a declaration, from data that both touched, or from their types."
)


@strawberry.type(description="A statement of a person or of a producer about a node. `overruled`: a person's statement counts instead.")
class DescriptionStatement:
    """A statement. `by` and `at` are null where they are not known: the time of a producer's statement is that of its run."""

    aspect: str
    value: str
    by: str | None
    at: str | None
    produced: bool
    removed: bool
    overruled: bool


@strawberry.type(description="Descriptions of a node that users and producers stated.")
class Descriptions:
    owners: list[str]
    stewards: list[str]
    tags: list[str] = strawberry.field(description="Keys of tags, whatever value producers state.")
    tag_values: list[str] = strawberry.field(description="The tags that producers state with a value, as `key=value`.")
    terms: list[str]
    description: str | None
    retention: str | None
    legal_hold: str | None
    node: strawberry.Private[Node]

    @strawberry.field(description="Who stated what, and when: people first, then producers.")
    def statements(self) -> list[DescriptionStatement]:
        return [
            DescriptionStatement(
                aspect=one.aspect.value, value=one.value, by=one.by, at=one.at, produced=one.is_produced, removed=one.removed,
                overruled=one.overruled,
            )
            for one in statements_of(self.node)
        ]  # fmt: skip

    @classmethod
    def of(cls, node: Node) -> Descriptions:
        found = descriptions_of(node)
        return cls(
            owners=list(found.owners),
            stewards=list(found.stewards),
            tags=list(found.tags),
            tag_values=list(found.tag_values),
            terms=list(found.terms),
            description=found.description,
            retention=found.retention,
            legal_hold=found.legal_hold,
            node=node,
        )


@strawberry.type(description="One result of a check. `values` holds `success`, or the metrics, as the run reported them.")
class QualityResult:
    run: strawberry.ID
    at: str
    values: JSON


@strawberry.type(description="A data-quality assertion, or the metrics, of a dataset or column, with its results, oldest first.")
class QualityCheck:
    """A quality check. `column` is null for a check of the whole dataset."""

    id: strawberry.ID
    assertion: str
    column: str | None
    results: list[QualityResult]

    @classmethod
    def of(cls, check: quality.Check, permitted: Callable[[Mapping[str, Any]], dict[str, Any]]) -> QualityCheck:
        """Convert a check. `permitted` removes values that the caller may not know."""
        results = [
            QualityResult(run=strawberry.ID(entry.run), at=entry.at, values=JSON(permitted(entry.values))) for entry in check.results
        ]
        return cls(id=strawberry.ID(check.id), assertion=check.assertion, column=check.column, results=results)


@strawberry.type(description="Data flows from one actor to another. `via` are the datasets or versions between, or the types that say so.")
class DataflowLink:
    """A link between actors. Every link states how it is known."""

    src: strawberry.ID
    dst: strawberry.ID
    kind: LinkKind
    via: list[str]
    inferred: bool = strawberry.field(
        description="Whether no declaration says so, but how other actors of these types stand to each other."
    )


@strawberry.type(description="Actors that feed one another in a cycle; `runs` are their runs in order of time.")
class DataflowCycle:
    """A cycle of actors. A job that overwrites its input is a cycle of one member."""

    members: list[strawberry.ID]
    runs: list[strawberry.ID]


@strawberry.type(description="The dataflow inside a container: its actors by generation, each fed by those before it alone.")
class Dataflow:
    """The dataflow in a container. Members of a cycle are in the same generation."""

    generations: list[list[strawberry.ID]]
    links: list[DataflowLink]
    cycles: list[DataflowCycle]

    @classmethod
    def of(cls, found: dataflow.Dataflow) -> Dataflow:
        return cls(
            generations=[[strawberry.ID(actor) for actor in generation] for generation in found.generations],
            links=[
                DataflowLink(
                    src=strawberry.ID(link.src), dst=strawberry.ID(link.dst), kind=link.kind, via=list(link.via), inferred=link.inferred
                )
                for link in found.links
            ],
            cycles=[
                DataflowCycle(members=[strawberry.ID(member) for member in cycle.members], runs=[strawberry.ID(run) for run in cycle.runs])
                for cycle in found.cycles
            ],
        )
