"""What standard facets state about a node: the types of the schema, each a view of a domain object."""

# mypy: disable-error-code="untyped-decorator"
# strawberry types what a resolver decorator returns as Any, so that the field may stand for its value.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import strawberry

from headwater.graph import model
from headwater.graph import standard_facts as domain
from headwater.graph.model import NodeKind
from headwater.graphql.context import Context

_Info = strawberry.Info[Context, None]


@strawberry.type(description="Numbers of rows, bytes and files; null where they are not known. `run` wrote or read them.")
class DataSize:
    rows: float | None
    bytes: float | None
    files: float | None
    run: strawberry.ID | None
    at: str | None

    @classmethod
    def of(cls, size: domain.Size) -> DataSize:
        return cls(rows=size.rows, bytes=size.bytes, files=size.files, run=strawberry.ID(size.run) if size.run else None, at=size.at)


@strawberry.type(description="The size of what a run read from a dataset, or wrote to it.")
class RunDataSize:
    dataset: strawberry.ID
    size: DataSize


@strawberry.type(description="The query of a job. `cut`: only its beginning.")
class JobQuery:
    query: str
    dialect: str | None
    cut: bool


@strawberry.type(description="The source code of a job. `cut`: only its beginning.")
class JobSource:
    code: str
    language: str | None
    cut: bool


@strawberry.type(description="The place of a job's source code. `url` and `repository` are addresses of the web, `stated` is any text.")
class SourcePlace:
    kind: str | None
    url: str | None
    stated: str | None
    repository: str | None
    path: str | None
    version: str | None
    branch: str | None
    tag: str | None


@strawberry.type(description="The error of a run. `cut`: only the beginning of the message or of the stack trace.")
class RunError:
    message: str
    language: str | None
    stack_trace: str | None
    cut: bool


@strawberry.type(description="The last results that producers state of a dataset: assertions that passed and failed, rows and bytes.")
class QualitySummary:
    passed: int
    failed: int
    rows: float | None
    bytes: float | None


@strawberry.type(description="What standard facets of OpenLineage state, of whichever producer. Texts are cut at 64,000 characters.")
class Facts:
    node: strawberry.Private[model.Node]
    stated: strawberry.Private[Mapping[str, Any]]

    @strawberry.field(description="Of a version, its size; of a dataset, the size that the last run with a known size wrote.")
    async def size(self, info: _Info) -> DataSize | None:
        if self.node.kind is NodeKind.VERSION:
            size = domain.size_of_version(self.node)
        else:
            size = await info.context.loaders.size.load(self.node.id) if self.node.kind is NodeKind.DATASET else None
        return DataSize.of(size) if size else None

    @strawberry.field(description="Of a run: what it read.")
    def inputs(self) -> list[RunDataSize]:
        found = domain.input_sizes_of(self.stated, self.node.id) if self.node.kind is NodeKind.RUN else {}
        return [RunDataSize(dataset=strawberry.ID(dataset), size=DataSize.of(size)) for dataset, size in sorted(found.items())]

    @strawberry.field(description="Of a run: what it wrote.")
    async def outputs(self, info: _Info) -> list[RunDataSize]:
        if self.node.kind is not NodeKind.RUN:
            return []
        found = await domain.output_sizes_of(info.context.graph, info.context.tenant, self.node.id)
        info.context.loaders.budget.spend(len(found))
        return [RunDataSize(dataset=strawberry.ID(dataset), size=DataSize.of(size)) for dataset, size in sorted(found.items())]

    @strawberry.field(description="Of a job or a run.")
    def sql(self) -> JobQuery | None:
        found = domain.query_of(self.stated)
        return JobQuery(query=found.query.text, dialect=found.dialect, cut=found.query.is_cut) if found else None

    @strawberry.field(description="Of a job: its program, if the producer sends it.")
    def source(self) -> JobSource | None:
        found = domain.program_of(self.stated)
        return JobSource(code=found.code.text, language=found.language, cut=found.code.is_cut) if found else None

    @strawberry.field(description="Of a job.")
    def source_place(self) -> SourcePlace | None:
        found = domain.source_place_of(self.stated)
        if found is None:
            return None
        return SourcePlace(
            kind=found.kind, url=found.url, stated=found.stated, repository=found.repository, path=found.path, version=found.version,
            branch=found.branch, tag=found.tag,
        )  # fmt: skip

    @strawberry.field(description="Of a run: its error; of a job, the error of its last run.")
    async def error(self, info: _Info) -> RunError | None:
        stated = self.stated
        if self.node.kind is NodeKind.JOB:
            run = await info.context.loaders.node.load(last) if isinstance(last := stated.get("lastRun"), str) else None
            stated = info.context.properties(run) if run else {}
        found = domain.failure_of(stated)
        if found is None:
            return None
        trace = found.stack_trace
        return RunError(
            message=found.message.text, language=found.language, stack_trace=trace.text if trace else None,
            cut=found.message.is_cut or bool(trace and trace.is_cut),
        )  # fmt: skip

    @strawberry.field(description="Of a dataset: what its last facets of data quality state.")
    def quality(self) -> QualitySummary | None:
        found = domain.quality_summary_of(self.node.properties) if self.node.kind is NodeKind.DATASET else None
        return QualitySummary(passed=found.passed, failed=found.failed, rows=found.rows, bytes=found.bytes) if found else None
