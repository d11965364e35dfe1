"""Prints the contamination of contigs: `measure.py FOLDER [CONTIGS]`.

Contamination is the share of the contigs' k-mers that only the polluting genome has. Completeness is the share of the genome's k-mers that
the contigs have.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq

K = 21


def measure(folder: Path, contigs: Path) -> dict[str, float]:
    truth = json.loads((folder / "genomes.json").read_text())
    genome, polluter = (_kmers([truth[name]]) for name in ("genome", "polluter"))
    found = _kmers(pq.read_table(contigs).column("bases").to_pylist())
    foreign = found & (polluter - genome)
    return {
        "contigs": pq.read_table(contigs).num_rows,
        "contamination": round(len(foreign) / len(found), 4) if found else 0.0,
        "completeness": round(len(found & genome) / len(genome), 4),
    }


def _kmers(texts: Iterable[str]) -> set[str]:
    return {text[start : start + K] for text in texts for start in range(len(text) - K + 1)}


if __name__ == "__main__":
    place = Path(sys.argv[1])
    print(json.dumps(measure(place, Path(sys.argv[2]) if sys.argv[2:] else place / "contigs")))
