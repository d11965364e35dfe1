"""Runs by name: new ones, and the one that started this program, as schedulers name it (`OPENLINEAGE_PARENT_…`, `OPENLINEAGE_ROOT_…`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

_log = logging.getLogger("headwater.lineage")


@dataclass(frozen=True, slots=True)
class RunName:
    """A run and the job that it is a run of."""

    namespace: str
    job: str
    run_id: str


def new_run_id() -> str:
    """The id of a new run: a UUID of version 7 (RFC 9562), whose order is that of time, as OpenLineage recommends."""
    milliseconds = time.time_ns() // 1_000_000
    random = uuid4().int & (1 << 80) - 1 & ~(0xF << 76)  # its variant is that of version 7 too
    return str(UUID(int=(milliseconds & (1 << 48) - 1) << 80 | 7 << 76 | random))


def given_parent(environ: Mapping[str, str], *, root: bool = False) -> RunName | None:
    """The parent (or root) run that the environment names, as `…_ID=namespace/job/run` or in three variables; None if it names none."""
    prefix = "OPENLINEAGE_ROOT_PARENT" if root else "OPENLINEAGE_PARENT"
    whole = environ.get(f"{prefix}_ID", "")
    if whole:
        namespace_and_job, _, run_id = whole.rpartition("/")
        namespace, _, job = namespace_and_job.rpartition("/")
    else:
        run_id = environ.get(f"{prefix}_RUN_ID", "")
        namespace = environ.get(f"{prefix}_JOB_NAMESPACE", "default")
        job = environ.get(f"{prefix}_JOB_NAME", "")
    if not run_id:
        return None
    try:
        UUID(run_id)
    except ValueError:
        _log.warning("The parent run in %s is ignored: %r is not a UUID.", prefix, run_id)
        return None
    return RunName(namespace or "default", job or "unknown", run_id)
