"""The jar of our classes: compiled by the Janino that Spark carries, kept in a per-user cache.

Compiling takes seconds, so a jar is kept under the hash of its sources and the versions of Spark and Java. Loading a jar runs its
code: the cache is a folder of the user's own that nobody else may write, or it is not used.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import stat
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from headwater.errors import CaptureUnavailableError

_PACKAGE = "headwater.spark_listener.jvm"
_PREFIX = "headwater"
_LINES = "shim/v"  # folders below which something is for one line of Spark alone
_PLAIN = "plain/"  # all that there is for other lines
_TRIED = ("v40", "v41")  # lines whose captures are tested

compilations: list[float] = []  # seconds of each in this process; usually none, since the cache has the jar


def untried(spark_version: str) -> str | None:
    """Why neither records nor columns are followed on a version of Spark; None: they are."""
    if _line(spark_version) in _TRIED:
        return None
    tried = " and ".join(f"{line[1]}.{line[2:]}" for line in _TRIED)
    return f"records and columns are followed on Spark {tried} alone; this is Spark {spark_version}"


def compiled_jar(jvm: Any, spark_version: str) -> Path:
    """The jar for this JVM, compiled now if it is not in the cache.

    Raises:
        CaptureUnavailableError: the sources do not compile against this Spark.
    """
    sources = java_sources(spark_version)
    java_version = str(jvm.java.lang.System.getProperty("java.version"))
    jar = _cache() / f"headwater-{_digest(sources, spark_version, java_version)}.jar"
    if not jar.is_file():
        began = time.perf_counter()
        _compile(jvm, sources, jar)
        compilations.append(time.perf_counter() - began)
    return jar


def _digest(sources: Mapping[str, str], *versions: str) -> str:
    digest = hashlib.sha256()
    for part in (*versions, *(part for source in sorted(sources.items()) for part in source)):
        content = part.encode()
        digest.update(b"%d:" % len(content))
        digest.update(content)
    return digest.hexdigest()[:20]


def java_sources(spark_version: str) -> Mapping[str, str]:
    """Our Java sources for a version of Spark, by the name of their resource (`headwater/tap/Tap.java`).

    What differs between versions lies in a folder a line, `shim/v41`; of these one is taken, in the place of `shim`. A version that
    is of no line here has the folder `plain` alone.
    """
    everything = dict(_walk(files(_PACKAGE), ""))
    if untried(spark_version):
        return {f"{_PREFIX}/{name}": text for name, text in everything.items() if name.startswith(_PLAIN)}
    taken = f"shim/{_line(spark_version)}/"
    return {
        f"{_PREFIX}/{name.replace(taken, 'shim/', 1)}": text
        for name, text in everything.items()
        if name.startswith(taken) or not name.startswith((_LINES, _PLAIN))
    }


def _line(spark_version: str) -> str:
    return "v" + "".join(spark_version.split(".")[:2])


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.is_dir() and not entry.name.startswith("_"):
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".java"):
            yield prefix + entry.name, entry.read_text(encoding="utf-8")


def _compile(jvm: Any, sources: Mapping[str, str], jar: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="headwater-classes-") as classes:
        _run_janino(jvm, sources, classes)
        draft = jar.with_name(f"{jar.name}.{os.getpid()}.tmp")
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(classes).rglob("*.class")):
                archive.write(path, path.relative_to(classes).as_posix())
        draft.replace(jar)


def _run_janino(jvm: Any, sources: Mapping[str, str], classes: str) -> None:
    resources = jvm.org.codehaus.commons.compiler.util.resource
    finder = resources.MapResourceFinder()
    for name, text in sources.items():
        finder.addResource(name, text)
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setSourceFinder(finder)
    compiler.setClassFileFinder(resources.ResourceFinder.EMPTY_RESOURCE_FINDER)
    compiler.setClassFileCreator(resources.DirectoryResourceCreator(jvm.java.io.File(classes)))
    # Spark's own loader: the context's may hold a jar of ours already, and Janino would take classes from there instead of the sources
    loader = _class(jvm, "org.apache.spark.SparkContext").getClassLoader()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setDebugLines(True)
    compiler.setDebugSource(True)
    found = finder.resources().toArray()
    array = jvm.java.lang.reflect.Array.newInstance(_class(jvm, "org.codehaus.commons.compiler.util.resource.Resource"), len(sources))
    for index in range(len(sources)):
        jvm.java.lang.reflect.Array.set(array, index, found[index])
    try:
        compiler.compile(array)
    except Exception as error:
        java = getattr(error, "java_exception", error)
        raise CaptureUnavailableError(
            f"Headwater's Java classes do not compile against this Spark: {str(java)[:500]}.",
            hint="Run with --mode off, and report the versions of Spark and Java.",
        ) from error


def _class(jvm: Any, name: str) -> Any:
    return jvm.java.lang.Class.forName(name, True, jvm.java.lang.Thread.currentThread().getContextClassLoader())


def _cache() -> Path:
    """The cache folder, or a temporary one where that cannot be trusted or written."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headwater" / "jvm"
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = base.stat()
        trusted = status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o022 and os.access(base, os.W_OK)
    except (OSError, RuntimeError):
        return _temporary()  # no home folder, or one that cannot be written
    return base if trusted else _temporary()


@functools.cache
def _temporary() -> Path:
    """One folder a process. It stays until the process ends: executors fetch the jar from it."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-jvm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
