"""Which run started this program: what a scheduler says in `OPENLINEAGE_PARENT_…` and `OPENLINEAGE_ROOT_PARENT_…`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

_log = logging.getLogger("headwater.lineage")


@dataclass(frozen=True, slots=True)
class RunName:
    """A run and the job that it is a run of."""

    namespace: str
    job: str
    run_id: str


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
