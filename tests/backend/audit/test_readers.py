"""Readers of a dataset: those that a line names, and those that a shortened line may mean."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headwater.backend.audit.log import append_line
from headwater.backend.audit.reader import AuditLines, OwnAudit
from headwater.backend.audit.readers import DatasetReaders, list_readers

# The readers of `dataset:file:/a` are ann, and perhaps dan.
ENTRIES: list[tuple[str, dict[str, Any]]] = [
    ("ann", {"on": ["dataset:file:/a"], "records": 2}),
    ("bob", {"on": ["dataset:file:/ab"], "records": 3}),
    ("cid", {"on": ["dataset:file:/ab"], "more": 60, "records": 0}),
    ("dan", {"on": ["dataset:file:/ab"], "more": 60, "records": 4}),
    ("eve", {"on": ["dataset:file:/a"], "records": 5, "decision": "refused"}),
]


def write_entries(path: Path) -> None:
    for who, members in ENTRIES:
        append_line(path, {"who": who, "tenant": "default", "what": "trace", "decision": "allowed", **members})


def read_entries(lines: AuditLines, dataset: str = "dataset:file:/a") -> DatasetReaders:
    return list_readers(lines, "default", dataset, datetime(2020, 1, 1, tzinfo=UTC), None, quickly=False)


def test_a_dataset_with_a_longer_name_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    write_entries(path)
    found = read_entries(OwnAudit(path))
    assert [(reader.who, reader.records) for reader in found.readers] == [("ann", 2)]
    assert found.uncertain == 1
    longer = read_entries(OwnAudit(path), "dataset:file:/ab")
    assert [reader.who for reader in longer.readers] == ["bob", "dan"]
    assert longer.uncertain == 0
