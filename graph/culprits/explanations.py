"""Find the conjunctions of conditions that best separate bad records from good ones.

The search is a beam search in three rounds. Each round adds the best condition on one more column. The best
range of a column is exact: no other range of its values has a higher difference between the share of bad records that it selects and the
share of good ones. The same records always give the same result.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.graph.culprits.conditions import NULL, Column, Condition, Flags, make_condition

_MOST_CONDITIONS = 3
_BEAM = 24  # conjunctions kept in each round
_SINGLE_VALUES = 3  # conditions `=` of a column kept in each round
_LEAST_GAIN = 0.02  # of the F-score that a condition must add; less may be chance
_CHANCE = 4.0  # times more good records than chance excludes: see `_is_chance`
_MOST_VALUES = 0.5  # of distinct values per record in a text column: with more, a value is the name of a record


@dataclass(frozen=True, slots=True)
class Explanation:
    """A conjunction, and how it separates the records. `bad` and `good` are the numbers of records that it selects."""

    conditions: tuple[Condition, ...]
    bad: int
    good: int
    precision: float
    recall: float

    @property
    def text(self) -> str:
        """The conjunction as a predicate of DuckDB SQL."""
        return " AND ".join(condition.text for condition in self.conditions)

    @property
    def f_score(self) -> float:
        return 2 * self.precision * self.recall / (self.precision + self.recall) if self.bad else 0.0


@dataclass(frozen=True, slots=True)
class Search:
    """The explanations, best first. `is_complete`: the time limit did not end the search. `unused`: columns that were not compared."""

    explanations: Sequence[Explanation]
    is_complete: bool
    unused: Sequence[str]


def explain(bad: Sequence[Mapping[str, Any]], good: Sequence[Mapping[str, Any]], *, most: int = 5, seconds: float = 30.0) -> Search:
    """Find conjunctions that select many of the `bad` records and few of the `good` ones."""
    records = [*bad, *good]
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: Column.of(name, [record.get(name) for record in records]) for name in names}
    usable = {name: column for name, column in columns.items() if column is not None and not _is_identity(column)}
    if not bad or not good or not usable:
        return Search((), True, [name for name in names if name not in usable])
    search = _BeamSearch(usable, len(bad), len(good), time.monotonic() + seconds)
    return Search(search.best(most), search.is_complete, [name for name in names if name not in usable])


def _is_identity(column: Column) -> bool:
    """Whether the column names single records, like a key of text."""
    return not column.is_ordered and len(column.values) > max(50, _MOST_VALUES * len(column.codes))


@dataclass(frozen=True, slots=True)
class _State:
    conditions: tuple[Condition, ...]
    selected: Flags
    score: float


class _BeamSearch:
    def __init__(self, columns: Mapping[str, Column], bad: int, good: int, deadline: float) -> None:
        self._columns = columns
        self._bad = bad
        self._good = good
        self._deadline = deadline
        self._weights = np.concatenate([np.full(bad, 1 / bad), np.full(good, -1 / good)])
        self.is_complete = True

    def best(self, most: int) -> list[Explanation]:
        """Return the best explanations, each without a condition that adds nothing."""
        beam = [_State((), np.ones(self._bad + self._good, dtype=np.bool_), 0.0)]
        found: dict[tuple[Condition, ...], Explanation] = {}
        for _ in range(_MOST_CONDITIONS):
            states: dict[bytes, _State] = {}
            for state in self._refinements(beam):
                key = np.packbits(state.selected).tobytes()
                if key not in states or _order(state) < _order(states[key]):
                    states[key] = state
            beam = sorted(states.values(), key=_order)[:_BEAM]
            for state in beam:
                explanation = self._simplify(state.conditions)
                found[explanation.conditions] = explanation
        ranked = sorted(found.values(), key=lambda each: (-round(each.f_score, 3), len(each.conditions), each.text))
        return self._distinct(ranked, most)

    def _refinements(self, beam: Iterable[_State]) -> Iterator[_State]:
        for state in beam:
            used = {condition.column for condition in state.conditions}
            for column in self._columns.values():
                if time.monotonic() > self._deadline:
                    self.is_complete = False
                    return
                if column.name in used:
                    continue
                for condition in self._best_conditions(column, state.selected):
                    conditions = tuple(sorted((*state.conditions, condition), key=lambda each: each.column))
                    selected = state.selected & condition.select(column)
                    yield _State(conditions, selected, float(self._weights[selected].sum()))

    def _best_conditions(self, column: Column, selected: Flags) -> Iterator[Condition]:
        codes = column.codes[selected] + 1  # nulls are 0
        weights = np.bincount(codes, self._weights[selected], minlength=len(column.values) + 1).astype(np.float64)
        if weights[0] > 0:
            yield make_condition(column, NULL, NULL)
        values = weights[1:]
        if column.is_ordered:
            yield make_condition(column, *_best_range(values))
            yield make_condition(column, 0, int(np.argmax(np.cumsum(values))))
            yield make_condition(column, len(values) - 1 - int(np.argmax(np.cumsum(values[::-1]))), len(values) - 1)
        for code in np.argsort(-values, kind="stable")[:_SINGLE_VALUES]:
            if values[code] > 0:
                yield make_condition(column, int(code), int(code))

    def _simplify(self, conditions: tuple[Condition, ...]) -> Explanation:
        """Remove conditions that add less than `_LEAST_GAIN`, or not more than chance does, the least useful first."""
        whole = self._judge(conditions)
        while len(whole.conditions) > 1:
            shorter = [self._judge(tuple(other for other in whole.conditions if other is not condition)) for condition in whole.conditions]
            candidate = max(shorter, key=lambda each: (each.f_score, each.text))
            if whole.f_score - candidate.f_score >= _LEAST_GAIN and not _is_chance(candidate, whole):
                break
            whole = candidate
        return whole

    def _judge(self, conditions: tuple[Condition, ...]) -> Explanation:
        selected = self._select(conditions)
        bad, good = int(selected[: self._bad].sum()), int(selected[self._bad :].sum())
        return Explanation(conditions, bad, good, bad / (bad + good) if bad else 0.0, bad / self._bad)

    def _select(self, conditions: tuple[Condition, ...]) -> Flags:
        selected = np.ones(self._bad + self._good, dtype=np.bool_)
        for condition in conditions:
            selected &= condition.select(self._columns[condition.column])
        return selected

    @staticmethod
    def _distinct(ranked: Sequence[Explanation], most: int) -> list[Explanation]:
        """Keep the best explanation for each set of columns, and none that only adds conditions to a better one."""
        kept: list[Explanation] = []
        for explanation in ranked:
            columns = {condition.column for condition in explanation.conditions}
            others = [{condition.column for condition in other.conditions} for other in kept]
            if explanation.bad and not any(other <= columns for other in others):
                kept.append(explanation)
        return kept[:most]


def _order(state: _State) -> tuple[float, int, str]:
    return -round(state.score, 9), len(state.conditions), " ".join(condition.text for condition in state.conditions)


def _is_chance(wider: Explanation, narrower: Explanation) -> bool:
    """Whether a condition excludes no more good records than the range of as many bad records in a random column would."""
    excluded = (wider.good - narrower.good) / wider.good if wider.good else 0.0
    return excluded < min(0.9, _CHANCE / (narrower.bad + 1))


def _best_range(weights: npt.NDArray[np.float64]) -> tuple[int, int]:
    """Return the range of indexes with the largest sum."""
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    lowest = np.minimum.accumulate(sums)
    high = int(np.argmax(sums[1:] - lowest[:-1]))
    return int(np.argmin(sums[: high + 1])), high
