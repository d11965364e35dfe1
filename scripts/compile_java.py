"""Compile the Java sources against another Spark: `python scripts/compile_java.py 4.0.1 v40`.

Fetches Spark's own jars of that version by Maven, once, into `.tools/sparks`; other libraries are those of the installed pyspark, and its
own version is compiled against its own jars. That the sources compile says nothing about captures: those of a line are tested before
`capture/jar.py` names it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("sql_2.13", "catalyst_2.13", "core_2.13", "sql-api_2.13", "common-utils_2.13", "unsafe_2.13", "tags_2.13")
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def jars(version: str) -> list[Path]:
    """Spark's jars of a version, fetched unless they are there."""
    folder = ROOT / ".tools" / "sparks" / version
    folder.mkdir(parents=True, exist_ok=True)
    found = [folder / f"spark-{part}-{version}.jar" for part in PARTS]
    for part, jar in zip(PARTS, found, strict=True):
        if not jar.is_file():
            artifact = f"org.apache.spark:spark-{part}:{version}"
            subprocess.run(["mvn", "-q", "-B", _COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"], check=True)
    return found


def compiled(version: str, line: str) -> int:
    """Compile the sources with the folder `shim/<line>`; the exit code of the compiler."""
    own = set() if version == pyspark.__version__ else {f"spark-{part}" for part in PARTS}
    sparks = jars(version) if own else []
    others = [jar for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar") if jar.name.rpartition("-")[0] not in own]
    source = ROOT / "spark_listener" / "jvm"
    with tempfile.TemporaryDirectory() as scratch:
        for path in source.rglob("*.java"):
            inside = path.relative_to(source)
            if inside.match("shim/v*/*.java"):
                if inside.parts[1] != line:
                    continue
                inside = Path("shim", inside.name)
            target = Path(scratch, "headwater", inside)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        classpath = os.pathsep.join(map(str, [*sparks, *others]))
        return subprocess.run(["java", "-cp", classpath, str(ROOT / "scripts" / "CompileJava.java"), scratch], check=False).returncode


if __name__ == "__main__":
    sys.exit(compiled(sys.argv[1], sys.argv[2]))
