"""Count words with plain `multiprocessing`: processes map parts of a text to tables of words, and one process reduces the tables.

    python word_count.py TEXT FOLDER
    headwater trace FOLDER/counts.csv --where "word = 'whale'"

Each worker is a process with its own session. The files that workers write link their sessions, so no ids are passed between them.
"""

import csv
import sys
from multiprocessing import get_context
from pathlib import Path

from headwater.capture import Session

WORKERS = 3
HEADER = {"header": True}


def map_part(text: Path, folder: Path, part: int) -> None:
    """Count the words in every n-th line, and write the counts to a table."""
    lines_of: dict[str, list[int]] = {}
    with Session("word_count") as session:
        source = session.rows(text)
        mapper = session.register(f"map-{part}", "mapper")
        with text.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if number % WORKERS == part:
                    for word in line.lower().split():
                        lines_of.setdefault(word, []).append(number)
        target = session.rows(folder / f"part-{part}.csv", options=HEADER, columns=[("word", "string"), ("count", "bigint")])
        with (folder / f"part-{part}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["word", "count"])
            for row, (word, numbers) in enumerate(sorted(lines_of.items())):
                writer.writerow([word, len(numbers)])
                mapper.capture_all((source[number] for number in set(numbers)), target[row])
        mapper.commit()


def reduce_parts(folder: Path) -> None:
    """Add up the tables of all parts."""
    totals: dict[str, int] = {}
    with Session("word_count") as session:
        session.declare("reducer", after=["mapper"])
        reducer = session.register("reduce", "reducer")
        for path in sorted(folder.glob("part-*.csv")):
            source = session.rows(path, options=HEADER)
            with path.open(encoding="utf-8", newline="") as file:
                for row, entry in enumerate(csv.DictReader(file)):
                    totals[entry["word"]] = totals.get(entry["word"], 0) + int(entry["count"])
                    reducer.add_input(source[row], tag=entry["word"])
        target = session.rows(folder / "counts.csv", options=HEADER, columns=[("word", "string"), ("count", "bigint")])
        with (folder / "counts.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["word", "count"])
            for row, (word, total) in enumerate(sorted(totals.items())):
                writer.writerow([word, total])
                reducer.add_output(target[row], tag=word)
        reducer.commit()


def main() -> None:
    text, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with get_context("spawn").Pool(WORKERS) as pool:
        pool.starmap(map_part, [(text, folder, part) for part in range(WORKERS)])
    reduce_parts(folder)


if __name__ == "__main__":
    main()
