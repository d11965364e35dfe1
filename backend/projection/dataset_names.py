"""Converts producers' names of datasets to OpenLineage's naming, so that one table is one dataset.

A dataset is a whole folder, even if a producer names a part of it: see `dataset_root` in headwater/paths.py. The facets of a dataset have
precedence over its name, so a name in `columnLineage` is looked up among the datasets of the event.

For example, Great Expectations names the table `clean` of the schema `public` in the database `shop` `public.clean`, in
`postgresql+psycopg2://db.example`. All others name it `shop.public.clean`, in `postgres://db.example:5432`. The event of Great Expectations
has port and database in the facet `dataSource`. Only stated facts are used: if a part is missing, the dataset keeps its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from headwater.backend.projection.facets import mapping, objects, required, text
from headwater.graph.associations.parts import DatasetName, root_of
from headwater.paths import dataset_root, is_folder_store, split_root

# SQLAlchemy's names of databases, with OpenLineage's scheme, the usual port, and the number of dots in a name.
_DATABASES = {
    "postgresql": ("postgres", 5432, 2),
    "postgres": ("postgres", 5432, 2),
    "mysql": ("mysql", 3306, 1),
    "mariadb": ("mysql", 3306, 1),
}
_NAMESPACE = re.compile(r"(?P<database>[a-z]+)(?:\+[a-z0-9_]+)?://(?P<host>[^/@:\s]+|\[[0-9a-fA-F:]+])")


def name_of(dataset: Any, path: str) -> tuple[str, str]:
    """Return the namespace and the name of a dataset of an event.

    Raises:
        InvalidEventError: the dataset has no namespace or name.
    """
    namespace, name = required(dataset, "namespace", path), required(dataset, "name", path)
    stated = _NAMESPACE.fullmatch(namespace) if namespace.startswith(("postgres", "mysql", "mariadb")) else None
    if stated is None or stated["database"] not in _DATABASES:
        return _root(namespace, name, mapping(dataset.get("facets"))) if is_folder_store(namespace) else (namespace, name)
    return _of_database(stated["database"], stated["host"], name, mapping(mapping(dataset.get("facets")).get("dataSource"))) or (
        namespace,
        name,
    )


def stated_dataset(holder: Mapping[str, Any], path: str) -> tuple[str, str]:
    """Return the namespace and the name of the dataset of a manifest's source or sink, as in `graph.associations`.

    Raises:
        InvalidInputError: the dataset has no namespace or name.
    """
    names = [required(holder.get("dataset"), part, f"{path}.dataset") for part in ("namespace", "name")]
    root = root_of(DatasetName(namespace=names[0], name=names[1]), str(holder.get("format") or ""), holder.get("table"))
    return root.namespace, root.name


def is_whole(dataset: Mapping[str, Any]) -> bool:
    """Whether an event names a whole dataset, and not only a partition or another part of it."""
    namespace, name = dataset.get("namespace"), dataset.get("name")
    return not (isinstance(namespace, str) and is_folder_store(namespace)) or name_of(dataset, "$") == (namespace, name)


def part_of(dataset: Mapping[str, Any]) -> str:
    """Return the part of a dataset that a producer names (`day=1`). The result is empty for the whole dataset."""
    return "" if is_whole(dataset) else str(dataset["name"]).removeprefix(name_of(dataset, "$")[1]).strip("/")


def _root(namespace: str, name: str, facets: Mapping[str, Any]) -> tuple[str, str]:
    """Return the dataset of a path. A symlink may name its folder (`LOCATION`), or a table in the folder (`TABLE`).

    Only partitions and files may be between that folder and the path, because anybody may send a symlink, and must not merge datasets by
    it.
    """
    if not split_root(name).within and "symlinks" not in facets:
        return namespace, name
    storage = mapping(facets.get("storage"))
    formats = [stated for key in ("storageLayer", "fileFormat") if (stated := text(storage.get(key))) is not None]
    links: dict[str, list[str]] = {}
    for link in objects(mapping(facets.get("symlinks")).get("identifiers")):
        kind, called = (text(link.get("type")) or "").upper(), text(link.get("name"))
        if called is not None and (kind != "LOCATION" or link.get("namespace") == namespace):
            links.setdefault(kind, []).append(called.rstrip("/"))
    for folder in links.get("LOCATION", ()):
        if folder and name.startswith(f"{folder}/") and len(folder) >= len(split_root(name).root):
            return namespace, folder
    return dataset_root(namespace, name, formats=formats, tables=links.get("TABLE", ()))


def names_among(datasets: Iterable[Any]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the datasets for those names in an event that would mean another dataset elsewhere."""
    found = {}
    for dataset in datasets:
        namespace, name = text(mapping(dataset).get("namespace")), text(mapping(dataset).get("name"))
        if namespace is not None and name is not None and (meant := name_of(dataset, "$")) != dataset_root(namespace, name):
            found[namespace, name] = meant
    return found


def _of_database(database: str, host: str, name: str, source: Mapping[str, Any]) -> tuple[str, str] | None:
    """Convert a table's name to OpenLineage's naming. Returns None if the data source lacks a part of it."""
    scheme, usual, dots = _DATABASES[database]
    try:
        uri = urlsplit(text(source.get("uri")) or "")
        port = uri.port or usual
    except ValueError:
        return None
    within = unquote(uri.path.removeprefix("/"))
    if uri.hostname != host.strip("[]").lower() or not within or "/" in within or "." in within:
        return None
    if name.count(".") == dots - 1:  # the name lacks the database, and possibly the schema
        return f"{scheme}://{host}:{port}", f"{within}.{name}"
    return (f"{scheme}://{host}:{port}", name) if name.count(".") == dots else None
