"""Prunes a home's associations by the policy in its settings, with a line in the audit log before and after.

If the audit log cannot be written, nothing is pruned.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

from headwater.backend.audit.log import append_line
from headwater.backend.home.settings import DEFAULT_TENANT, Settings
from headwater.backend.workspace import Workspace, association_store
from headwater.graph.records import AssociationStore
from headwater.graph.records.prune import Policy, Report, prune


@overload
def policy_of(settings: Settings) -> Policy | None: ...


@overload
def policy_of(settings: Settings, *, days: float) -> Policy: ...


def policy_of(settings: Settings, *, days: float | None = None) -> Policy | None:
    """Return the policy in the settings, or None if neither the settings nor `days` give a number of days."""
    replaced = settings.prune_replaced_days if settings.prune_replaced_days is not None else days
    if replaced is None:
        return None
    return Policy(replaced, settings.prune_older_days, settings.prune_namespace, settings.prune_dataset, settings.prune_most_bytes)


def prune_home(settings: Settings, policy: Policy, *, dry_run: bool) -> Report:
    """Prune the default tenant of a home, as the user of this process."""
    folder = settings.folder.create()
    registry = folder.registry
    records = association_store(settings, registry)
    try:
        return _audited(folder.audit, records, DEFAULT_TENANT, policy, by=_user(), dry_run=dry_run)
    finally:
        records.close()
        registry.close()


def prune_audited(workspace: Workspace, tenant: str, policy: Policy, *, by: str, until: Callable[[], bool]) -> Report:
    return _audited(workspace.home.audit, workspace.records, tenant, policy, by=by, until=until)


def report_rows(report: Report) -> list[dict[str, Any]]:
    """Return a row for each dataset that was pruned, or would be pruned by a dry run."""
    return [
        {"namespace": namespace, "dataset": name, "captures": count, "bytes": report.bytes[namespace, name]}
        for (namespace, name), count in sorted(report.captures.items())
    ]


def _audited(
    audit: Path,
    records: AssociationStore,
    tenant: str,
    policy: Policy,
    *,
    by: str,
    dry_run: bool = False,
    until: Callable[[], bool] = lambda: False,
) -> Report:
    planned = prune(records, tenant, policy, by=by, dry_run=True)
    if dry_run or not (planned.captures or planned.finished):
        return planned
    line = {"who": by, "tenant": tenant, "policy": str(policy), "decision": "allowed"}
    datasets = [f"{namespace} {name}" for namespace, name in sorted(planned.captures)[:_MOST]]
    append_line(audit, {**line, "what": "store.prune", "on": datasets, "captures": sum(planned.captures.values())})
    report = prune(records, tenant, policy, by=by, until=until)
    counts = {"captures": sum(report.captures.values()), "bytes": sum(report.bytes.values()), "stopped": report.stopped}
    append_line(audit, {**line, "what": "store.prune.end", "on": datasets, **counts})
    return report


_MOST = 50  # limit of datasets in a line of the audit log


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"
