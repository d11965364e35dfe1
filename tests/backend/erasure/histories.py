"""Random histories of programs on people's records, and the world after an erasure by brute force: all steps again without the person."""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

PROGRAM = Path(__file__).with_name("program.py")
ROOT = Path(__file__).resolve().parents[3]
Row = tuple[tuple[str, Any], ...]
Step = tuple[str, ...]


@dataclass
class History:
    """The applications of a history, each with the name of its job and its steps. Paths are relative to the folder of the data."""

    seed: int
    is_parquet: bool
    days: list[str]
    applications: list[tuple[str, list[Step]]] = field(default_factory=list)

    @property
    def outputs(self) -> list[str]:
        return sorted({step[-1] for _, steps in self.applications for step in steps})

    @property
    def source(self) -> str:
        return "people.parquet" if self.is_parquet else "people"


def make_small_history() -> History:
    """Return the shortest history with an aggregate, a join, and a dataset to which two programs append."""
    source = "people.parquet"
    return History(0, is_parquet=True, days=["day0", "day1"], applications=[
        ("first", [("clean", source, "clean"), ("sum", "clean", "sums"), ("append", f"{source}/day0.parquet", "both")]),
        ("second", [("append", f"{source}/day1.parquet", "both"), ("join", "both", "names", "joined")]),
    ])  # fmt: skip


def make_history(seed: int) -> History:
    """Return a history: steps of the people, of what is made of them, and of other data, in an order in which each input exists."""
    choice = random.Random(seed)
    history = History(seed, is_parquet=choice.random() < 0.5, days=[f"day{n}" for n in range(choice.randint(2, 3))])
    source = history.source
    suffix = "parquet" if history.is_parquet else "csv"
    clean: Step = ("clean", source, "clean")
    appends: list[Step] = [("append", f"{source}/{day}.{suffix}", "both") for day in history.days]
    later: list[Step] = [
        ("sum", "clean", "sums"),
        ("join", "clean", "names", "joined"),
        ("sort", "clean", "top"),
        ("sum", "both", "totals"),
    ]
    chosen = choice.sample(later, choice.randint(2, 4))
    history.applications = [("clean", [clean])]
    if choice.random() < 0.5:
        history.applications.append(("clean", [clean]))  # the same program again: it replaces its output
    history.applications += [("append", [step]) for step in appends]
    for number, step in enumerate(chosen):
        if choice.random() < 0.5 and history.applications[-1][0].startswith("later"):
            history.applications[-1][1].append(step)
        else:
            history.applications.append((f"later{number}", [step]))
    if choice.random() < 0.5:
        history.applications.append(("dims", [("dims", "names", "labels")]))
    return history


def write_people(history: History, folder: Path) -> None:
    """Write the records of the people, a file a day, and the names of buckets."""
    choice = random.Random(history.seed + 1)
    place = folder / history.source
    place.mkdir(parents=True)
    for number, day in enumerate(history.days):
        rows = [(choice.randint(0, 9), f"n{choice.randint(0, 4)}", choice.randint(0, 100)) for _ in range(12)]
        rows.append((5, "person", 10 + number))
        choice.shuffle(rows)
        write_day(place, day, rows, is_parquet=history.is_parquet)
    (folder / "names").mkdir()
    (folder / "names" / "names.csv").write_text("bucket,label\n0,zero\n1,one\n2,two\n")


def write_day(place: Path, day: str, rows: Sequence[tuple[int, str, int]], *, is_parquet: bool) -> None:
    if is_parquet:
        columns = [
            pa.array([row[0] for row in rows], pa.int32()),
            pa.array([row[1] for row in rows]),
            pa.array([row[2] for row in rows], pa.int32()),
        ]
        pq.write_table(pa.table(columns, names=["id", "name", "v"]), place / f"{day}.parquet", row_group_size=5)
        return
    with (place / f"{day}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "name", "v"])
        writer.writerows(rows)


def read_people(history: History, folder: Path) -> Counter[tuple[int, str, int]]:
    found: Counter[tuple[int, str, int]] = Counter()
    for day in history.days:
        if history.is_parquet:
            found.update(
                (row["id"], row["name"], row["v"]) for row in pq.read_table(folder / history.source / f"{day}.parquet").to_pylist()
            )
        else:
            with (folder / history.source / f"{day}.csv").open() as file:
                found.update((int(row["id"]), row["name"], int(row["v"])) for row in csv.DictReader(file))
    return found


def run_history(history: History, folder: Path, home: Path) -> None:
    """Run each application in a process of its own, with capture."""
    for job, steps in history.applications:
        words = " + ".join(" ".join([step[0], *(str(folder / path) for path in step[1:])]) for step in steps).split()
        run_program(home, job, words)


def run_program(home: Path, job: str, words: Sequence[str]) -> None:
    command = [sys.executable, "-m", "headwater", "run", "--quiet", "--home", str(home), str(PROGRAM), job, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"})
    assert done.returncode == 0, done.stderr[-3000:]


def run_plainly(histories: Sequence[tuple[History, Path]]) -> None:
    """Run the steps of histories in one process, without capture."""
    steps = []
    for history, folder in histories:
        steps += [[step[0], *(str(folder / path) for path in step[1:])] for _, own in history.applications for step in own]
    words = " + ".join(" ".join(step) for step in steps).split()
    done = subprocess.run([sys.executable, str(PROGRAM), "plain", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def rows_of(folder: Path) -> Counter[Row]:
    return Counter(tuple(row.items()) for row in pq.read_table(folder).to_pylist())


def places_of(folder: Path) -> Iterator[tuple[str, int, Row]]:
    """Yield the records of an output: file, 0-based row, and values."""
    for file in sorted(folder.glob("*.parquet")):
        for number, row in enumerate(pq.ParquetFile(file).read().to_pylist()):
            yield str(file), number, tuple(row.items())
