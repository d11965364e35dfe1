"""`must_pass_through`: data of the nodes in `from` may reach those in `to` only over a node in `through`, such as a job that masks."""

from __future__ import annotations

from typing import Any

from headwater.graph.policies.rules.must_not_flow import ForbiddenFlow
from headwater.graph.policies.rules.rule import read_parts, read_selectors, read_ways


def parse(stated: Any, place: str) -> ForbiddenFlow:
    parts = read_parts(stated, place, needs=("from", "to", "through"), accepts=("ways",))
    sources, targets, through = (read_selectors(parts[name], f"{place}.{name}") for name in ("from", "to", "through"))
    return ForbiddenFlow(sources, targets, through, read_ways(parts.get("ways"), f"{place}.ways"))
