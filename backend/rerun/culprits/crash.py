"""Finds the input records at which a program failed, by trials outside of the user's job.

The first trial repeats the failure, and notes which records each task read. Most failing tasks read a record and fail at once, so the last
records of the failed task are tried first. A task that gets its rows from other tasks shows no records; then all inputs are searched. The
answer is the smallest set of records found with which the program still fails in the same way. Records count only if the program does not
fail in this way without them: one trial without any record shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.backend.rerun.culprits.inputs import MOST_RECORDS, group_files, minimize_inputs
from headwater.backend.rerun.culprits.trials import TaskReads, TrialResult, Trials, Values
from headwater.graph.culprits.delta_debugging import SearchEndedError, minimize
from headwater.graph.culprits.record_set import RecordSet
from headwater.spark_listener.trials.failures import TrialFailure

_WINDOWS = (128, 16_384)  # records that are tried before the last record: Spark gives batches to Python functions
_MOST_SHOWN = 100  # records whose values are read
_MOST_UNREAD = 5  # files of which no record was read, and whose first record is tried
Progress = Callable[[int, int], None]  # number of trials, number of records that are left


@dataclass(frozen=True, slots=True)
class CrashReport:
    """The result of a search. `records` are the culprits; empty if `problem` says why there are none.

    `is_minimal`: without any one of the records, the program no longer fails in this way. `values` are their values by file and row.
    `repeated` is the failure of the first trial, `failure` the failure with the culprits only.
    """

    records: RecordSet
    is_minimal: bool
    trials: int
    repeated: TrialFailure | None = None
    failure: TrialFailure | None = None
    problem: str | None = None
    values: Mapping[tuple[str, int], Values] = field(default_factory=dict)
    notes: Sequence[str] = ()


def find_crash_culprit(trials: Trials, stated: TrialFailure | None, progress: Progress = lambda *_: None) -> CrashReport:
    """Return the records at which the programs of `trials` fail. `stated` is the failure of the run that is explained.

    Raises:
        TrialsFailedError: the programs cannot run in trials.
    """
    try:
        first = trials.run(RecordSet(()), ())
    except SearchEndedError:
        return _without_records(trials, None, "the time limit ended the first trial")
    if first.failure is None:
        return _without_records(trials, None, "the program did not fail when it ran again with the records that are there now")
    if stated is not None and first.failure.kind != stated.kind:
        again = f"{first.failure.kind}: {first.failure.message}"
        return _without_records(trials, first.failure, f"the program failed in another way when it ran again: {again}")
    search = _CrashSearch(trials, first, progress)
    trials.forget(first)
    return search.run()


def _without_records(trials: Trials, repeated: TrialFailure | None, problem: str) -> CrashReport:
    return CrashReport(RecordSet(()), is_minimal=False, trials=trials.number, repeated=repeated, problem=problem)


class _CrashSearch:
    def __init__(self, trials: Trials, first: TrialResult, progress: Progress) -> None:
        self._trials = trials
        self._first = first
        self._progress = progress
        self._failure: TrialFailure = first.failure  # type: ignore[assignment]  # the caller checks it
        self._best = first.records_read()
        self._seen = set(self._best.by_file())
        self._last: TrialResult | None = None
        self._restrict: Sequence[str] = ()
        self._without: dict[tuple[str, ...], bool] = {}  # whether the program fails without any record of these files

    def run(self) -> CrashReport:
        if not self._best and not self._likely_records():
            return self._report(
                RecordSet(()), is_minimal=False, problem="the program fails before it reads records that a trial can choose"
            )
        try:
            for file, row in self._likely_records():
                record = RecordSet.of({file: [row]})
                if self._fails(record, self._files_with(file), exact=True, shows=True):
                    return self._report(record, is_minimal=True)
            for exact in (True, False):
                for task in self._failed_tasks():
                    found = self._search_task(task, exact=exact)
                    if found is not None:
                        return found
            return self._search_inputs()
        except SearchEndedError:
            return self._report(self._best, is_minimal=False)

    def _likely_records(self) -> list[tuple[str, int]]:
        """Return the records that the failed tasks were processing, as far as the first trial shows it."""
        tasks = self._failed_tasks()
        likely = [*self._first.present]
        for call in self._first.calls:
            for task in tasks:
                if (task.stage, task.partition) == (call.stage, call.partition) and len(task.rows) == 1:
                    [(file, (first, last, count))] = task.rows.items()
                    if count == last - first + 1 > call.number:
                        likely.append((file, first + call.number))
        if not self._first.calls:
            for task in tasks:
                file, row = task.last
                likely += [(file, row), (file, row + 1)]  # a reader may have failed before it could return the next record
        likely += [(file, 0) for file in self._unread()[:_MOST_UNREAD]]
        return list(dict.fromkeys(likely))

    def _unread(self) -> list[str]:
        return list(dict.fromkeys(file for files in self._first.scans.values() for file in files if file not in self._seen))

    def _files_with(self, file: str) -> Sequence[str]:
        """Return the files that one scan reads with this file."""
        return next((files for files in self._first.scans.values() if file in files), [file])

    def _failed_tasks(self) -> list[TaskReads]:
        own = f"file:{self._first.shadow}/"
        return [task for task in self._first.reads if task.error is not None and not task.last[0].startswith(own)]

    def _search_task(self, task: TaskReads, *, exact: bool) -> CrashReport | None:
        """Search the records that a failed task read of one scan. None if the failure does not appear with them."""
        file, last = task.last
        first = task.rows[file][0]
        restrict = self._first.scans[task.scan]
        windows = [RecordSet.of_ranges([(file, max(first, last + 1 - size), last + 2)]) for size in _WINDOWS]
        windows.append(RecordSet.of_ranges((name, low, high + 2) for name, (low, high, _) in task.rows.items()))
        for window in dict.fromkeys(windows):
            if self._fails(window, restrict, exact=exact):
                return self._minimize(window, restrict, exact=exact)
        return None

    def _search_inputs(self) -> CrashReport:
        """Search all inputs: first each file alone, with the others as they are, and then what is left of all."""
        everything = self._best
        if len(everything) > MOST_RECORDS:
            return self._report(everything, is_minimal=False, problem=f"the inputs have {len(everything):,} records, too many to search")
        groups = group_files(self._first, everything)
        restrict = [file for files in groups for file in files]
        if self._fails_without(restrict):
            return self._report(RecordSet(()), is_minimal=False, problem=self._independence(restrict))
        if not self._fails(everything, restrict, exact=False):
            return self._report(everything, is_minimal=False, problem="the program did not fail with all records that its tasks had read")
        found = minimize_inputs(everything, groups, lambda part: self._fails(part, restrict, exact=False))
        return self._report(found.records, is_minimal=found.is_minimal)

    def _minimize(self, records: RecordSet, restrict: Sequence[str], *, exact: bool) -> CrashReport:
        found = minimize(records, lambda part: self._fails(part, restrict, exact=exact))
        return self._report(found.records, is_minimal=found.is_minimal)

    def _fails(self, records: RecordSet, restrict: Sequence[str], *, exact: bool, shows: bool = False) -> bool:
        """Return whether the program fails with these records of the files in `restrict`, and does not fail without any of them."""
        if not records or (tuple(restrict) in self._without and self._fails_without(restrict)):
            return False
        result = self._trial(records, restrict, shows=shows)
        if not self._is_same(result.failure, exact=exact) or self._fails_without(restrict):
            return False
        self._best, self._restrict, self._last = records, restrict, result
        return True

    def _fails_without(self, restrict: Sequence[str]) -> bool:
        """Return whether the program also fails without any record of the files in `restrict`. One trial for each choice of files.

        The values in the message may differ, like the number of the records.
        """
        files = tuple(restrict)
        if files not in self._without:
            self._without[files] = self._is_same(self._trial(RecordSet(()), files).failure, exact=False)
        return self._without[files]

    def _is_same(self, failure: TrialFailure | None, *, exact: bool) -> bool:
        return failure is not None and failure.is_same_kind(self._failure) and (not exact or failure.exact == self._failure.exact)

    def _trial(self, records: RecordSet, restrict: Sequence[str], *, shows: bool = False) -> TrialResult:
        self._progress(self._trials.number, len(records))
        result = self._trials.run(records, restrict, shows=shows)
        self._trials.forget(result)
        return result

    def _independence(self, restrict: Sequence[str]) -> str:
        """Say that the program fails without the records of the files in `restrict`, and whether it needs the files that no task read."""
        unread = self._unread()
        if unread and not self._fails_without([*restrict, *unread]):
            return f"the failure depends on files of which no record was read: {', '.join(unread[:_MOST_UNREAD])}"
        return "the failure does not depend on the records that were chosen: the program also fails without any record of its inputs"

    def _report(self, records: RecordSet, *, is_minimal: bool, problem: str | None = None) -> CrashReport:
        last = self._last
        notes = [f"{place}; its records cannot be chosen" for place in dict.fromkeys(self._first.unwatched)]
        if problem is None and last is not None and last.failure is not None and last.failure.exact != self._failure.exact:
            notes.append(f"these records fail in the same way, with another message: {last.failure.message}")
        found = records if problem is None else RecordSet(())
        values = self._values(found)
        if 0 < len(found) <= _MOST_SHOWN and not values:
            notes.append("the values are not known, because the program fails while it reads the record")
        return CrashReport(found, is_minimal, self._trials.number, self._failure, last.failure if last else None, problem, values, notes)

    def _values(self, records: RecordSet) -> Mapping[tuple[str, int], Values]:
        """Return the values of a few records, by one more trial. It may run after the search, but not after the time limit."""
        if not 0 < len(records) <= _MOST_SHOWN:
            return {}
        if self._last is not None and set(records) == set(self._last.values):
            return self._last.values
        try:
            result = self._trials.run(records, self._restrict, shows=True)
        except SearchEndedError:
            return {}
        self._trials.forget(result)
        return result.values
