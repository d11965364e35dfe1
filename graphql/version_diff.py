"""The types of a difference between two versions of a dataset, in the schema."""

# mypy: disable-error-code="untyped-decorator"
# strawberry types what a resolver decorator returns as Any, so that the field may stand for its value.

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
    """`run` wrote the file, if it is known."""

    file: str
    row: RowNumber
    line: int | None
    values: JSON
    run: strawberry.ID | None

    @classmethod
    def of(cls, record: domain.DiffRecord) -> DiffRecord:
        """The record as the schema shows it."""
        run = strawberry.ID(record.run) if record.run else None
        return cls(file=record.file, row=RowNumber(record.row), line=record.line, values=JSON(list(record.values)), run=run)


@strawberry.type(description="A record that differs: `before` is null for an added record, `after` for a removed one.")
class RecordChange:
    """Both are there for a changed record."""

    change: domain.Change
    before: DiffRecord | None
    after: DiffRecord | None

    @classmethod
    def of(cls, entry: domain.RecordChange) -> RecordChange:
        """The change as the schema shows it."""
        before, after = (DiffRecord.of(record) if record else None for record in (entry.before, entry.after))
        return cls(change=entry.change, before=before, after=after)


@strawberry.type(description="A compared version. `asOf` names it for traces, null for the files as they are now.")
class DiffSide:
    """`runs` wrote it, the latest first."""

    name: str
    as_of: str | None
    at: str | None
    runs: list[strawberry.ID]

    @classmethod
    def of(cls, side: domain.DiffSide) -> DiffSide:
        """The version as the schema shows it."""
        return cls(name=side.name, as_of=side.as_of, at=side.at, runs=[strawberry.ID(run) for run in side.runs])


@strawberry.type(description="A page of the records in which two versions differ. `total` counts the entries of the requested kinds.")
class VersionDiff:
    """`exact` is false if a version may have had other records, for the reasons in `incomplete`."""

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
        """The difference as the schema shows it."""
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
