"""The recaptures of a service, for GraphQL. Recaptures and replays share one queue, and run one after the other.

The service remembers its latest jobs until it ends. Stored associations stay. An unregistered program is never run.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.backend.rerun.queued_jobs import QueuedJob, QueuedJobs, now
from headwater.backend.rerun.recapture.service import Recaptures
from headwater.errors import InvalidQueryError, UnavailableError
from headwater.graph.model import NodeKind, kind_of, node_id, parse_id
from headwater.graph.records import FileBlock
from headwater.paths import is_folder_store, name_of_path, split_path

_KEPT_SECONDS = 600.0  # time for the worker to store the new captures
_LOOK_SECONDS = 0.25


@dataclass(kw_only=True)
class RecaptureJob(QueuedJob):
    """The state of a recapture of a dataset, or of its partition `within`.

    `outputs`, `files` and `left` have the same meaning as in `Recaptured`.
    """

    dataset: str
    outputs: Sequence[str] = ()
    files: int = 0
    left: Mapping[str, str] = field(default_factory=dict)
    within: str = ""


class RecaptureJobs(QueuedJobs[RecaptureJob]):
    """Implements the schema's `RecaptureService`."""

    def __init__(self, recaptures: Recaptures, turn: asyncio.Lock) -> None:
        super().__init__(turn, "recaptures")
        self._recaptures = recaptures

    async def start(self, tenant: str, dataset: str) -> str:
        """Queue a recapture of a dataset or a partition (an id or the path of its folder), and return the job's id.

        If a job for it waits or runs, its id is returned instead.

        Raises:
            NotFoundError: no known run wrote the dataset.
            InvalidQueryError: record lineage is already stored, or the text names no dataset.
            UnsupportedError: the program is not registered or changed since, or the files cannot be compared.
            UnavailableError: too many recaptures wait.
        """
        output = _dataset(dataset)
        target = await self._recaptures.target(tenant, output)
        if running := self._running(tenant, target):
            return running.id
        plan = await self._recaptures.plan(tenant, output)
        if running := self._running(tenant, (plan.output, plan.within)):  # another caller started the same recapture meanwhile
            return running.id
        job = RecaptureJob(id=uuid.uuid4().hex, tenant=tenant, dataset=plan.output, within=plan.within, started_at=now())
        blocks: list[FileBlock] = []

        async def run() -> None:
            done = await self._recaptures.run(tenant, plan)
            job.outputs, job.files, job.left = list(done.outputs), done.files, dict(done.left)
            blocks.extend(done.blocks)

        return self.add(job, run, lambda: self._until_kept(tenant, blocks))

    async def possible(self, tenant: str, datasets: Iterable[str]) -> Sequence[str]:
        """Return up to three of the datasets whose last writer is a registered program."""
        return await self._recaptures.possible(tenant, datasets)

    def _running(self, tenant: str, target: tuple[str, str]) -> RecaptureJob | None:
        jobs = (job for job in self._jobs.values() if job.tenant == tenant and not job.has_ended)
        return next((job for job in jobs if (job.dataset, job.within) == target), None)

    async def _until_kept(self, tenant: str, blocks: Sequence[FileBlock]) -> None:
        try:
            async with asyncio.timeout(_KEPT_SECONDS):
                while not await self._recaptures.are_kept(tenant, blocks):  # noqa: ASYNC110 - the worker is another process
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            raise UnavailableError(
                "The second run wrote the same files, and what it recorded is in the log. It was not taken in yet.", hint="Look at /readyz."
            ) from None


def _dataset(text: str) -> str:
    if text.startswith("/") or is_folder_store(split_path(text).scheme):
        return node_id(NodeKind.DATASET, *name_of_path(text))
    if not text.startswith(f"{NodeKind.DATASET}:") or kind_of(text) is not NodeKind.DATASET or len(parse_id(text)[1]) != 2:
        raise InvalidQueryError(
            f"{text[:200]!r} is neither the id of a dataset nor a path.", field="dataset", hint="Write it as dataset:file:/data/out."
        )
    return text
