"""The records that one application sets aside, on the driver: the limit, the file of claims, and the reports for runs.

Only claims of tasks that succeeded are reported. A report has references of records and the kinds of their errors, and no value.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.lineage.facets import SET_ASIDE, Facet, facet
from headwater.spark_listener.redact import redact
from headwater.spark_listener.set_aside.claims import Attempts, Claims

if TYPE_CHECKING:
    from headwater.spark_listener.rdd_records.program import Program

_MOST_LISTED = 1_000  # records of a report
_MOST_RDDS = 10_000
_KEEPER = re.compile(r"headwater_keep_([0-9a-f-]{13})")
_REUSES = re.compile(r'"op": ?"(InMemoryRelation|Checkpoint|LogicalRDD|RDD)"')
_POSITION_BITS = 40
_FROM_FILE = frozenset({"parquet", "delta", "iceberg", "orc"})  # formats whose positions count from the file's beginning
Splits = Callable[[Any], Mapping[str, Any]]  # the files and splits that an RDD reads, as `Bridge.files_read` returns them


class Register:
    """The register of one application. `program` returns the RDDs whose records are captured, or None."""

    def __init__(self, context: Any, path: Path, limit: int, program: Callable[[], Program | None], splits: Splits) -> None:
        self.limit = limit
        self.program = program
        self._path = path
        self._splits = splits
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._attempts = context.accumulator(set(), Attempts())
        self.claims = Claims(str(path), limit, self._attempts)
        self._rdds: list[Any] = []
        self._known: dict[str, dict[str, Any]] = {}  # reports by the key of a claim, for the end, when the JVM may be gone

    def remember(self, rdd: Any) -> int:
        """Return the number of an RDD whose records enter a stage."""
        if len(self._rdds) < _MOST_RDDS:
            self._rdds.append(rdd)
            return len(self._rdds) - 1
        return _MOST_RDDS

    @property
    def was_refused(self) -> bool:
        """Return whether the limit was reached, and a further record failed."""
        return any("refused" in claim for claim in self._lines())

    def of_query(self, event: Mapping[str, Any], execution: Any) -> Facet | None:
        """Return the facet of a query, from the event of its end."""
        found = self._readable()
        if not found:
            return None
        plan = json.dumps([event.get("plan"), event.get("capture")], default=str)
        nodes = set(_KEEPER.findall(plan))
        own = [one for one in found if one.get("node") in nodes or (one.get("execution") or "-") == str(execution)]
        return self._facet(self._records(own, event.get("capture")), found, reuses=bool(_REUSES.search(plan)))

    def of_rdds(self, stages: Iterable[int], save: str | None) -> Facet | None:
        """Return the facet of a job of RDDs, from the numbers of its stages or the mark of the save that it belongs to."""
        found = self._readable()
        if not found:
            return None
        numbers = set(stages)
        own = [one for one in found if (save is not None and one.get("save") == save) or one.get("stage") in numbers]
        return self._facet(self._records(own), found, reuses=True)

    def summary(self, refused: Sequence[str]) -> list[str]:
        """Return lines about the records that were set aside. `refused` are operators without guards, each with the reason."""
        try:
            count = len({one["key"] for one in self._succeeded()})
        except OSError as error:
            return [f"SET ASIDE: records were, by skipFailing, and results lack them; which ones cannot be read: {error}"]
        lines = [f"SET ASIDE: {count} of at most {self.limit} failing records (skipFailing); results lack them"] if count else []
        if not count:
            lines.append("skipFailing was on, and no record was set aside")
        if self.was_refused:
            lines.append(f"the limit of skipFailing, {self.limit}, was reached, and a further record failed")
        return lines + [f"skipFailing does not cover {one}" for one in refused]

    def of_application(self) -> Facet | None:
        found = self._readable()
        return self._facet(self._records(found), found, reuses=False) if found else None

    def _facet(self, records: Sequence[Mapping[str, Any]], found: Sequence[Any], *, reuses: bool) -> Facet | None:
        earlier = len({one["key"] for one in found}) - len(records) if reuses else 0
        if not records and earlier <= 0:
            return None
        return facet(
            SET_ASIDE, count=len(records), limit=self.limit, records=list(records[:_MOST_LISTED]), earlier=earlier if earlier > 0 else None
        )

    def close(self) -> None:
        """Remove the file of claims. Nothing can be asked afterwards."""
        self._path.unlink(missing_ok=True)

    def _lines(self) -> list[dict[str, Any]]:
        lines = []
        for line in self._path.read_bytes().split(b"\n"):
            try:
                lines.append(json.loads(line))
            except ValueError:
                continue
        return lines

    def _succeeded(self) -> list[dict[str, Any]]:
        attempts = self._attempts.value
        return [one for one in self._lines() if "key" in one and one["attempt"] in attempts] if attempts else []

    def _readable(self) -> list[dict[str, Any]]:
        try:
            return self._succeeded()
        except OSError:
            return []  # the summary says so

    def _records(self, claims: Iterable[Mapping[str, Any]], capture: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        found = {}
        for one in claims:
            known = self._known.get(one["key"])
            if known is not None and (known["places"] or capture is None):
                found[one["key"]] = known
                continue
            places = self._places_in_query(one, capture) if "node" in one else self._place_in_rdd(one)
            found[one["key"]] = self._known[one["key"]] = {
                "error": redact(str(one["error"])), "function": redact(str(one["function"])), "step": one.get("step"),
                "stage": one["stage"], "partition": one["partition"], "places": places,
            }  # fmt: skip
        return list(found.values())

    def _place_in_rdd(self, claim: Mapping[str, Any]) -> list[dict[str, Any]]:
        place = {"split": claim["split"], "record": claim["number"]}
        if claim["rdd"] >= len(self._rdds):
            return [place]
        rdd = self._rdds[claim["rdd"]]
        try:
            found = self._splits(rdd) if not hasattr(rdd, "func") else {}
            number, start, _ = found["splits"][claim["split"]]
            return [_place_in_file(str(found["files"][number][0]), start, claim["number"])]
        except Exception:  # noqa: BLE001  # an RDD without files, or a JVM that has ended
            return [{**place, "of": redact(_name(rdd))}]

    @staticmethod
    def _places_in_query(claim: Mapping[str, Any], capture: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        stated, *operators = str(claim.get("sources") or "-").split()
        if capture is None or capture.get("capture") != stated:
            return []
        known = {operator["id"]: operator for operator in capture.get("operators") or ()}
        sources = {source["source"]: source for source in capture.get("sources") or ()}
        places = []
        for number, reference in zip(map(int, operators), claim["references"], strict=True):
            operator = known.get(number) or {}
            source = sources.get(operator.get("source"))
            if source is not None and reference >= 0:
                places.append(_place_in_source(source, reference))
            elif reference != -(1 << 63):
                places.append({"of": f"{operator.get('op') or 'operator'} {number}", "reference": reference})
        return places


def _place_in_source(source: Mapping[str, Any], reference: int) -> dict[str, Any]:
    ordinal, position = reference >> _POSITION_BITS, reference & (1 << _POSITION_BITS) - 1
    for file in source.get("files") or ():
        first, count = int(file["ordinal"]), int(file.get("ordinals") or 1)
        if first <= ordinal < first + max(1, count):
            if count == 1 or source.get("format") in _FROM_FILE:
                return {"file": str(file["path"]), "row": position}
            starts = {int(split["ordinal"]): int(split["start"]) for split in source.get("splits") or ()}
            return _place_in_file(str(file["path"]), starts.get(ordinal, 0 if ordinal == first else None), position)
    return {"of": str(source.get("path") or source.get("format")), "reference": reference}


def _place_in_file(file: str, start: int | None, number: int) -> dict[str, Any]:
    """Return the place of a record. Behind the file's first part, its row is not known without reading the file."""
    return {"file": file, "row": number} if start == 0 else {"file": file, "start": start, "record": number}


def _name(rdd: Any) -> str:
    try:
        return str(rdd._jrdd.rdd().toString())  # noqa: SLF001  # PySpark's own text of a JVM RDD
    except Exception:  # noqa: BLE001  # its JVM has ended
        return "an RDD"
