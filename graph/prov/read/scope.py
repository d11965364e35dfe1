"""Names of a document to IRIs, and the checks that every notation shares."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping
from datetime import date
from fractions import Fraction

from headwater.errors import InvalidProvenanceError
from headwater.graph.prov.model import PROV, SHAPES, XSD, Kind, Literal, Name, Value

_PREDECLARED = {"prov": PROV, "xsd": XSD, "xsi": "http://www.w3.org/2001/XMLSchema-instance#"}
# xsd:dateTime. Python's own parser takes more (dates alone, weeks) and less (24:00:00, other fractions).
_DATE_TIME = re.compile(
    r"(?P<year>-?\d{4,})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"T(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d(?:\.\d+)?)(?P<zone>Z|[+-]\d\d:\d\d)?"
)


_NAMES = frozenset({f"{PROV}QUALIFIED_NAME", f"{XSD}QName"})
_INTEGERS = frozenset(
    f"{XSD}{name}" for name in ("integer", "int", "long", "short", "byte", "nonNegativeInteger", "unsignedInt", "unsignedLong")
)
_MOST_SHOWN = 20  # prefixes
_LONGEST_TIME = 100  # characters: a fraction of a second, or a year, may have any number of digits
_REALS = frozenset({f"{XSD}double", f"{XSD}float"})


class Scope:
    """The namespaces at a place of a document. In a bundle, they are those of the bundle, then those of the document."""

    def __init__(self, declared: Mapping[str, str], outer: Scope | None = None) -> None:
        self._bases = dict(declared) if outer else {**_PREDECLARED, **declared}
        self._outer = outer  # not copied: a document may have many bundles and many prefixes

    def iri(self, name: str, line: int) -> str:
        """Return the IRI of `prefix:local`, or of a local name in the default namespace.

        Raises:
            InvalidProvenanceError: the prefix is not declared.
        """
        prefix, colon, local = name.partition(":")
        if not colon:
            prefix, local = "", name
        base = self._bases.get(prefix)
        if base is None and self._outer is not None:
            base = self._outer._bases.get(prefix)  # noqa: SLF001 - of the same class
        if base is None:
            problem = (
                f"the prefix of {name!r} is not declared" if colon else f"{name!r} has no prefix, and no default namespace is declared"
            )
            declared = sorted({**(self._outer._bases if self._outer else {}), **self._bases})  # noqa: SLF001
            raise InvalidProvenanceError(
                f"{problem}.", line=line, clause="PROV-DM 5.7.1", hint=f"Declared are: {', '.join(declared[:_MOST_SHOWN])}."
            )
        return base + local

    def value(self, text: str, datatype: str, line: int) -> Value:
        """Return the value of a literal with a datatype.

        Raises:
            InvalidProvenanceError: a prefix of the datatype or of the value is not declared, or the text is no value of the datatype.
        """
        iri = self.iri(datatype, line)
        if iri in _NAMES:
            return Name(self.iri(text, line))
        try:
            if iri in _INTEGERS:
                return int(text)
            if iri in _REALS:
                return float(text)
        except ValueError:
            raise InvalidProvenanceError(f"{text!r} is no {datatype}.", line=line, clause="PROV-DM 5.7.3") from None
        if iri == f"{XSD}boolean" and text in ("true", "false"):
            return text == "true"
        return text if iri == f"{XSD}string" else Literal(text, iri)


def checked_time(text: str, line: int) -> str:
    """Return the text.

    Raises:
        InvalidProvenanceError: the text is no xsd:dateTime.
    """
    if len(text) > _LONGEST_TIME or not _DATE_TIME.fullmatch(text) or not _on_calendar(text):
        raise InvalidProvenanceError(
            f"{text[:_LONGEST_TIME]!r} is not a time.", line=line, clause="PROV-DM 5.7.3",
            hint="Write it as 2026-01-31T23:59:59Z (xsd:dateTime).",
        )  # fmt: skip
    return text


def _on_calendar(text: str) -> bool:
    """Whether the day and the time exist. A year may have any length, and 24:00:00 is the end of a day."""
    day_part, _, clock = text.rpartition("T")
    year, month, day = (int(part) for part in day_part.removeprefix("-").rsplit("-", 2))
    hour, minute, second = (int(part) for part in (clock[:2], clock[3:5], clock[6:8]))
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(2000 + year % 400, month)[1]:
        return False
    return (hour, minute, second) == (24, 0, 0) or (hour < 24 and minute < 60 and second < 60)


def same_instant(first: str, second: str) -> bool:
    """Whether two times (xsd:dateTime) are the same instant, in any zone and with any fraction of a second.

    A time with a zone is never the same as a time without a zone.
    """
    if first == second:
        return True
    one, other = _instant(first), _instant(second)
    return one is not None and one == other


def _instant(text: str) -> tuple[bool, Fraction] | None:
    """Return whether a time has a zone, and its seconds since the year 0. Return None for a text that is no time."""
    found = _DATE_TIME.fullmatch(text)
    if found is None or not _on_calendar(text):
        return None
    zone = found["zone"] or ""
    cycles, within = divmod(int(found["year"]), 400)  # of the calendar; Python's begins with the year 1
    days = cycles * 146_097 + date(within + 400, int(found["month"]), int(found["day"])).toordinal()
    offset = 0 if zone in ("", "Z") else (1 if zone[0] == "+" else -1) * (int(zone[1:3]) * 60 + int(zone[4:6]))
    minutes = days * 1440 + int(found["hour"]) * 60 + int(found["minute"]) - offset
    return bool(zone), minutes * 60 + Fraction(found["second"])


def check_arguments(kind: Kind, args: tuple[str | None, ...], line: int, *, named: bool = False, attributed: bool = False) -> None:
    """Check that all arguments that PROV-DM requires are present.

    An association must have at least one argument in addition to its activity. So must a usage, start, end, generation or invalidation
    (PROV-DM: "at least one of ... must be present").

    Raises:
        InvalidProvenanceError: a required argument is missing.
    """
    shape = SHAPES[kind]
    for place in range(shape.required):
        if args[place] is None:
            raise InvalidProvenanceError(
                f"{kind} lacks its {shape.arguments[place]}.", line=line, clause=f"PROV-DM {shape.section}".strip(),
                hint=f"It reads {kind}({', '.join(shape.arguments)}).",
            )  # fmt: skip
    if shape.required == 1 and not named and not attributed and not any(args[1:]):
        raise InvalidProvenanceError(
            f"{kind} says nothing but its {shape.arguments[0]}.", line=line, clause=f"PROV-DM {shape.section}",
            hint=f"It needs one more of {', '.join(shape.arguments[1:])}, an identifier or an attribute.",
        )  # fmt: skip
