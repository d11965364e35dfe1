"""`time`: the instants of a cron expression in a time zone, or instants at a fixed interval.

`source` names a channel of the workflow in the action. The trigger then fires only if files arrived there, or blocks are unread.
`missed` decides about instants at which no service ran: `skip` them, fire `once` for the last of them, or fire for `all`.
The package cronsim reads cron expressions with the rules of Debian's cron. An instant that a clock change leaves out runs right after the
change, and an instant that occurs twice runs once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import Any
from zoneinfo import ZoneInfo

from headwater.backend.triggers.conditions.condition import NameLookup, choice_of, refuse_unknown, text_of
from headwater.backend.triggers.durations import parse_duration
from headwater.backend.triggers.model import Fact, FactKind
from headwater.errors import InvalidInputError

MISSED = ("once", "skip", "all")
_FIELDS = {"minute": 59, "hour": 23, "day of the month": 31, "month": 12, "day of the week": 7}  # with their largest values
_EXTENSION = re.compile(r"(?<![A-Z])\d*LW?(?![A-Z])|\d*#\d*|\?|(?<![A-Z])\d+W")
_LOCAL_ZONES = frozenset({"localtime", "posixrules", "Factory"})
_LEAST = 1.0  # seconds between two instants
GRACE = 60.0  # seconds after which an instant counts as missed
MOST_AT_ONCE = 1_000  # limit of missed instants


class Time:
    async def check(self, stated: Mapping[str, Any], known: NameLookup) -> Mapping[str, Any]:  # noqa: ARG002 - see the protocol
        refuse_unknown(stated, ("cron", "every", "zone", "missed", "source"), "time")
        if ("cron" in stated) == ("every" in stated):
            raise InvalidInputError("time needs cron or every, and not both.", field="time", hint='For example {"every": "15m"}.')
        parts: dict[str, Any] = {"missed": choice_of(stated, "missed", MISSED, "time", "once")}
        if "every" in stated:
            if "zone" in stated:
                raise InvalidInputError("A distance has no time zone.", field="time.zone", hint="Leave it out.")
            parts["every"] = parse_duration(stated["every"], "time.every")
            if parts["every"] < _LEAST:
                raise InvalidInputError("The shortest distance is 1s.", field="time.every", hint="Write it as 1s or longer.")
            return parts | ({"source": text_of(stated, "source", "time")} if stated.get("source") is not None else {})
        if "source" in stated:
            raise InvalidInputError("A source is looked at in fixed intervals.", field="time.source", hint="Give every, or leave it out.")
        parts |= {"cron": text_of(stated, "cron", "time"), "zone": str(stated.get("zone", "UTC"))}
        try:
            next(_instants(parts, 0.0, 0.0))
        except StopIteration:
            raise InvalidInputError(
                f"No time fulfils the cron expression {parts['cron']!r}.", field="time.cron", hint="For example 0 6 * * 1-5."
            ) from None
        return parts

    def subjects(self, parts: Mapping[str, Any], trigger: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002
        return [(FactKind.INSTANT, trigger)]

    def fulfils(self, parts: Mapping[str, Any], fact: Fact) -> bool:  # noqa: ARG002
        return True

    def where(self, parts: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        return None

    def describe(self, parts: Mapping[str, Any]) -> str:
        if "source" in parts:
            return f"when files arrive in {parts['source']}"
        return f"every {parts['every']:g} s" if "every" in parts else f"at {parts['cron']} ({parts['zone']})"


def next_instant(parts: Mapping[str, Any], begin: float, after: float) -> float | None:
    """Return the first instant after `after`, or None if the next fifty years have none. Intervals count from `begin`."""
    return next(_instants(parts, begin, after), None)


@dataclass(frozen=True, slots=True)
class DueInstants:
    """Instants that have passed (`fire`, and the last of the skipped ones), and the next instant in the future."""

    fire: Sequence[float]
    skipped: float | None
    following: float | None


def due_instants(parts: Mapping[str, Any], begin: float, due: float, now: float) -> DueInstants:
    """Decide which of the instants from `due` to `now` fire.

    An instant counts as missed if it lies more than a minute before `now`. At most the last thousand instants are considered.
    """
    passed = _passed(parts, begin, due, now)
    missed = [at for at in passed if at < now - GRACE]
    fire, skipped = passed, None
    if missed and parts["missed"] == "once":
        fire = passed[-1:]
    elif missed and parts["missed"] == "skip":
        fire, skipped = passed[len(missed) :], missed[-1]
    return DueInstants(fire, skipped, next_instant(parts, begin, now))


def _passed(parts: Mapping[str, Any], begin: float, due: float, now: float) -> list[float]:
    if "every" in parts:
        last = int((now - begin) // parts["every"])
        first = max(round((due - begin) / parts["every"]), last - MOST_AT_ONCE + 1)
        return [begin + number * parts["every"] for number in range(first, last + 1)]
    back = takewhile(lambda at: at >= due, _of_cron(str(parts["cron"]), str(parts["zone"]), now + 1.0, backward=True))
    return sorted(at for at in islice(back, MOST_AT_ONCE) if at <= now)


def _instants(parts: Mapping[str, Any], begin: float, after: float) -> Iterator[float]:
    if "every" in parts:
        number = max(0, int((after - begin) // parts["every"])) + 1
        while True:
            if (found := begin + number * parts["every"]) > after:
                yield found
            number += 1
    yield from _of_cron(str(parts["cron"]), str(parts["zone"]), after)


def _no_cron(expression: str, reason: str) -> InvalidInputError:
    hint = "Five fields: minute, hour, day of the month, month, day of the week. For example 0 6 * * 1-5."
    return InvalidInputError(f"{expression!r} is not a cron expression: {reason}.", field="time.cron", hint=hint)


def _check_cron(expression: str) -> None:
    """Refuse what cronsim accepts and cron does not have, or what has no effect: `L`, `LW`, `5L`, `5#2`, a sixth field, and `*/99`."""
    parts = expression.upper().split()
    if len(parts) != len(_FIELDS):  # cronsim reads a sixth field as seconds
        raise _no_cron(expression, "Wrong number of fields")
    for (field, largest), part in zip(_FIELDS.items(), parts, strict=True):
        for term in part.split(","):
            if extension := _EXTENSION.search(term):
                raise _no_cron(expression, f"{extension[0]} in the field {field} is an extension, which cron does not have")
            step = term.partition("/")[2]
            if step.isdecimal() and int(step) > largest:
                raise _no_cron(expression, f"the step {step} in the field {field} is larger than {largest}")


def _zone(name: str) -> ZoneInfo:
    """Return a time zone. Names that mean another zone on another machine are refused."""
    problem = f"There is no time zone {name!r}."
    if name in _LOCAL_ZONES or name.startswith(("posix/", "right/")):
        problem = f"The zone {name!r} depends on the machine, or counts leap seconds."
    else:
        with suppress(ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
            return ZoneInfo(name)
    raise InvalidInputError(problem, field="time.zone", hint="For example Europe/Berlin, or UTC.")


def _of_cron(expression: str, zone: str, after: float, *, backward: bool = False) -> Iterator[float]:
    from cronsim import CronSim, CronSimError

    _check_cron(expression)
    local = datetime.fromtimestamp(after, UTC).astimezone(_zone(zone))
    try:
        instants = CronSim(expression, local, reverse=backward)
    except CronSimError as error:
        raise _no_cron(expression, str(error)) from None
    for found in instants:
        yield found.timestamp()
