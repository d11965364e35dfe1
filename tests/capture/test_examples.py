"""The examples that are not Spark, each run as its users would, and what a trace of each record of their results says."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from headwater.graph.dataflow import LinkKind
from tests.capture.captured import places, reconstructed, taken, traced

TEXT = "The whale and the sea\n\na Whale is a fish\nthe sea\nfish and chips\n"
ORDERS = [(1, 1, 20), (2, 1, 5), (3, 2, 30), (4, 3, 11), (5, 2, 10), (6, 4, 50)]
CUSTOMERS = [(1, "Ulm"), (2, "Ulm"), (3, "Bonn"), (4, "Kiel")]


def _run(root: Path, folder: Path, program: str, *arguments: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    environment = {**kept, "PYTHONPATH": str(root), "HEADWATER_HOME": str(folder / "home")}
    subprocess.run([sys.executable, str(root / "examples" / program), *arguments], cwd=folder, env=environment, check=True, timeout=300)
    taken(folder / "home")


_FENCE = re.compile(r"^```(python|sh)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["docs/reference/actors.md"])
def test_the_examples_of_a_page_run_one_after_the_other_in_an_empty_folder(root: Path, tmp_path: Path, page: str):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    environment = {**kept, "PYTHONPATH": str(root), "HEADWATER_HOME": str(tmp_path / "home"), "COLUMNS": "200"}
    outputs = []
    for language, text in _FENCE.findall((root / page).read_text()):
        commands = [[sys.executable, "-c", text]]
        if language == "sh":
            commands = [["sh", "-ec", re.sub(r"^headwater ", f"{sys.executable} -m headwater ", line)] for line in text.splitlines()]
        for command in commands:
            done = subprocess.run(
                command,
                cwd=tmp_path,
                env=environment,
                timeout=300,
                check=False,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            assert done.returncode == 0, f"{command[-1]}\n{done.stdout}"
            outputs += [done.stdout] if "trace " in command[-1] else []
    assert len(outputs) == 5
    assert all(", exact" in output and "not exact" not in output for output in outputs), outputs
    assert re.search(r"row +2\b.*line +4\b.*amount +30\b", outputs[2], flags=re.DOTALL)  # what the second row of the result was made of


def _write(path: Path, header: str, rows: Sequence[tuple[object, ...]]) -> None:
    path.write_text("".join(f"{line}\n" for line in [header, *(",".join(map(str, row)) for row in rows)]))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("path", ["actors/word_count.py", "actors/sql_steps.py", "mixed/sum_bikes.py", "mixed/top_bikes.py"])
def test_an_example_is_short(root: Path, path: str):
    assert len((root / "examples" / path).read_text().splitlines()) < 100


@pytest.mark.slow
def test_processes_that_count_words_are_one_pipeline_by_record_and_by_actor(root: Path, tmp_path: Path):
    (tmp_path / "text.txt").write_text(TEXT)
    _run(root, tmp_path, "actors/word_count.py", "text.txt", "out")
    counts = tmp_path / "out" / "counts.csv"
    words = [row["word"] for row in _rows(counts)]
    lines = [line.lower().split() for line in TEXT.splitlines()]
    for row, word in enumerate(words):
        answer = traced(tmp_path / "home", counts, [(counts, row)])
        assert places(answer) == {("text.txt", number) for number, line in enumerate(lines) if word in line}
        assert answer.exact
    answer = traced(tmp_path / "home", tmp_path / "text.txt", [(tmp_path / "text.txt", 4)], forward=True)
    assert places(answer) == {("counts.csv", words.index(word)) for word in lines[4]}
    found = reconstructed(tmp_path / "home", "pipeline:default:word_count")
    mappers = [f"job:default:word_count.map-{part}" for part in range(3)]
    assert found.generations == [mappers, ["job:default:word_count.reduce"]]
    assert {(link.src, link.kind, link.inferred) for link in found.links} == {
        (mapper, kind, False) for mapper in mappers for kind in (LinkKind.IMPLICIT, LinkKind.ARCHETYPE)
    }


def test_each_row_that_sql_steps_made_comes_from_the_records_of_its_group(root: Path, tmp_path: Path):
    (tmp_path / "seeds").mkdir()
    _write(tmp_path / "seeds" / "orders.csv", "id,customer,amount", ORDERS)
    _write(tmp_path / "seeds" / "customers.csv", "id,city", CUSTOMERS)
    report = tmp_path / "out" / "report.csv"
    for _ in range(2):  # another run builds other rows of the same tables
        _run(root, tmp_path, "actors/sql_steps.py", "seeds", "out")
    city_of = dict(CUSTOMERS)
    assert [(row["city"], row["amount"]) for row in _rows(report)] == [("Ulm", "60")]
    answer = traced(tmp_path / "home", report, [(report, 0)])
    orders = [number for number, (_, customer, amount) in enumerate(ORDERS) if city_of[customer] == "Ulm" and amount >= 10]
    customers = {ORDERS[number][1] for number in orders}
    expected = {("orders.csv", number) for number in orders}
    expected |= {("customers.csv", number) for number, (customer, _) in enumerate(CUSTOMERS) if customer in customers}
    assert (places(answer), answer.exact) == (expected, True)
    dropped = traced(tmp_path / "home", tmp_path / "seeds" / "orders.csv", [(tmp_path / "seeds" / "orders.csv", 1)], forward=True)
    assert places(dropped) == {("table:orders", 1)}
