"""Input and output datasets of a query with their facets, from the description of its plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.paths import dataset_root, is_pattern, looks_like_file, partition_pairs, path_of_dataset, within_dataset
from headwater.spark_listener.lineage import subset
from headwater.spark_listener.lineage.column_facets import column_lineage_facet, is_name, is_too_long, named
from headwater.spark_listener.lineage.columns import (
    ROWS,
    WITHIN,
    ColumnLineage,
    Field,
    Fields,
    Sources,
    Step,
    column_accesses,
    column_lineage,
    known_alone,
)
from headwater.spark_listener.lineage.connected import connected, open_columns
from headwater.spark_listener.lineage.facets import FIELD_ACCESS, Facet, facet
from headwater.spark_listener.lineage.naming import Name, address_of, dataset_at
from headwater.spark_listener.lineage.nested import fields_of
from headwater.spark_listener.lineage.sqltext import Read
from headwater.spark_listener.lineage.tables import database_hierarchy, format_at, table_facets, table_name
from headwater.spark_listener.redact import redact_address
from headwater.spark_listener.secrets import name_without_secrets

_DIRECT = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")  # OpenLineage's subtypes for values that flow; all others are INDIRECT
_NOT_FOLLOWED = {"operator": None, "reason": "the plan is too large for its columns to be followed", "kind": "missing"}
_UNKNOWN = "which data it reads or writes is not known: it has a name of its own, which no other run has"
_UNNAMED = {
    "operator": None,
    "reason": "a column without a name, or with one of more than 8,192 characters, is not listed",
    "kind": "missing",
}
_ROWS_UNKNOWN = {
    "operator": "LogicalRDD",
    "reason": "columns that come from rows of an RDD are not followed: which columns it was made of is not known",
    "kind": "missing",
}
_LISTED_ONCE = {"operator": None, "reason": "too many columns are made of too many: those are listed once, for all", "kind": "superset"}


@dataclass(slots=True)
class Dataset:
    """A dataset in one run. `facets` are about the dataset, `part` about its part in the run (the amount read or written).

    `within` are the places in the dataset that the program named by path. It is empty if the program named the dataset.
    """

    namespace: str
    name: str
    facets: dict[str, Facet] = field(default_factory=dict)
    part: dict[str, Facet] = field(default_factory=dict)
    within: list[str] = field(default_factory=list)

    @property
    def places(self) -> list[str]:
        """Return the names that the program used: of places in the dataset, or of the dataset."""
        return [f"{self.name.rstrip('/')}/{place}" for place in self.within] or [self.name]

    def as_input(self) -> dict[str, Any]:
        return self._stated("inputFacets")

    def as_output(self) -> dict[str, Any]:
        return self._stated("outputFacets")

    def _stated(self, part: str) -> dict[str, Any]:
        stated = {"namespace": self.namespace, "name": self.name, "facets": self.facets}
        return {**stated, part: self.part} if self.part else stated


def inputs_of(
    plan: Mapping[str, Any], read: Sequence[Mapping[str, Any]] = (), problems: list[Mapping[str, Any]] | None = None
) -> list[Dataset]:
    """Return one input for each dataset, even if the plan reads it several times. `read` has Spark's counts for each scan of files.

    Unknown facts are added to `problems`.
    """
    found: dict[tuple[str, str], Dataset] = {}
    parts = subset.inputs_of(plan)
    for source in plan.get("sources") or ():
        _look_for_unnamed(source, problems)
        for dataset in source_datasets(source):
            if dataset in found:
                found[dataset].part.pop("subset", None)  # the plan also reads it in another way
                within = _within(source, dataset)
                found[dataset].within = [*found[dataset].within, *within] if within and found[dataset].within else []
                continue
            found[dataset] = _input(dataset, source)
            if source.get("source") in parts:
                found[dataset].part["subset"] = parts[source["source"]]
            elif found[dataset].within:
                found[dataset].part["subset"] = subset.read_within(found[dataset].within)
    _add_kept(plan, found)
    for dataset, counted in _counted(read, plan).items():
        if dataset in found:
            found[dataset].part["inputStatistics"] = {
                **facet("inputStatistics", **counted),
                **found[dataset].part.get("inputStatistics", {}),
            }
    if not plan.get("sink"):
        _state_accesses(plan, found, problems)
    return list(found.values())


def _add_kept(plan: Mapping[str, Any], to: dict[Name, Dataset]) -> None:
    kept = [operator["kept"] for operator in plan.get("operators") or () if operator.get("kept")]
    fields = {field for columns in kept for made in columns.values() for field in made}
    for namespace, name, _ in sorted(fields):
        if namespace not in ("", ROWS) and (namespace, name) not in to:
            to[namespace, name] = Dataset(namespace=namespace, name=name, facets=_common(namespace, name, {}))


def _counted(read: Sequence[Mapping[str, Any]], plan: Mapping[str, Any]) -> dict[Name, dict[str, int]]:
    """Return rows, files and bytes by dataset.

    Rows of several scans are added up. Files are stated only if all scans read the same number.
    """
    places = {path: name for source in plan.get("sources") or () for path, name in _places(source).items()}
    scans: dict[Name, list[Mapping[str, Any]]] = {}
    unknown: set[Name] = set()  # datasets that are read together have no separate counts
    for scan in read:
        known = connected(scan)
        if known is not None and (known.by_query is not None or known.problem is not None):
            unknown |= set(known.datasets)  # rows of a query's result
            continue
        paths = [str(path) for path in scan.get("paths") or ()]
        names = set(known.datasets) if known is not None else {places.get(path) or dataset_at(path) for path in paths}
        if len(names) == 1:
            scans.setdefault(names.pop(), []).append(scan)
        else:
            unknown |= names
    counted = {}
    for dataset, found in scans.items():
        if dataset in unknown or any(not isinstance(scan.get("rows"), int) for scan in found):
            continue
        counted[dataset] = {"rowCount": sum(scan["rows"] for scan in found)}
        files = {(scan.get("files"), scan.get("bytes")) for scan in found}
        number, size = files.pop()
        if not files and isinstance(number, int) and isinstance(size, int):
            counted[dataset] |= {"fileCount": number, "size": size}
    return counted


def _state_accesses(plan: Mapping[str, Any], inputs: Mapping[Name, Dataset], problems: list[Mapping[str, Any]] | None) -> None:
    accesses = column_accesses(plan, sources_of(plan))
    if accesses is None:
        _add(problems, _NOT_FOLLOWED)
        return
    by_dataset: dict[Name, dict[str, set[str]]] = {}
    for (namespace, name, path), ways in named(accesses).items():
        fields = by_dataset.setdefault((namespace, name), {})
        fields.setdefault(path.partition(WITHIN)[0], set()).update(ways)
    for dataset, fields in by_dataset.items():
        if dataset in inputs:
            read = [{"name": name, "ways": sorted(ways)} for name, ways in fields.items()]
            inputs[dataset].part[FIELD_ACCESS] = facet(FIELD_ACCESS, fields=read)


def _add(problems: list[Mapping[str, Any]] | None, problem: Mapping[str, Any]) -> None:
    if problems is not None:
        problems.append(problem)


def output_of(
    plan: Mapping[str, Any],
    metrics: Mapping[str, Any] | None,
    *,
    changed: bool = True,
    problems: list[Mapping[str, Any]] | None = None,
) -> Dataset | None:
    """Return the dataset that the plan writes. None if it writes none, or none with a name. `changed`: the query completed.

    Unknown facts are added to `problems`.
    """
    sink = plan.get("sink")
    named = source_datasets(sink) if sink else []
    if not sink or not named or (sink.get("only_change") and not sink.get("change")):
        return None
    namespace, name = named[0]
    within = within_dataset(str(sink["path"]), namespace, name) if sink.get("path") else ""
    facets = _common(namespace, name, _with_partitions(sink, within))
    _look_for_unnamed(sink, problems)
    change = None if within or sink.get("dynamic") else _change(sink)  # a change of some partitions is not a change of the dataset
    if change and changed:
        facets["lifecycleStateChange"] = change
    if sink.get("only_change"):
        lineage, has_unknown_rows = _carried_columns(sink, (namespace, name), changed=changed), False
    else:
        lineage, has_unknown_rows = known_alone(column_lineage(plan, sources_of(plan)))
    if lineage.too_large:
        _add(problems, _NOT_FOLLOWED)
    if has_unknown_rows:
        _add(problems, _ROWS_UNKNOWN)
    if is_too_long(lineage):
        _add(problems, _LISTED_ONCE)
    if any(lineage.columns.values()) or lineage.dataset:
        facets["columnLineage"] = column_lineage_facet(lineage)
    output = Dataset(namespace=namespace, name=name, facets=facets, within=[within] if within else [])
    statistics = _statistics(metrics or {})
    if statistics and changed:
        output.part["outputStatistics"] = facet("outputStatistics", **statistics)
    if (written := subset.written_within(within) if within else subset.output_of(sink)) is not None:
        output.part["subset"] = written
    return output


def _with_partitions(sink: Mapping[str, Any], within: str) -> Mapping[str, Any]:
    columns = sink.get("columns") or ()
    known = {str(column["name"]).lower() for column in columns}
    added = [{"name": name} for name in partition_pairs(within) if name.lower() not in known]
    return {**sink, "columns": [*columns, *added]} if columns and added else sink


def _carried_columns(sink: Mapping[str, Any], dataset: Name, *, changed: bool) -> ColumnLineage:
    """Return the columns that a command left unchanged or renamed, or moved or cloned with the table. Empty for a failed command."""
    from_dataset = dataset
    if sink.get("carried_from"):
        from_dataset = dataset_at(str(sink["carried_from"]), {"format": sink.get("format")})
    elif sink.get("previous_path"):
        from_dataset = dataset_at(str(sink["previous_path"]), sink)
    columns = [column for column in sink.get("columns") or () if column.get("was") and changed]
    same = frozenset({Step("DIRECT", "IDENTITY")})
    return ColumnLineage({column["name"]: {(*from_dataset, column["was"]): same} for column in columns}, {})


def _change(sink: Mapping[str, Any]) -> Facet | None:
    change = sink.get("change") or ("CREATE" if sink.get("creates") else "OVERWRITE" if sink.get("mode") == "overwrite" else None)
    if change is None:
        return None
    previous = None
    if sink.get("previous_path"):
        namespace, name = dataset_at(str(sink["previous_path"]), sink)
        previous = {"namespace": namespace, "name": name}
    elif sink.get("previous_table"):
        known = table_name(str(sink["previous_table"]), sink.get("catalog"))
        previous = {"namespace": known["namespace"], "name": known["name"]}
    return facet("lifecycleStateChange", lifecycleStateChange=change, previousIdentifier=previous)


def bare_input(path: str, format_: str = "") -> Dataset:
    """Return an input of which only the path is known, and possibly the format of its table."""
    namespace, name = dataset_at(path, {"format": format_})
    return Dataset(namespace=namespace, name=name, facets=_common(namespace, name, {}), within=_place(path, namespace, name))


def named_dataset(namespace: str, name: str) -> Dataset:
    """Return a dataset of which only the name is known. The name may be an address with a token, so it is redacted."""
    namespace, named = (name_without_secrets(redact_address(part)) for part in (namespace, name))
    _, name = dataset_root(namespace, named)
    if named != name and (format_ := format_at(namespace, named)):  # a separate table with the name of a partition
        return Dataset(namespace=namespace, name=named, facets=_common(namespace, named, {"format": format_}))
    within = _place(path_of_dataset(namespace, named), namespace, name) if named != name else []
    return Dataset(namespace=namespace, name=name, facets=_common(namespace, name, {}), within=within)


def bare_output(path: str) -> Dataset:
    """Return an output of which only the path is known. RDD writers refuse to overwrite, so it is new, or a partition of it is."""
    namespace, name = dataset_at(path)
    within = _place(path, namespace, name)
    output = Dataset(namespace=namespace, name=name, facets=_common(namespace, name, {}), within=within)
    if within:
        output.part["subset"] = subset.written_within(within[0])
    else:
        output.facets["lifecycleStateChange"] = facet("lifecycleStateChange", lifecycleStateChange="CREATE")
    return output


def _place(path: str, namespace: str, name: str) -> list[str]:
    within = within_dataset(path, namespace, name)
    return [within] if within else []


def source_datasets(source: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return namespace and name of each dataset of a source or sink, from its paths or from a table's name in the plan.

    The program's own rows (format `local`) are not a dataset. An unknown source has a separate name.
    """
    if source.get("unknown"):
        return [("spark", str(source["name"]))]
    if source.get("format") == "local":
        return []
    if (found := connected(source)) is not None:
        return list(found.datasets)
    paths = source.get("paths") or ([source["path"]] if source.get("path") else [])
    if paths:
        return list(dict.fromkeys(_places(source).values()))
    if source.get("table") and (source.get("only_change") or not source.get("name")):  # a dropped table, or one without a known place
        known = table_name(str(source["table"]), source.get("catalog"))
        return [(known["namespace"], known["name"])]
    name = source.get("name") or source.get("table")
    return [("spark", str(name))] if name else []


def _places(source: Mapping[str, Any]) -> dict[str, Name]:
    """Return the dataset of each path of a source or sink.

    A single file is a separate dataset, unless it is in a partition folder or named as a part of a folder. Files matched by a pattern are
    parts of their folders, because the program did not name them.
    """
    paths = [str(path) for path in source.get("paths") or ([source["path"]] if source.get("path") else [])]
    files = {str(file["path"]) for file in source.get("files") or () if file.get("path")}
    if is_pattern(str((source.get("options") or {}).get("path") or "")):
        is_file = files.__contains__ if files else looks_like_file
        return {path: dataset_at(path.rpartition("/")[0] if is_file(path) else path, source) for path in paths}
    if len(paths) == 1 and is_pattern(paths[0]) and files and not any(file == paths[0] or _is_below(file, paths[0]) for file in files):
        paths = list(dict.fromkeys(file.rpartition("/")[0] for file in files))  # files of an RDD, which Spark names by its pattern
    return {path: dataset_at(path, source) for path in paths}


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _within(source: Mapping[str, Any], dataset: Name) -> list[str]:
    places = [within_dataset(path, *dataset) for path, name in _places(source).items() if name == dataset]
    return places if all(places) else []


def unknown_datasets(plan: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return problems for the ledger: unknown sources and sinks, and sources with unknown columns."""
    described = [*(plan.get("sources") or ()), *([plan["sink"]] if plan.get("sink") else [])]
    found = [(str(part.get("format")), known.problem) for part in described if (known := connected(part)) is not None and known.problem]
    found += [(str(part.get("format")), reason) for part in described if (reason := open_columns(part)) is not None]
    found += [(str(part["unknown"]), _UNKNOWN) for part in described if part.get("unknown")]
    return [{"operator": operator, "reason": reason, "kind": "missing"} for operator, reason in found]


def sources_of(plan: Mapping[str, Any]) -> Sources:
    return {source["source"]: _fields(source) or source_datasets(source) for source in plan.get("sources") or ()}


def _fields(source: Mapping[str, Any]) -> Fields | None:
    found = connected(source)
    if found is not None and found.problem is not None:
        return Fields({}, {})
    if found is None or found.by_query is None:
        return None
    columns = {name: _steps(reads) for name, reads in found.by_query.columns.items()}
    return Fields(columns, _steps(found.by_query.rows))


def _steps(reads: Iterable[Read]) -> dict[Field, frozenset[Step]]:
    steps: dict[Field, set[Step]] = {}
    for (namespace, name), column, subtype in reads:
        steps.setdefault((namespace, name, column), set()).add(Step("DIRECT" if subtype in _DIRECT else "INDIRECT", subtype))
    return {field: frozenset(found) for field, found in sorted(steps.items())}


def _input(dataset: tuple[str, str], source: Mapping[str, Any]) -> Dataset:
    namespace, name = dataset
    result = Dataset(namespace=namespace, name=name, facets=_common(namespace, name, source), within=_within(source, dataset))
    files = source.get("files")
    if files:
        size = sum(int(file.get("length", 0)) for file in files)
        result.part["inputStatistics"] = facet("inputStatistics", size=size, fileCount=len(files))
    return result


def _common(namespace: str, name: str, described: Mapping[str, Any]) -> dict[str, Facet]:
    facets: dict[str, Facet] = {"dataSource": facet("dataSource", name=namespace, uri=address_of((namespace, name)))}
    found = connected(described)
    of_result = found is not None and (found.by_query is not None or found.problem is not None)
    columns: Sequence[Mapping[str, Any]] = (
        () if of_result else described.get("columns") or ()
    )  # columns of a query's result belong to no table
    if columns:
        facets["schema"] = facet(
            "schema", fields=[_field(column, place) for place, column in enumerate(columns, start=1) if is_name(column["name"])]
        )
    facets |= table_facets(described)
    if found is not None and found.by_query is None and (levels := database_hierarchy(namespace, name)) is not None:
        facets["hierarchy"] = levels
    if described.get("version"):
        facets["version"] = facet("version", datasetVersion=str(described["version"]))
    if described.get("format"):
        facets["storage"] = facet("storage", storageLayer=namespace.split(":", 1)[0], fileFormat=str(described["format"]))
    return facets


def _statistics(metrics: Mapping[str, Any]) -> dict[str, int]:
    names = {"rows": "rowCount", "bytes": "size", "files": "fileCount"}
    known = {ours: int(metrics[theirs]) for theirs, ours in names.items() if isinstance(metrics.get(theirs), (int, float))}
    return known if any(known.values()) else {}  # Spark's metrics are 0 if they were not kept: unknown, not zero


def _field(column: Mapping[str, Any], place: int) -> dict[str, Any]:
    kind = column.get("type")
    stated = {"name": column["name"], "ordinal_position": place, "fields": fields_of(str(kind)) if kind else []}
    return {**stated, "type": kind} if kind else stated


def _look_for_unnamed(described: Mapping[str, Any], problems: list[Mapping[str, Any]] | None) -> None:
    if problems is not None and _UNNAMED not in problems and not all(is_name(column["name"]) for column in described.get("columns") or ()):
        problems.append(_UNNAMED)
