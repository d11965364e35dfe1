"""A policy: named rules, as a YAML file states them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.errors import InvalidInputError
from headwater.graph.policies.conflicts import find_conflicts, text_of
from headwater.graph.policies.deviation import Severity
from headwater.graph.policies.matcher import Matcher
from headwater.graph.policies.rules import KINDS, Heading, Rule

_MOST_RULES = 5_000
_LONGEST_NAME = 200
_HEADING = ("name", "severity", "owner", "description")
_SEVERITIES = {severity.value: severity for severity in Severity}


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of a policy, in the order of its file."""

    name: str
    rules: Sequence[tuple[Heading, Rule]]
    matcher: Matcher


def parse_policy(document: Mapping[str, Any]) -> Policy:
    """Read the document of a policy.

    Raises:
        InvalidInputError: the document is invalid, or its rules contradict each other. `field` is the place of the fault.
    """
    if unknown := sorted(set(document) - {"policy", "rules"}):
        raise InvalidInputError(f"A policy has no key {unknown[0]!r}.", field=unknown[0], hint="The keys are policy and rules.")
    name, stated = _text(document.get("policy"), "policy"), document.get("rules")
    if not isinstance(stated, list) or not 1 <= len(stated) <= _MOST_RULES:
        raise InvalidInputError(f"A policy has a list of 1 to {_MOST_RULES:,} rules.", field="rules")
    rules = [_rule(each, f"rules[{number}]") for number, each in enumerate(stated)]
    seen: set[str] = set()
    for number, (heading, _) in enumerate(rules):
        if heading.name in seen:
            raise InvalidInputError(f"Two rules have the name {heading.name!r}.", field=f"rules[{number}].name", hint="Rename one.")
        seen.add(heading.name)
    if conflicts := find_conflicts(rules, text_of):
        raise InvalidInputError(conflicts[0], field="rules", hint="Remove one of the rules.")
    return Policy(name, rules, Matcher(selector for _, rule in rules for group in rule.groups for selector in group))


def _rule(stated: Any, place: str) -> tuple[Heading, Rule]:
    if not isinstance(stated, Mapping):
        raise InvalidInputError("A rule is a mapping.", field=place, hint=f"Write name and one of {', '.join(KINDS)}.")
    kinds = [key for key in stated if key in KINDS]
    if unknown := sorted(set(stated) - {*_HEADING, *KINDS}):
        raise InvalidInputError(f"A rule has no key {unknown[0]!r}.", field=place, hint=f"The keys are {', '.join([*_HEADING, *KINDS])}.")
    if len(kinds) != 1:
        raise InvalidInputError(f"A rule has exactly one of {', '.join(KINDS)}.", field=place)
    severity = stated.get("severity", "error")
    if severity not in _SEVERITIES:
        raise InvalidInputError(f"{str(severity)[:40]!r} is not known.", field=f"{place}.severity", hint=f"Write {', '.join(_SEVERITIES)}.")
    heading = Heading(
        _text(stated.get("name"), f"{place}.name"), _SEVERITIES[severity],
        *(_text(stated[key], f"{place}.{key}") if key in stated else None for key in ("owner", "description")),
    )  # fmt: skip
    return heading, KINDS[kinds[0]](stated[kinds[0]], f"{place}.{kinds[0]}")


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_NAME or not value.isprintable():
        raise InvalidInputError("A text is missing.", field=place, hint=f"Write 1 to {_LONGEST_NAME} printable letters.")
    return value
