"""`deviation`: something deviates from an applied policy that did not deviate before. A deviation that was fixed may open again.

Without `policy`, all policies count, and without `rule`, all rules. `severity` is the lowest one that counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.policies import FiledDeviation
from headwater.backend.triggers.conditions.condition import NameLookup, choice_of, refuse_unknown, text_of
from headwater.backend.triggers.model import Fact, FactKind
from headwater.errors import InvalidInputError
from headwater.graph.policies import Severity

_ANY = "*"
_SEVERITIES = [severity.value for severity in (Severity.INFO, Severity.WARNING, Severity.ERROR)]


class OpenedDeviation:
    async def check(self, stated: Mapping[str, Any], known: NameLookup) -> Mapping[str, Any]:
        refuse_unknown(stated, ("policy", "rule", "severity"), "deviation")
        parts = {part: text_of(stated, part, "deviation") for part in ("policy", "rule") if stated.get(part) is not None}
        if "policy" in parts:
            await known.policy(parts["policy"], parts.get("rule"))
        elif "rule" in parts:
            raise InvalidInputError("A rule belongs to a policy.", field="deviation.policy", hint="Name the policy of the rule.")
        return {**parts, "severity": choice_of(stated, "severity", _SEVERITIES, "deviation", _SEVERITIES[0])}

    def subjects(self, parts: Mapping[str, Any], trigger: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002 - see the protocol
        return [(FactKind.DEVIATION, parts.get("policy", _ANY))]

    def fulfils(self, parts: Mapping[str, Any], fact: Fact) -> bool:
        stated = {"policy": fact.subject, "rule": fact.details["rule"]}
        is_severe = _SEVERITIES.index(fact.details["severity"]) >= _SEVERITIES.index(parts["severity"])
        return is_severe and all(parts.get(part, value) == value for part, value in stated.items())

    def where(self, parts: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        return None

    def describe(self, parts: Mapping[str, Any]) -> str:
        source = f"the policy {parts['policy']}" if "policy" in parts else "a policy"
        rule = f", rule {parts['rule']}" if "rule" in parts else ""
        least = "" if parts["severity"] == _SEVERITIES[0] else f", with the severity {parts['severity']}"
        if parts["severity"] == Severity.WARNING.value:
            least += " or higher"
        return f"when something deviates from {source}{rule}{least}"


def deviation_fact(filed: FiledDeviation) -> Fact:
    """Return the fact that a deviation opened. Its id also names the time, because a fixed deviation may open again."""
    deviation = filed.deviation
    details = {
        "rule": deviation.rule, "severity": deviation.severity.value, "message": deviation.message, "deviation": filed.id,
        "target": deviation.target, **({"source": deviation.source} if deviation.source else {}),
    }  # fmt: skip
    return Fact(FactKind.DEVIATION, filed.policy, f"deviation {filed.policy} {filed.id} {filed.opened}", filed.opened, details=details)
