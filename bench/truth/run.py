"""`python -m bench.truth.run tpch|tpcds [options]`: check the queries, and write bench/results/truth-SUITE-MODE-SCALE.json.

With `--tables orc` and so on the file is truth-SUITE-TABLES-MODE-SCALE.json. With another Spark than the locked one
(`python -m tests.other_sparks 4.0 -m bench.truth.run …`) it is truth-SUITE-spark-4.0-MODE-SCALE.json.

The command exits with 1 if an answer or a trace was wrong. A refused query is no error, and is listed. Results of some of the queries go
to build/bench, next to earlier results for the same commit. Once all queries have results, they become a result of the suite.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyspark

from bench import results
from bench.data.dialect import for_spark
from bench.data.tpc import benchmark
from bench.truth.check import Checker, Finding
from bench.truth.laboratory import Laboratory
from bench.truth.layouts import LAYOUTS, server_of
from tests.other_sparks import LINES

_SCALES = {"tpch": 0.01, "tpcds": 0.2}


def findings(
    suite: str,
    scale: float,
    folder: Path,
    *,
    tables: str = "parquet",
    mode: str = "active",
    queries: Sequence[int] | None = None,
    rows: int = 2,
) -> Iterator[Finding]:
    """Yield the finding of each query. `tables` is the format of tables and answers (`layouts.py`)."""
    made = benchmark(suite, scale)
    with server_of(tables, folder) as server, Laboratory(folder, made.tables, LAYOUTS[tables](folder, server), mode=mode) as laboratory:
        checker = Checker(laboratory, folder, rows=rows)
        for number, text in made.queries.items():
            if queries is None or number in queries:
                try:
                    yield checker.check(f"q{number}", for_spark(text))
                except Exception:  # noqa: BLE001  # one query that fails is a finding; the others are still of interest
                    yield Finding(f"q{number}", wrong=[traceback.format_exc(limit=-3)])


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    scale = options.scale or _SCALES[options.suite]
    queries = [int(case.removeprefix("q")) for case in options.cases.split(",")] if options.cases else None
    found: list[Finding] = []
    head = results.head(_name(options, scale)) | {"scale": scale}
    parts = options.results or results.ROOT / "build" / "bench"
    with tempfile.TemporaryDirectory(prefix=f"headwater-truth-{options.suite}-") as scratch:
        settings = {"tables": options.tables, "mode": options.mode, "queries": queries, "rows": options.rows}
        for finding in findings(options.suite, scale, Path(scratch), **settings):
            found.append(finding)
            print(_line(finding), flush=True)
            if queries is not None:
                results.write(_content(head, together(found, head, parts)), parts)
    listed = benchmark(options.suite, scale).queries
    everything = found if queries is None else together(found, head, parts)
    print(json.dumps(summary(everything)))
    folder = results.RESULTS if len(everything) == len(listed) and not options.results else parts
    print(f"written: {results.write(_content(head, everything), folder)}")
    return int(any(finding.wrong for finding in found))


def _name(options: argparse.Namespace, scale: float) -> str:
    line = ".".join(pyspark.__version__.split(".")[:2])
    tables = [options.tables] if options.tables != "parquet" else []
    spark = [f"spark-{line}"] if line in LINES else []
    return "-".join(["truth", options.suite, *tables, *spark, options.mode, f"{scale:g}"])


def _content(head: Mapping[str, Any], found: Sequence[Finding]) -> dict[str, Any]:
    return {**head, "summary": summary(found), "queries": [asdict(one) for one in found]}


def together(found: Sequence[Finding], head: Mapping[str, Any], folder: Path) -> list[Finding]:
    """Merge findings with those of other queries in a file of the folder, for the same commit and scale."""
    before = folder / f"{head['suite']}.json"
    known = json.loads(before.read_text(encoding="utf-8")) if before.exists() else {}
    same = all(known.get(name) == head[name] for name in ("commit", "scale"))
    queries = {entry["query"]: Finding(**entry) for entry in known["queries"]} if same else {}
    return sorted((queries | {one.query: one for one in found}).values(), key=lambda one: int(one.query.removeprefix("q")))


def summary(found: Sequence[Finding]) -> dict[str, int]:
    """Return the number of captured queries, and of exact ones among them."""
    return {
        "queries": len(found),
        "captured": sum(finding.status == "complete" for finding in found),
        "exact": sum(finding.exact for finding in found),
        "wrong": sum(bool(finding.wrong) for finding in found),
        "same_plan": sum(not finding.plan for finding in found),
        "plan_varies": sum(finding.varies for finding in found),
        "rows_traced": sum(finding.traced for finding in found),
    }


def _line(finding: Finding) -> str:
    shown = {"exact": finding.exact, "rows": finding.rows, "traced": finding.traced, **finding.records}
    shown |= {"plans vary": True} if finding.varies else {}
    lines = [f"{finding.query}: {finding.status} " + ", ".join(f"{name} {value}" for name, value in shown.items())]
    for name, entries in (("refused", finding.refused), ("WRONG", finding.wrong), ("inexact", finding.inexact), ("plan", finding.plan)):
        lines += [f"    {name}: {entry}" for entry in entries]
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench ARGS=--truth", description="Put the queries of TPC-H or TPC-DS to the test.")
    parser.add_argument("suite", choices=sorted(_SCALES))
    parser.add_argument("--scale", type=float, help="scale factor (default 0.01 of TPC-H, 0.2 of TPC-DS)")
    parser.add_argument("--cases", help="some of the queries, as q1,q6")
    parser.add_argument("--tables", choices=sorted(LAYOUTS), default="parquet", help="where tables and answers lie (default parquet)")
    parser.add_argument("--mode", choices=("active", "lazy", "auto"), default="active", help="of capture (default active)")
    parser.add_argument("--rows", type=int, default=2, help="rows of each answer to trace (default 2)")
    parser.add_argument("--results", type=Path, help="folder to write to (default bench/results; of some queries build/bench)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
