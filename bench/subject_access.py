"""Measures `headwater subject` over a million records that five jobs made, and compares its answers with brute force.

python -m bench.subject_access [--customers 150000] [--persons 10]

The jobs use `headwater.capture`: they clean customers, join them with orders, archive the join, make a list for mails, and sum up by city.
Brute force follows each row through the program's own lists. *command* is the time of the whole command, in seconds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from headwater.capture import Session

_CITIES = 500
Origins = list[list[int]]  # for each row of a file, the rows of the customers' file behind it


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--customers", type=int, default=150_000)
    parser.add_argument("--persons", type=int, default=10)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADWATER_HOME"] = str(Path(folder) / "home")
        os.environ.pop("HEADWATER_URL", None)
        began = time.perf_counter()
        files = _run_jobs(Path(folder), options.customers)
        _ask(Path(folder), "id = 0")  # takes in the events
        total = sum(map(len, files.values()))
        print(f"{total:,} derived records and {options.customers:,} source records; made in {time.perf_counter() - began:.0f} s")
        chosen = random.Random(1).sample(range(options.customers), options.persons)
        times = [_check(Path(folder), files, f"id = {person}", {person}) for person in chosen]
        print(f"one person: command median {statistics.median(times):.2f} s, most {max(times):.2f} s; {options.persons} of "
              f"{options.persons} answers equal brute force")  # fmt: skip
        count = options.customers // 100
        taken = _check(Path(folder), files, f"CAST(id AS INT) < {count}", set(range(count)))
        print(f"{count:,} persons: command {taken:.2f} s; equal to brute force")


def _run_jobs(folder: Path, customers: int) -> dict[str, Origins]:
    chance = random.Random(0)
    raw = _write(folder / "customers.csv", ("id", "city"), ((person, person % _CITIES) for person in range(customers)))
    kept = [person for person in range(customers) if chance.random() < 0.95]
    _write(folder / "clean.csv", ("id", "city"), ((person, person % _CITIES) for person in kept))
    _capture("clean", [(raw, folder / "clean.csv", enumerate([person] for person in kept))])
    orders = [(chance.randrange(len(kept)), chance.randrange(1000)) for _ in range(3 * customers)]
    _write(folder / "joined.csv", ("id", "city", "amount"), ((kept[row], kept[row] % _CITIES, amount) for row, amount in orders))
    _capture("join", [(folder / "clean.csv", folder / "joined.csv", enumerate([row] for row, _ in orders))])
    archived = [row for row in range(len(orders)) if orders[row][1] < 700]
    _write(folder / "archive.csv", ("id", "amount"), ((kept[orders[row][0]], orders[row][1]) for row in archived))
    _capture("archive", [(folder / "joined.csv", folder / "archive.csv", enumerate([row] for row in archived))])
    mailed = [row for row in range(len(kept)) if kept[row] % 3]
    _write(folder / "mails.csv", ("id",), ((kept[row],) for row in mailed))
    _capture("mail", [(folder / "clean.csv", folder / "mails.csv", enumerate([row] for row in mailed))])
    by_city: defaultdict[int, list[int]] = defaultdict(list)
    for number, (row, _) in enumerate(orders):
        by_city[kept[row] % _CITIES].append(number)
    cities = sorted(by_city)
    _write(folder / "cities.csv", ("city", "amount"), ((city, sum(orders[number][1] for number in by_city[city])) for city in cities))
    _capture("sum", [(folder / "joined.csv", folder / "cities.csv", enumerate(by_city[city] for city in cities))])
    joined = [[kept[row]] for row, _ in orders]
    return {
        "clean.csv": [[person] for person in kept],
        "joined.csv": joined,
        "archive.csv": [joined[row] for row in archived],
        "mails.csv": [[kept[row]] for row in mailed],
        "cities.csv": [[person for number in by_city[city] for person in joined[number]] for city in cities],
    }


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return path


def _capture(job: str, links: Iterable[tuple[Path, Path, Iterable[tuple[int, list[int]]]]]) -> None:
    with Session(job) as session:
        actor = session.register(job, "step")
        for source_path, target_path, rows in links:
            source = session.rows(source_path, options={"header": True})
            target = session.rows(target_path, options={"header": True})
            for number, sources in rows:
                actor.capture_all((source[row] for row in sources), target[number])
        actor.commit()


def _check(folder: Path, files: dict[str, Origins], where: str, persons: set[int]) -> float:
    began = time.perf_counter()
    answer = _ask(folder, where)
    taken = time.perf_counter() - began
    counts = {Path(one["dataset"]).name: one["records"] for one in answer["datasets"]}
    expected = {name: {row for row, of_row in enumerate(origins) if not persons.isdisjoint(of_row)} for name, origins in files.items()}
    if counts != {name: len(rows) for name, rows in expected.items()} or not answer["exact"]:
        raise SystemExit(f"The answer for {where} differs from brute force: {counts}, exact: {answer['exact']}")
    listed = {(Path(record["dataset"]).name, record["row"]) for record in answer["records"]}
    wanted = {(name, row) for name, rows in expected.items() for row in rows}
    if not (listed == wanted or (len(listed) < len(wanted) and listed < wanted)):
        raise SystemExit(f"The records for {where} differ from brute force.")
    return taken


def _ask(folder: Path, where: str) -> dict[str, Any]:
    command = [str(Path(sys.executable).with_name("headwater")), "subject", str(folder / "customers.csv"), "--where", where, "-f", "json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
