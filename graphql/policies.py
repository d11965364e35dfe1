"""Policies in the schema: their versions, checks, and the deviations from them."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from headwater.graph.access.scopes import Scope
from headwater.graph.policies import Deviation, ReachedTag, Report, Severity, TagState
from headwater.graph.views import Way
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.root_fields import mutation, query
from headwater.graphql.services import FiledDeviationView, PolicyService, PolicyVersionView, available
from headwater.graphql.types import Info

strawberry.enum(Severity, name="Severity", description="The severity of a deviation from a rule.")
strawberry.enum(TagState, name="TagState", description="BORNE: the node has the tag. REFUSED: a person removed it there.")


@strawberry.enum(description="ACCEPTED deviations are open again when their time is over. FIXED ones were not found any more.")
class DeviationState(StrEnum):
    OPEN = "open"
    ACCEPTED = "accepted"
    FIXED = "fixed"


@strawberry.type(description="A version of a policy. `text` is its YAML.")
class Policy:
    name: str
    version: int
    author: str
    at: str
    text: str

    @classmethod
    def of(cls, found: PolicyVersionView) -> Policy:
        return cls(name=found.name, version=found.version, author=found.author, at=_instant(found.at), text=found.text)


@strawberry.type(description="A flow that a rule forbids, or a node that lacks something. `path` leads from `source` to `target`.")
class PolicyDeviation:
    """A deviation. `policy`, `state` and the facts about its state are null in the report of a check, which stores nothing."""

    id: strawberry.ID
    rule: str
    severity: Severity
    owner: str | None
    source: strawberry.ID | None
    target: strawberry.ID
    message: str
    path: list[strawberry.ID]
    since: str | None = strawberry.field(description="When the last flow of the path was first stated.")
    certain: bool = strawberry.field(description="False if a job on the path does not state which columns it uses.")
    policy: str | None = None
    state: DeviationState | None = None
    opened: str | None = None
    fixed: str | None = None
    reason: str | None = None
    accepted_by: str | None = None
    accepted_until: str | None = None

    @classmethod
    def of(cls, found: Deviation) -> PolicyDeviation:
        return cls(
            id=strawberry.ID(found.id), rule=found.rule, severity=found.severity, owner=found.owner,
            source=strawberry.ID(found.source) if found.source else None, target=strawberry.ID(found.target), message=found.message,
            path=[strawberry.ID(each) for each in found.path], since=found.since or None, certain=found.certain,
        )  # fmt: skip

    @classmethod
    def filed(cls, found: FiledDeviationView) -> PolicyDeviation:
        made = cls.of(found.deviation)
        made.id = strawberry.ID(found.id)
        made.policy, made.state = found.policy, DeviationState(found.state)
        made.opened, made.fixed = _instant(found.opened), _instant_or_none(found.fixed)
        made.reason, made.accepted_by, made.accepted_until = found.reason, found.accepted_by, _instant_or_none(found.accepted_until)
        return made


@strawberry.type(description="A selector that fits no node.")
class IdleSelector:
    rule: str
    selector: str


@strawberry.type(description="The deviations from a policy, found by a check of the whole graph.")
class PolicyReport:
    """`cut` names the rules of which only some deviations are listed. `conflicts` are contradictions of rules for the present nodes."""

    deviations: list[PolicyDeviation]
    idle: list[IdleSelector]
    cut: list[str]
    conflicts: list[str]

    @classmethod
    def of(cls, report: Report) -> PolicyReport:
        return cls(
            deviations=[PolicyDeviation.of(each) for each in report.deviations],
            idle=[IdleSelector(rule=rule, selector=selector) for rule, selector in report.idle],
            cut=list(report.cut),
            conflicts=list(report.conflicts),
        )


@strawberry.type(description="An applied policy, and what its first check found.")
class AppliedPolicy:
    policy: Policy
    report: PolicyReport


@strawberry.type(description="A tag that reaches a node. `path` leads from the column `origin`, which bears `originTag`, to the node.")
class CarriedTag:
    """A tag that reaches a node. `way` is the weakest on the path. It is not `certain` over a field or a name in another case."""

    node: strawberry.ID
    tag: str
    origin: strawberry.ID
    origin_tag: str
    path: list[strawberry.ID]
    way: Way
    certain: bool
    state: TagState

    @classmethod
    def of(cls, found: ReachedTag) -> CarriedTag:
        return cls(
            node=strawberry.ID(found.node), tag=found.tag, origin=strawberry.ID(found.origin), origin_tag=found.origin_tag,
            path=[strawberry.ID(each) for each in found.path], way=found.way, certain=found.certain, state=found.state,
        )  # fmt: skip


@strawberry.type(description="Tags that reach nodes, by node and tag, and the number of all of them.")
class CarriedTags:
    """`silent` are jobs that read a dataset with a tag and do not state what became of its columns. No tag goes on from there."""

    tags: list[CarriedTag]
    total: int
    silent: list[strawberry.ID]


@strawberry.type
class PolicyQuery:
    @query("The applied policies, by name.", scope=Scope.READ, costly=False)
    async def policies(self, info: Info) -> list[Policy]:
        return [Policy.of(each) for each in await _service(info).current(info.context.tenant)]

    @query("The deviations from the applied policies, the latest first. Without `states`, the open ones.", scope=Scope.READ, costly=True)
    async def deviations(
        self, info: Info, policy: str | None = UNSET, states: list[DeviationState] | None = UNSET, first: int = 100
    ) -> list[PolicyDeviation]:
        wanted = {state.value for state in states or [DeviationState.OPEN]}
        most = bounded(first, "first", low=1, high=MAX_PAGE)
        return [PolicyDeviation.filed(each) for each in await _service(info).deviations(info.context.tenant, policy or None, wanted, most)]

    @query(
        "Check the graph against the text of a policy, without storing anything. `past` includes flows that were given up.",
        scope=Scope.READ,
        costly=True,
    )
    async def check_policy(self, info: Info, text: str, past: bool = False) -> PolicyReport:
        return PolicyReport.of(await _service(info).check(info.context.tenant, text, with_past=past))

    @query(
        "The tags that reach columns and datasets along the lineage of columns. `rules` is the YAML of tag rules.",
        scope=Scope.READ,
        costly=True,
    )
    async def carried_tags(
        self,
        info: Info,
        rules: str | None = UNSET,
        tag: str | None = UNSET,
        states: list[TagState] | None = UNSET,
        first: int = 100,
    ) -> CarriedTags:
        wanted, most = states or [TagState.PROPOSED], bounded(first, "first", low=1, high=MAX_PAGE)
        found = await _service(info).carried_tags(info.context.tenant, rules or None)
        chosen = [each for each in found.reached if each.state in wanted and tag in (None, UNSET, each.tag)]
        return CarriedTags(
            tags=[CarriedTag.of(each) for each in chosen[:most]], total=len(chosen), silent=[strawberry.ID(job) for job in found.silent]
        )

    @query("A draft of a policy that allows the flows between folders that were observed.", scope=Scope.READ, costly=True)
    async def draft_policy(self, info: Info, name: str) -> JSON:
        return JSON(await _service(info).infer(info.context.tenant, name))


@strawberry.type
class PolicyMutation:
    @mutation(
        "Apply the text of a policy as its next version. All later runs are checked. Unknown names are refused, unless allowed.",
        scope=Scope.DECLARE,
        costly=True,
    )
    async def apply_policy(self, info: Info, text: str, allow_unknown: bool = False) -> AppliedPolicy:
        async with info.context.audited("policy.apply", _service(info).name_of(text), changes=True):
            made, report = await _service(info).apply(info.context.tenant, text, allows_unknown=allow_unknown)
        return AppliedPolicy(policy=Policy.of(made), report=PolicyReport.of(report))

    @mutation("End a policy. Its deviations count as fixed.", scope=Scope.DECLARE, costly=False)
    async def remove_policy(self, info: Info, name: str) -> bool:
        async with info.context.audited("policy.remove", name, changes=True):
            await _service(info).remove(info.context.tenant, name)
        return True

    @mutation("Accept an open deviation for some days, with a reason.", scope=Scope.DECLARE, costly=False)
    async def accept_deviation(self, info: Info, id: strawberry.ID, reason: str, days: float = 90) -> PolicyDeviation:
        async with info.context.audited("policy.accept", id, changes=True):
            return PolicyDeviation.filed(await _service(info).accept(info.context.tenant, id, reason=reason, days=days))


def _service(info: Info) -> PolicyService:
    return available(info.context.services.policies, "Policies")


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _instant_or_none(seconds: float | None) -> str | None:
    return None if seconds is None else _instant(seconds)
