"""The order of hits: by how well the words of the text fit the words of a node, then by kind, name and id.

A score depends on the node and the text only, and never on the number of other nodes. So the order tells a caller nothing about nodes that
he may not see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from headwater.graph.model import NodeKind
from headwater.graph.search.entries import BREAK
from headwater.graph.search.words import allowed_edits, code, edits, words_of

_WEIGHT = {
    NodeKind.DATASET: 1.0, NodeKind.JOB: 0.95, NodeKind.PIPELINE: 0.93, NodeKind.TERM: 0.9, NodeKind.TAG: 0.9, NodeKind.OWNER: 0.9,
    NodeKind.PLATFORM: 0.88, NodeKind.SYSTEM: 0.88, NodeKind.COLUMN: 0.85, NodeKind.DATA: 0.85, NodeKind.ACTOR: 0.85, NodeKind.TYPE: 0.8,
    NodeKind.RUN: 0.75,
}  # fmt: skip
_LAST, _NAME, _TEXT, _PLACE = 1.0, 0.85, 0.6, 0.4  # the last part of a name, the rest of it, descriptions, containers
_WHOLE_NAME = 1.0
_PER_WORD = 0.01  # a short name fits better than a long one


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node with some of the words of a text."""

    identifier: str
    kind: NodeKind
    name: str
    own: str
    place: str
    namespace: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score, and with its words that fit."""

    identifier: str
    score: float
    matched: tuple[str, ...]
    namespace: str
    state: str


@dataclass(slots=True)
class Ranking:
    """The words of a text. `forgiving`: typing errors are forgiven."""

    words: Sequence[str]
    forgiving: bool = False
    _known: dict[tuple[str, str], float] = field(default_factory=dict)

    def order(self, candidates: Iterable[Candidate]) -> list[Ranked]:
        """Return the candidates, the best first. Between equal scores, the order is by name and id."""
        scored = [(*self.score(candidate), candidate) for candidate in candidates]
        scored.sort(key=lambda one: (-one[0], one[2].name, one[2].identifier))
        return [Ranked(candidate.identifier, score, matched, candidate.namespace, candidate.state) for score, matched, candidate in scored]

    def score(self, candidate: Candidate) -> tuple[float, tuple[str, ...]]:
        """Return the score of a candidate, and its words that fit. Words that do not fit count as nothing."""
        name, _, text = candidate.own.partition(f" {BREAK} ")
        of_name = name.split()
        last = set(words_at_end(candidate.name, of_name))
        groups = ((of_name, _NAME), (text.split(), _TEXT), (candidate.place.split(), _PLACE))
        total, matched = 0.0, []
        for word in self.words:
            best, fitting = 0.0, ""
            for words, weight in groups:
                for other in words:
                    fit = self._fit(word, other) * (_LAST if weight == _NAME and other in last else weight)
                    if fit > best:
                        best, fitting = fit, other
            total += best
            if fitting:
                matched.append(fitting)
        score = total / max(1, len(self.words))
        if last == {code(word) for word in self.words}:
            score += _WHOLE_NAME
        return (score - _PER_WORD * min(20, len(of_name))) * _WEIGHT.get(candidate.kind, 0.7), tuple(matched)

    def _fit(self, word: str, other: str) -> float:
        key = (word, other)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._compare(code(word), other, word)
        return known

    def _compare(self, asked: str, other: str, word: str) -> float:
        if asked == other:
            return 1.0
        if other.startswith(asked):
            return 0.75 + 0.2 * len(asked) / len(other)
        if len(asked) > 2 and asked in other:
            return 0.5
        most = allowed_edits(word) if self.forgiving else 0
        if most and (count := edits(word, other, most)) <= most:
            return 0.45 - 0.1 * count
        return 0.0


def words_at_end(name: str, words: Sequence[str]) -> list[str]:
    """Return the words of the last part of a name: after the last `/`, else after the last `.`."""
    whole = name.rstrip("/")
    end = whole.rpartition("/")[2] if "/" in whole else whole.rpartition(".")[2]
    last = {code(word) for word in words_of(end, len(words) + 1)}
    return [word for word in words if word in last]
