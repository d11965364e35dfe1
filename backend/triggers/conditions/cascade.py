"""`cascade`: a run of a job started, completed, failed or was aborted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.triggers.conditions.condition import NameLookup, choice_of, refuse_unknown, text_of
from headwater.backend.triggers.model import Fact, FactKind
from headwater.graph.model import parse_id

STATES = ("completed", "started", "failed", "aborted")


class Cascade:
    async def check(self, stated: Mapping[str, Any], known: NameLookup) -> Mapping[str, Any]:
        refuse_unknown(stated, ("job", "state"), "cascade")
        jobs = await known.jobs(text_of(stated, "job", "cascade"), "cascade.job")
        return {"jobs": list(jobs), "state": choice_of(stated, "state", STATES, "cascade", "completed")}

    def subjects(self, parts: Mapping[str, Any], trigger: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002 - see the protocol
        return [(FactKind.RUN, job) for job in parts["jobs"]]

    def fulfils(self, parts: Mapping[str, Any], fact: Fact) -> bool:
        return bool(fact.details.get("state") == parts["state"])

    def where(self, parts: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        return None

    def describe(self, parts: Mapping[str, Any]) -> str:
        verb = {"started": "starts", "completed": "completes", "failed": "fails", "aborted": "is aborted"}[parts["state"]]
        return f"when a run of {parse_id(parts['jobs'][0])[1][-1]} {verb}"
