"""Which flows counted after each entry of the log, as far as a check has not seen the entries one by one.

An edge has its first and last statement only. Entries that were projected together may state a flow and give it up again, or state it in
another way. Their order in the log then decides what counted after each of them. So a deviation is found whichever entries are checked
together. A flow counts if it is not known whether it counted between two entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.graph.views.fields import Way
from headwater.graph.views.times import Flow, Side, is_current, latest_statements, run_of

Derivation = tuple[str, str, str]  # source, target, and the job
_NOW = "~"  # later than every time of a statement


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The entries that are not checked yet. `statements` has the offset of the first entry with a statement, `ends` those of ends of runs.

    `ways` has each way in which a derivation was stated, with the offset of the first entry. Other statements and runs are from earlier
    entries.
    """

    statements: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    ways: Mapping[Derivation, Sequence[tuple[int, Way]]] = field(default_factory=dict)

    def of(self, statement: str) -> int:
        """Return the offset of the entry with a statement, or 0."""
        return self.statements.get(statement, 0)

    def stronger_ways(self, offset: int) -> dict[Derivation, Way]:
        """Return the ways of derivations after an entry that were stronger than they are now."""
        found = {}
        for derivation, stated in self.ways.items():
            then = [way for at, way in stated if at <= offset]
            if then and then[-1] < stated[-1][1]:
                found[derivation] = then[-1]
        return found

    def latest(self, flows: Iterable[Flow], offset: int | None, unfinished: Collection[str]) -> dict[Side, str]:
        """Return the last statement of a completed run for each side of each job, as it was known after an entry (None: now)."""
        completed = [
            Flow(flow.src, flow.dst, flow.kind, stated, stated)
            for flow in flows
            for stated in (flow.first, flow.last)
            if stated and self._has_come(stated, offset) and self._has_ended(run_of(stated), offset, unfinished)
        ]
        return latest_statements(completed, _NOW)

    def current(self, flows: Sequence[Flow], offset: int | None, unfinished: Collection[str]) -> list[bool]:
        """Return for each flow whether it counted after an entry (None: now). `unfinished` are the runs that have not completed by now."""
        latest = self.latest(flows, offset, unfinished)
        return [not flow.first or self._counts(flow, offset, latest) for flow in flows]

    def _counts(self, flow: Flow, offset: int | None, latest: Mapping[Side, str]) -> bool:
        if offset is None:
            return is_current(flow, _NOW, latest)
        if not self._has_come(flow.last, offset):  # an entry in between may also have stated it
            return self._has_come(flow.first, offset)
        return offset in (self.of(flow.first), self.of(flow.last)) or is_current(flow, _NOW, latest)

    def _has_come(self, statement: str, offset: int | None) -> bool:
        return offset is None or self.of(statement) <= offset

    def _has_ended(self, run: str, offset: int | None, unfinished: Collection[str]) -> bool:
        return run not in unfinished and (offset is None or self.ends.get(run, 0) <= offset)


NO_ARRIVALS = Arrivals()
