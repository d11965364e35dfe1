"""The GraphQL queries for the map of a whole lake: groups of datasets or jobs, and the flows between them."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry import UNSET

from headwater.graph.access.scopes import Scope
from headwater.graph.stores import rollups as domain
from headwater.graphql.limits import bounded
from headwater.graphql.root_fields import query
from headwater.graphql.types import Info, Node

_MOST_INCLUDED = 100

strawberry.enum(
    domain.Lens,
    name="Lens",
    description="The rule that divides a lake into groups: of jobs by PIPELINE (or system), of datasets by all others. A dataset can be in"
    " several groups of an owner, tag or term, or in none.",
)


@strawberry.type(
    description="A group of datasets or jobs. `members` is their number. `toRest` and `fromRest` are its flows with groups that are not"
    " listed."
)
class LakeGroup:
    """A group of a map."""

    node: Node
    members: int
    to_rest: int
    from_rest: int


@strawberry.type(
    description="Data flows from `src` to `dst`. `weight` is the number of jobs between groups of datasets, or of datasets between groups"
    " of jobs. Both ends can be the same group. Flows that a later run no longer stated count, too."
)
class LakeFlow:
    """A flow of a map."""

    src: strawberry.ID
    dst: strawberry.ID
    weight: int

    @classmethod
    def of(cls, flow: domain.Flow) -> LakeFlow:
        return cls(src=strawberry.ID(flow.src), dst=strawberry.ID(flow.dst), weight=flow.weight)


@strawberry.type(
    description="The largest groups of a lake, and the flows among them. `total` counts all groups, and `members` the datasets or jobs in"
    " all of them. `wide` is the number of jobs or datasets between so many groups that their flows are left out."
)
class LakeMap:
    """The map of a lake. No group is left out silently."""

    groups: list[LakeGroup]
    flows: list[LakeFlow]
    total: int
    members: int
    wide: int

    @classmethod
    def of(cls, found: domain.LakeMap) -> LakeMap:
        return cls(
            groups=[
                LakeGroup(
                    node=Node.of(group.node),
                    members=group.members,
                    to_rest=found.to_rest.get(group.id, 0),
                    from_rest=found.from_rest.get(group.id, 0),
                )
                for group in found.groups
            ],
            flows=[LakeFlow.of(flow) for flow in found.flows],
            total=found.total,
            members=found.members,
            wide=found.wide,
        )


@strawberry.type(
    description="The flows of some datasets or jobs: with each other, and with the other members of groups. An end is a node or a group."
    " `complete` is false if a node has so many flows that some are left out: the weights are then lower bounds."
)
class MemberFlows:
    """The flows of members of a map."""

    flows: list[LakeFlow]
    complete: bool


@strawberry.type
class MapQuery:
    """The root fields for the map."""

    @query(
        "The whole lake through a lens: its `first` largest groups and those of `include` (ids), with the flows among them.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def lake_map(
        self, info: Info, lens: domain.Lens = domain.Lens.NAMESPACE, first: int = 200, include: list[strawberry.ID] | None = UNSET
    ) -> LakeMap:
        """The order `WEIGHT` of `find` lists the members of a group."""
        context = info.context
        ids = list(dict.fromkeys(map(str, include or ())))
        bounded(len(ids), "include", low=0, high=_MOST_INCLUDED)
        size = bounded(first, "first", low=1, high=domain.MOST_GROUPS)
        found = await context.graph.lake_map(context.tenant, lens, first=size, include=ids)
        context.loaders.budget.spend(len(found.groups))
        return LakeMap.of(found)

    @query(
        "The flows of some datasets or jobs, with each other and with the groups of a lens.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def member_flows(self, info: Info, members: list[strawberry.ID], lens: domain.Lens = domain.Lens.NAMESPACE) -> MemberFlows:
        """A flow ends at a group only for members that are not listed."""
        ids = list(dict.fromkeys(map(str, members)))
        bounded(len(ids), "members", low=1, high=domain.MOST_MEMBERS)
        found = await info.context.graph.member_flows(info.context.tenant, lens, ids)
        return MemberFlows(flows=[LakeFlow.of(flow) for flow in found.flows], complete=found.is_whole)
