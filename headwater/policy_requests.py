"""Policies of a service, for both clients: check, apply and end them, and list what deviates."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_POLICY = "name version author at text"
_DEVIATION = """id rule severity owner source target message path since certain policy state opened fixed reason acceptedBy
  acceptedUntil"""
_REPORT = f"deviations {{ {_DEVIATION} }} idle {{ rule selector }} cut conflicts"
_EXPIRING = """dataset source statedBy days path masked certain born bornKnown deadline overdue blocks rows owners hold
  advice"""
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Policy:
    """A version of an applied policy. `text` is its YAML, and `at` the time in ISO 8601."""

    name: str
    version: int
    author: str
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class PolicyDeviation:
    """A flow that a rule forbids, or a node that lacks something. `path` leads from `source` to `target`.

    `severity` is ERROR, WARNING or INFO, and `state` OPEN, ACCEPTED or FIXED. In the report of a check, which stores nothing, `policy`,
    `state` and what follows are None. `certain` is false if a job on the path does not state its columns.
    """

    id: str
    rule: str
    severity: str
    owner: str | None
    source: str | None
    target: str
    message: str
    path: Sequence[str]
    since: str | None
    certain: bool
    policy: str | None
    state: str | None
    opened: str | None
    fixed: str | None
    reason: str | None
    accepted_by: str | None
    accepted_until: str | None


@dataclass(frozen=True, slots=True)
class PolicyReport:
    """The deviations from a policy, found by a check of the whole graph.

    `idle` are selectors that fit no node, as {rule, selector}. `cut` names rules with more deviations than are listed. `conflicts` are
    sentences about rules that contradict each other for the present nodes.
    """

    deviations: Sequence[PolicyDeviation]
    idle: Sequence[Mapping[str, str]]
    cut: Sequence[str]
    conflicts: Sequence[str]


@dataclass(frozen=True, slots=True)
class ExpiringData:
    """Data of a dataset that must go by the `deadline`, because a term of `source` reaches it over `path`.

    `born` is when its oldest part was written to its source; without `born_known`, it may be older. `blocks` have data that is due, and
    `rows` counts their records. A legal hold (`hold`) wins over the term of `days`. `certain` is false over a job that states no columns.
    """

    dataset: str
    source: str
    stated_by: str
    days: float
    path: Sequence[str]
    masked: bool
    certain: bool
    born: str
    born_known: bool
    deadline: str
    overdue: bool
    blocks: Sequence[int]
    rows: int | None
    owners: Sequence[str]
    hold: str | None
    advice: Sequence[str]


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """Data whose term is over or will be soon, the earliest deadline first. `total` counts it without the limit.

    `unread` are nodes whose retention period cannot be read, `unknown` datasets with a term and without a known write.
    """

    expiring: Sequence[ExpiringData]
    total: int
    unread: Sequence[str]
    unknown: Sequence[str]


class _Asks(Protocol):
    def execute(self, document: str, **variables: Any) -> dict[str, Any]: ...


class PolicyRequests:
    """The methods of `Client` for policies."""

    def policies(self: _Asks) -> list[Policy]:
        """Return the applied policies by name."""
        return [Policy(**found) for found in self.execute(f"{{ policies {{ {_POLICY} }} }}")["policies"]]

    def check_policy(self: _Asks, text: str, *, past: bool = False) -> PolicyReport:
        """Check the graph against the text of a policy. Nothing is stored. `past` includes flows that were given up."""
        document = f"query ($t: String!, $p: Boolean!) {{ checkPolicy(text: $t, past: $p) {{ {_REPORT} }} }}"
        return _report(self.execute(document, t=text, p=past)["checkPolicy"])

    def draft_policy(self: _Asks, name: str) -> Mapping[str, Any]:
        """Return the document of a policy that allows the flows between folders that were observed."""
        found: Mapping[str, Any] = self.execute("query ($n: String!) { draftPolicy(name: $n) }", n=name)["draftPolicy"]
        return found

    def apply_policy(self: _Asks, text: str, *, allow_unknown: bool = False) -> tuple[Policy, PolicyReport]:
        """Store a policy, or its next version, and return it with what a check finds. Later runs are checked when they are projected."""
        document = f"""mutation ($t: String!, $u: Boolean!) {{ applyPolicy(text: $t, allowUnknown: $u) {{
          policy {{ {_POLICY} }} report {{ {_REPORT} }} }} }}"""
        done = self.execute(document, t=text, u=allow_unknown)["applyPolicy"]
        return Policy(**done["policy"]), _report(done["report"])

    def remove_policy(self: _Asks, name: str) -> None:
        """End a policy. Its deviations count as fixed."""
        self.execute("mutation ($n: String!) { removePolicy(name: $n) }", n=name)

    def deviations(
        self: _Asks, *, policy: str | None = None, states: Sequence[str] = ("OPEN",), first: int = _MOST
    ) -> list[PolicyDeviation]:
        """Return the latest deviations from a policy, or from all policies, in some states."""
        arguments = "$p: String, $s: [DeviationState!], $f: Int!"
        document = f"query ({arguments}) {{ deviations(policy: $p, states: $s, first: $f) {{ {_DEVIATION} }} }}"
        return [_deviation(found) for found in self.execute(document, p=policy, s=list(states), f=first)["deviations"]]

    def retention(self: _Asks, dataset: str | None = None, *, within_days: int = 30, first: int = _MOST) -> RetentionReport:
        """Return data that is kept longer than a retention term allows, or will be within some days: of one dataset, or of all."""
        document = f"""query ($d: String, $w: Int!, $f: Int!) {{ retention(dataset: $d, withinDays: $w, first: $f) {{
          total unread unknown expiring {{ {_EXPIRING} }} }} }}"""
        found = self.execute(document, d=dataset, w=within_days, f=first)["retention"]
        named = {"statedBy": "stated_by", "bornKnown": "born_known"}
        expiring = [ExpiringData(**{named.get(name, name): value for name, value in each.items()}) for each in found["expiring"]]
        return RetentionReport(expiring, found["total"], found["unread"], found["unknown"])

    def accept_deviation(self: _Asks, identifier: str, *, reason: str, days: float = 90) -> PolicyDeviation:
        """Accept an open deviation for some days."""
        document = f"""mutation ($i: ID!, $r: String!, $d: Float!) {{ acceptDeviation(id: $i, reason: $r, days: $d) {{
          {_DEVIATION} }} }}"""
        return _deviation(self.execute(document, i=identifier, r=reason, d=days)["acceptDeviation"])


class AsyncPolicyRequests:
    """The methods of `AsyncClient` for policies. Each calls the method of `Client` on a thread."""

    _client: Any

    async def policies(self) -> list[Policy]:
        return await asyncio.to_thread(PolicyRequests.policies, self._client)

    async def check_policy(self, text: str, *, past: bool = False) -> PolicyReport:
        return await asyncio.to_thread(PolicyRequests.check_policy, self._client, text, past=past)

    async def draft_policy(self, name: str) -> Mapping[str, Any]:
        return await asyncio.to_thread(PolicyRequests.draft_policy, self._client, name)

    async def apply_policy(self, text: str, *, allow_unknown: bool = False) -> tuple[Policy, PolicyReport]:
        return await asyncio.to_thread(PolicyRequests.apply_policy, self._client, text, allow_unknown=allow_unknown)

    async def remove_policy(self, name: str) -> None:
        await asyncio.to_thread(PolicyRequests.remove_policy, self._client, name)

    async def deviations(self, **asked: Any) -> list[PolicyDeviation]:
        return await asyncio.to_thread(PolicyRequests.deviations, self._client, **asked)

    async def retention(self, dataset: str | None = None, **asked: Any) -> RetentionReport:
        return await asyncio.to_thread(PolicyRequests.retention, self._client, dataset, **asked)

    async def accept_deviation(self, identifier: str, **stated: Any) -> PolicyDeviation:
        return await asyncio.to_thread(PolicyRequests.accept_deviation, self._client, identifier, **stated)


def _report(found: Mapping[str, Any]) -> PolicyReport:
    return PolicyReport([_deviation(each) for each in found["deviations"]], found["idle"], found["cut"], found["conflicts"])


def _deviation(found: Mapping[str, Any]) -> PolicyDeviation:
    named = {"acceptedBy": "accepted_by", "acceptedUntil": "accepted_until"}
    return PolicyDeviation(**{named.get(name, name): value for name, value in found.items()})
