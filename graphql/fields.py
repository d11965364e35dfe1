"""Columns in the schema: the jobs that accessed them, their lineage in two forms, and the tags that reach them."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry

from headwater.graph import views as domain
from headwater.graphql.types import Info, Node

strawberry.enum(domain.AccessKind, description="What a job did with a column.")
strawberry.enum(domain.Way, name="TagWay", description="DIRECT: values flow there. MASKED: hidden on the way. INDIRECT: they only decide.")


@strawberry.type(description="A job's access to a column, between `first` and `last`. `ways` are OpenLineage's transformation subtypes.")
class FieldAccess:
    """The access of a job to a column. If `decidesOnly` is true, the column never became a value of the result.

    `certain` is false if the access is only known to span the window, or if the job states no columns.
    """

    job: strawberry.ID
    kind: domain.AccessKind
    ways: list[str]
    decides_only: bool
    first: str | None
    last: str | None
    runs: list[strawberry.ID]
    certain: bool

    @classmethod
    def of(cls, access: domain.Access) -> FieldAccess:
        return cls(
            job=strawberry.ID(access.job),
            kind=access.kind,
            ways=list(access.ways),
            decides_only=access.decides_only,
            first=access.first,
            last=access.last,
            runs=[strawberry.ID(run) for run in access.runs],
            certain=access.certain,
        )


@strawberry.type(description="What a job does to make one column from another, in OpenLineage's words.")
class FieldOperation:
    """An operation on a field. With `masking`, the result hides the values. With `declared`, a program recorded it."""

    job: strawberry.ID | None
    type: str
    subtype: str | None
    description: str | None
    masking: bool
    declared: bool


@strawberry.type(description="A step of a derivation that a program recorded: one field made of another by an operation.")
class FieldStep:
    """A step within a derivation. `src` and `dst` are ids of columns or, within the program, `OPERATION.FIELD`."""

    operation: str
    description: str | None
    src: str
    dst: str


@strawberry.type(description="From column to column. In the simple form between an end and the column asked for, over `hops` steps.")
class FieldEdge:
    """A derivation of a column. `operations` has the operations on all paths that the edge represents, `way` the best path.

    If `former` is true, a derivation on each path was given up by its jobs.
    """

    src: strawberry.ID
    dst: strawberry.ID
    operations: list[FieldOperation]
    hops: int
    way: domain.Way
    former: bool
    steps: list[FieldStep] = strawberry.field(description="In the detailed form, the steps that a program recorded; else empty.")


@strawberry.type(description="A tag that reaches a column along its lineage, from the column `origin`.")
class ReachingTag:
    """A tag that reaches a column. If there are several paths, the best one counts."""

    tag: str
    origin: strawberry.ID
    distance: int
    way: domain.Way


@strawberry.type(
    description="The lineage of a column. `truncated` counts the columns that the limit kept out, `beyond` those one hop past the depth."
    " `hidden`: something next to them lies in namespaces that the caller may not read. `former` counts the"
    " columns to which only derivations lead that their jobs have given up. They are part of the lineage on request only."
)
class FieldLineage:
    """The lineage of a column, simple or detailed. If `beyond` is not 0, the depth limit cut off some ends of the simple form."""

    nodes: list[Node]
    edges: list[FieldEdge]
    truncated: int
    beyond: int
    hidden: bool
    former: int
    column: strawberry.Private[str]

    @strawberry.field(description="The tags that the column, and what it derives from, bear.")
    async def tags(self, info: Info) -> list[ReachingTag]:
        found = await domain.reaching_tags(info.context.graph, info.context.tenant, self.column)
        return [ReachingTag(tag=tag.tag, origin=strawberry.ID(tag.origin), distance=tag.distance, way=tag.way) for tag in found]

    @classmethod
    def of(cls, found: domain.FieldLineage, column: str) -> FieldLineage:
        return cls(
            nodes=[Node.of(node) for node in found.nodes],
            edges=[
                FieldEdge(
                    src=strawberry.ID(edge.src),
                    dst=strawberry.ID(edge.dst),
                    hops=edge.hops,
                    way=edge.way,
                    former=edge.former,
                    operations=[
                        FieldOperation(
                            job=strawberry.ID(step.job) if step.job else None,
                            type=step.type,
                            subtype=step.subtype,
                            description=step.description,
                            masking=step.masking,
                            declared=step.declared,
                        )
                        for step in edge.operations
                    ],
                    steps=[FieldStep(operation=one.operation, description=one.description, src=one.src, dst=one.dst) for one in edge.steps],
                )
                for edge in found.edges
            ],
            truncated=found.truncated,
            beyond=found.beyond,
            hidden=found.hidden,
            former=found.former,
            column=column,
        )
