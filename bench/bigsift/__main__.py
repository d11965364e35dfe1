"""The time of `headwater blame` against the time of the job: `python -m bench.bigsift [PROGRAM …] --lines 20000000`.

For each program: the job runs without Headwater (its time), then with capture, and `headwater blame` finds the records of a wrong row. All
times are wall times of whole commands, with the start of Python and Spark. The answer must be the injected line, and minimal.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.bigsift import programs
from bench.bigsift.data import FAULTS, write_data

TARGET = 0.6


def measure(program: str, folder: Path, lines: int) -> dict[str, Any]:
    """Measure one program. `ratio` is the time of the search over the time of the job."""
    write_data(folder, program, lines)
    script = str(Path(programs.__file__).resolve())
    home = str(folder / "home")
    job, _ = _time([sys.executable, script, program, str(folder)])
    captured, _ = _time([sys.executable, "-m", "headwater", "run", "--home", home, script, program, str(folder)])
    fault = FAULTS[program]
    search = [
        sys.executable, "-m", "headwater", "blame", str(folder / "out"), "--assert", fault.assertion, "--format", "json", "--home", home,
    ]  # fmt: skip
    blame, answer = _time(search)
    found = json.loads(answer)
    records = [_line(Path(record["file"].removeprefix("file:")), record["row"]) for record in found["records"]]
    is_right = found["minimal"] and len(records) == fault.records and fault.line in records
    return {
        "program": program, "lines": lines, "job": round(job, 1), "captured": round(captured, 1), "blame": round(blame, 1),
        "ratio": round(blame / job, 2), "trials": found["trials"], "right": is_right, "notes": found["notes"],
    }  # fmt: skip


def _time(command: Sequence[str]) -> tuple[float, str]:
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"})
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return time.monotonic() - began, done.stdout


def _line(file: Path, row: int) -> str:
    with file.open(encoding="utf-8") as lines:
        return next((line.rstrip("\n") for number, line in enumerate(lines) if number == row), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", choices=[*FAULTS, []], metavar="PROGRAM", help=f"of {', '.join(FAULTS)}; all by default")
    parser.add_argument("--lines", type=int, default=20_000_000)
    parser.add_argument("--folder", type=Path, help="for the data; a temporary folder by default")
    arguments = parser.parse_args()
    ratios = []
    with TemporaryDirectory(prefix="bigsift-", dir=arguments.folder) as scratch:
        for program in arguments.programs or FAULTS:
            found = measure(program, Path(scratch) / program, arguments.lines)
            print(json.dumps(found), flush=True)
            ratios.append(found["ratio"])
            shutil.rmtree(Path(scratch) / program)
    print(f"{len(ratios)} programs, worst ratio {max(ratios)} (target {TARGET})")


if __name__ == "__main__":
    main()
