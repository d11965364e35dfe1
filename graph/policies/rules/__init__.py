"""The kinds of rules. A kind is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headwater.graph.policies.rules import may_flow, must_expire, must_have, must_not_flow, must_pass_through
from headwater.graph.policies.rules.rule import Heading, Rule

KINDS: Mapping[str, Callable[[Any, str], Rule]] = {
    "may_flow": may_flow.parse,
    "must_not_flow": must_not_flow.parse,
    "must_pass_through": must_pass_through.parse,
    "must_have": must_have.parse,
    "must_expire": must_expire.parse,
}

__all__ = ["KINDS", "Heading", "Rule"]
