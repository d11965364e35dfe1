"""The types of a difference between two versions of a dataset, in the schema."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry.scalars import JSON

from headwater.graph.trace.version_diff import answer as domain
from headwater.graphql.record_types import Column, Incomplete
from headwater.graphql.row_numbers import RowNumber

strawberry.enum(domain.Change, description="CHANGED: a record of the same key has other values.")


@strawberry.type(
    description="A record of one version. `values` follow the columns. A trace by file, row and `asOf` of the version shows its lineage."
)
class DiffRecord:
    """A record of one version. `run` is the run that wrote its file, if known."""

    file: str
    row: RowNumber
    line: int | None
    values: JSON
    run: strawberry.ID | None

    @classmethod
    def of(cls, record: domain.DiffRecord) -> DiffRecord:
        run = strawberry.ID(record.run) if record.run else None
        return cls(file=record.file, row=RowNumber(record.row), line=record.line, values=JSON(list(record.values)), run=run)


@strawberry.type(description="A record that differs: `before` is null for an added record, `after` for a removed one.")
class RecordChange:
    """A changed record. `before` and `after` are both set if the record is in both versions."""

    change: domain.Change
    before: DiffRecord | None
    after: DiffRecord | None

    @classmethod
    def of(cls, entry: domain.RecordChange) -> RecordChange:
        before, after = (DiffRecord.of(record) if record else None for record in (entry.before, entry.after))
        return cls(change=entry.change, before=before, after=after)


@strawberry.type(description="A compared version. `asOf` names it for traces, null for the files as they are now.")
class DiffSide:
    """One of the two versions. `runs` wrote it, latest first."""

    name: str
    as_of: str | None
    at: str | None
    runs: list[strawberry.ID]

    @classmethod
    def of(cls, side: domain.DiffSide) -> DiffSide:
        return cls(name=side.name, as_of=side.as_of, at=side.at, runs=[strawberry.ID(run) for run in side.runs])


@strawberry.type(description="A page of the records in which two versions differ. `total` counts the entries of the requested kinds.")
class VersionDiff:
    """The difference. `exact` is false if a version may have had other records, for the reasons in `incomplete`."""

    dataset: strawberry.ID
    before: DiffSide
    after: DiffSide
    columns: list[Column]
    key: list[str]
    entries: list[RecordChange]
    total: float
    added: float
    removed: float
    changed: float
    exact: bool
    incomplete: list[Incomplete]
    notes: list[str]

    @classmethod
    def of(cls, diff: domain.VersionDiff) -> VersionDiff:
        return cls(
            dataset=strawberry.ID(diff.dataset),
            before=DiffSide.of(diff.before),
            after=DiffSide.of(diff.after),
            columns=[Column(name=name, type=kind) for name, kind in diff.columns],
            key=list(diff.key),
            entries=[RecordChange.of(entry) for entry in diff.entries],
            total=diff.total,
            added=diff.added,
            removed=diff.removed,
            changed=diff.changed,
            exact=diff.exact,
            incomplete=[Incomplete(what=item.what, reason=item.reason, effect=item.effect) for item in diff.incomplete],
            notes=list(diff.notes),
        )
