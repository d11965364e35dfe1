"""Inputs and outputs of RDD programs, by dataset.

The hooks around PySpark's RDD use it. The inputs are found in the JVM, by following the dependencies of the RDD down to those that read
files. The number of steps is limited, because each is a call into the JVM. If the limit is reached, that is reported.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headwater.paths import places_of_pattern
from headwater.spark_listener.lineage.kept import KeptColumns, Steps, merged
from headwater.spark_listener.lineage.naming import folder_of

_MOST_RDDS = 200
_MOST_FILES = 64
_MOST_REMEMBERED = 10_000
_SAVE = "headwater.save"  # read by jvm/listen/Events.java
_LOOK = "headwater.look"  # read by the same class
_LISTED = re.compile(r"(?:\\.|[^,\\]|\\$)+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_INPUT_FOLDERS = "mapreduce.input.fileinputformat.inputdir"


@dataclass(frozen=True, slots=True)
class SavedRDD:
    """A save of an RDD, successful or not. Instants are in seconds since the epoch; `id` marks its jobs."""

    id: str
    operation: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    started: float
    ended: float
    error: str | None = None
    problems: Sequence[str] = ()
    rdd: Any = None  # the RDD to save in place of the program's; None: the program's
    sink: int | None = None  # the boundary that records it
    refused: Mapping[str, str] | None = None  # why its records are not captured
    capture: Mapping[str, Any] | None = None  # the parts of its manifest

    def ended_at(self, instant: float, error: str | None, capture: Mapping[str, Any] | None) -> SavedRDD:
        return replace(self, ended=instant, error=error, capture=capture, rdd=None)


@dataclass(slots=True)
class RddSources:
    """Paths that an RDD reads, in the order found. `problems` are inputs that were not found, with reasons."""

    paths: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)  # the RDDs of DataFrames below it


def mark_jobs(context: Any, save: str | None) -> None:
    """Mark the next jobs of this thread as jobs of a save. None ends the marking."""
    context.setLocalProperty(_SAVE, save)


def mark_looks(context: Any, *, begin: bool) -> None:
    """Mark the next jobs of this thread as jobs that infer a schema, or end the marking."""
    context.setLocalProperty(_LOOK, "true" if begin else None)


class Origins:
    """Finds the inputs of RDDs. It remembers RDDs made from DataFrames, DataFrames made from RDDs, and checkpoints.

    `describe` describes a plan of the JVM. If it is None, columns are not followed.
    """

    def __init__(self) -> None:
        self.describe: Callable[[Any], Mapping[str, Any]] | None = None
        self.kept = KeptColumns()
        self._seen_by_rdds: dict[int, Steps] = {}  # by the RDD of a frame: the sources of all its columns
        self._of_frames: dict[int, tuple[str, ...]] = {}
        self._of_columns: dict[int, tuple[str, ...]] = {}

    def remember(self, frame: Any, rdd: Any, plan: Any = None) -> None:
        """Remember that `rdd` was made from `frame`. Its files are the files of `plan`, by default the plan of `frame`."""
        if len(self._of_frames) < _MOST_REMEMBERED:
            start = getattr(rdd, "_prev_jrdd", None) or _jvm(rdd, "_jrdd")
            known = _jvm(frame, "_jdf").queryExecution().optimizedPlan() if plan is None else plan
            self._of_frames[int(start.rdd().id())] = tuple(self._roots_of(known))
            if self.describe is not None:
                self._seen_by_rdds[int(start.rdd().id())] = self.kept.of_plan(self.describe(known)).opaque()

    def remember_frame(self, rdd: Any, frame: Any) -> None:
        """Remember that `frame` was made from `rdd`. A plan contains only its columns, which do not show the RDD's inputs."""
        found = self.inputs_of(rdd)
        self._name_by_columns(frame, found.paths)
        if found.frames:
            attributes = _attributes(frame)
            seen = merged([self._seen_by_rdds.get(number, {}) for number in found.frames])
            self.kept.keep(attributes, [seen] * len(attributes), {})

    def remember_checkpoint(self, frame: Any, checkpoint: Any) -> None:
        """Remember that `checkpoint` has the rows of `frame`. Its plan does not name their source."""
        self._name_by_columns(checkpoint, self._roots_of(_jvm(frame, "_jdf").queryExecution().optimizedPlan()))
        if self.describe is not None:
            made = self.kept.of_plan(self.describe(_jvm(frame, "_jdf").queryExecution().optimizedPlan()))
            self.kept.keep(_attributes(checkpoint), made.columns, made.rows)

    def _name_by_columns(self, frame: Any, paths: Iterable[str]) -> None:
        known = tuple(paths)
        if known and len(self._of_columns) < _MOST_REMEMBERED:
            self._of_columns.update((attribute, known) for attribute in _attributes(frame))

    def of_columns(self, attributes: Iterable[int]) -> list[str]:
        """Return the inputs of the RDDs from which columns of a plan came."""
        return list(dict.fromkeys(path for attribute in attributes for path in self._of_columns.get(attribute, ())))

    def read_by(self, rdds: Sequence[Mapping[str, Any]]) -> RddSources:
        """Return the inputs of a job from the JVM's description of its RDDs (`jvm/listen/RddInputs.java`)."""
        found = RddSources()
        by_id = {rdd["id"]: rdd for rdd in rdds}
        below = {parent for rdd in rdds for parent in rdd.get("parents") or ()}
        waiting, seen = deque(number for number in by_id if number not in below), set()
        while waiting:
            number = waiting.popleft()
            if number in seen or number not in by_id:
                continue
            seen.add(number)
            if number in self._of_frames:
                _add(found, self._of_frames[number])
                continue
            _add(found, _described(by_id[number], found))
            waiting.extend(by_id[number].get("parents") or ())
        return found

    def inputs_of(self, rdd: Any) -> RddSources:
        found = RddSources()
        # A pipelined RDD has no JVM counterpart before it runs, and making one would change the program. Its parent has one.
        start = getattr(rdd, "_prev_jrdd", None) or _jvm(rdd, "_jrdd")
        waiting, seen = deque([start.rdd()]), set()
        while waiting:
            current = waiting.popleft()
            number = int(current.id())
            if number in seen:
                continue
            seen.add(number)
            if len(seen) > _MOST_RDDS:
                found.problems.append(f"the RDD has more than {_MOST_RDDS} ancestors; inputs beyond them are not listed")
                break
            if number in self._of_frames:
                _add(found, self._of_frames[number])
                found.frames.append(number)
                continue
            _add(found, _paths_of(current, found))
            dependencies = current.dependencies()
            waiting.extend(dependencies.apply(i).rdd() for i in range(dependencies.size()))
        return found

    def _roots_of(self, plan: Any, caches: set[tuple[int, ...]] | None = None) -> Iterator[str]:
        caches = set() if caches is None else caches
        leaves = plan.collectLeaves()
        for i in range(leaves.size()):
            leaf = leaves.apply(i)
            names = _class_names(leaf)
            if "LogicalRelation" in names and leaf.relation().getClass().getSimpleName() == "HadoopFsRelation":
                roots = leaf.relation().location().rootPaths()
                yield from (str(roots.apply(j).toString()) for j in range(roots.size()))
            elif "InMemoryRelation" in names:
                cached = leaf.cacheBuilder().logicalPlan()
                columns = cached.output()
                number = tuple(int(columns.apply(j).exprId().id()) for j in range(columns.size()))
                if number not in caches:  # a cache with two readers is read twice by a plan with both
                    caches.add(number)
                    yield from self._roots_of(cached, caches)
            elif "LogicalRDD" in names:
                columns = leaf.output()
                yield from self.of_columns(int(columns.apply(j).exprId().id()) for j in range(columns.size()))


def _paths_of(rdd: Any, found: RddSources) -> list[str]:
    names = _class_names(rdd)
    if "HadoopRDD" in names:
        return _split(rdd.getJobConf().get(_INPUT_FOLDERS))
    if "NewHadoopRDD" in names:
        return _split(rdd.getConf().get(_INPUT_FOLDERS))
    if "FileScanRDD" in names:
        return _scanned(rdd, found)
    if "ParallelCollectionRDD" in names:
        found.problems.append("a part of the data came from the program itself (parallelize)")
    return []


_OWN = {"ParallelCollectionRDD", "EmptyRDD"}  # data of the program itself, or no data


def _described(rdd: Mapping[str, Any], found: RddSources) -> list[str]:
    kind, name = str(rdd.get("kind") or ""), str(rdd.get("name") or "")
    if kind == "more":
        found.problems.append(f"the RDD has more than {_MOST_RDDS} ancestors; inputs beyond them are not listed")
        return []
    if rdd.get("folders"):
        return _split(str(rdd["folders"]))
    files = [str(file) for file in rdd.get("files") or ()]
    if len(files) > _MOST_FILES:
        found.problems.append(f"the RDD reads many files; only the folders of the first {_MOST_FILES} are listed")
    if len(files) == 1 and not files[0].rsplit("/", 1)[-1].startswith("part-"):
        return files  # a single file that no Spark job wrote was probably read by name
    if rdd.get("parents") or files:
        return list(dict.fromkeys(map(folder_of, files)))
    if kind in _OWN or name in _OWN or kind == "FileScanRDD":
        return []
    if not kind and "/" in name:
        return places_of_pattern(name)  # the job has already ended; Spark names an RDD of files by their path
    problem = f"what {kind or name or 'an RDD'} reads is not known"
    if problem not in found.problems:
        found.problems.append(problem)
    return []


def _jvm(wrapper: Any, name: str) -> Any:
    """Return the JVM object of a PySpark object. There is no public way to it."""
    return getattr(wrapper, name)


def _attributes(frame: Any) -> list[int]:
    columns = _jvm(frame, "_jdf").queryExecution().analyzed().output()
    return [int(columns.apply(i).exprId().id()) for i in range(columns.size())]


def _class_names(rdd: Any) -> set[str]:
    names, kind = set(), rdd.getClass()
    while kind is not None and kind.getSimpleName() not in ("RDD", "Object"):
        names.add(kind.getSimpleName())
        kind = kind.getSuperclass()
    return names


def _scanned(rdd: Any, found: RddSources) -> list[str]:
    partitions = rdd.filePartitions()
    count = partitions.size()
    files: list[str] = []
    for i in range(min(count, _MOST_FILES)):
        files.extend(str(file.toPath().toString()) for file in partitions.apply(i).files())
        if len(files) >= _MOST_FILES:
            break
    if count > _MOST_FILES or len(files) >= _MOST_FILES:
        found.problems.append(f"the RDD reads many files; only the folders of the first {_MOST_FILES} are listed")
    return [folder_of(file) for file in files]


def _split(folders: str | None) -> list[str]:
    """Split a list of Hadoop paths, which escapes commas and backslashes. Each path is a pattern."""
    parts = _LISTED.findall(folders or "")
    return [place for part in parts for place in places_of_pattern(_ESCAPED.sub(r"\1", part))]


def _add(found: RddSources, paths: Sequence[str]) -> None:
    found.paths.extend(path for path in paths if path not in found.paths)
