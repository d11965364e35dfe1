"""Compute all results again with the programs of the workflow: all articles at once, in one process, without Headwater.

Usage: recompute.py ARTICLES OUT
"""

import runpy
import sys
from pathlib import Path


def run(program: str, *arguments: object) -> None:
    runpy.run_path(f"{program}.py")["main"](*arguments)


def main(articles: str, out: str) -> None:
    files = sorted(map(str, Path(articles).glob("*.jsonl")))
    run("detect_templates", files, f"{out}/templates")
    run("tag_templates", files, [f"{out}/templates"], f"{out}/tagged")
    run("shingle", [f"{out}/tagged"], f"{out}/shingles")
    run("deduplicate", [f"{out}/shingles"], [], f"{out}/unique")


if __name__ == "__main__":
    main(*sys.argv[1:3])
