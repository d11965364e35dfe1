"""Partial results of aggregates. A refresh stores them for the next refresh of the same dataset.

A program of a refresh computes an aggregate over a changed dataset file by file. The program stores the groups of each file below
`replays/partials`, and aggregates the groups of all files. The next refresh computes only the groups of new or changed files. The
programs write the folder (`jvm/replay/PartialStore`). This module limits its size and reports the used parts. Selective replays keep
places of lines of text files there, too (`jvm/source/LineMarks`).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from urllib.parse import quote

_FOLDER = "partials"
_MOST = 4 << 30  # limit of all partial results of a home in bytes


def partial_results_folder(replays: Path, tenant: str) -> Path:
    return replays / _FOLDER / (quote(tenant, safe="") or "_")


def limit_partial_results(replays: Path) -> None:
    """Remove the least recently used partial results until the total size is below the limit."""
    folders = [(_last_use(folder), folder) for folder in (replays / _FOLDER).glob("*/*") if folder.is_dir()]
    total = 0
    for _, folder in sorted(folders, reverse=True):
        total += sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        if total > _MOST:
            shutil.rmtree(folder, ignore_errors=True)


def notes_on_partial_results(shadow: str) -> list[str]:
    """Return a sentence for each aggregate that a replay computed file by file, and for each query that it computed as a whole."""
    try:
        lines = [json.loads(line) for line in Path(f"{shadow}.partials").read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []
    notes = []
    for dataset, *counts in lines:
        if not counts:
            notes.append(f"A query reads all of {dataset}: its plan gives no partial results by file.")
            continue
        files, reused = counts
        kept = f"{reused} of {files} files of {dataset} were not read again: partial results of an earlier refresh were used."
        notes.append(kept if reused else f"Partial results of {files} files of {dataset} were kept for the next refresh.")
    return list(dict.fromkeys(notes))


def _last_use(folder: Path) -> float:
    return max((file.stat().st_mtime for file in folder.iterdir()), default=0.0)
