"""The data of the failing programs: 300 people in several formats, of whom one is bad in each column."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

PEOPLE, BAD = 300, 217
COLUMNS = ("id", "name", "age", "amount", "large", "day")


def write_people(folder: Path, bad: int = BAD, seed: int = 5) -> None:
    draw = random.Random(seed)
    rows = [_person(draw, number, bad=number == bad) for number in range(PEOPLE)]
    lines = [",".join(str(row[name]) for name in COLUMNS) for row in rows]
    (folder / "people.csv").write_text("\n".join([",".join(COLUMNS), *lines]) + "\n")
    (folder / "people.txt").write_text("\n".join(lines) + "\n")
    (folder / "people.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "reports.json").write_text("".join('{"id": 2' + ("" if row["id"] == bad else "}") + "\n" for row in rows))
    (folder / "damaged.csv").write_text("id,age\n" + "".join(f"{row['id']},{row['age']}\n" for row in rows))
    (folder / "cities.csv").write_text("name,zip\n" + "".join(f"name{number},{1000 + number}\n" for number in range(20)))
    pq.write_table(pa.Table.from_pylist(rows), folder / "people.parquet")


def _person(draw: random.Random, number: int, *, bad: bool) -> dict[str, Any]:
    return {
        "id": number, "name": f"name{draw.randrange(20)}", "age": "x17" if bad else str(draw.randrange(1, 90)),
        "amount": 0 if bad else 2 * draw.randrange(1, 40) + 1, "large": 3_000_000_000 if bad else draw.randrange(1000),
        "day": "2024-13-77" if bad else f"2024-03-{draw.randrange(10, 30)}", "city": None if bad else "Ulm",
        "document": '{"kind": ' if bad else '{"kind": "a"}',
    }  # fmt: skip
