"""The policies of a home or of all replicas: check, apply, and what deviates from them."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from headwater.backend.home.quick_settings import HomeSettings
from headwater.backend.policies.store import FiledDeviation, FiledState, PolicyStore, PolicyVersion, filed_id, open_policy_store
from headwater.errors import HeadwaterError, InvalidInputError, InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.model import NodeKind, kind_of
from headwater.graph.model.stated_texts import find_fault
from headwater.graph.policies import (
    Deviation,
    FlowGraph,
    Policy,
    Report,
    TagFlow,
    TagRules,
    carry_tags,
    check_policy,
    infer_policy,
    parse_policy,
    parse_tag_rules,
    read_flow_graph,
)
from headwater.graph.policies.arrivals import Arrivals
from headwater.graph.policies.flow_graph import FlowGraphBuilder, read_all_flows, read_flows_around
from headwater.graph.retention import RetentionAnswer, list_expiring, read_flows_of_terms
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.views.patterns import expression_of
from headwater.graph.yaml_reader import parse_document

GUIDE = "docs/guide/policies.md"
TAG_GUIDE = "docs/guide/tags.md"
_LONGEST_REASON = 2_000
_MOST_DAYS = 3_660
MAX_PAGE = 1_000
_DAY = 86_400.0
_WILD = "*?["
_REMEMBERED = 100_000
_MOST_SECONDS = 120.0  # for one check that a caller asks for
_MOST_STATES = 50  # of the past, for one check; consecutive ones are checked as one if there are more
_log = logging.getLogger("headwater.policies")
_JobState = tuple[bytes, tuple[tuple[str, int], ...]]  # a digest of the flows next to a job, and the versions of the policies


def has_policies(settings: HomeSettings) -> bool:
    """Whether policies may exist. A home without policies has no file."""
    return settings.ingest_log is not None or settings.folder.policies.exists()


class Rest(Enum):
    """The checks that a check of some jobs leaves to do: none, the present flows of the whole graph, or also those of the past."""

    NOTHING = 0
    PRESENT = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Log entries to check, by their offsets. `read_arrivals` returns what is known of all entries up to the present of the graph."""

    offsets: Sequence[int]
    read_arrivals: Callable[[], Awaitable[Arrivals]]

    async def states(self, flows: FlowGraphBuilder) -> tuple[Arrivals, Sequence[Sequence[int]]]:
        """Return the past states of flows to check, each as the entries after which it was there."""
        arrivals = await self.read_arrivals()
        former = await asyncio.to_thread(flows.former_states, arrivals, self.offsets)
        size = -(-len(former) // _MOST_STATES)
        return arrivals, [former[start : start + size] for start in range(0, len(former), size or 1)]


class Policies:
    """The policies of all tenants, and the graph that they are about.

    With `checks_first`, a list of deviations begins with a check, because no worker checks runs of a home without a service.
    """

    def __init__(self, settings: HomeSettings, graph: GraphStore, *, checks_first: bool = False) -> None:
        self._settings = settings
        self._graph = graph
        self._checks_first = checks_first
        self._opened: PolicyStore | None = None
        self._turn = asyncio.Lock()
        self._parsed: dict[str, Policy] = {}  # by text
        self._checked: dict[tuple[str, str], _JobState] = {}  # by tenant and job, at the last check that succeeded

    async def close(self) -> None:
        if self._opened is not None:
            await asyncio.to_thread(self._opened.close)
            self._opened = None

    @property
    def store(self) -> PolicyStore:
        if self._opened is None:
            self._opened = open_policy_store(self._settings)
        return self._opened

    def name_of(self, text: str) -> str:
        """Return the name in the text of a policy. Raises as `check`."""
        return self._parse(text).name

    async def check(self, tenant: str, text: str, *, with_past: bool = False) -> Report:
        """Check the whole graph against the text of a policy. Nothing is stored. `with_past` includes flows that were given up.

        Raises:
            InvalidInputError: the text is no policy.
        """
        policy = self._parse(text)
        async with self._turn:  # a check of a large graph takes all of a processor
            flows = await read_flow_graph(self._graph, tenant, with_past=with_past)
            return await asyncio.to_thread(check_policy, policy, flows, now=_now(), seconds=_MOST_SECONDS)

    async def apply(self, tenant: str, text: str, author: str, *, allows_unknown: bool = False) -> tuple[PolicyVersion, Report]:
        """Store a policy, or the next version of it, and check the whole graph. Later runs are checked when they are projected.

        Raises:
            InvalidInputError: the text is no policy, or names a dataset, a column or a job that does not exist. Nothing is stored.
        """
        policy, offset = self._parse(text), await self._graph.offset(tenant)
        report = await self.check(tenant, text)
        unknown = [(rule, selector) for rule, selector in report.idle if not any(letter in selector for letter in _WILD)]
        if unknown and not allows_unknown:
            rule, selector = unknown[0]
            raise InvalidInputError(
                f"Nothing is known of {selector}, which the rule {rule!r} names.", field=rule,
                hint="Correct the name, or apply the policy with --allow-unknown.",
            )  # fmt: skip
        made = await asyncio.to_thread(self._store_version, tenant, policy, text, author, report, offset)
        return made, report

    def _store_version(self, tenant: str, policy: Policy, text: str, author: str, report: Report, offset: int) -> PolicyVersion:
        is_first = not self.store.current(tenant)
        made = self.store.add_version(tenant, policy.name, text, author)
        self.store.file(tenant, made, report.deviations, replaces=not report.cut)
        self.store.go_back(tenant, offset)  # runs since the check are checked again
        if is_first:
            self.store.advance(tenant, offset)
        return made

    async def remove(self, tenant: str, name: str, author: str) -> None:
        await asyncio.to_thread(self.store.remove, tenant, name, author)

    async def current(self, tenant: str) -> list[PolicyVersion]:
        return await asyncio.to_thread(lambda: self.store.current(tenant)) if has_policies(self._settings) else []

    async def selects_by(self, tenant: str, part: str, value: str) -> bool:
        """Whether a selector of an applied policy has a value in a `part`: tag, owner or term. `level` also counts for `level=high`."""
        for version in await self.current(tenant):
            for _, rule in self._parse(version.text).rules:
                patterns = [each for group in rule.groups for selector in group for each in selector.parts.get(part, ())]
                if patterns and expression_of((*patterns, *(each.partition("=")[0] or each for each in patterns))).match(value):
                    return True
        return False

    async def rules(self, tenant: str, name: str) -> list[str]:
        """Return the names of the rules of an applied policy.

        Raises:
            NotFoundError: there is no such policy.
        """
        found = next((version for version in await self.current(tenant) if version.name == name), None)
        if found is None:
            raise NotFoundError(f"There is no policy {name!r}.", hint="`headwater policy list` names them.")
        return [heading.name for heading, _ in self._parse(found.text).rules]

    async def deviations(
        self, tenant: str, policy: str | None = None, states: Collection[str] = tuple(FiledState), most: int = MAX_PAGE
    ) -> list[FiledDeviation]:
        """Return deviations in some states, the latest first."""
        if not has_policies(self._settings):
            return []
        if self._checks_first:
            await self.check_all(tenant)
        return await asyncio.to_thread(self.store.deviations, tenant, policy, states, most)

    async def accept(self, tenant: str, identifier: str, *, reason: str, by: str, days: float) -> FiledDeviation:
        """Accept a deviation for some days.

        Raises:
            InvalidInputError: the reason or the number of days is not usable.
            NotFoundError: there is no such open deviation.
        """
        if (fault := find_fault(reason, _LONGEST_REASON, lines=True)) is not None:
            raise InvalidInputError(f"The reason is no text: {fault}.", field="reason", hint=f"Write 1 to {_LONGEST_REASON:,} letters.")
        if not math.isfinite(days) or not 0 < days <= _MOST_DAYS:
            raise InvalidInputError(f"{days} is no number of days.", field="days", hint=f"Write more than 0 and at most {_MOST_DAYS:,}.")
        return await asyncio.to_thread(lambda: self.store.accept(tenant, identifier, reason, by, time.time() + days * _DAY))

    async def infer(self, tenant: str, name: str) -> Mapping[str, Any]:
        """Return the document of a policy that allows what was observed."""
        return infer_policy(await read_flow_graph(self._graph, tenant), name)

    async def carried_tags(self, tenant: str, rules: str | None) -> TagFlow:
        """Return the tags that reach columns and datasets along the lineage of columns. `rules` is the text of a file of tag rules.

        Raises:
            InvalidInputError: the text is no file of tag rules.
        """
        parsed = TagRules() if rules is None else parse_tag_rules(parse_document(rules, TAG_GUIDE))
        async with self._turn:
            return await asyncio.to_thread(carry_tags, await read_flow_graph(self._graph, tenant), parsed)

    async def expiring(self, tenant: str, dataset: str | None, within: timedelta) -> RetentionAnswer:
        """Return the data that is kept longer than a term allows, or will be within some time: of one dataset, or of all.

        Raises:
            NotFoundError: there is no such dataset.
            InvalidQueryError: the id is no dataset's.
            UnsupportedError: the data comes from too many datasets or blocks.
        """
        policies = [self._parse(version.text) for version in await self.current(tenant)]
        async with self._turn:
            if dataset is None:
                flows = await read_flows_of_terms(self._graph, tenant, policies)
            else:
                if kind_of(dataset) is not NodeKind.DATASET:
                    raise InvalidQueryError(f"{dataset!r} is not a dataset.", field="dataset", hint="Terms count for datasets.")
                if not await self._graph.get(tenant, [dataset]):
                    raise NotFoundError(f"There is no dataset {dataset!r}.", hint="`search` finds datasets by a part of their names.")
                builder, is_whole = await read_flows_around(self._graph, tenant, [dataset], direction=Direction.UPSTREAM, with_past=True)
                if not is_whole:
                    raise UnsupportedError("Too many datasets are upstream.", hint="Ask for the list of all datasets.")
                flows = await asyncio.to_thread(builder.build)
            return await list_expiring(self._graph, tenant, policies, flows, now=datetime.now(UTC), within=within, dataset=dataset)

    async def check_all(self, tenant: str, unchecked: Unchecked | None = None) -> list[FiledDeviation]:
        """Check the whole graph against all applied policies, file the deviations, and return those that are newly open.

        With `unchecked`, flows that counted after one of these entries are checked, too.
        """
        applied = await self.current(tenant)
        if not applied:
            return []
        flows = await read_all_flows(self._graph, tenant)
        new: list[FiledDeviation] = []
        present = await asyncio.to_thread(flows.build)
        for version, report, filed in await self._check(tenant, applied, flows, present, unchecked):
            new += filed
            new += await asyncio.to_thread(self.store.file, tenant, version, report.deviations, replaces=not report.cut)
        return new

    async def check_jobs(self, tenant: str, jobs: Sequence[str], unchecked: Unchecked | None = None) -> tuple[list[FiledDeviation], Rest]:
        """Check the flows around some jobs. Returns the newly open deviations, and what is still to check.

        That is the whole graph if the flows are too many, or if a filed deviation over one of the jobs was not found again.
        """
        applied = await self.current(tenant)
        states = {job: await self._state_of(tenant, job, applied, unchecked) for job in jobs} if applied else {}
        changed = [job for job, state in states.items() if state is None or self._checked.get((tenant, job)) != state]
        if not changed:
            return [], Rest.NOTHING
        flows, is_whole = await read_flows_around(self._graph, tenant, changed)
        if not is_whole:
            return [], Rest.ALL
        new: list[FiledDeviation] = []
        around = await asyncio.to_thread(flows.build)
        for version, report, filed in await self._check(tenant, applied, flows, around, unchecked):
            found = {filed_id(version.name, deviation) for deviation in report.deviations}
            over = await asyncio.to_thread(self.store.open_about, tenant, version.name, changed)
            lacks = await asyncio.to_thread(self.store.open_about, tenant, version.name, around.readers.keys() | around.written.keys())
            is_whole = is_whole and not report.cut and over - {each.id for each in filed} <= found
            fixed = (lacks | {each.id for each in filed}) - found
            new += [*filed, *await asyncio.to_thread(self.store.file, tenant, version, report.deviations, fixed=fixed)]
        if len(self._checked) + len(changed) > _REMEMBERED:
            self._checked.clear()
        self._checked.update({(tenant, job): state for job in changed if (state := states[job]) is not None})
        return new, Rest.NOTHING if is_whole else Rest.PRESENT

    async def _check(
        self, tenant: str, applied: Sequence[PolicyVersion], flows: FlowGraphBuilder, present: FlowGraph, unchecked: Unchecked | None
    ) -> list[tuple[PolicyVersion, Report, list[FiledDeviation]]]:
        """Check flows against policies. File what only flows of the past deviate from, and return what is newly open of that."""
        arrivals, states = await unchecked.states(flows) if unchecked else (Arrivals(), ())
        reports = await self._reports(applied, present)
        former: dict[str, dict[str, Deviation]] = {name: {} for name in reports}
        for state in states:
            past = await asyncio.to_thread(flows.build, arrivals, state)
            found = await self._reports([version for version in applied if version.name in reports], past)
            for name in reports.keys() - found.keys():
                del reports[name]
            for name, report in found.items():
                known = {deviation.id for deviation in reports[name].deviations}
                former[name] |= {each.id: _explain(each, flows) for each in report.deviations if each.source and each.id not in known}
        checked = []
        for version in applied:
            if (present_report := reports.get(version.name)) is not None:
                gone = list(former[version.name].values())
                filed = await asyncio.to_thread(self.store.file, tenant, version, gone) if gone else []
                checked.append((version, present_report, filed))
        return checked

    async def _reports(self, applied: Sequence[PolicyVersion], flows: FlowGraph) -> dict[str, Report]:
        """Return the report of each policy on flows, by name. A policy that cannot be checked has none, and the others still count."""
        found: dict[str, Report] = {}
        for version in applied:
            try:
                found[version.name] = await asyncio.to_thread(check_policy, self._parse(version.text), flows, now=_now())
            except HeadwaterError as error:
                _log.warning("the policy %s cannot be checked: %s", version.name, error)
        return found

    async def _state_of(self, tenant: str, job: str, applied: Sequence[PolicyVersion], unchecked: Unchecked | None) -> _JobState | None:
        """Return the state of the flows and descriptions next to a job. Most runs repeat what earlier runs stated, and change nothing.

        None: the job must be checked. Facts were missing there that may be stated now, data was old that may be fresh now, or a flow
        that counted for a time does not count any more.
        """
        flows, _ = await read_flows_around(self._graph, tenant, [job], depth=1)
        around = flows.build()
        datasets = around.readers.keys() | around.written.keys()
        for version in applied:
            if await asyncio.to_thread(self.store.open_about, tenant, version.name, datasets):
                return None
        if unchecked and (await unchecked.states(flows))[1]:
            return None
        return around.digest(), tuple((version.name, version.version) for version in applied)

    def _parse(self, text: str) -> Policy:
        if (known := self._parsed.get(text)) is None:
            known = parse_policy(parse_document(text, GUIDE))
            self._parsed = {**dict(list(self._parsed.items())[-100:]), text: known}
        return known


class CallersPolicies:
    """The policies for one caller, whose name is filed with changes."""

    def __init__(self, policies: Policies, caller: str) -> None:
        self._policies, self._caller = policies, caller
        self.check, self.infer, self.current, self.deviations = policies.check, policies.infer, policies.current, policies.deviations
        self.name_of, self.carried_tags, self.expiring = policies.name_of, policies.carried_tags, policies.expiring

    async def apply(self, tenant: str, text: str, *, allows_unknown: bool = False) -> tuple[PolicyVersion, Report]:
        return await self._policies.apply(tenant, text, self._caller, allows_unknown=allows_unknown)

    async def remove(self, tenant: str, name: str) -> None:
        await self._policies.remove(tenant, name, self._caller)

    async def accept(self, tenant: str, identifier: str, *, reason: str, days: float) -> FiledDeviation:
        return await self._policies.accept(tenant, identifier, reason=reason, by=self._caller, days=days)


def _explain(deviation: Deviation, flows: FlowGraphBuilder) -> Deviation:
    """Return a deviation of the past with the runs that began and ended it in its message."""
    runs = flows.ended_flow(deviation.path)
    ended = f"Run {runs[0]} did this, and run {runs[1]} gave it up." if runs and all(runs) else "A later run gave this up."
    return replace(deviation, message=f"{deviation.message} {ended}")


def _now() -> str:
    return datetime.now(UTC).isoformat()
