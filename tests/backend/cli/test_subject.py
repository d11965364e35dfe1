"""`headwater subject`: the records that derive from a person's, on a home."""

import csv
import io
import json
import os
from pathlib import Path

import pytest

from headwater.capture import Session
from tests.backend.cli.command import headwater

_HEADER = {"header": True}


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """People, two files made of them, and a third that was overwritten since."""
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HEADWATER_URL", raising=False)
    (tmp_path / "people.csv").write_text("id,name\n1,ann\n2,bob\n3,cid\n")
    _make(tmp_path, "people", "clean", "id,name\n2,bob\n3,cid\n", [1, 2])
    _make(tmp_path, "clean", "names", "name\ncid\n", [1])
    _make(tmp_path, "clean", "report", "name\nbob\ncid\n", [0, 1])
    os.utime(tmp_path / "report.csv", (5, 5))
    _make(tmp_path, "clean", "report", "name\ncid\n", [1])
    return tmp_path


def _make(folder: Path, source: str, target: str, text: str, rows: list[int]) -> None:
    (folder / f"{target}.csv").write_text(text)
    with Session(f"make-{target}") as session:
        actor = session.register(target, "step")
        read, written = (session.rows(folder / f"{name}.csv", options=_HEADER) for name in (source, target))
        for number, row in enumerate(rows):
            actor.capture(read[row], written[number])
        actor.commit()


def test_the_table_has_every_dataset_downstream(lake: Path) -> None:
    done = headwater("subject", str(lake / "people.csv"), "--where", "id = 2", "-f", "json")
    found = json.loads(done.stdout)
    assert {Path(one["dataset"]).name: (one["records"], one["former"], one["exact"]) for one in found["datasets"]} == {
        "clean.csv": (1, 0, True), "names.csv": (0, 0, True), "report.csv": (0, 1, True),
    }  # fmt: skip
    assert [(Path(record["file"]).name, record["former"], record["values"]) for record in found["records"]] == [
        ("clean.csv", False, {"id": "2", "name": "bob"}), ("report.csv", True, {}),
    ]  # fmt: skip
    assert "clean.csv" in headwater("subject", str(lake / "people.csv"), "--row", f"{lake}/people.csv:1").stdout


def test_csv_lists_the_records_with_their_values(lake: Path) -> None:
    done = headwater("subject", str(lake / "people.csv"), "--where", "id = 3", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {(Path(row["dataset"]).name, row["row"], row["name"], row["former"]) for row in rows} == {
        ("clean.csv", "1", "cid", "no"), ("names.csv", "0", "cid", "no"), ("report.csv", "0", "cid", "no"),
        ("report.csv", "1", "", "yes"),
    }  # fmt: skip


def test_a_changed_source_is_named(lake: Path) -> None:
    (lake / "people.csv").write_text("id,name\n1,ann\n")
    done = headwater("subject", str(lake / "people.csv"), "--where", "id = 2")
    assert "records may be missing in 3 of 3 datasets" in done.stderr
    assert "a state of" in done.stdout


def test_without_records_the_command_says_what_to_name(lake: Path) -> None:
    done = headwater("subject", str(lake / "people.csv"), code=2)
    assert "--where" in done.stderr
