"""The outputs with records that a second run of the program may find: those that mode `auto` left out to save the job's time.

For the summary of a run, which proposes `headwater recapture`, and for later proposals.
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
_MOST_OUTPUTS = 100  # outputs with inputs to look at
_LOOKED_AT = 200  # entries of a folder to look at
_TABLES = ("_delta_log", "metadata")  # the history folders of tables: a commit may remove files without another trace
_BY_MODE = "auto"  # the operator of problems that mode active does not have
OF_FILES = frozenset(
    {"parquet", "orc", "avro", "csv", "json", "text", "xml", "binaryFile", "binaryRecords", "sequence", "pickle"}
)  # formats of files that a second run compares by their bytes


def has_program(invocation: Invocation) -> bool:
    """Whether the program can be started again in the same way."""
    texts = [*invocation.argv, str(invocation.script), invocation.working_directory, *invocation.environment.values()]
    return invocation.script is not None and invocation.script_sha256 is not None and not any(REDACTED in text for text in texts)


def outputs_for(work: Work) -> Sequence[Dataset]:
    """The outputs of a run whose records only the mode left out, and that a second run can be compared with."""
    problems: list[Mapping[str, Any]] = [problem for problem in work.ledger.problems if problem.get("kind") != "superset"]
    are_by_mode = bool(problems) and all(is_by_mode(problem.get("operator"), problem.get("reason")) for problem in problems)
    are_files = all(_is_of_files(dataset) for dataset in (*work.inputs, *work.outputs))
    return work.outputs if are_by_mode and are_files and work.outcome.error is None and not work.streaming else ()


def is_by_mode(operator: object, reason: object) -> bool:
    """Whether only the mode causes a problem, so that a run in mode active would not have it."""
    return operator == _BY_MODE or (operator, reason) == (NO_RDD_RECORDS["operator"], NO_RDD_RECORDS["reason"])


def _is_of_files(dataset: Dataset) -> bool:
    kind = dataset.facets.get("storage", {}).get("fileFormat")
    return dataset.namespace == "file" and (kind is None or kind in OF_FILES)


def are_older(paths: Iterable[str], began_ms: float) -> bool:
    """Whether files and folders are unchanged since an application began. False for those that cannot be read."""
    return all(_is_older(path, began_ms) for path in paths)


def outputs_to_propose(inputs_by_output: Mapping[str, Collection[str]], written: Collection[str], began_ms: float) -> Iterator[str]:
    """Outputs with unchanged inputs since the application began, apart from its own outputs. Each input is looked at once.

    At most a hundred outputs are looked at, one at a time on request, because the program waits for it at its end.
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
    """Whether one of two paths is the other, or is in it."""
    path, folder = f"{path.rstrip('/')}/", f"{folder.rstrip('/')}/"
    return path.startswith(folder) or folder.startswith(path)


def has_table(path: str) -> bool:
    """Whether a folder is a table with a history."""
    return any((Path(path) / name).is_dir() for name in _TABLES)


def newest(path: str) -> int:
    """The last change of a file, or of a folder and its direct contents, in milliseconds since the epoch. Of a large folder, a part.

    Raises:
        OSError: it does not exist.
    """
    place = Path(path)
    stats = [place.stat()]
    if place.is_dir():
        stats += [entry.stat() for entry in islice(place.iterdir(), _LOOKED_AT) if not entry.name.startswith((".", "_"))]
    files = [max(stat.st_mtime_ns, stat.st_ctime_ns if S_ISREG(stat.st_mode) else 0) for stat in stats]
    return max(files) // 1_000_000
