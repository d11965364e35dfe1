"""Questions about personal data, for both clients: which records derive from a person's records, and who read a dataset."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headwater.answers import Record, record

_RECORD = "dataset file row line grain values"
_READER = "who operations answers records first last"
_ANSWER = f"""exact complete total notes incomplete {{ what reason }} selected {{ {_RECORD} }} records {{ {_RECORD} isFormer }}
  datasets {{ dataset records former complete exact coarse reasons }}"""


@dataclass(frozen=True, slots=True)
class SubjectDataset:
    """A dataset downstream of a person's records.

    `records` counts the records in it that derive from them, `former` those that only earlier versions of it have. `complete`: none is
    missing. `exact`: these and no others. `coarse`: any record may derive from them.
    `reasons` say why the dataset is not exact.
    """

    dataset: str
    records: int
    former: int
    complete: bool
    exact: bool
    coarse: bool
    reasons: Sequence[str]


@dataclass(frozen=True, slots=True)
class SubjectAccess:
    """All records that derive from the `selected` ones. `former_records` are those that only earlier versions of datasets have.

    `total` counts them without the limit. `complete`: no dataset lacks one. `reasons` say why the answer is not exact.
    """

    exact: bool
    complete: bool
    datasets: Sequence[SubjectDataset]
    records: Sequence[Record]
    former_records: Sequence[Record]
    selected: Sequence[Record]
    total: int
    reasons: Sequence[str]
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class DatasetReader:
    """A caller who got records of a dataset. `records` counts them with repetitions. `first` and `last` are times in ISO 8601."""

    who: str
    operations: Sequence[str]
    answers: int
    records: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class DatasetReaders:
    """The readers of a dataset by the audit log.

    `uncertain` counts answers with records of too many datasets for one line of the log, so that some may be of this dataset. `damaged`
    counts lines that cannot be read. If `searched_back_to` is a time, the log was read back to it only: ask again until then.
    """

    readers: Sequence[DatasetReader]
    uncertain: int
    damaged: int
    searched_back_to: str | None


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure of `records` of a source. `certificate` is None while it is not over, or if it was reverted."""

    id: str
    state: str
    source: str
    records: int
    by: str
    reason: str | None
    began: str
    ended: str | None
    certificate: Mapping[str, Any] | None


class _Asks(Protocol):
    def execute(self, document: str, **variables: Any) -> dict[str, Any]: ...


class PrivacyRequests:
    """The methods of `Client` for personal data."""

    def subject_access(
        self: _Asks,
        dataset: str,
        *,
        where: str | None = None,
        rows: Sequence[tuple[str, int]] = (),
        limit: int = 1000,
        as_of: str | None = None,
    ) -> SubjectAccess:
        """Return all records anywhere that derive from the records that `where` or `rows` (file, 0-based row) select."""
        declared, given = (
            "$d: String!, $w: String, $r: [RowRef!], $l: Int!, $a: String",
            "dataset: $d, where: $w, rows: $r, limit: $l, asOf: $a",
        )
        places = [{"file": file, "row": row} for file, row in rows]
        document = f"query ({declared}) {{ subjectAccess({given}) {{ {_ANSWER} }} }}"
        found = self.execute(document, d=dataset, w=where, r=places or None, l=limit, a=as_of)["subjectAccess"]
        return SubjectAccess(
            exact=found["exact"],
            complete=found["complete"],
            datasets=[SubjectDataset(**one) for one in found["datasets"]],
            records=[record(one) for one in found["records"] if not one["isFormer"]],
            former_records=[record(one) for one in found["records"] if one["isFormer"]],
            selected=[record(one) for one in found["selected"]],
            total=found["total"],
            reasons=[f"{entry['what']}: {entry['reason']}" for entry in found["incomplete"]],
            notes=found["notes"],
        )

    def dataset_readers(self: _Asks, dataset: str, *, since: str, until: str | None = None) -> DatasetReaders:
        """Return who got records of a dataset (an id) in a window. Needs the scope `audit`."""
        document = f"""query ($d: ID!, $s: String!, $u: String) {{ datasetReaders(dataset: $d, since: $s, until: $u) {{
          readers {{ {_READER} }} uncertain damaged searchedBackTo }} }}"""
        found = self.execute(document, d=dataset, s=since, u=until)["datasetReaders"]
        readers = [DatasetReader(**one) for one in found["readers"]]
        return DatasetReaders(readers, found["uncertain"], found["damaged"], found["searchedBackTo"])

    def erasures(self: _Asks, *, first: int = 20) -> Sequence[Erasure]:
        """Return the latest erasures of the home with their certificates, newest first."""
        document = "query ($f: Int!) { erasures(first: $f) { id state source records by reason began ended certificate } }"
        return [Erasure(**one) for one in self.execute(document, f=first)["erasures"]]


class AsyncPrivacyRequests:
    """The methods of `AsyncClient` for personal data. Each calls the method of `Client` on a thread."""

    _client: Any

    async def subject_access(self, dataset: str, **asked: Any) -> SubjectAccess:
        return await asyncio.to_thread(PrivacyRequests.subject_access, self._client, dataset, **asked)

    async def dataset_readers(self, dataset: str, **asked: Any) -> DatasetReaders:
        return await asyncio.to_thread(PrivacyRequests.dataset_readers, self._client, dataset, **asked)

    async def erasures(self, *, first: int = 20) -> Sequence[Erasure]:
        return await asyncio.to_thread(PrivacyRequests.erasures, self._client, first=first)
