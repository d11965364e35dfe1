"""The input types of a view in the schema: focus, direction, levels, masks, time."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry

from headwater.graph import views as domain
from headwater.graph.model import NodeKind
from headwater.graph.stores.protocol import Direction
from headwater.graphql.limits import MAX_NODES

strawberry.enum(domain.MaskBy, description="What a mask looks at. NAME and NAMESPACE take patterns with * and ?.")

MAX_EDGES = 200_000


@strawberry.input(description="Hides nodes that have one of the values; `negated`: those that have none of them.")
class MaskInput:
    """A mask. A mask by kind applies to the node itself; all other masks also apply to the content of a container."""

    by: domain.MaskBy
    values: list[str]
    negated: bool = False


@strawberry.input(description="A container whose inside is shown at a level of its own, finer than the rest.")
class OpenInput:
    """A container to open: a dataset to COLUMN, a pipeline to JOB, a platform to DATASET."""

    id: strawberry.ID
    level: NodeKind


@strawberry.input(description="Keeps what lies on a way between a node of `from` and one of `to`, in either direction.")
class BetweenInput:
    """The two ends of a view between nodes. An end may be a container."""

    from_: list[strawberry.ID] = strawberry.field(name="from")
    to: list[strawberry.ID]


@strawberry.input(description="A view: focus, direction, levels, masks and time.")
class ViewInput:
    """The parameters of a view. docs/guide/views.md explains them and the laws."""

    focus: list[strawberry.ID] = strawberry.field(default_factory=list)
    direction: Direction = Direction.BOTH
    depth: int = 20
    data: NodeKind = NodeKind.DATASET
    actors: NodeKind = NodeKind.JOB
    open: list[OpenInput] = strawberry.field(default_factory=list)
    masks: list[MaskInput] = strawberry.field(default_factory=list)
    ends_only: bool = False
    between: BetweenInput | None = None
    as_of: str | None = None
    since: str | None = None
    until: str | None = None

    def request(self, *, first: int = MAX_NODES, edges: int = MAX_EDGES, after: str | None = None) -> domain.ViewRequest:
        """Convert the parameters to a request of the domain."""
        return domain.ViewRequest(
            focus=tuple(self.focus),
            direction=self.direction,
            depth=self.depth,
            data=self.data,
            actors=self.actors,
            open={opened.id: opened.level for opened in self.open},
            masks=tuple(domain.Mask(mask.by, tuple(mask.values), mask.negated) for mask in self.masks),
            ends_only=self.ends_only,
            between=(tuple(self.between.from_), tuple(self.between.to)) if self.between else None,
            as_of=self.as_of,
            since=self.since,
            until=self.until,
            first=first,
            edges=edges,
            after=after,
        )
