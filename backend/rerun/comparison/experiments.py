"""Runs the program of two compared runs again, with some parts of the first run and the others of the second run.

Each run is a trial (`spark_listener/trials`): it writes into a shadow folder, which is then deleted. A trial reads the files that a run has
read, and no others. Only programs of the registry run, with registered arguments and variables, and only scripts with a registered hash.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Self

from headwater.backend.rerun.comparison.changes import Runs
from headwater.backend.rerun.comparison.compared_runs import ComparedRun, Written
from headwater.backend.rerun.comparison.report import CauseKind
from headwater.backend.rerun.comparison.scripts import ScriptText
from headwater.backend.rerun.culprits.trials import TrialResult, Trials
from headwater.backend.rerun.replay.invocations import check
from headwater.backend.rerun.replay.kinds.kind import file_prefix, place_of
from headwater.backend.rerun.replay.model import Difference, Invocation
from headwater.backend.rerun.replay.replayed_places import places_written
from headwater.backend.rerun.replay.results import csv_options
from headwater.errors import HeadwaterError, UnsupportedError
from headwater.graph.culprits.record_set import RecordSet
from headwater.graph.model.ids import dataset_name
from headwater.graph.records import DataRoots, FileBlock, uri_of
from headwater.graph.storage.addresses import is_remote
from headwater.spark_listener.registry import Program
from headwater.spark_listener.shadow_paths import ShadowPaths

CHANGEABLE = (CauseKind.INPUTS, CauseKind.CODE, CauseKind.ARGUMENTS, CauseKind.ENVIRONMENT)  # the parts that a trial can have of each run
_LIMIT = 100  # differences that are shown
Found = tuple[list[Difference], int]


class CannotRunError(HeadwaterError):
    """A trial with these parts of the runs cannot run. The message is the reason."""


class Experiments:
    """The trials of one comparison: `with Experiments(…) as experiments: experiments.run({CauseKind.CODE})`."""

    def __init__(
        self, folder: Path, runs: Runs, texts: Sequence[ScriptText | None], sources: DataRoots, seconds: float, cancel: Event | None = None
    ) -> None:
        self._folder = folder
        self._runs = runs
        self._texts = texts
        self._sources = sources
        self._seconds = seconds
        self._cancel = cancel
        self._started = ExitStack()
        self._processes: dict[tuple[tuple[str, str], ...], Trials] = {}
        self._made: dict[object, TrialResult | str] = {}
        self.number = 0

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._started.close()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, of_first: frozenset[CauseKind], repetition: int = 0) -> Path:
        """Run the program with these parts of the first run, and all others of the second. Return the shadow folder of the result.

        Equal combinations run once for each `repetition`.

        Raises:
            CannotRunError: a part of a run is gone, or the program failed.
            SearchEndedError: the time limit is over.
            TrialsFailedError: the process of the trials ended by itself.
        """
        parts = {kind: self._runs[0] if kind in of_first else self._runs[1] for kind in CHANGEABLE}
        invocation = self._invocation(parts)
        files, restrict = self._files(parts[CauseKind.INPUTS])
        key = (invocation.script_sha256, tuple(invocation.argv), tuple(sorted(invocation.environment.items())), tuple(files), repetition)
        if key not in self._made:
            self._made[key] = self._try(invocation, files, restrict)
        made = self._made[key]
        if isinstance(made, str):
            raise CannotRunError(made)
        return made.shadow

    def _try(self, invocation: Invocation, files: Sequence[str], restrict: Sequence[str]) -> TrialResult | str:
        self.number += 1
        process = self._process(invocation)
        process.take([invocation])
        result = process.run(RecordSet(()), restrict, files=files)
        if result.failure is not None:
            return f"the program failed with these parts of the runs: {result.failure.kind}: {result.failure.message}"
        return result

    def _process(self, invocation: Invocation) -> Trials:
        """Return a process that was started with the variables of a program, because Spark reads some at its start only."""
        key = tuple(sorted(invocation.environment.items()))
        if key not in self._processes:
            folder = self._folder / f"process-{len(self._processes)}"
            self._processes[key] = self._started.enter_context(Trials(folder, [invocation], self._seconds, self._cancel))
        return self._processes[key]

    def _invocation(self, parts: Mapping[CauseKind, ComparedRun]) -> Invocation:
        code, arguments, environment = (parts[kind] for kind in CHANGEABLE[1:])
        program, started, place = (_program(run) for run in (code, arguments, environment))
        text = self._texts[0 if code is self._runs[0] else 1]
        if text is None:
            raise CannotRunError(
                f"the script of {code.run} (SHA-256 {program.script_sha256[:12]}) is neither at its place nor in its git checkout;"
                " --script names a copy"
            )
        invocation = Invocation(
            run=code.run, namespace=code.namespace, job=code.job, argv=started.argv, script=str(self._write(text, program)),
            script_sha256=program.script_sha256, working_directory=place.working_directory,
            environment=place.environment, modules=str(Path(program.script).parent),
        )  # fmt: skip
        try:
            check(invocation)
        except UnsupportedError as error:
            raise CannotRunError(error.message) from error
        if not Path(invocation.working_directory).is_dir():
            raise CannotRunError(f"the working folder {invocation.working_directory} is gone")
        return invocation

    def _write(self, text: ScriptText, program: Program) -> Path:
        """Write a script below the folder of the comparison, under its own name. The trial checks its hash again."""
        script = self._folder / "scripts" / sha256(text.content).hexdigest()[:16] / Path(program.script).name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_bytes(text.content)
        return script

    def _files(self, run: ComparedRun) -> tuple[list[str], list[str]]:
        """Return the files that a run read, and the places of the datasets with these files.

        Of a dataset that only the other run read, the files of the other run count.

        Raises:
            CannotRunError: a file changed since, or is gone.
        """
        files = {dataset: files for each in (*self._runs, run) for dataset, files in each.reads.items()}
        known = {dataset: found for dataset, found in files.items() if found}
        for found in known.values():
            if lost := find_lost(found, self._sources):
                raise CannotRunError(f"{lost.path}, which {run.run} read, has changed since or is gone")
        return sorted(file.path for found in known.values() for file in found), sorted(map(file_prefix, known))

    def differences(self, dataset: str, before: Path, after: Path) -> Found:
        """Return the rows in which two trials differ. Both are shadow folders."""
        from headwater.backend.rerun.replay.compare import compare  # loads DuckDB

        place = place_of(dataset)
        folders = [ShadowPaths(str(shadow)).folder(place) for shadow in (before, after)]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)  # a program may write nothing
        options = csv_options(str(after), folders[1])
        return compare(dataset, folders[0], folders[1], sources=DataRoots.of(folders), options=options, limit=_LIMIT)

    def count_rows(self, dataset: str, made: Path) -> int | None:
        """Return the number of rows that a trial wrote to a dataset. None if they cannot be read."""
        nothing = self._folder / "nothing"
        try:
            return self.differences(dataset, nothing, made)[1]
        except HeadwaterError:
            return None

    def differences_from_real(self, dataset: str, written: Written, after: Path) -> Found:
        """Return the rows in which the data that a run wrote differs from a trial.

        Raises:
            UnsupportedError: the data is gone, or cannot be compared.
        """
        from headwater.backend.rerun.replay.compare import compare

        place = self._real_place(dataset, written)
        folder = ShadowPaths(str(after)).folder(place)
        folder.mkdir(parents=True, exist_ok=True)
        places = places_written(dataset, folder, "")
        only = {file.path.removeprefix(file_prefix(dataset)).strip("/") for file in written.files}
        options = csv_options(str(after), folder)
        return compare(dataset, Path(place), folder, sources=self._sources, places=places, only=only, options=options, limit=_LIMIT)

    def differences_of_real(self, dataset: str, first: Written, second: Written) -> Found:
        """Return the rows in which the data of both runs differs. Raises like `differences_from_real`."""
        from headwater.backend.rerun.replay.compare import compare

        place = self._real_place(dataset, first)
        self._real_place(dataset, second)
        copy = self._folder / "second" / dataset_name(dataset).strip("/").replace("/", "_")
        look = self._sources.look()
        for file in second.files:  # a comparison reads all files of its second folder
            inner = file.path.removeprefix(file_prefix(dataset)).strip("/")
            target = copy / inner
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(look.path(file.path), target)
        only = {file.path.removeprefix(file_prefix(dataset)).strip("/") for file in first.files}
        return compare(dataset, Path(place), copy, sources=self._sources, only=only, limit=_LIMIT)

    def _real_place(self, dataset: str, written: Written) -> str:
        place = place_of(dataset)
        if is_remote(place):
            raise UnsupportedError(f"{dataset_name(dataset)} is in remote storage")
        if not written.files:
            raise UnsupportedError(f"the run did not record which files of {dataset_name(dataset)} it wrote")
        if lost := find_lost(written.files, self._sources):
            raise UnsupportedError(f"{lost.path} was replaced since, or is gone")
        return place


def _program(run: ComparedRun) -> Program:
    if run.program is None:
        raise CannotRunError(f"the program of {run.run} is not registered on this home")
    return run.program


def find_lost(files: Sequence[FileBlock] | frozenset[FileBlock], sources: DataRoots) -> FileBlock | None:
    """Return a file that is no longer as a run read or wrote it. None if all are."""
    look = sources.look()
    for file in sorted(files, key=lambda each: each.path):
        try:
            now = look.block(file.path)
        except (HeadwaterError, OSError):
            return file
        if (uri_of(now.path), now.length, now.modified) != (file.path, file.length, file.modified):
            return file
    return None
