"""Attributes the difference between two runs to its causes: states what changed, and tests each change by trials.

The base is the program of the second run on its inputs. A trial with one part of the first run shows what this part changes. The base runs
twice, so that a result that differs between equal runs is not taken for the effect of a change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

from headwater.backend.rerun.comparison.changes import CHANGES, Runs, code_changes, plan_changes, unknown_inputs
from headwater.backend.rerun.comparison.compared_runs import ComparedRun, find_compared_runs
from headwater.backend.rerun.comparison.experiments import CHANGEABLE, CannotRunError, Experiments, Found
from headwater.backend.rerun.comparison.report import Cause, CauseKind, Comparison, Result, Verdict
from headwater.backend.rerun.comparison.scripts import ScriptText, find_script
from headwater.backend.rerun.culprits.search import HomeOfSearch, check_runner, trials_folder
from headwater.backend.rerun.culprits.trials import TrialsFailedError
from headwater.backend.rerun.replay.kinds import Sources
from headwater.backend.rerun.replay.model import Invocation
from headwater.errors import HeadwaterError, InvalidQueryError, UnsupportedError
from headwater.graph.culprits.delta_debugging import SearchEndedError
from headwater.graph.files.table_folders import table_kind
from headwater.graph.model import parse_id
from headwater.graph.model.ids import dataset_name
from headwater.graph.trace.questions import Questions

Progress = Callable[[str], None]  # what is done now
_NOTHING: frozenset[CauseKind] = frozenset()
_NOISE = "the result also differs between two equal runs, so this replay cannot tell"
_REASONS = {
    CauseKind.SETTINGS: "settings come from events or the cluster, and no replay takes them from there",
    CauseKind.VERSIONS: "a replay uses the versions that are installed now",
}


async def compare_runs(
    home: HomeOfSearch,
    tenant: str,
    first: str,
    second: str,
    questions: Questions,
    *,
    scripts: Sequence[Path] = (),
    replays: bool = True,
    seconds: float,
    progress: Progress = lambda _: None,
    cancel: Event | None = None,
) -> Comparison:
    """Compare the results of two runs of a job. `scripts` are files that may have the text of an earlier script.

    Without `replays`, nothing runs, and each change is only stated.

    Raises:
        InvalidQueryError: the runs are of two jobs, did not finish, wrote no common dataset, or have equal results.
        NotFoundError: there is no such run.
    """
    sources = Sources(tenant, home.graph, home.records.sources, questions.trace)
    runs = await find_compared_runs(first, second, sources, home.registry)
    datasets = sorted(runs[0].writes.keys() & runs[1].writes.keys())
    if not datasets:
        raise InvalidQueryError(
            f"{runs[0].run} and {runs[1].run} wrote no common dataset.", hint="`headwater lineage JOB` shows what a job writes."
        )
    texts = await asyncio.to_thread(_texts, runs, scripts)
    attribution = _Attribution(home, runs, datasets, texts, seconds, progress, cancel, replays=replays)
    return await asyncio.to_thread(attribution.run)


def _texts(runs: Runs, scripts: Sequence[Path]) -> list[ScriptText | None]:
    return [find_script(run.program.script, run.program.script_sha256, scripts) if run.program is not None else None for run in runs]


class _Attribution:
    def __init__(
        self, home: HomeOfSearch, runs: Runs, datasets: Sequence[str], texts: Sequence[ScriptText | None], seconds: float,
        progress: Progress, cancel: Event | None, *, replays: bool,
    ) -> None:  # fmt: skip
        self._home = home
        self._runs = runs
        self._datasets = datasets
        self._texts = texts
        self._seconds = seconds
        self._progress = progress
        self._cancel = cancel
        self._replays = replays
        self._notes: list[str] = []
        self._changes = {kind: find(runs) for kind, find in CHANGES.items()}
        self._changes[CauseKind.CODE] = code_changes(runs, texts)

    def run(self) -> Comparison:
        with Experiments(
            trials_folder(self._home.home), self._runs, self._texts, self._home.records.sources, self._seconds, self._cancel
        ) as experiments:
            self._trials = experiments
            real = [self._compare_real(dataset) for dataset in self._datasets]
            self._refuse_equal(real, "the data of both is there")
            self._note_plans()
            base, reason = self._base()
            if base is None:
                return self._report(real, [self._untested(kind, reason) for kind in CauseKind if kind is not CauseKind.UNRECORDED], None)
            return self._attribute(base, real)

    def _attribute(self, base: Path, real: Sequence[Result]) -> Comparison:
        noise, equal = self._repeat(base)
        changed = [kind for kind in CHANGEABLE if self._changes[kind]]
        causes = [self._test(kind, base, noisy=noise.verdict is not Verdict.NO_EFFECT) for kind in CHANGEABLE]
        rebuilt = self._try_run(frozenset(changed))
        results = [self._result(result, base, rebuilt) for result in real]
        unrecorded = self._unrecorded(base, rebuilt, noise)
        if equal and not unrecorded:
            self._refuse_equal(results, "the first run, made again, gives the result of the second")
        causes += [self._untested(kind, _REASONS[kind]) for kind in (CauseKind.SETTINGS, CauseKind.VERSIONS)]
        return self._report(results, [*causes, *unrecorded, noise], self._together(rebuilt, noise))

    def _compare_real(self, dataset: str) -> Result:
        first, second = (run.writes[dataset] for run in self._runs)
        try:
            differences, rows = self._trials.differences_of_real(dataset, first, second)
        except HeadwaterError as error:
            return Result(dataset, None, reason=error.message)
        return Result(dataset, rows, differences=differences)

    def _refuse_equal(self, results: Sequence[Result], why: str) -> None:
        if all(result.rows == 0 for result in results):
            names = ", ".join(dataset_name(dataset) for dataset in self._datasets)
            raise InvalidQueryError(
                f"The results of {self._runs[0].run} and {self._runs[1].run} are equal: {names}; {why}.",
                hint="Name two runs whose results differ. `headwater versions DATASET` lists them.",
            )

    def _note_plans(self) -> None:
        plans = plan_changes(self._runs)
        if self._changes[CauseKind.CODE]:
            self._changes[CauseKind.CODE] = [*self._changes[CauseKind.CODE], *plans]
            self._notes.append("modules that the scripts import are those of now")
        else:
            self._notes += [f"the script is the same, but its plan differs: {plan}" for plan in plans]
        self._notes += [
            f"which files of {name} the runs read is not recorded; replays read it as it is now" for name in unknown_inputs(self._runs)
        ]

    def _base(self) -> tuple[Path | None, str]:
        """Return the result of the second run, made again. None, and the reason, if it cannot be made."""
        if not self._replays:
            return None, "no replay was asked for"
        for dataset in self._datasets:
            namespace, name = parse_id(dataset)[1]
            if namespace == "file" and table_kind(Path(name)) is not None:
                return None, f"{name} is a table, and trials write files only"
        programs = [run for run in self._runs if run.program is not None]
        try:
            check_runner(self._home.home, [_place(run.namespace, run.job) for run in programs])
        except UnsupportedError as error:
            return None, error.message
        self._progress("running the second run again")
        made = self._try_run(_NOTHING)
        return (made, "") if isinstance(made, Path) else (None, made)

    def _try_run(self, of_first: frozenset[CauseKind], repetition: int = 0) -> Path | str:
        """Return the result of a trial, or the reason why there is none."""
        try:
            return self._trials.run(of_first, repetition)
        except SearchEndedError:
            return "the time limit came first; --seconds raises it"
        except (CannotRunError, TrialsFailedError) as error:
            return error.message

    def _count(self, before: Path, after: Path) -> int | str:
        """Return the number of rows in which two trials differ, or the reason why they cannot be compared."""
        try:
            return sum(self._trials.differences(dataset, before, after)[1] for dataset in self._datasets)
        except HeadwaterError as error:
            return error.message

    def _repeat(self, base: Path) -> tuple[Cause, bool]:
        """Return the verdict about nondeterminism, and whether the base is the real result of the second run, as far as it is known."""
        self._progress("running the second run once more")
        again = self._try_run(_NOTHING, repetition=1)
        rows = self._count(base, again) if isinstance(again, Path) else again
        if isinstance(rows, str):
            return Cause(CauseKind.NONDETERMINISM, Verdict.NOT_CHECKED, reason=rows), False
        if rows:
            what = [f"the same program gives another result on the same records: {rows:,} rows differ between two equal replays"]
            return Cause(CauseKind.NONDETERMINISM, Verdict.VERIFIED, what, rows), False
        reason = "two equal replays gave the same result; a rare difference may not show"
        return Cause(CauseKind.NONDETERMINISM, Verdict.NO_EFFECT, reason=reason), not self._from_real(1, base)

    def _from_real(self, number: int, made: Path | str) -> int | None:
        """Return the number of rows in which the real data of a run differs from a trial. None if the data, or the trial, is not there."""
        if not isinstance(made, Path):
            return None
        total = 0
        for dataset in self._datasets:
            try:
                total += self._trials.differences_from_real(dataset, self._runs[number].writes[dataset], made)[1]
            except HeadwaterError:
                return None
        return total

    def _test(self, kind: CauseKind, base: Path, *, noisy: bool) -> Cause:
        changes = self._changes[kind]
        if not changes:
            return Cause(kind, Verdict.SAME)
        self._progress(f"running with the {kind} of the first run")
        made = self._try_run(frozenset({kind}))
        if not isinstance(made, Path):
            return Cause(kind, Verdict.STATED, changes, reason=made)
        rows = self._count(base, made)
        if isinstance(rows, str):
            return Cause(kind, Verdict.NOT_CHECKED, changes, reason=rows)
        if noisy:
            return Cause(kind, Verdict.NOT_CHECKED, changes, rows, reason=_NOISE)
        if not rows:
            return Cause(kind, Verdict.NO_EFFECT, changes, 0)
        rebuilt = self._try_run(frozenset(each for each in CHANGEABLE if self._changes[each]))
        is_whole = isinstance(rebuilt, Path) and self._count(rebuilt, made) == 0 and not self._from_real(0, made)
        return Cause(kind, Verdict.VERIFIED, changes, rows, is_whole)

    def _untested(self, kind: CauseKind, reason: str) -> Cause:
        if kind is CauseKind.NONDETERMINISM:
            return Cause(kind, Verdict.NOT_CHECKED, reason=reason)
        changes = self._changes[kind]
        return Cause(kind, Verdict.STATED, changes, reason=reason) if changes else Cause(kind, Verdict.SAME)

    def _result(self, real: Result, base: Path, rebuilt: Path | str) -> Result:
        """Return the difference of one dataset. The data of a run that is gone is replaced by a replay."""
        if real.rows is not None:
            return real
        dataset = real.dataset
        try:
            found: Found = self._trials.differences_from_real(dataset, self._runs[0].writes[dataset], base)
            return Result(dataset, found[1], True, "the data of the second run is gone, so a replay of it was compared", found[0])
        except HeadwaterError:
            pass
        if not isinstance(rebuilt, Path):
            return Result(dataset, None, reason=f"{real.reason}; the first run cannot be made again: {rebuilt}")
        try:
            found = self._trials.differences(dataset, rebuilt, base)
        except HeadwaterError as error:
            return Result(dataset, None, reason=error.message)
        return Result(dataset, found[1], True, f"{real.reason}, so a replay was compared", found[0])

    def _unrecorded(self, base: Path, rebuilt: Path | str, noise: Cause) -> list[Cause]:
        """Return the cause that nothing recorded explains a difference between a run and its replay."""
        if noise.verdict is not Verdict.NO_EFFECT:
            return []
        changes = []
        for run, made, rows in (
            (run, made, self._from_real(n, made)) for n, (run, made) in enumerate(zip(self._runs, (rebuilt, base), strict=True))
        ):
            if rows:
                changes.append(f"{run.run} gave another result than its replay: {rows:,} rows differ")
            elif rows is None and isinstance(made, Path):
                changes += self._other_counts(run, made)
        reason = "something that no run records: the clock, a service, imported modules, a setting or a version"
        return [Cause(CauseKind.UNRECORDED, Verdict.VERIFIED, changes, reason=reason)] if changes else []

    def _other_counts(self, run: ComparedRun, made: Path) -> list[str]:
        """Return the datasets of which a run wrote another number of rows than its replay."""
        changes = []
        for dataset in self._datasets:
            stated = run.writes[dataset].rows
            rows = self._trials.count_rows(dataset, made) if stated is not None else None
            if rows is not None and rows != stated:
                changes.append(f"{run.run} wrote {stated:,} rows of {dataset_name(dataset)}, and its replay {rows:,}")
        return changes

    def _together(self, rebuilt: Path | str, noise: Cause) -> bool | None:
        """Return whether all changes together give the real result of the first run. None if that is not known."""
        rows = self._from_real(0, rebuilt)
        return None if rows is None or noise.verdict is not Verdict.NO_EFFECT else rows == 0

    def _report(self, results: Sequence[Result], causes: Sequence[Cause], together: bool | None) -> Comparison:
        first, second = self._runs
        only = sorted(first.writes.keys() ^ second.writes.keys())
        notes = [*self._notes, *(f"{dataset_name(dataset)} was written by one of the runs only" for dataset in only)]
        return Comparison(first.run, second.run, second.job, results, causes, together, notes, self._trials.number)


def _place(namespace: str, job: str) -> Invocation:
    """Return an invocation that only names a program."""
    return Invocation(run="", namespace=namespace, job=job, argv=[], working_directory="", script="", script_sha256="")
