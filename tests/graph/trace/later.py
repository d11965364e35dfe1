"""Jobs that leave groups to the trace, as `lazy` does: their keys are written, and their associations are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from headwater.graph.associations import NONE
from tests.graph.jobs import Job, Relation, Row

Told = Literal["by its reference", "by a record", "by values"]
_MIXED = 0x3C6EF37200000000  # docs: capture format, "Derived boundaries"
_NULL = 0x5DEECE66D1CE4E5B
_HASH = 7_000_000_007  # a number that stands for the hash of an unknown group


class LazyJob(Job):
    """A job whose joins say their condition and whose groups may be left."""

    format: ClassVar[int] = 2

    def join(self, left: Relation, right: Relation, on: Sequence[tuple[str, str]], how: str = "inner") -> Relation:
        joined = super().join(left, right, on, {"left outer": "left"}.get(how, how))
        equal = [self.function("=", self.attr(left, a), self.attr(right, b), kind="boolean") for a, b in on]
        self.operators[joined.operator] |= {"how": how, "condition": equal[0] if len(equal) == 1 else self._all(equal)}
        return joined

    def filter_by(self, of: Relation, fn: str, name: str, value: int, keep: Callable[[Any], bool]) -> Relation:
        """A filter that says its condition: `name fn value`."""
        kept = self.filter(of, lambda values: values[name] is not None and keep(values[name]), [name])
        condition = self.function(fn, self.attr(of, name), self.literal(value, of.columns[name][1]), kind="boolean")
        self.operators[kept.operator]["condition"] = condition
        return kept

    def group(self, of: Relation, keys: Sequence[str], told: Told) -> Relation:
        """Count the rows of each group; none of its associations is written."""
        columns: Mapping[str, tuple[int, str]] = {**{key: of.columns[key] for key in keys}, "rows": (self._attr(), "bigint")}
        counted = self.aggregation("count", self.literal(1, "int"))
        operator = self._operator(
            "Aggregate", (of.operator,), keys=[self.attr(of, key) for key in keys], text=f"Aggregate by {', '.join(keys)}",
            defines=[{"attr": columns["rows"][0], "name": "rows", "type": "bigint", "expr": counted}],
        )  # fmt: skip
        refs = [{"role": "ref", "operator": ref} for ref in of.refs]
        self._boundary("group", operator, [{"role": "key"}, *refs], operator)
        self.boundaries[-1]["derived"] = {"estimate_ms": 1.0, "told": told == "by its reference"}
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in of.rows:
            groups.setdefault(tuple(row.values[key] for key in keys), []).append(row)
        own = {key: self._reference(key, members, of, place, told) for place, (key, members) in enumerate(groups.items())}
        if told == "by values":
            self._check(of, keys, operator, groups, own)
        rows = [Row({**dict(zip(keys, key, strict=True)), "rows": len(members)}, {operator: own[key]}) for key, members in groups.items()]
        return Relation(operator, dict(columns), rows, [operator])

    def _reference(self, key: tuple[Any, ...], members: list[Row], of: Relation, place: int, told: Told) -> int:
        if told == "by its reference":
            (number,) = key
            return int(_NULL if number is None else number) ^ _MIXED
        return min(row.refs[of.refs[0]] for row in members) if told == "by a record" else _HASH * (place + 1)

    def _check(
        self, of: Relation, keys: Sequence[str], operator: int, groups: dict[tuple[Any, ...], list[Row]], own: Mapping[Any, int]
    ) -> None:
        """Keys that are whole numbers by their values, others by a record of each scan that one of them is read from."""
        whole = [place for place, key in enumerate(keys) if of.columns[key][1] in ("int", "bigint")]
        columns = [{"role": "key"}, *({"role": "ref", "operator": ref} for ref in of.refs), {"role": "check"},
                   *({"role": "value", "attr": place} for place in whole), {"role": "nulls"}]  # fmt: skip
        self._boundary("check", operator, columns, operator)
        edges = []
        for key, members in groups.items():
            values = [NONE if key[place] is None else key[place] for place in whole]
            nulls = sum(1 << bit for bit, place in enumerate(whole) if key[place] is None)
            edges.append([own[key], *(members[0].refs[ref] for ref in of.refs), own[key] + 1, *values, nulls])
        self._spill(len(self.boundaries) - 1, edges)

    def _all(self, conditions: Sequence[dict[str, Any]]) -> dict[str, Any]:
        together = conditions[0]
        for condition in conditions[1:]:
            together = self.function("and", together, condition, kind="boolean")
        return together
