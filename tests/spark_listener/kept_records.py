"""Reads of a replay in one JVM: only kept records, and all but excluded ones, for each format. Prints a line for each difference."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from headwater.spark_listener.replay import Replayer, ReplayOrder

ROWS = 3000  # of each of the files
OPTIONS = {"csv": {"header": "true"}, "parquet": {"parquet.block.size": "4096", "parquet.page.size": "1024"}}
KEPT = {
    "few": {0: [0, 7, ROWS - 1], 2: [1500]},
    "many": {file: [row for row in range(ROWS) if row % 7] for file in range(3)},
    "runs": {0: list(range(1000, 1100)), 1: list(range(2000, ROWS)), 2: [0]},
}


def _files(folder: Path, spark: SparkSession, kind: str) -> list[Path]:
    """Write three files whose rows have the values `file * ROWS + row`, and return them in order."""
    target = folder / kind
    target.mkdir()
    files = []
    for file in range(3):
        frame = spark.range(file * ROWS, (file + 1) * ROWS, 1, 1).selectExpr("cast(id as string) as v")
        frame.write.options(**OPTIONS.get(kind, {})).mode("overwrite").format(kind).save(str(folder / "one"))
        (written,) = (folder / "one").glob("part-*")
        files.append(written.replace(target / f"part-{file}{''.join(written.suffixes[-2:])}"))
    shutil.rmtree(folder / "one")
    return files


def _read(spark: SparkSession, kind: str, folder: Path, order: ReplayOrder) -> list[str]:
    session = spark.newSession()
    Replayer(order).session_made(session)
    reader = session.read.options(**({"header": "true"} if kind == "csv" else {}))
    frame = reader.text(str(folder)) if kind == "text" else reader.format(kind).load(str(folder))
    return sorted(row[0] for row in frame.collect())


def _check(kind: str, name: str, found: Sequence[str], expected: Iterable[object]) -> None:
    if list(found) != (wanted := sorted(map(str, expected))):
        sys.stdout.write(f"{kind}, {name}: {len(found)} rows instead of {len(wanted)}\n")


def _check_lines(spark: SparkSession, folder: Path) -> None:
    """Compare lines of a text that end with LF, CR or both, and of which many are empty. Later reads use marks that earlier ones kept."""
    random = Random(7)
    (target := folder / "lines").mkdir()
    (marks := folder / "marks").mkdir()
    for number, last in enumerate(("\n", "\r", "")):
        for length in (3000, 2000):  # the second text replaces the first: marks of the first do not hold
            _check_text(spark, target / f"part-{number}.txt", _text(random, length, last), random, marks)
    if len(found := [mark for mark in marks.iterdir() if mark.stat().st_size > 32]) != 3:
        sys.stdout.write(f"{len(found)} files have marks instead of 3\n")


def _text(random: Random, length: int, last: str) -> str:
    lines = ["", "", *(f"{i}{'x' * random.choice((0, 9, 300, length))}" if i % 3 else "" for i in range(8000)), "end"]
    ends = [*(random.choice(("\n", "\r\n", "\r", "\n")) for _ in lines[1:]), last]
    return "".join(map("".join, zip(lines, ends, strict=True)))


def _check_text(spark: SparkSession, file: Path, text: str, random: Random, marks: Path) -> None:
    file.write_bytes(text.encode())
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    some = [sorted(random.sample(range(len(lines)), count)) for count in (1, 5, 300, 5)]
    for kept in ([0], [1], [len(lines) // 2], [0, 1, len(lines) - 1], *some):
        keep = {f"file:{file}": kept}
        order = ReplayOrder(
            replay="r", shadow=str(marks.parent / "shadow"), script_sha256="", exclude={}, keep=keep, restrict=[f"file:{file.parent}"],
            marks=str(marks),
        )  # fmt: skip
        _check("lines", f"{file.name} {kept[:5]}", _read(spark, "text", file.parent, order), [lines[row] for row in kept])


def main(folder: Path) -> None:
    """Compare what each read finds with the numbers that were asked for."""
    spark = SparkSession.builder.getOrCreate()
    for kind in ("text", "csv", "json", "orc", "parquet"):
        files = _files(folder, spark, kind)
        for name, kept in KEPT.items():
            rows = {f"file:{files[file]}": numbers for file, numbers in kept.items()}
            values = [file * ROWS + row for file, numbers in kept.items() for row in numbers]
            shadow = str(folder / f"shadow-{kind}-{name}")
            order = ReplayOrder(replay="r", shadow=shadow, script_sha256="", exclude={}, keep=rows, restrict=[f"file:{folder / kind}"])
            _check(kind, f"{name} kept", _read(spark, kind, folder / kind, order), values)
            order = ReplayOrder(replay="r", shadow=shadow, script_sha256="", exclude=rows)
            _check(kind, f"{name} excluded", _read(spark, kind, folder / kind, order), sorted(set(range(3 * ROWS)) - set(values)))
    _check_lines(spark, folder)
    sys.stdout.write("done\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
