"""Ids of runs: new ids, and the parent run in a scheduler's variables (`OPENLINEAGE_PARENT_…`, `OPENLINEAGE_ROOT_…`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

_log = logging.getLogger("headwater.lineage")


@dataclass(frozen=True, slots=True)
class RunName:
    """A run and its job."""

    namespace: str
    job: str
    run_id: str


def new_run_id() -> str:
    """Return a new id: a UUID of version 7 (RFC 9562), which sorts by time, as OpenLineage recommends."""
    milliseconds = time.time_ns() // 1_000_000
    random = uuid4().int & (1 << 80) - 1 & ~(0xF << 76)  # keeps the variant of version 7
    return str(UUID(int=(milliseconds & (1 << 48) - 1) << 80 | 7 << 76 | random))


def given_parent(environ: Mapping[str, str], *, root: bool = False) -> RunName | None:
    """Return the parent (or root) run in the environment, as `…_ID=namespace/job/run` or in three variables. None without one."""
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
