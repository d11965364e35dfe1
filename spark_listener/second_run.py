"""Finds outputs whose records a second run of the program may capture: mode `auto` left them out to save time.

The summary of a run proposes `headwater recapture` for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.redact import REDACTED

if TYPE_CHECKING:
    from headwater.spark_listener.invocation import Invocation
    from headwater.spark_listener.lineage.datasets import Dataset
    from headwater.spark_listener.lineage.events import Work

NO_RDD_RECORDS = {
    "operator": "RDD",
    "reason": "records of RDD programs are captured in mode active, or with HEADWATER_RDD_RECORDS=true",
    "kind": "refused",
}
_MOST_OUTPUTS = 100  # outputs whose inputs are checked
_LOOKED_AT = 200  # entries of a folder that are read
_TABLES = ("_delta_log", "metadata")  # the history folders of tables: a commit may remove files without another trace
_BY_MODE = "auto"  # the operator of problems that mode active does not have
OF_FILES = frozenset(
    {"parquet", "orc", "avro", "csv", "json", "text", "xml", "binaryFile", "binaryRecords", "sequence", "pickle"}
)  # formats of files that a second run compares by their bytes


def has_program(invocation: Invocation) -> bool:
    texts = [*invocation.argv, str(invocation.script), invocation.working_directory, *invocation.environment.values()]
    return invocation.script is not None and invocation.script_sha256 is not None and not any(REDACTED in text for text in texts)


def outputs_for(work: Work) -> Sequence[Dataset]:
    """Return the outputs of a run whose records only the mode left out, and that a second run can be compared with."""
    problems: list[Mapping[str, Any]] = [problem for problem in work.ledger.problems if problem.get("kind") != "superset"]
    are_by_mode = bool(problems) and all(is_by_mode(problem.get("operator"), problem.get("reason")) for problem in problems)
    are_files = all(_is_of_files(dataset) for dataset in (*work.inputs, *work.outputs))
    return work.outputs if are_by_mode and are_files and work.outcome.error is None and not work.streaming else ()


def is_by_mode(operator: object, reason: object) -> bool:
    """Return whether a problem comes from the mode alone, so that a run in mode active would not have it."""
    return operator == _BY_MODE or (operator, reason) == (NO_RDD_RECORDS["operator"], NO_RDD_RECORDS["reason"])


def _is_of_files(dataset: Dataset) -> bool:
    kind = dataset.facets.get("storage", {}).get("fileFormat")
    return dataset.namespace == "file" and (kind is None or kind in OF_FILES)


def are_older(paths: Iterable[str], began_ms: float) -> bool:
    """Return whether files and folders are unchanged since an application began. False if one cannot be read."""
    return all(_is_older(path, began_ms) for path in paths)


def outputs_to_propose(inputs_by_output: Mapping[str, Collection[str]], written: Collection[str], began_ms: float) -> Iterator[str]:
    """Yield outputs whose inputs have not changed since the application began, except by the application itself.

    At most a hundred outputs are checked, one at a time on request, because the program waits for it at its end.
    """
    is_older = cache(partial(_is_older, began_ms=began_ms))
    for output, inputs in islice(sorted(inputs_by_output.items()), _MOST_OUTPUTS):
        if all(is_older(path) for path in sorted(inputs) if path not in written):
            yield output


def _is_older(path: str, began_ms: float) -> bool:
    try:
        return not has_table(path) and newest(path) <= began_ms
    except OSError:
        return False


def is_within(path: str, folder: str) -> bool:
    """Return whether two paths are equal, or one contains the other."""
    path, folder = f"{path.rstrip('/')}/", f"{folder.rstrip('/')}/"
    return path.startswith(folder) or folder.startswith(path)


def has_table(path: str) -> bool:
    """Return whether a folder is a table with a history (Delta or Iceberg)."""
    return any((Path(path) / name).is_dir() for name in _TABLES)


def newest(path: str) -> int:
    """Return the last change of a file, or of a folder and its direct contents, in milliseconds since the epoch.

    Only a part of a large folder is read.

    Raises:
        OSError: the path does not exist.
    """
    place = Path(path)
    stats = [place.stat()]
    if place.is_dir():
        stats += [entry.stat() for entry in islice(place.iterdir(), _LOOKED_AT) if not entry.name.startswith((".", "_"))]
    files = [max(stat.st_mtime_ns, stat.st_ctime_ns if S_ISREG(stat.st_mode) else 0) for stat in stats]
    return max(files) // 1_000_000
