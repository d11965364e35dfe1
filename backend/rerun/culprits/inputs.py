"""Searches all inputs of a program: first each file alone, with the others as they are, and then what is left of all."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.backend.rerun.culprits.trials import TrialResult
from headwater.graph.culprits.delta_debugging import Minimum, Test, minimize
from headwater.graph.culprits.record_set import RecordSet

MOST_RECORDS = 20_000_000  # records of a search; a trial holds their numbers in memory


def group_files(first: TrialResult, everything: RecordSet) -> list[tuple[str, ...]]:
    """Return the files of the inputs, those of one scan together. Inputs with more records come first."""
    sizes = {file: sum(end - begin for begin, end in ranges) for file, ranges in everything.by_file().items()}
    groups: dict[tuple[str, ...], int] = {}
    grouped: set[str] = set()
    for files in [*first.scans.values(), *([file] for file in first.counts)]:
        group = tuple(file for file in files if file in sizes and file not in grouped)
        if group:
            groups[group] = sum(sizes[file] for file in group)
            grouped |= set(group)
    return sorted(groups, key=lambda group: -groups[group])


def minimize_inputs(everything: RecordSet, groups: Sequence[Sequence[str]], fails: Test) -> Minimum:
    """Return a 1-minimal failing subset of `everything`, which fails as a whole. A test may raise `SearchEndedError`."""
    left = everything
    for files in groups:
        rest = RecordSet(tuple(each for each in left.ranges if each[0] not in files))
        if fails(rest):
            left = rest
            continue
        found = minimize(left.of_files(files), _fails_beside(rest, fails))
        left = rest | found.records
        if not found.is_minimal:
            return Minimum(left, is_minimal=False, tests=found.tests)
    return minimize(left, fails)


def _fails_beside(rest: RecordSet, fails: Test) -> Test:
    """Return a test of records together with `rest`, which does not fail alone."""
    return lambda part: bool(part) and fails(rest | part)
