"""`python -m bench.examples [PART OF A NAME]`: runs Spark's own Python examples plain and under `headwater run`, and compares.

For each example the command shows whether exit code and output are equal, and the captured lineage from the summary. Numbers and times that
an example draws are masked. An example is called random if its output still differs, and two plain runs differ too. Examples that wait for
a socket, or need software that is not installed, fail in the same way with and without Headwater.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import pyspark

ROOT = Path(__file__).resolve().parents[1]
SPARK = Path(pyspark.__file__).parent
EXAMPLES = SPARK / "examples" / "src" / "main" / "python"
_SECONDS = 300
_ENDLESS = {"streaming/queue_stream.py", "status_api_demo.py"}  # these examples end by time, or print threads
_INPUT = {
    "kmeans.py": ["data/mllib/kmeans_data.txt", "2", "0.5"], "logistic_regression.py": ["data/mllib/sample_svm_data.txt", "2"],
    "pagerank.py": ["data/mllib/pagerank_data.txt", "2"], "sort.py": ["numbers.txt"], "wordcount.py": ["words.txt"], "pi.py": ["2"],
    "als.py": ["10", "10", "3", "2", "2"], "transitive_closure.py": ["2"], "mllib/kmeans.py": ["data/mllib/kmeans_data.txt", "2"],
    "mllib/logistic_regression.py": ["data/mllib/sample_svm_data.txt", "2"], "mllib/word2vec.py": ["words.txt"],
    "mllib/gaussian_mixture_model.py": ["data/mllib/gmm_data.txt", "2"], "ml/dataframe_example.py": ["data/mllib/sample_libsvm_data.txt"],
}  # fmt: skip
_DRAWN = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?|[0-9a-f]{8,}|/tmp/\S+")
_OPTIONS = "--master local[2] --conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false pyspark-shell"


@dataclass
class Compared:
    """The result for an example. `alike` is yes, random (plain runs differ, too) or no. `captured` is the summary's first line."""

    code: int
    ours: int
    alike: str
    captured: str
    difference: list[str]


def main() -> int:
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    results: dict[str, Compared] = {}
    for example in sorted(EXAMPLES.rglob("*.py")):
        name = example.relative_to(EXAMPLES).as_posix()
        if only not in name or example.name == "__init__.py" or name in _ENDLESS or name.startswith(("streaming/", "sql/streaming")):
            continue
        results[name] = found = compared(example, name)
        print(f"{found.alike:7} {found.code} {found.ours}  {name}: {found.captured}", *found.difference, sep="\n    ", flush=True)
    wrong = [name for name, found in results.items() if found.alike == "no" or found.code != found.ours]
    silent = [name for name, found in results.items() if found.code == 0 and not found.captured]
    print(f"{len(results)} examples; {len(wrong)} differ: {wrong}; of {len(silent)} that ran the summary says nothing: {silent}")
    target = ROOT / "build" / "bench" / "examples.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({name: asdict(found) for name, found in results.items()}, indent=1))
    return 1 if wrong else 0


def compared(example: Path, name: str) -> Compared:
    arguments = [str(example), *_INPUT.get(name, [])]
    plain = _run(arguments)
    ours = _run(["-m", "headwater", "run", "--home", "home", *arguments])
    alike, difference = "yes", _difference(plain[1], ours[1])
    if difference:
        alike = "random" if _difference(plain[1], _run(arguments)[1]) else "no"
    lines = [line for line in ours[2].splitlines() if line.startswith("headwater: ")]
    return Compared(plain[0], ours[0], alike, lines[0].removeprefix("headwater: ") if lines else "", difference if alike == "no" else [])


def _difference(one: str, other: str) -> list[str]:
    one, other = (_DRAWN.sub("#", text) for text in (one, other))
    return [line[:200] for line in difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=0)][:20]


def _run(arguments: list[str]) -> tuple[int, str, str]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "data").symlink_to(SPARK / "data")
        Path(folder, "words.txt").write_text("a b a\nc d a b\n" * 10)
        Path(folder, "numbers.txt").write_text("3 1 2\n")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE_"))}
        env = {**kept, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": _OPTIONS}
        try:
            command = [sys.executable, *arguments]
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return -1, "", ""
        finally:
            shutil.rmtree(f"{folder}/home", ignore_errors=True)
        return done.returncode, done.stdout, done.stderr


if __name__ == "__main__":
    sys.exit(main())
