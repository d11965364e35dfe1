"""Runs the Spark job of a compaction with capture, checks its result, and delivers its lineage for the real place of the data.

The job writes to the shadow of the compaction. Its capture stays in a spool of its own until the folders are exchanged.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.rerun.replay.runner import ReplayFailedError, run_program, story
from headwater.backend.rerun.shadow_lineage import MakeDelivery, deliver_lineage
from headwater.backend.versions.compaction import merge_program
from headwater.backend.versions.compaction.journal import CompactionJournal
from headwater.backend.versions.compaction.merged_files import check_merge, read_facts
from headwater.graph.records import AssociationStore
from headwater.graph.versions.compaction import CompactionPlan
from headwater.paths import pattern_of_path
from headwater.spark_listener.invocation import script_sha256
from headwater.spark_listener.replay import ReplayOrder

FILE_BYTES = 128 << 20  # size of merged files, roughly
_TENANT = "default"
_NAMESPACE, _JOB = "default", "headwater_compact"


class Merge(Protocol):
    """Merges the files of a plan. `place` is the folder of the compaction in the home."""

    def run(self, journal: CompactionJournal, place: Path, holding: int, plan: CompactionPlan) -> None:
        """Write the merged files to `journal.other`, and keep their lineage in `place`. Programs inherit the open file `holding`."""

    def check(self, journal: CompactionJournal, place: Path) -> tuple[str, str]:
        """Check the merged files, and return the id of the capture and of the run. Raises as `check_merge`."""

    def deliver(self, journal: CompactionJournal, place: Path, note_refusal: Callable[[str], None]) -> None:
        """Deliver the lineage for the real place. Can be repeated, but a refused part is sent and noted once only."""

    def clean(self, place: Path) -> None:
        """Remove what `run` kept in `place`, except for a log."""


class SparkMerge:
    """The merge by Spark on this machine."""

    def __init__(self, records: AssociationStore, make_delivery: MakeDelivery, *, file_bytes: int = FILE_BYTES) -> None:
        self._records = records
        self._make_delivery = make_delivery
        self._file_bytes = file_bytes

    def run(self, journal: CompactionJournal, place: Path, holding: int, plan: CompactionPlan) -> None:
        """Run Spark.

        Raises:
            ReplayFailedError: Spark failed.
        """
        script = str(Path(merge_program.__file__))
        digest = script_sha256(script) or ""
        (place / "merge.json").write_text(json.dumps(self._order(journal, plan)), encoding="utf-8")
        order = place / "order.json"
        ReplayOrder(replay=journal.id, shadow=journal.shadow, exclude={}, script_sha256=digest, captures=True).save(order)
        invocation = Invocation(
            run=journal.id, namespace=_NAMESPACE, job=_JOB, argv=[script, str(place / "merge.json")], working_directory=str(place),
            script=script, script_sha256=digest,
        )  # fmt: skip
        ours = {"HOME": str(place / "home"), "MODE": "active", "NAME": _JOB, "NAMESPACE": _NAMESPACE}
        log = place / "program.log"
        capturing = {f"HEADWATER_{name}": value for name, value in ours.items()}
        if code := run_program(invocation, order, log, capturing=capturing, holding=[holding]):
            raise ReplayFailedError(story(invocation, code, log), hint=f"Nothing was replaced. The whole log is {log}.")

    def check(self, journal: CompactionJournal, place: Path) -> tuple[str, str]:
        return check_merge(journal.other, Path(journal.folder), journal.files, place / "home" / "spool")

    def deliver(self, journal: CompactionJournal, place: Path, note_refusal: Callable[[str], None]) -> None:
        modes = {journal.folder: "base"}
        deliver_lineage(place / "home", Path(journal.shadow), modes, self._make_delivery, merges=True, note_refusal=note_refusal)

    def clean(self, place: Path) -> None:
        shutil.rmtree(place / "home", ignore_errors=True)
        for name in ("order.json", "merge.json"):
            (place / name).unlink(missing_ok=True)

    def _order(self, journal: CompactionJournal, plan: CompactionPlan) -> Mapping[str, Any]:
        facts = read_facts(Path("/" + file.path.removeprefix("file:").lstrip("/")) for file in plan.files)
        sink = self._records.brief(_TENANT, plan.writers[0]).sink
        return {
            "source": pattern_of_path(journal.folder), "target": str(journal.other),
            "options": _options(facts.codec, has_int96=facts.has_int96),
            "columns": [] if sink is None else list(sink.partition_columns),
            "files": max(1, -(-sum(file.length for file in plan.files) // self._file_bytes)),
        }  # fmt: skip


def _options(codec: str, *, has_int96: bool) -> Mapping[str, str]:
    """Return settings of Spark under which the merged files are like the old ones."""
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.parquet.outputTimestampType": "INT96" if has_int96 else "TIMESTAMP_MICROS",
    }
    return {**options, "spark.sql.parquet.compression.codec": codec} if codec else options
