"""Run the news workflow for five days, in its own folder: `python examples/news/days.py [FOLDER] [--days 5]`.

Each day articles arrive, and at night the templates are found again. On the third day the workflow is killed while it runs. Every day, the
output is compared with a full recomputation. Exits with 1 if they differ.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.dataset

HERE = Path(__file__).resolve().parent
PROGRAMS = ("detect_templates", "tag_templates", "shingle", "deduplicate")
KILLED_ON = 3
SPARK = "--master local[2] --conf spark.sql.shuffle.partitions=2 --conf spark.ui.enabled=false"


class News:
    """The workflow in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        folder.mkdir(parents=True)
        for file in HERE.glob("*.*"):
            shutil.copy(file, folder)
        options = f"{SPARK} {os.environ.get('NEWS_SPARK', '')} pyspark-shell"
        self.environment = {**os.environ, "HEADWATER_HOME": str(folder / "home"), "PYSPARK_SUBMIT_ARGS": options}

    def headwater(self, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        print(f"$ headwater {' '.join(arguments)}", flush=True)
        command = [sys.executable, "-m", "headwater", *arguments]
        return subprocess.run(command, cwd=self.folder, env=self.environment, text=True, check=True, **options)  # type: ignore[call-overload,no-any-return]

    def python(self, *arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], cwd=self.folder, env=self.environment, check=True)

    def kill_in_the_middle(self) -> None:
        """Start the workflow, and kill it while a program writes the articles without templates."""
        print("$ headwater workflow run news --trigger arrival     (and kill it)", flush=True)
        command = [sys.executable, "-m", "headwater", "workflow", "run", "news", "--trigger", "arrival"]
        before = self.files()
        with subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and not list(self.data.glob(".headwater-*/tagged/block=*/**/*")):
                time.sleep(0.05)
            process.send_signal(signal.SIGKILL)
        if process.returncode != -signal.SIGKILL:
            sys.exit("the workflow ended before it could be killed")
        if self.files() != before:
            sys.exit("a part of the killed run is visible")
        print("killed; no output has changed")

    def files(self) -> list[Path]:
        """Return the files that a reader of the channels sees."""
        return sorted(path for path in self.data.glob("*/block=*/**/*") if not str(path.relative_to(self.data)).startswith("."))

    def equals_recomputation(self, day: int) -> bool:
        out = self.folder / "anew" / str(day)
        self.python("recompute.py", str(self.data / "articles"), str(out))
        return all(rows(self.data / name) == rows(out / name) for name in ("templates", "tagged", "unique"))


def rows(folder: Path) -> list[dict[str, object]]:
    """Return the rows of a dataset in a fixed order, without the number of their block."""
    table = pyarrow.dataset.dataset(folder, format="parquet").to_table()
    return sorted(table.to_pylist(), key=repr)


def main(folder: Path, days: int) -> int:
    news = News(folder)
    for program in PROGRAMS:
        news.headwater("jobs", "register", program, f"{program}.py")
    news.headwater("workflow", "apply", "news.yaml")
    results = []
    for day in range(1, days + 1):
        print(f"\nDay {day}", flush=True)
        news.python("corpus.py", "data/articles", str(day))
        if day == KILLED_ON:
            news.kill_in_the_middle()
        news.headwater("workflow", "run", "news", "--trigger", "arrival")
        news.headwater("workflow", "run", "news", "--trigger", "night")
        results.append((day, len(rows(news.data / "tagged")), len(rows(news.data / "unique")), news.equals_recomputation(day)))
    print()
    news.headwater("versions", "data/unique")
    news.headwater("trace", "data/unique", "--where", f"id = {max(row['id'] for row in rows(news.data / 'unique'))}")  # type: ignore[type-var]
    print("\nday  articles  unique  equals a full recomputation")
    for day, articles, unique, is_equal in results:
        print(f"{day:3}  {articles:8}  {unique:6}  {'yes' if is_equal else 'NO'}")
    return 0 if all(is_equal for *_, is_equal in results) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=Path("news"))
    parser.add_argument("--days", type=int, default=5)
    options = parser.parse_args()
    sys.exit(main(options.folder.absolute(), options.days))
