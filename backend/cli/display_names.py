"""Names for people: paths relative to the working folder, and short names of Spark's jobs."""

from __future__ import annotations

from pathlib import Path

from headwater.graph.model import parse_id
from headwater.graph.model.ids import short_job_name as job_of

__all__ = ["dataset_of", "job_of", "shown_name"]


def shown_name(kind: str, name: str, identifier: str = "") -> str:
    """Return a readable name of a node. The name of a column includes its dataset if `identifier` is given."""
    if kind.lower() == "job":
        return job_of(name)
    if kind.lower() == "column" and identifier:
        _, dataset, column = parse_id(identifier)[1]
        return f"{dataset_of(dataset)} {column}"
    return dataset_of(name) if kind.lower() in ("dataset", "partition") else name


def dataset_of(name: str) -> str:
    """Return a path relative to the working folder, if it lies below that folder."""
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_absolute() and path.is_relative_to(Path.cwd()) else name
