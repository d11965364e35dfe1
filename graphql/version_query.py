"""Blocks, consumers and differences of versions of a dataset, in the schema."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry import UNSET

from headwater.graph import versions as domain
from headwater.graph.access.scopes import Scope
from headwater.graph.trace.version_diff.answer import Change, DiffRequest
from headwater.graphql.limits import MAX_PAGE, MAX_RECORDS, bounded
from headwater.graphql.root_fields import query
from headwater.graphql.types import Info, Node
from headwater.graphql.version_diff import VersionDiff

strawberry.enum(domain.BlockMode, description="BASE replaces the dataset. DELTA adds to it or changes it.")
strawberry.enum(
    domain.ConsumptionMode,
    description="ALL: a job reads the whole dataset. NEW: a job reads the blocks after its cursor. OLD: the blocks up to it.",
)


@strawberry.type(description="What one run wrote to a dataset. `sequence` counts the blocks of a dataset from 1, in the order of commits.")
class Block:
    """A block of a dataset. `hasRecords` is true if record lineage of the block was captured."""

    sequence: int
    version: strawberry.ID
    run: strawberry.ID
    written_at: str
    mode: domain.BlockMode
    snapshot: str | None = strawberry.field(description="The table format's own name of the version.")
    files: float | None
    rows: float | None
    bytes: float | None
    has_records: bool

    @classmethod
    def of(cls, block: domain.Block) -> Block:
        return cls(
            sequence=block.sequence,
            version=strawberry.ID(block.version),
            run=strawberry.ID(block.run),
            written_at=block.written_at,
            mode=block.mode,
            snapshot=block.snapshot,
            files=block.files,
            rows=block.rows,
            bytes=block.bytes,
            has_records=block.has_records,
        )


@strawberry.type(description="Blocks of a dataset, the latest first. `before` fetches the next page; null on the last one.")
class BlockPage:
    """A page of blocks. `total` counts all blocks of the dataset."""

    blocks: list[Block]
    total: int
    before: int | None


@strawberry.type(
    description="A job that reads a dataset, and how far. `cursor` is the highest sequence that one of its completed runs read."
)
class Consumer:
    """A job that reads a dataset. `cursor` is null if none of its latest runs completed. `unreadRows` is null if unknown."""

    job: Node
    run: strawberry.ID | None = strawberry.field(description="The run that set the cursor.")
    mode: domain.ConsumptionMode
    cursor: int | None
    is_inferred: bool = strawberry.field(description="The start of the run tells the cursor, because no capture tells which files it read.")
    unread_blocks: int
    unread_rows: float | None
    unread_since: str | None = strawberry.field(description="When the first unread block was written.")


@strawberry.type
class VersionQuery:
    @query("The blocks of a dataset, the latest first.", scope=Scope.READ, costly=True, in_namespaces=True)
    async def blocks(self, info: Info, dataset: strawberry.ID, first: int = 20, before: int | None = UNSET) -> BlockPage:
        """Return a page of blocks whose sequence is below `before`."""
        size = bounded(first, "first", low=1, high=MAX_PAGE)
        blocks = await domain.list_blocks(info.context.graph, info.context.tenant, dataset)
        older = [block for block in reversed(blocks) if not before or block.sequence < before]
        page = older[:size]
        info.context.loaders.budget.spend(len(page))
        return BlockPage(
            blocks=[Block.of(block) for block in page],
            total=len(blocks),
            before=page[-1].sequence if len(older) > size else None,
        )

    @query("The jobs that read a dataset, the one that is furthest behind first.", scope=Scope.READ, costly=True, in_namespaces=True)
    async def consumers(self, info: Info, dataset: strawberry.ID) -> list[Consumer]:
        """Return the consumers, at most 1,000."""
        context = info.context
        consumers = await domain.list_consumers(context.graph, context.tenant, dataset)
        context.loaders.budget.spend(len(consumers))
        jobs = {job.id: job for job in await context.graph.get(context.tenant, [consumer.job for consumer in consumers])}
        return [
            Consumer(
                job=Node.of(jobs[consumer.job]),
                run=strawberry.ID(consumer.run) if consumer.run else None,
                mode=consumer.mode,
                cursor=consumer.cursor,
                is_inferred=consumer.is_inferred,
                unread_blocks=len(consumer.unread),
                unread_rows=consumer.unread_rows,
                unread_since=consumer.unread_since,
            )
            for consumer in consumers
            if consumer.job in jobs
        ]

    @query(
        "The records in which two versions of a dataset differ. A version is a sequence, a snapshot, a run, an instant, or `now`.",
        scope=Scope.READ,
        costly=True,
    )
    async def diff(
        self,
        info: Info,
        dataset: strawberry.ID,
        before: str,
        after: str = "now",
        key: list[str] | None = UNSET,
        changes: list[Change] | None = UNSET,
        first: int = 50,
        offset: int = 0,
    ) -> VersionDiff:
        context = info.context
        request = DiffRequest(
            dataset=dataset, before=before, after=after, key=key or (), changes=tuple(changes or Change),
            first=bounded(first, "first", low=1, high=MAX_RECORDS), offset=bounded(offset, "offset", low=0, high=2**31 - 1),
        )  # fmt: skip
        async with context.audited("diff", dataset) as act:
            page = await context.asked.diff(context.tenant, request)
            act.subjects.append(page.dataset)
            act.records = len(page.entries)
        return VersionDiff.of(page)
