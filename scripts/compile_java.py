"""Compile the Java sources of `spark_listener/jvm` into a jar for each line of Spark.

    python scripts/compile_java.py all           # all jars, as in a wheel
    python scripts/compile_java.py installed     # the jars for the pyspark of this Python
    python scripts/compile_java.py 4.0           # the jar for one line

The jars go to `spark_listener/jars`. A jar contains a digest of its inputs, and is made again only if they
changed. `make bootstrap`, the tests and the build of a wheel call this module.

javac compiles against the jars of Spark. They come from the pyspark of this Python, if it is of the line, or else
from Maven.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "headwater" / "spark_listener" / "jvm"  # a source distribution has only the folder headwater/
JARS = ROOT / "headwater" / "spark_listener" / "jars"
LINES = {"4.0": "4.0.4", "4.1": "4.1.3"}  # lines of Spark, and the release of each that Maven fetches to compile against
PLAIN = "plain"  # the jar for every other line, see jvm/plain
ALL = (*LINES, PLAIN)

_SPARK = ("sql_2.13", "catalyst_2.13", "core_2.13", "sql-api_2.13", "common-utils_2.13", "unsafe_2.13", "tags_2.13")
_LIBRARIES = (  # libraries of Spark, with the versions of Spark's own build
    ("org.scala-lang", "scala-library", ""),
    ("org.apache.hadoop", "hadoop-client-api", ""),
    ("com.fasterxml.jackson.core", "jackson-databind", ""),
    ("com.fasterxml.jackson.core", "jackson-core", ""),
    ("com.fasterxml.jackson.core", "jackson-annotations", ""),
    ("com.esotericsoftware", "kryo-shaded", ""),
    ("com.github.luben", "zstd-jni", ""),
    ("org.apache.orc", "orc-core", "shaded-protobuf"),
    ("org.apache.parquet", "parquet-hadoop", ""),
    ("org.apache.parquet", "parquet-column", ""),
)
_WITH_PARTS = ("parquet-column",)  # Spark states no version of parquet-common
# javac ends before its second compiler pays off. invokedynamic for every concatenation would slow the start of each JVM.
_OPTIONS = (
    *("-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-proc:none", "-g:source,lines", "-encoding", "UTF-8"),
    *("-Xmaxerrs", "1000", "-XDstringConcat=inline", "-Xlint:rawtypes,unchecked,cast,-options", "-Werror"),
)
_JAVA = {PLAIN: "8"}  # Spark 3.5 runs on Java 8, too
_USUAL_JAVA = "17"
_SUPERTYPES = tuple(f"org/apache/spark/sql/catalyst/trees/{name}.class" for name in ("TreeNode", "LeafLike", "UnaryLike"))
_MISTYPED = (b"withNewChildrenInternal", b"mapChildren")
_CONSTANT_BYTES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}  # by tag
_OLDEST = (1980, 1, 1, 0, 0, 0)  # constant time of entries, so that the same sources give the same jar


class CompilationError(Exception):
    """A jar could not be made. The message names the line and the errors of javac or Maven."""


def build(names: Sequence[str] = ALL) -> list[str]:
    """Make the missing or outdated jars, and return their names."""
    with _lock():
        outdated = [name for name in names if not is_current(name)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for _ in pool.map(_make, outdated):
                pass
    return outdated


def installed() -> tuple[str, ...]:
    """Return the jars for the pyspark of this Python: that of its line, and the plain one. Without pyspark, the newest line counts."""
    pyspark = _pyspark()
    line = _line(pyspark) if pyspark else max(LINES)
    return (line, PLAIN) if line in LINES else (PLAIN,)


def jar_path(name: str) -> Path:
    """Return the path of a jar, which may not exist."""
    return JARS / f"headwater-{name}.jar"


def is_current(name: str) -> bool:
    """Whether a jar exists and was made from the present sources."""
    try:
        with zipfile.ZipFile(jar_path(name)) as archive:
            return archive.comment.decode("ascii") == _digest(name)
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def sources(name: str) -> list[Path]:
    """Return the source files of a jar. `shim/v40` and `shim/v41` have the differences between lines; a jar contains one of them."""
    if name == PLAIN:
        return sorted((SOURCES / PLAIN).rglob("*.java"))
    own = f"v{name.replace('.', '')}"
    return [
        path
        for path in sorted(SOURCES.rglob("*.java"))
        if path.relative_to(SOURCES).parts[0] != PLAIN and (not path.match("shim/v*/*.java") or path.parent.name == own)
    ]


def _digest(name: str) -> str:
    digest = hashlib.sha256()
    for path in (Path(__file__), *sources(name)):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@contextmanager
def _lock() -> Iterator[None]:
    """Hold the lock for making jars, because tests start several processes that make jars."""
    JARS.mkdir(exist_ok=True)
    with (JARS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(name: str) -> None:
    make_jar(name, sources(name), jar_path(name), comment=_digest(name))


def make_jar(name: str, files: Sequence[Path], target: Path, comment: str = "") -> None:
    """Compile source files for a jar, and pack the classes.

    Raises:
        CompilationError: a source does not compile.
    """
    with tempfile.TemporaryDirectory(prefix="headwater-classes-") as scratch:
        classes = Path(scratch, "classes")
        compile_files(name, files, classes)
        draft = target.with_suffix(".new")
        with zipfile.ZipFile(draft, "w") as archive:
            for path in sorted(classes.rglob("*.class")):
                entry = zipfile.ZipInfo(path.relative_to(classes).as_posix(), _OLDEST)
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
            archive.comment = comment.encode("ascii")
        draft.replace(target)


def compile_files(name: str, files: Sequence[Path], classes: Path, *options: str) -> str:
    """Compile source files for a jar into a new folder, and return the output of javac.

    Raises:
        CompilationError: a source does not compile.
    """
    classes.mkdir(parents=True)
    libraries = classpath(max(LINES) if name == PLAIN else name)
    nodes = _extensible_nodes(libraries, classes.with_name("nodes"))
    path = os.pathsep.join(map(str, [nodes, *libraries]))
    arguments = classes.with_name("arguments")
    arguments.write_text("\n".join(f'"{file}"' for file in files), encoding="utf-8")
    command = [_javac(), *_OPTIONS, *options, "--release", _JAVA.get(name, _USUAL_JAVA), "-d", str(classes), "-cp", path, f"@{arguments}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise CompilationError(f"The Java sources do not compile for {name}.\n{done.stdout}")
    return done.stdout


def _javac() -> str:
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    for home in [*homes, *sorted(Path("/usr/lib/jvm").glob("*"))]:
        javac, release = home / "bin" / "javac", home / "release"
        if javac.is_file() and release.is_file():
            version = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(encoding="utf-8"), re.MULTILINE)
            if version and int(version[1]) >= int(_USUAL_JAVA):
                return str(javac)
    if javac_on_path := shutil.which("javac"):
        return javac_on_path
    raise CompilationError(f"javac was not found. Install a JDK of Java {_USUAL_JAVA} or later, or set JAVA_HOME to its folder.")


def classpath(line: str) -> list[Path]:
    """Return the jars of a line of Spark, from the pyspark of this Python or from Maven (`.tools/sparks`)."""
    pyspark = _pyspark()
    if pyspark and _line(pyspark) == line:
        return sorted((pyspark / "jars").glob("*.jar"))
    version = LINES[line]
    folder = ROOT / ".tools" / "sparks" / version
    if not (folder / "complete").exists():
        _fetch(version, folder)
        (folder / "complete").touch()
    return sorted((folder / "lib").glob("*.jar"))


def _pyspark() -> Path | None:
    spec = importlib.util.find_spec("pyspark")
    return Path(spec.origin).parent if spec and spec.origin else None


def _line(pyspark: Path) -> str:
    """Return the line of a pyspark from its version file, because the import would take half a second."""
    found = re.search(r"""__version__[^"']*["'](\d+\.\d+)""", (pyspark / "version.py").read_text(encoding="utf-8"))
    return found[1] if found else ""


def _fetch(version: str, folder: Path) -> None:
    if shutil.which("mvn") is None:
        raise CompilationError(f"Maven (mvn) was not found. It fetches the jars of Spark {version} to compile against.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    alone = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    wanted = [("org.apache.spark", f"spark-{part}", "", f"<version>{version}</version>") for part in _SPARK]
    wanted += [(*library, "") for library in _LIBRARIES]
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>{stated}"
        f"{f'<classifier>{classifier}</classifier>' if classifier else ''}{'' if artifact in _WITH_PARTS else alone}</dependency>"
        for group, artifact, classifier, stated in wanted
    )
    (folder / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>headwater</groupId>'
        "<artifactId>sparks</artifactId><version>1</version><packaging>pom</packaging><dependencyManagement><dependencies><dependency>"
        f"<groupId>org.apache.spark</groupId><artifactId>spark-parent_2.13</artifactId><version>{version}</version><type>pom</type>"
        f"<scope>import</scope></dependency></dependencies></dependencyManagement><dependencies>{dependencies}</dependencies></project>",
        encoding="utf-8",
    )
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    command = ["mvn", "-q", "-B", "-ntp", "-f", str(folder / "pom.xml"), copy, f"-DoutputDirectory={folder / 'lib'}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise CompilationError(f"Maven could not fetch the jars of Spark {version}.\n{done.stdout[-4000:]}")


def _extensible_nodes(libraries: Sequence[Path], folder: Path) -> Path:
    """Make a folder with Spark's supertypes of plan nodes in a form that javac can extend.

    Some methods of a plan node return `TreeNode`, although their generic signature in the supertypes promises the type of the node. scalac
    allows this, but javac rejects every subclass of such a node. Without the signature, javac sees the types of the JVM.
    """
    for library in libraries:
        if library.name.startswith("spark-catalyst"):
            with zipfile.ZipFile(library) as archive:
                for name in _SUPERTYPES:
                    target = folder / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(_without_signatures(archive.read(name)))
    return folder


def _without_signatures(content: bytes) -> bytes:
    """Return a class file in which these methods have no generic signature. The attribute gets a name that javac ignores."""
    texts, place = _constant_pool(content)
    changed = bytearray(content)
    place += 8 + 2 * _short(content, place + 6)  # access flags, class, superclass, interfaces
    for _ in range(2):  # fields, then methods
        members, place = _short(content, place), place + 2
        for _ in range(members):
            name, attributes = _short(content, place + 2), _short(content, place + 6)
            place += 8
            for _ in range(attributes):
                if texts[name] in _MISTYPED and texts[_short(content, place)] == b"Signature":
                    struct.pack_into(">H", changed, place, name)
                place += 6 + struct.unpack_from(">I", content, place + 2)[0]
    return bytes(changed)


def _constant_pool(content: bytes) -> tuple[dict[int, bytes], int]:
    """Return the texts in the constant pool of a class file by their index, and the offset after the pool."""
    texts: dict[int, bytes] = {}
    index, place = 1, 10
    while index < _short(content, 8):
        tag = content[place]
        if tag == 1:
            length = _short(content, place + 1)
            texts[index] = content[place + 3 : place + 3 + length]
            place += 3 + length
        else:
            place += 1 + _CONSTANT_BYTES[tag]
        index += 2 if tag in {5, 6} else 1  # long and double take two places
    return texts, place


def _short(content: bytes, place: int) -> int:
    return int(struct.unpack_from(">H", content, place)[0])


def main(arguments: Sequence[str]) -> int:
    names = {"all": ALL, "installed": installed()}.get(" ".join(arguments), tuple(arguments))
    if not names or set(names) - set(ALL):
        print(f"usage: compile_java.py all | installed | {' | '.join(ALL)}", file=sys.stderr)
        return 2
    try:
        made = build(names)
    except CompilationError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"  jars      {'compiled' if made else 'current'}: {', '.join(made or names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
