"""States what changed between two runs: inputs, script, arguments, environment, settings, versions. Pure computation on two runs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.rerun.comparison.compared_runs import ComparedRun
from headwater.backend.rerun.comparison.report import CauseKind
from headwater.backend.rerun.comparison.scripts import ScriptText
from headwater.graph.model.ids import dataset_name
from headwater.graph.records import FileBlock

Runs = tuple[ComparedRun, ComparedRun]
_LISTED = 5  # files, settings and lines that one sentence names
_EACH_RUN = ("spark.app.id", "spark.app.startTime", "spark.app.submitTime", "spark.driver.host", "spark.driver.port", "spark.executor.id")


def input_changes(runs: Runs) -> list[str]:
    first, second = runs
    changes = []
    for dataset in sorted({*first.reads, *second.reads}):
        name = dataset_name(dataset)
        if dataset not in second.reads:
            changes.append(f"{name} was read by the first run only")
        elif dataset not in first.reads:
            changes.append(f"{name} was read by the second run only")
        else:
            changes += _file_changes(name, first.reads[dataset], second.reads[dataset])
            rows = [run.rows_read.get(dataset) for run in runs]
            if None not in rows and rows[0] != rows[1]:
                changes.append(f"{name}: {rows[0]:,} records were read before, and {rows[1]:,} after")
    return changes


def _file_changes(name: str, first: frozenset[FileBlock] | None, second: frozenset[FileBlock] | None) -> list[str]:
    before, after = ({file.path: file for file in files or ()} for files in (first, second))
    kinds = {
        "added": sorted(after.keys() - before.keys()),
        "removed": sorted(before.keys() - after.keys()),
        "replaced": sorted(path for path in before.keys() & after.keys() if before[path] != after[path]),
    }
    if first is None or second is None:
        return []
    return [f"{name}: {len(paths):,} file{'' if len(paths) == 1 else 's'} {kind}: {_list(paths)}" for kind, paths in kinds.items() if paths]


def unknown_inputs(runs: Runs) -> list[str]:
    """Return the names of inputs whose files at least one of the runs did not record."""
    both = sorted(runs[0].reads.keys() & runs[1].reads.keys())
    return [dataset_name(dataset) for dataset in both if runs[0].reads[dataset] is None or runs[1].reads[dataset] is None]


def code_changes(runs: Runs, texts: Sequence[ScriptText | None]) -> list[str]:
    digests = [str(script_fact(run, "script_sha256") or "") for run in runs]
    changes = []
    if digests[0] != digests[1]:
        commits = [f" (commit {text.commit[:12]})" if text is not None and text.commit else "" for text in texts]
        changes.append(
            f"{script_fact(runs[1], 'script')}: SHA-256 {digests[0][:12] or 'not known'}{commits[0]} → "
            f"{digests[1][:12] or 'not known'}{commits[1]}"
        )
        if texts[0] is not None and texts[1] is not None:
            changes += _line_changes(texts[0].content, texts[1].content)
    return changes


def plan_changes(runs: Runs) -> list[str]:
    changes = []
    for query in sorted(runs[0].plans.keys() | runs[1].plans.keys()):
        before, after = (run.plans.get(query, ()) for run in runs)
        if before == after:
            continue
        removed, added = ([line for line in one if line not in other] for one, other in ((before, after), (after, before)))
        changes.append(f"plan of {query}: {_list([f'- {line}' for line in removed] + [f'+ {line}' for line in added])}")
    return changes


def argument_changes(runs: Runs) -> list[str]:
    before, after = (list(script_fact(run, "argv") or ())[1:] for run in runs)
    return [f"arguments: {' '.join(before) or 'none'} → {' '.join(after) or 'none'}"] if before != after else []


def environment_changes(runs: Runs) -> list[str]:
    before, after = (_texts(script_fact(run, "environment")) for run in runs)
    folders = [script_fact(run, "working_directory") for run in runs]
    changed = [f"working folder: {folders[0]} → {folders[1]}"] if folders[0] != folders[1] else []
    return changed + _map_changes(before, after)


def setting_changes(runs: Runs) -> list[str]:
    before, after = (_texts(run.fact("spark_properties", "properties")) for run in runs)
    return _map_changes({k: v for k, v in before.items() if k not in _EACH_RUN}, {k: v for k, v in after.items() if k not in _EACH_RUN})


def version_changes(runs: Runs) -> list[str]:
    changes = []
    for name, facet, field in (
        ("Spark", "processing_engine", "version"), ("Headwater", "processing_engine", "openlineageAdapterVersion"),
        ("interpreter", "headwater_invocation", "interpreter"),
    ):  # fmt: skip
        before, after = (run.fact(facet, field) for run in runs)
        if before != after:
            changes.append(f"{name}: {before or 'not known'} → {after or 'not known'}")
    return changes


CHANGES = {
    CauseKind.INPUTS: input_changes,
    CauseKind.ARGUMENTS: argument_changes,
    CauseKind.ENVIRONMENT: environment_changes,
    CauseKind.SETTINGS: setting_changes,
    CauseKind.VERSIONS: version_changes,
}


def script_fact(run: ComparedRun, name: str) -> Any:
    """Return a part of how a run was started: from the registry of this home, else as the run states it."""
    return getattr(run.program, name) if run.program is not None else run.fact("headwater_invocation", name)


def _line_changes(before: bytes, after: bytes) -> list[str]:
    old, new = (text.decode("utf-8", errors="replace").splitlines() for text in (before, after))
    differing = [line for line in difflib.unified_diff(old, new, lineterm="", n=0) if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return [f"{len(differing):,} lines of the script: {_list(differing)}"]


def _map_changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return [f"{name}: {before.get(name, 'not set')} → {after.get(name, 'not set')}" for name in names]


def _texts(value: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in value.items()} if isinstance(value, Mapping) else {}


def _list(items: Sequence[str]) -> str:
    return "; ".join(items[:_LISTED]) + (f"; and {len(items) - _LISTED:,} more" if len(items) > _LISTED else "")
