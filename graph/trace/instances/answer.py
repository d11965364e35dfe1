"""The question for the instance of a dataflow behind wrong rows, and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.graph.trace.answer import Incomplete


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRequest:
    """A question for the instance behind wrong rows of `dataset`.

    - `bad`: a predicate that selects the wrong rows.
    - `good`: a predicate that selects right rows; all other rows, if it is None.
    - `limit`: most rows that are compared. If there are more, a sample of both kinds is.
    """

    dataset: str
    bad: str
    good: str | None = None
    limit: int = 100_000


@dataclass(frozen=True, slots=True)
class Instance:
    """A task that wrote records on the way of the rows, or a file of a source. `dataset` is the dataset of these records.

    `node` is the id of the task, `file` the file of a source, and of tasks that are not known. `job` and `run` are None for sources.
    """

    node: str | None
    file: str | None
    dataset: str
    job: str | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True)
class FaultyInstance:
    """An instance through which `rows` rows passed, `bad` of them wrong. See `InstanceSuspect`."""

    instance: Instance
    bad: int
    rows: int
    expected: float
    chance: float
    alike: Sequence[Instance]


@dataclass(frozen=True, slots=True)
class InstanceAnswer:
    """The suspects among `instances` instances, the least likely first, from the lineage of `bad` wrong rows and `good` other rows."""

    dataset: str
    suspects: Sequence[FaultyInstance]
    instances: int
    bad: int
    good: int
    incomplete: Sequence[Incomplete]

    @property
    def exact(self) -> bool:
        return all(entry.effect in ("unreadable", "version") for entry in self.incomplete)
