"""Reads and checks the definition of a trigger.

    {"name": "refresh-report",
     "when": {"data": {"dataset": "raw/events", "where": "amount > 1000"}},
     "do": {"run": {"job": "report"}},
     "limits": {"concurrent": 1, "cool_down": "10m", "chain": 5}}

`when` and `do` have one kind each. `all_of` and `any_of` are {"of": [conditions or names of triggers], "within": "1h"}.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from headwater.backend.triggers.actions import ACTIONS, Site
from headwater.backend.triggers.conditions import COMBINATIONS, KINDS, NameLookup
from headwater.backend.triggers.conditions.condition import refuse_unknown
from headwater.backend.triggers.durations import parse_duration
from headwater.backend.triggers.model import CHAIN, LARGEST_CHAIN, Combination, Condition, Definition, Limits, Member
from headwater.errors import InvalidInputError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MOST_MEMBERS = 20
_MOST_CONCURRENT = 16


async def read_definition(stated: Mapping[str, Any], known: NameLookup, site: Site, tenant: str) -> Definition:
    """Parse and check the definition of a trigger.

    Raises:
        InvalidInputError: a part is missing, unknown or invalid; `field` names the part.
        HeadwaterError: the action could not run. The message states the reason.
    """
    refuse_unknown(stated, ("name", "when", "do", "limits"), "trigger")
    name = stated.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} is not a name for a trigger.", field="name", hint="Up to 64 letters, digits, dots, hyphens and underscores."
        )
    limits = _limits(_mapping(stated.get("limits") or {}, "limits"))
    condition = await _condition(_mapping(stated.get("when"), "when"), known)
    kind, parts = _one(_mapping(stated.get("do"), "do"), tuple(ACTIONS), "do")
    return Definition(name, condition, Member(kind, await ACTIONS[kind].check(parts, known, site, tenant)), limits)


async def _condition(stated: Mapping[str, Any], known: NameLookup) -> Condition:
    kind, parts = _one(stated, (*KINDS, *COMBINATIONS), "when")
    if kind in KINDS:
        return Condition(Combination.ONE, [Member(kind, await KINDS[kind].check(parts, known))])
    refuse_unknown(parts, ("of", "within"), kind)
    members = parts.get("of")
    if not isinstance(members, list) or not 2 <= len(members) <= _MOST_MEMBERS:
        raise InvalidInputError(
            f"{kind} needs a list of 2 to {_MOST_MEMBERS} conditions.", field=f"{kind}.of", hint="A condition, or the name of a trigger."
        )
    within = parse_duration(parts["within"], f"{kind}.within") if parts.get("within") is not None else None
    return Condition(COMBINATIONS[kind].combination, [await _member(one, known, kind) for one in members], within)


async def _member(stated: Any, known: NameLookup, within: str) -> Member:
    if isinstance(stated, str):
        stated = {"trigger": {"name": stated}}
    document = _mapping(stated, f"{within}.of")
    if nested := set(document) & set(COMBINATIONS):
        raise InvalidInputError(
            f"{within} holds {min(nested)}.", field=f"{within}.of", hint="Make a trigger for the inner one, and give its name here."
        )
    kind, parts = _one(document, tuple(KINDS), f"{within}.of")
    return Member(kind, await KINDS[kind].check(parts, known))


def _one(stated: Mapping[str, Any], kinds: tuple[str, ...], field: str) -> tuple[str, Mapping[str, Any]]:
    if len(stated) != 1:
        raise InvalidInputError(f"{field} has {len(stated)} kinds, not one.", field=field, hint=f"Give one of {', '.join(kinds)}.")
    ((kind, parts),) = stated.items()
    if kind not in kinds:
        near = get_close_matches(str(kind), kinds, 1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise InvalidInputError(f"{field} has no kind {kind!r}.", field=field, hint=f"{hint}There are {', '.join(kinds)}.")
    return kind, _mapping({} if parts is None else parts, f"{field}.{kind}")


def _mapping(stated: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(stated, Mapping) or not all(isinstance(name, str) for name in stated):
        raise InvalidInputError(f"{field} is not an object.", field=field, hint="docs/guide/triggers.md shows one.")
    return stated


def _limits(stated: Mapping[str, Any]) -> Limits:
    refuse_unknown(stated, ("concurrent", "cool_down", "chain"), "limits")
    cool_down = stated.get("cool_down")
    return Limits(
        _number(stated, "concurrent", 1, _MOST_CONCURRENT), parse_duration(cool_down, "limits.cool_down") if cool_down else 0.0,
        _number(stated, "chain", CHAIN, LARGEST_CHAIN),
    )  # fmt: skip


def _number(stated: Mapping[str, Any], part: str, default: int, most: int) -> int:
    value = stated.get(part, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InvalidInputError(f"limits.{part} is {value!r}.", field=f"limits.{part}", hint=f"It is a number from 1 to {most}.")
    return value
