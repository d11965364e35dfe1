"""Finds the input records that make rows of an output wrong, by trials outside of the user's job.

The search begins with the lineage of one wrong row: first the record of a large group on which its value depends most, then the records
that suffice for it (its witness), then all records that had a part in it. If the result is still wrong with these records only, delta
debugging narrows them. If it is not, the lineage lacks a record, and all inputs are searched. The answer rests on trials alone: lineage
decides where the search begins, never what it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headwater.backend.rerun.culprits.crash import Progress
from headwater.backend.rerun.culprits.inputs import MOST_RECORDS, group_files, minimize_inputs
from headwater.backend.rerun.culprits.trials import TrialResult, Trials, Values
from headwater.graph.culprits.delta_debugging import Minimum, SearchEndedError, minimize
from headwater.graph.culprits.record_set import RecordSet

_MOST_SHOWN = 100  # records whose values are read


@dataclass(frozen=True, slots=True)
class BlameReport:
    """The result of a search. `records` make the result wrong; empty if `problem` says why there are none.

    `is_minimal`: without any one of the records, the result is no longer wrong. `values` are their values by file and row.
    """

    records: RecordSet
    is_minimal: bool
    trials: int
    problem: str | None = None
    values: Mapping[tuple[str, int], Values] = field(default_factory=dict)
    notes: Sequence[str] = ()


def find_blamed_records(
    trials: Trials,
    is_wrong: Callable[[Path], bool],
    lineages: Sequence[RecordSet],
    restrict: Sequence[str],
    progress: Progress = lambda *_: None,
) -> BlameReport:
    """Return a smallest set of records with which the result of the programs is wrong. `is_wrong` checks the output below a folder.

    `lineages` are records to begin with, of the files in `restrict`.

    Raises:
        TrialsFailedError: the programs cannot run in trials.
    """
    return _BlameSearch(trials, is_wrong, progress).run(lineages, restrict)


class _BlameSearch:
    def __init__(self, trials: Trials, is_wrong: Callable[[Path], bool], progress: Progress) -> None:
        self._trials = trials
        self._is_wrong = is_wrong
        self._progress = progress
        self._best = RecordSet(())
        self._last: TrialResult | None = None
        self._notes: list[str] = []

    def run(self, lineages: Sequence[RecordSet], restrict: Sequence[str]) -> BlameReport:
        try:
            for records in dict.fromkeys(lineages):
                if records and self._fails(records, restrict):
                    return self._report(minimize(records, lambda part: self._fails(part, restrict)))
            if any(lineages):
                self._notes.append("the records of the lineage alone make no such row, so all inputs were searched")
            return self._search_inputs()
        except SearchEndedError:
            if self._best:
                return self._report(Minimum(self._best, is_minimal=False, tests=0))
            return self._without_records("the time limit ended the search before a trial made such a row")

    def _search_inputs(self) -> BlameReport:
        first = self._run(RecordSet(()), ())
        if first.failure is not None:
            return self._without_records(f"the program failed when it ran again: {first.failure.kind}: {first.failure.message}")
        if not self._is_wrong(first.shadow):
            return self._without_records("no such row was there when the program ran again with the records that are there now")
        self._trials.forget(first)
        self._notes += [f"{place}; its records cannot be chosen" for place in dict.fromkeys(first.unwatched)]
        everything = first.records_read()
        if len(everything) > MOST_RECORDS:
            return self._without_records(f"the inputs have {len(everything):,} records, too many to search")
        groups = group_files(first, everything)
        files = [file for group in groups for file in group]
        if not files or not self._fails(everything, files):
            return self._without_records("no such row is there with the records that a trial can choose")
        return self._report(minimize_inputs(everything, groups, lambda part: self._fails(part, files)))

    def _fails(self, records: RecordSet, restrict: Sequence[str]) -> bool:
        """Return whether the result is wrong with these records of the files in `restrict`. A program that fails has no result."""
        result = self._run(records, restrict)
        is_wrong = result.failure is None and self._is_wrong(result.shadow)
        self._trials.forget(result)
        if is_wrong and (self._last is None or len(records) < len(self._best)):
            self._best, self._last = records, result
        return is_wrong

    def _run(self, records: RecordSet, restrict: Sequence[str]) -> TrialResult:
        self._progress(self._trials.number, len(records))
        return self._trials.run(records, restrict, shows=0 < len(records) <= _MOST_SHOWN)

    def _without_records(self, problem: str) -> BlameReport:
        return BlameReport(RecordSet(()), is_minimal=False, trials=self._trials.number, problem=problem, notes=self._notes)

    def _report(self, found: Minimum) -> BlameReport:
        if not found.records:
            return self._without_records("such a row is also there without any record of the inputs that were chosen")
        values = self._last.values if self._last is not None and self._best == found.records else {}
        return BlameReport(found.records, found.is_minimal, self._trials.number, None, values, self._notes)
