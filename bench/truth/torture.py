"""Runs random programs by the thousand, and the tests that are too long for `make test`: `make torture`.

They run in pieces, each a process with its own seed. A stopped run keeps its results: the next run at the same commit continues with
the remaining pieces, and with those that failed. Pieces of one seed have nearly the same programs, so a seed counts once. Each piece
writes its output to build/torture, and the results of all go to bench/results/torture.json at the end. A piece that fails does not end
the run, which then exits with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import results

FOLDER = results.ROOT / "build" / "torture"
# modes from `pandas` on use their own capture modes
_MODES = (
    "tests", "active", "auto", "lazy", "pandas", "rdd", "tagged", "faults", "delta", "iceberg", "replicas", "parsers", "killed", "durable",
    "away", "endurance", "bytes", "requests", "fuzzing", "spark-4.0",
)  # fmt: skip
_ONCE = {"tests": 1, "away": 10, "endurance": 4}  # each of these is one piece, however many programs are asked for; its rounds
_PIECE = 250  # programs: some minutes
_TESTS = {
    # Tests with a separate mode run there.
    "tests": [
        "-m",
        "torture",
        "--ignore=tests/backend/test_durable_steps.py",
        "--ignore=tests/backend/test_endurance.py",
        "--ignore=tests/backend/harm/test_fuzzed.py",
        "--ignore=tests/backend/harm/test_described_requests.py",
    ],
    "pandas": ["tests/oracle/test_pandas_programs.py"],  # a program: one in `active`, and one in `lazy`
    "rdd": ["tests/oracle/test_rdd_programs.py", "-k", "many_drawn"],
    "tagged": ["tests/oracle/test_rdd_tagged.py", "-k", "say_themselves"],
    "faults": ["tests/oracle/test_rdd_faults.py"],  # a program: five, each with a fault of its own kind
    "delta": ["tests/oracle/test_delta_histories.py"],
    "iceberg": ["tests/oracle/test_iceberg_histories.py"],
    "replicas": ["tests/backend/test_replicas.py", "-k", "killed"],  # a program: each of three replicas killed once
    "parsers": [
        "tests/backend/harm/test_parsers.py",
        "tests/backend/harm/test_injected.py",
    ],  # a program: a damaged document for each parser of what comes from outside
    "killed": ["tests/backend/test_service_killed.py", "tests/backend/test_full_disk.py"],  # a program: a kill, or a disk that fills
    "durable": ["tests/backend/test_durable_steps.py"],  # a program: an end at each durable step of the service and of its worker
    "away": ["tests/backend/test_neo4j_away.py", "-k", "long"],  # a program: a minute without the graph store
    "bytes": [
        "tests/backend/harm/test_one_byte.py",
        "tests/backend/harm/test_rights_damaged.py",
    ],  # a program: a byte of a home that is changed or removed, or from which a file is cut
    "endurance": ["tests/backend/test_endurance.py"],  # a program: a quarter of a million events, and five minutes
    "requests": ["tests/backend/harm/test_described_requests.py"],  # a program: a request by OpenAPI, and a question by GraphQL
    "fuzzing": ["tests/backend/harm/test_fuzzed.py"],  # a program: a second of guided damage for each parser
    "spark-4.0": [
        "-m",
        "spark and not (cluster or lake or e2e or torture)",
        "tests/spark_listener/capture",
        "tests/oracle",
    ],  # what `make test` and `make test-more` do with the lock's Spark, and random programs
}
_LINES = {"spark-4.0": "4.0"}  # of Spark: modes that run with another one than the lock's
_COSTLY = {
    "faults": 25,
    "delta": 10,
    "iceberg": 10,
    "replicas": 12,
    "killed": 5,
    "durable": 12,
    "spark-4.0": 10,
}  # one of these takes as long as so many programs of the other modes


@dataclass(frozen=True)
class Piece:
    """Some programs of one mode, chosen by the seed."""

    mode: str
    seed: int
    plans: int

    @property
    def name(self) -> str:
        return f"{self.mode}-{self.seed}-{self.plans}"


@dataclass(frozen=True)
class Done:
    """The result of a piece."""

    commit: str
    mode: str
    seed: int
    plans: int
    seconds: float
    passed: bool


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make torture", description="Random programs against the oracle.")
    parser.add_argument("--plans", type=int, default=1000, help="programs of each mode (default 1000)")
    parser.add_argument("--modes", default=",".join(_MODES), help="of capture (default all)")
    parser.add_argument("--seed", type=int, default=1, help="of the first piece (default 1)")
    parser.add_argument("--jobs", type=int, default=_jobs(), help="pieces at a time (default one for a core and 3 GB of memory)")
    options = parser.parse_args(arguments)
    FOLDER.mkdir(parents=True, exist_ok=True)
    head = results.head("torture")
    kept = FOLDER / "done.jsonl"
    done = [entry for entry in _read(kept) if entry.commit == head["commit"]]
    for entry in _ended(left(_pieces(options.modes.split(","), options.plans, options.seed), done), str(head["commit"]), options.jobs):
        done.append(entry)
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry)) + "\n")
        results.write(head | summary(done), FOLDER)
    print(json.dumps(summary(done)))
    print(f"written: {results.write(head | summary(done), results.RESULTS)}")
    return int(not all(entry.passed for entry in _latest(done)))


def left(pieces: Iterable[Piece], done: Sequence[Done]) -> list[Piece]:
    """Return the pieces that must run: those whose last run failed or was shorter."""
    return [piece for piece in pieces if piece.plans > _passed(done).get((piece.mode, piece.seed), 0)]


def summary(done: Sequence[Done]) -> dict[str, object]:
    """Return the number of programs of each mode, the time of one, and the pieces whose last run failed."""
    modes = {mode: [entry for entry in done if entry.mode == mode] for mode in sorted({entry.mode for entry in done})}
    return {
        "programs": {mode: sum(plans for (of, _), plans in _passed(done).items() if of == mode) for mode in modes},
        "seconds_a_program": {mode: round(sum(e.seconds for e in of) / sum(e.plans for e in of), 2) for mode, of in modes.items()},
        "failed": [{"mode": entry.mode, "seed": entry.seed, "plans": entry.plans} for entry in _latest(done) if not entry.passed],
    }


def _latest(done: Sequence[Done]) -> list[Done]:
    return list({(entry.mode, entry.seed, entry.plans): entry for entry in done}.values())


def _passed(done: Sequence[Done]) -> dict[tuple[str, int], int]:
    """Return the number of programs of the longest piece that passed, by mode and seed."""
    longest: dict[tuple[str, int], int] = {}
    for entry in _latest(done):
        if entry.passed:
            longest[entry.mode, entry.seed] = max(entry.plans, longest.get((entry.mode, entry.seed), 0))
    return longest


def _pieces(modes: Sequence[str], plans: int, seed: int) -> Iterator[Piece]:
    """Yield the pieces with modes in turns, so that a stopped run has covered all modes."""
    yield from (Piece(mode, seed, _ONCE[mode]) for mode in modes if mode in _ONCE)
    others = [mode for mode in modes if mode not in _ONCE]
    for number, first in enumerate(range(0, plans, _PIECE)):
        yield from (Piece(mode, seed + number, max(1, min(_PIECE, plans - first) // _COSTLY.get(mode, 1))) for mode in others)


def _jobs() -> int:
    """Return the number of pieces to run at a time. A piece is a JVM that mostly uses one thread, and a Python process."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (3 << 30)
    return max(1, min(os.cpu_count() or 1, memory))


def _ended(pieces: Sequence[Piece], commit: str, jobs: int) -> Iterator[Done]:
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(_run, piece, commit) for piece in pieces]
        try:
            for ended in as_completed(running):
                yield ended.result()
        finally:
            pool.shutdown(cancel_futures=True)  # of a run that is stopped; what runs is stopped with it


def settings(piece: Piece) -> dict[str, str]:
    """Return the environment variables that set the length and the programs of tests. tests/conftest.py does not change them."""
    names = ("HEADWATER_PLANS", "HEADWATER_RDD_FAULTS", "HEADWATER_RDD_PROGRAMS", "HEADWATER_ROUNDS")
    sizes = dict.fromkeys(names, str(piece.plans))
    return sizes | {"HEADWATER_SEED": str(piece.seed)}


def tests(piece: Piece) -> list[str]:
    return _TESTS.get(piece.mode, ["tests/oracle/test_random_plans.py", "-k", piece.mode])


def _python(piece: Piece) -> list[str]:
    return [sys.executable, *(["-m", "tests.other_sparks", _LINES[piece.mode]] if piece.mode in _LINES else [])]


def _run(piece: Piece, commit: str) -> Done:
    command = [*_python(piece), "-m", "pytest", "-q", "--timeout=0", "-p", "no:cacheprovider", "--hypothesis-show-statistics"]
    command += [f"--hypothesis-seed={piece.seed}", *tests(piece)]
    output = FOLDER / f"{piece.name}.log"
    began = time.monotonic()
    with output.open("w", encoding="utf-8") as file:
        environment = os.environ | settings(piece)
        code = subprocess.run(command, cwd=results.ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    ended = Done(commit, piece.mode, piece.seed, piece.plans, round(time.monotonic() - began, 1), code == 0)
    print(f"{piece.name}: {'as the oracle says' if ended.passed else f'FAILED, see {output}'}, {ended.seconds:.0f} s", flush=True)
    return ended


def _read(path: Path) -> list[Done]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Done(**json.loads(line)) for line in lines]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
