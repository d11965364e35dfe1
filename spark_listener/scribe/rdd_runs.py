"""Writes runs of RDD programs: their actions and saves, with the captures of saved records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.lineage.datasets import bare_input, bare_output
from headwater.spark_listener.lineage.events import Work, instant
from headwater.spark_listener.lineage.facets import SET_ASIDE, Facet, Ledger, facets, numbers_of
from headwater.spark_listener.lineage.names import without_time
from headwater.spark_listener.lineage.parents import RunName, new_run_id
from headwater.spark_listener.lineage.queries import QueryContext, failure_of, ledger_of, manifest_of
from headwater.spark_listener.lineage.stages import stages_of
from headwater.spark_listener.outcome import Outcome, is_cancelled
from headwater.spark_listener.rdd import Origins, SavedRDD
from headwater.spark_listener.redact import redact
from headwater.spark_listener.scribe.rdd_jobs import RddJob, RddJobs
from headwater.spark_listener.scribe.writer import Writer
from headwater.spark_listener.second_run import NO_RDD_RECORDS
from headwater.spark_listener.settings import LeaveOut, Settings
from headwater.spark_listener.tally import Tally

if TYPE_CHECKING:
    from headwater.spark_listener.set_aside.register import Register


class RddRuns:
    """Runs of RDD jobs and saves of one application."""

    def __init__(
        self, writer: Writer, context: QueryContext, settings: Settings, tally: Tally, origins: Origins, register: Register | None = None
    ) -> None:
        self._writer = writer
        self._context = context
        self._leave_out = settings.leave_out
        self._tally = tally
        self._origins = origins
        self._register = register
        self._jobs = RddJobs()
        self._saving: dict[str, list[Mapping[str, Any]]] = {}  # stages by the job of a running save

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def waiting(self) -> bool:
        return self._jobs.waiting()

    def take(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "rdd_job_start":
            self._jobs.begin(event, self._origins.read_by(event["rdds"]))
        elif event.get("save"):
            self._saving.setdefault(event["save"], []).append(event["stages"] or {})
        else:
            self._ended(event)

    def start_lasting(self) -> None:
        for job in self._jobs.due():
            if job.left_out(failed=False) not in self._leave_out:
                self._writer.start(self._work(job, ended="", outcome=Outcome(), stages=None))
                job.start_spooled = True

    def _ended(self, event: Mapping[str, Any]) -> None:
        job = self._jobs.end(event["job"])
        if job is None:
            return
        outcome = failure_of(event.get("error")) or Outcome()
        left_out = job.left_out(failed=outcome.error is not None)
        if left_out is not LeaveOut.SCHEMA and not job.batch:
            self._tally.rdd_jobs += 1
            self._tally.failed += outcome.error is not None
        if left_out in self._leave_out:
            self._tally.left_out[left_out] += not job.batch  # a batch has several jobs, and is counted once
            return
        stages = stages_of([event.get("stages") or {}], float(event["time"]))
        work = self._work(job, ended=instant(event["time"]), outcome=outcome, stages=stages)
        if set_aside := self._set_aside([event.get("stages") or {}], None):
            work = replace(work, run_facets={SET_ASIDE: set_aside})
        self._tally.datasets(work.inputs, work.outputs)
        self._tally.problems(work.ledger.problems)
        self._writer.end(work, started=job.start_spooled)

    def _work(self, job: RddJob, *, ended: str, outcome: Outcome, stages: Facet | None) -> Work:
        context = self._context
        problems = [{"operator": "RDD", "reason": redact(reason), "kind": "missing"} for reason in job.found.problems]
        name = context.names.of(context.job_prefix, job.operation, None)
        return Work(
            run=RunName(context.application.namespace, name, job.run_id), started=instant(job.started), ended=ended, kind="RDD_JOB",
            inputs=[bare_input(path) for path in job.found.paths], outputs=[], outcome=outcome, stages=stages,
            ledger=Ledger(status="off" if ended else "running", mode=context.mode, problems=problems),
        )  # fmt: skip

    def saved(self, saved: SavedRDD) -> None:
        context = self._context
        inputs = [bare_input(path) for path in saved.inputs]
        outputs = [bare_output(path) for path in saved.outputs]
        written = (outputs[0].namespace, without_time(outputs[0].name)) if outputs else None
        run = RunName(context.application.namespace, context.names.of(context.job_prefix, saved.operation, written), new_run_id())
        started, ended = instant(saved.started * 1000), instant(saved.ended * 1000)
        manifest = None
        parts = self._saving.pop(saved.id, ())
        set_aside = self._set_aside(parts, saved.id)
        if saved.capture is not None:
            manifest = manifest_of(saved.capture, run, started, ended, context, self._writer.segments)
            manifest |= {"setAside": numbers_of(set_aside)} if set_aside else {}
        ledger = self._ledger_of(saved, manifest)
        if manifest is not None:
            ledger = self._writer.capture(manifest, ledger)
        self._tally.queries += 1
        self._tally.failed += saved.error is not None
        self._tally.datasets(inputs, outputs)
        self._tally.problems(ledger.problems)
        self._writer.end(
            Work(
                run=run,
                started=started,
                ended=ended,
                kind="RDD_JOB",
                inputs=inputs,
                outputs=outputs,
                outcome=Outcome(error=saved.error, cancelled=is_cancelled(saved.error)) if saved.error else Outcome(),
                ledger=ledger,
                stages=stages_of(parts, saved.ended * 1000),
                run_facets=facets(**{SET_ASIDE: set_aside}),
            )
        )

    def _set_aside(self, parts: Iterable[Mapping[str, Any]], save: str | None) -> Facet | None:
        if self._register is None:
            return None
        return self._register.of_rdds([int(stage["stage"]) for part in parts for stage in part.get("stages") or ()], save)

    def _ledger_of(self, saved: SavedRDD, manifest: Mapping[str, Any] | None) -> Ledger:
        mode, obstacle = self._context.mode, self._context.obstacle
        problems = [{"operator": "RDD", "reason": reason, "kind": "missing"} for reason in saved.problems if manifest is None]
        if manifest is not None:
            return ledger_of(manifest, mode, [*manifest["problems"], *problems])
        off = not mode.records
        if not off and not (obstacle or saved.error):
            problems.insert(0, dict(saved.refused or NO_RDD_RECORDS))
        if obstacle:
            problems.insert(0, dict(obstacle))
        return Ledger(status="off" if off else "refused", mode=mode, problems=problems)
