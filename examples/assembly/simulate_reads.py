"""Simulates reads of one genome that another genome pollutes: `simulate_reads.py FOLDER [LENGTH]`.

Both genomes are drawn, because no real genome comes with this example. They share a segment, as related species do. The reads have no
errors and are of one strand. FOLDER gets `reads.csv`, and `genomes.json` with the truth, which no program of the pipeline reads.
"""

import csv
import json
import random
import sys
from pathlib import Path

READ, COVERAGE, POLLUTION, SHARED = 60, 18, 5, 90


def main() -> None:
    folder, length = Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 1_500
    draw = random.Random(11)  # noqa: S311  # a simulation, which is the same each time
    genome, polluter = (_draw_bases(draw, size) for size in (length, length // 2))
    shared = genome[length // 3 : length // 3 + SHARED]
    polluter = polluter[: length // 5] + shared + polluter[length // 5 :]
    reads = _draw_reads(draw, genome, COVERAGE) + _draw_reads(draw, polluter, POLLUTION)
    draw.shuffle(reads)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "genomes.json").write_text(json.dumps({"genome": genome, "polluter": polluter}))
    with (folder / "reads.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("id", "sequence"), *enumerate(reads)])


def _draw_bases(draw: random.Random, size: int) -> str:
    return "".join(draw.choices("ACGT", k=size))


def _draw_reads(draw: random.Random, genome: str, coverage: int) -> list[str]:
    starts = [draw.randrange(len(genome) - READ + 1) for _ in range(coverage * len(genome) // READ)]
    return [genome[start : start + READ] for start in starts]


if __name__ == "__main__":
    main()
