"""Search by words and facets, for datasets, columns, jobs, runs, namespaces, owners, tags and terms."""

# mypy: disable-error-code="untyped-decorator"
# strawberry types what a resolver decorator returns as Any, so that the field may stand for its value.

from __future__ import annotations

import strawberry
from strawberry import UNSET

from headwater.graph import search as domain
from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.root_fields import query
from headwater.graphql.types import Info, Node

strawberry.enum(
    domain.Order,
    name="SearchOrder",
    description="The order of nodes that a search without a text finds. FAILED_FIRST: the last run failed, then running, then all others."
    " WEIGHT: datasets and jobs with the most flows first.",
)


@strawberry.type(
    description="A node that was found. `matched` are its words that the words of the text stand for. `state` is that of the last run,"
    " `namespace` that of the node, or of a run's job."
)
class SearchHit:
    """The score is 0 without a text."""

    node: Node
    score: float
    matched: list[str]
    namespace: str | None
    state: str | None


@strawberry.type(description="A value of a facet, and the number of found nodes that have it.")
class FacetValue:
    """A pipeline is its id, everything else a name."""

    value: str
    count: int


@strawberry.type(
    description="The values of a facet, the most frequent first: kind, namespace, platform, owner, tag, term, state (of the last run) or"
    " pipeline (that wrote a dataset last)."
)
class SearchFacet:
    """A facet of a search, with at most 100 values."""

    name: str
    values: list[FacetValue]


@strawberry.type(
    description="A page of hits. `total` and the facets count all hits if `counted`, else at least so many. `cursor` fetches the next page;"
    " null: this was the last. `complete` is false if more hits exist than are put in order: search for more words, or choose a facet."
)
class SearchResult:
    """A page of search results. No result is left out silently."""

    hits: list[SearchHit]
    total: int
    counted: bool
    complete: bool
    cursor: str | None
    facets: list[SearchFacet]

    @classmethod
    def of(cls, found: domain.Found) -> SearchResult:
        """The view of an answer."""
        return cls(
            hits=[
                SearchHit(
                    node=Node.of(hit.node),
                    score=round(hit.score, 4),
                    matched=list(hit.matched),
                    namespace=hit.namespace or None,
                    state=hit.state or None,
                )
                for hit in found.hits
            ],
            total=found.total,
            counted=found.counted,
            complete=found.ranked,
            cursor=found.cursor,
            facets=[
                SearchFacet(name=name, values=[FacetValue(value=each.value, count=each.count) for each in values])
                for name, values in found.facets.items()
            ],
        )


@strawberry.type
class SearchQuery:
    """The root fields for searches."""

    @query(
        "Nodes by words of their names, columns, descriptions, owners, tags and terms, the best first: in any order of the words, with"
        " typing errors. Without a text, all nodes of the kinds, in `order`. Each list narrows the answer to nodes with one of its"
        " values.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def find(
        self,
        info: Info,
        text: str = "",
        kinds: list[NodeKind] | None = UNSET,
        namespaces: list[str] | None = UNSET,
        platforms: list[str] | None = UNSET,
        owners: list[str] | None = UNSET,
        tags: list[str] | None = UNSET,
        terms: list[str] | None = UNSET,
        states: list[str] | None = UNSET,
        pipelines: list[str] | None = UNSET,
        order: domain.Order = domain.Order.FAILED_FIRST,
        first: int = 20,
        after: str | None = UNSET,
    ) -> SearchResult:
        """`states` are those of the last run, `pipelines` are ids."""
        context = info.context
        request = domain.SearchRequest(
            text=text,
            kinds=tuple(dict.fromkeys(kinds or ())),
            namespaces=tuple(namespaces or ()),
            platforms=tuple(platforms or ()),
            owners=tuple(owners or ()),
            tags=tuple(tags or ()),
            terms=tuple(terms or ()),
            states=tuple(state.upper() for state in states or ()),
            pipelines=tuple(pipelines or ()),
            order=order,
        )
        found = await context.graph.find(context.tenant, request, first=bounded(first, "first", low=1, high=MAX_PAGE), after=after or None)
        context.loaders.budget.spend(len(found.hits))
        return SearchResult.of(found)
