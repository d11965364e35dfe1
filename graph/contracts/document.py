"""Reads a data contract of the Open Data Contract Standard, versions 3.0 to 3.2, as JSON values.

The document may come from anybody. Only the parts that Headwater uses are read; their types are checked, and the first fault is named by
its place in the document. Parts that Headwater does not use are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeGuard

from headwater.errors import InvalidInputError, UnsupportedError
from headwater.graph.yaml_reader import parse_document

_MOST_TABLES = 200
_MOST_COLUMNS = 5_000
_DEEPEST = 10  # levels of fields in fields
_LONGEST = 2_000  # characters of a name
_VERSION = re.compile(r"v3\.[0-2]\.[0-9]{1,3}")
_GUIDE = "See docs/guide/contracts.md."
_AGES = ("latency", "freshness")
_UNITS = {
    "s": "seconds", "second": "seconds", "seconds": "seconds", "m": "minutes", "min": "minutes", "minute": "minutes", "minutes": "minutes",
    "h": "hours", "hr": "hours", "hour": "hours", "hours": "hours", "d": "days", "day": "days", "days": "days",
    "w": "weeks", "week": "weeks", "weeks": "weeks",
}  # fmt: skip
_MOST_DAYS = 36_500
OPERATORS = (
    "mustBe", "mustNotBe", "mustBeGreaterThan", "mustBeGreaterOrEqualTo", "mustBeLessThan", "mustBeLessOrEqualTo", "mustBeBetween",
    "mustNotBeBetween",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class QualityRule:
    """A rule about data. `operator` is one of OPERATORS, and `limit` its number or pair of numbers. `unit` is `rows` or `percent`."""

    name: str
    metric: str | None
    operator: str | None
    limit: Any
    unit: str


@dataclass(frozen=True, slots=True)
class ContractColumn:
    """A column, or a field of a column: its name is then `column.field`."""

    name: str
    logical_type: str | None
    physical_type: str | None
    required: bool
    unique: bool
    description: str | None
    tags: tuple[str, ...]
    quality: tuple[QualityRule, ...]


@dataclass(frozen=True, slots=True)
class ContractTable:
    """A table. `called` are the possible names of its dataset, the physical name first. `age` is the greatest age of the last write."""

    name: str
    called: tuple[str, ...]
    columns: tuple[ContractColumn, ...]
    description: str | None
    tags: tuple[str, ...]
    quality: tuple[QualityRule, ...]
    age: timedelta | None


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract. `ignored` names the service levels that Headwater does not check."""

    name: str
    version: str
    status: str
    tables: tuple[ContractTable, ...]
    owners: tuple[str, ...]
    stewards: tuple[str, ...]
    ignored: tuple[str, ...]


def read_contract(document: Any, today: date) -> Contract:
    """Return the contract in a document or in a text of YAML or JSON. Members of its team count who have not left it before `today`.

    Raises:
        InvalidInputError: a part is missing, or has another form than the standard demands.
        UnsupportedError: the document has a version of the standard that is not known.
    """
    if isinstance(document, str):
        document = parse_document(document, "docs/guide/contracts.md")
    if not isinstance(document, Mapping):
        raise InvalidInputError("The contract is no object.", field="$", hint=_GUIDE)
    if document.get("kind") != "DataContract":
        raise InvalidInputError(
            "`kind` is not DataContract.", field="$.kind", hint=f"Give a file of the Open Data Contract Standard. {_GUIDE}"
        )
    standard = _text(document, "apiVersion", "$", needed=True)
    if not _VERSION.fullmatch(standard):
        raise UnsupportedError(
            f"The contract has version {standard[:40]} of the standard.", hint="Headwater reads v3.0.0 to v3.2.x. Convert the file."
        )
    name = _text(document, "name", "$") or _text(document, "id", "$", needed=True)
    listed = _objects(document, "schema", "$")
    if not 0 < len(listed) <= _MOST_TABLES:
        raise InvalidInputError(f"The contract has {len(listed)} tables.", field="$.schema", hint=f"State 1 to {_MOST_TABLES} in `schema`.")
    ages, ignored = _service_levels(document, [_text(table, "name", place, needed=True) for table, place in listed])
    tables = tuple(_table(table, place, ages) for table, place in listed)
    if len({table.name for table in tables}) < len(tables):
        raise InvalidInputError("Two tables have the same name.", field="$.schema", hint="Give each table a name of its own.")
    if sum(len(table.columns) for table in tables) > _MOST_COLUMNS:
        raise InvalidInputError(f"The contract has more than {_MOST_COLUMNS:,} columns.", field="$.schema", hint="Divide the contract.")
    owners, stewards = _team(document, today)
    version, status = (_text(document, part, "$") for part in ("version", "status"))
    return Contract(name, version, status, tables, owners, stewards, ignored)


def _table(stated: Mapping[str, Any], place: str, ages: Mapping[str, timedelta]) -> ContractTable:
    name = _text(stated, "name", place, needed=True)
    called = tuple(dict.fromkeys(filter(None, (_text(stated, "physicalName", place), name))))
    columns = tuple(_columns(stated, place, "", 0))
    return ContractTable(
        name, called, columns, _text(stated, "description", place, longest=20_000) or None, _tags(stated, place), _quality(stated, place),
        ages.get(name),
    )  # fmt: skip


def _columns(stated: Mapping[str, Any], place: str, prefix: str, depth: int) -> Iterator[ContractColumn]:
    if depth > _DEEPEST:
        raise InvalidInputError(f"Fields have more than {_DEEPEST} levels.", field=place, hint="State the upper levels.")
    known: set[str] = set()
    for column, at in _objects(stated, "properties", place):
        name = _text(column, "physicalName", at) or _text(column, "name", at, needed=True)
        if name.lower() in known:
            raise InvalidInputError(f"The column {name} is stated twice.", field=at, hint="State each column once.")
        known.add(name.lower())
        classification = _text(column, "classification", at)
        tags = (*_tags(column, at), *((f"classification={classification}",) if classification else ()))
        yield ContractColumn(
            prefix + name, _text(column, "logicalType", at) or None, _text(column, "physicalType", at) or None,
            required=_flag(column, "required", at) or _flag(column, "primaryKey", at),
            unique=_flag(column, "unique", at) or (_flag(column, "primaryKey", at) and not _is_part_of_key(stated, place)),
            description=_text(column, "description", at, longest=20_000) or None, tags=tags, quality=_quality(column, at),
        )  # fmt: skip
        if not isinstance(column.get("properties", []), list):
            raise InvalidInputError("`properties` is no list.", field=f"{at}.properties", hint=_GUIDE)
        yield from _columns(column, at, f"{prefix}{name}.", depth + 1)


def _is_part_of_key(table: Mapping[str, Any], place: str) -> bool:
    """Whether several columns make the primary key together. Each of them may then repeat its values."""
    return sum(column.get("primaryKey") is True for column, _ in _objects(table, "properties", place)) > 1


def _quality(stated: Mapping[str, Any], place: str) -> tuple[QualityRule, ...]:
    return tuple(_quality_rule(rule, at) for rule, at in _objects(stated, "quality", place))


def _quality_rule(rule: Mapping[str, Any], place: str) -> QualityRule:
    operators = [operator for operator in OPERATORS if operator in rule]
    if len(operators) > 1:
        raise InvalidInputError(f"The rule has {' and '.join(operators)}.", field=place, hint="State one comparison.")
    operator = operators[0] if operators else None
    limit = rule.get(operator) if operator else None
    if operator and "Between" in operator:
        if not (isinstance(limit, list) and len(limit) == 2 and all(map(_is_number, limit)) and limit[0] <= limit[1]):
            raise InvalidInputError(f"`{operator}` is no pair of numbers.", field=f"{place}.{operator}", hint="Write it as [0, 10].")
    elif operator and operator not in ("mustBe", "mustNotBe") and not _is_number(limit):
        raise InvalidInputError(f"`{operator}` is no number.", field=f"{place}.{operator}", hint="Write a number.")
    metric = _text(rule, "metric", place) or _text(rule, "rule", place) or None
    name = _text(rule, "name", place) or metric or _text(rule, "id", place) or _text(rule, "type", place) or "quality"
    return QualityRule(name, metric, operator, limit, _text(rule, "unit", place) or "rows")


def _service_levels(document: Mapping[str, Any], tables: Sequence[str]) -> tuple[dict[str, timedelta], tuple[str, ...]]:
    """Return the greatest age of each table, and the names of the service levels that nobody checks."""
    ages: dict[str, timedelta] = {}
    ignored = []
    for level, place in _objects(document, "slaProperties", "$"):
        name = _text(level, "property", place, needed=True)
        if name.lower() not in _AGES:
            ignored.append(name)
            continue
        age = _duration(name, level, place)
        elements = [element.strip().partition(".")[0] for element in _text(level, "element", place).split(",") if element.strip()]
        for table in elements or tables:
            if table not in tables:
                raise InvalidInputError(
                    f"The service level {name} is for {table}, which is no table of the contract.", field=f"{place}.element",
                    hint=f"The tables are {', '.join(tables[:5])}.",
                )  # fmt: skip
            ages[table] = min(age, ages.get(table, age))
    return ages, tuple(dict.fromkeys(ignored))


def _duration(name: str, level: Mapping[str, Any], place: str) -> timedelta:
    value, unit = level.get("value"), _UNITS.get(_text(level, "unit", place).lower() or "d")
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", value):
        value = float(value)
    if unit is None or not _is_number(value) or not 0 < value <= _MOST_DAYS:
        raise InvalidInputError(
            f"The service level {name} is no duration.",
            field=place,
            hint="Write a number in `value`, and s, m, h, d or w in `unit`.",
        )
    return timedelta(**{unit: value})


def _team(document: Mapping[str, Any], today: date) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the owners and the stewards in the team."""
    team = document.get("team")
    members = _objects(team, "members", "$.team") if isinstance(team, Mapping) else _objects(document, "team", "$")
    found: dict[str, list[str]] = {"owner": [], "steward": []}
    for member, place in members:
        role, left = _text(member, "role", place).lower(), _text(member, "dateOut", place)[:10]
        if left and left < today.isoformat():
            continue
        for word, names in found.items():
            if word in role:
                names.append(_text(member, "username", place, needed=True))
    return tuple(dict.fromkeys(found["owner"])), tuple(dict.fromkeys(found["steward"]))


def _objects(stated: Mapping[str, Any], part: str, place: str) -> list[tuple[Mapping[str, Any], str]]:
    """Return the objects in a list, each with its place. A part that is not stated is empty."""
    listed = stated.get(part)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise InvalidInputError(f"`{part}` is no list.", field=f"{place}.{part}", hint=_GUIDE)
    for index, each in enumerate(listed):
        if not isinstance(each, Mapping):
            raise InvalidInputError(f"An entry of `{part}` is no object.", field=f"{place}.{part}[{index}]", hint=_GUIDE)
    return [(each, f"{place}.{part}[{index}]") for index, each in enumerate(listed)]


def _tags(stated: Mapping[str, Any], place: str) -> tuple[str, ...]:
    tags = stated.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) and tag.strip() for tag in tags):
        raise InvalidInputError("`tags` is no list of texts.", field=f"{place}.tags", hint=_GUIDE)
    return tuple(dict.fromkeys(tag.strip() for tag in tags))


def _text(stated: Mapping[str, Any], part: str, place: str, *, needed: bool = False, longest: int = _LONGEST) -> str:
    """Return a text without the spaces around it, empty if it is not stated. Numbers count as text, as in `version: 1.0`."""
    value = stated.get(part)
    if isinstance(value, date) or _is_number(value):
        value = str(value)
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"`{part}` is no text.", field=f"{place}.{part}", hint=_GUIDE)
    found = (value or "").strip()
    if needed and not found:
        raise InvalidInputError(f"`{part}` is missing.", field=f"{place}.{part}", hint=_GUIDE)
    if len(found) > longest:
        raise InvalidInputError(f"`{part}` has {len(found):,} characters.", field=f"{place}.{part}", hint=f"{longest:,} are the most.")
    return found


def _flag(stated: Mapping[str, Any], part: str, place: str) -> bool:
    value = stated.get(part, False)
    if not isinstance(value, bool):
        raise InvalidInputError(f"`{part}` is neither true nor false.", field=f"{place}.{part}", hint="Write true or false.")
    return value


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300  # no NaN either
