"""A run's ledger: the captured and the missing parts, from the properties of its node.

A program announces its captures in a facet of its event (`headwater_capture`). The run has the property `capture` once the capture arrived.
Announced captures that did not arrive are missing, even if the program reported them as complete. So are parts that the service left out of
its events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_KNOWN = ("complete", "partial", "refused")
SET_ASIDE = "headwater_setAside"  # the facet with records that a run set aside
SKIP_FAILING = "skipFailing"
FAILED = ("FAIL", "ABORT")  # states of a run that did not succeed


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a run's lineage that is missing or not exact. `kind` is refused, superset, missing, influence or fault."""

    operator: str | None
    reason: str
    kind: str


_LATE = Problem("delivery", "its associations have not arrived here", "missing")
_NOT_WRITTEN = Problem("the run", "it did not succeed, so what it was to write is not there, nor is its lineage", "missing")


@dataclass(frozen=True, slots=True)
class Ledger:
    """The captured parts of a run. `status` is complete, partial, refused, failed or unknown (no event states it).

    `rows` and `bytes` count associations that were written.
    """

    status: str
    mode: str | None
    problems: Sequence[Problem]
    rows: int | None
    bytes: int | None
    recaptured: str | None


def ledger_of(properties: Mapping[str, Any]) -> Ledger:
    """Return the ledger of a run. Invalid properties from a producer are ignored."""
    announced, arrived = _mapping(properties.get("headwater_capture")), _mapping(properties.get("capture"))
    facts, cost = {**announced, **arrived}, _mapping({**announced, **arrived}.get("cost"))
    is_late = "capture" in announced and "capture" not in arrived
    problems = [*_problems(facts.get("problems")), *_problems(properties.get("leftOut"))]
    if text := set_aside_text(properties.get(SET_ASIDE)):
        problems.append(Problem(SKIP_FAILING, text, "missing"))
    status = facts.get("status") if facts.get("status") in _KNOWN else "unknown"
    if is_late:
        status, problems = "partial", [*problems, _LATE]
    if properties.get("state") in FAILED:
        status, problems = "failed", [_NOT_WRITTEN, *problems]
    return Ledger(
        str(status), _text(facts.get("mode")), problems, _number(cost.get("rows")), _number(cost.get("bytes")),
        _text(_mapping(facts.get("recaptured")).get("ended")),
    )  # fmt: skip


def _problems(stated: Any) -> Iterable[Problem]:
    for one in stated if isinstance(stated, list) else ():
        problem = _mapping(one)
        yield Problem(
            _text(problem.get("operator")), _text(problem.get("reason")) or "no reason was given", _text(problem.get("kind")) or "missing"
        )


def set_aside_text(stated: Any) -> str | None:
    """Return a sentence about the records that a run set aside, from the numbers in its facet or manifest. None if there are none."""
    facts = _mapping(stated)
    count, limit, earlier = _number(facts.get("count")) or 0, _number(facts.get("limit")), _number(facts.get("earlier")) or 0
    of = f" of at most {limit:,}" if limit is not None else ""
    records = "failing record was" if count == 1 and limit is None else f"failing records {'was' if count == 1 else 'were'}"
    own = f"{count:,}{of} {records} set aside, and its results lack {'it' if count == 1 else 'them'}"
    before = f"earlier jobs of the program set {earlier:,} aside, and what it took over from their caches and shuffles lacks them"
    texts = [text for text, number in ((own, count), (before, earlier)) if number > 0]
    return "; ".join(texts) or None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
