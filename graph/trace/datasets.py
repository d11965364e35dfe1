"""Finds the dataset that a user's text names, and the files of the dataset now.

A text names a dataset by its id, its name, its path, the end of either from a `/` on, or a table's name (`db.table`). The name of a
partition or a file is the dataset and the rest of its path. The catalog identifies a captured file by its path, length and time, never by
its path alone.
"""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError
from headwater.graph.associations import Manifest
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.model import Node, NodeKind, node_id, parse_id
from headwater.graph.names import has_symlink, nodes_named, wholes
from headwater.graph.records import FileBlock, KnownDataset, uri_of
from headwater.graph.records.dataset_index import KnownDatasets
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import AsOf
from headwater.graph.trace.session import KnownFile, Session
from headwater.paths import path_of_dataset

_SHOWN = 5
_SEARCHED = 100
_COMPARED = 1_000  # names before and after a wrong name that are compared with it


@dataclass(frozen=True, slots=True)
class Version:
    """The files of a dataset at an earlier time, by path, and how to read them.

    `rows` is the number of records per file, if runs wrote the files.
    """

    as_of: AsOf
    files: Sequence[KnownFile]
    shape: Shape
    rows: Mapping[int, int]  # number of the file → number of its records


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset: its node id, its name, and its location as a URI. `version` is set for an earlier state."""

    id: str
    name: str
    path: str
    version: Version | None = None
    table: str | None = None  # the table's name, if it was used to find the dataset
    part: str = ""  # path of the named partition or file in the dataset; '' for all of it

    @property
    def place(self) -> str:
        return f"{self.path.rstrip('/')}/{self.part}" if self.part else self.path

    @property
    def part_id(self) -> str:
        _, (namespace, name) = parse_id(self.id)
        return node_id(NodeKind.DATASET, namespace, f"{name.rstrip('/')}/{self.part}") if self.part else self.id

    def contains(self, file: KnownFile) -> bool:
        return not self.part or file.block.path == self.place or file.block.path.startswith(f"{self.place}/")


async def find_dataset(session: Session, graph: GraphStore | None, text: str) -> Dataset:
    """Return the one dataset that `text` names.

    Raises:
        NotFoundError: no dataset has that name. The message lists similar names.
        InvalidQueryError: several datasets have that name.
    """
    await asyncio.to_thread(session.refresh)
    try:
        return await _find(session, graph, text)
    except NotFoundError:
        for base_name, part in wholes(text):
            with suppress(NotFoundError):
                return replace(await _find(session, graph, base_name), part=part)
        # All commands accept the same names of a dataset.
        nodes = await nodes_named(graph, session.tenant, text, [NodeKind.DATASET]) if graph is not None else []
        if len(nodes) != 1:
            raise
        return await _find(session, graph, nodes[0].id)


async def _find(session: Session, graph: GraphStore | None, text: str) -> Dataset:
    catalog, tenant = session.store.catalog.datasets, session.tenant
    graph_datasets: list[Dataset] = []
    if graph is not None and not await asyncio.to_thread(_is_known, catalog, tenant, text):
        graph_datasets = [dataset for dataset in await _search_graph(graph, tenant, text) if not catalog.called(tenant, dataset.id)]
    return await asyncio.to_thread(_select_one, catalog, tenant, text, graph_datasets)


def find_shape(session: Session, dataset: Dataset) -> tuple[Shape, bool]:
    for with_columns, role in product((True, False), ("sink", "source")):
        if (capture := session.store.catalog.datasets.latest(session.tenant, dataset.id, role, shaped=with_columns)) is None:
            continue
        manifest = session.get_capture(capture).manifest
        if role == "sink" and manifest.sink is not None:
            return Shape.from_sink(manifest.sink), True
        for source in manifest.sources if role == "source" else ():
            if node_id(NodeKind.DATASET, source.dataset.namespace, source.dataset.name) == dataset.id:
                return Shape.from_source(source), False
    listing = session.look.listed(dataset.place)
    if listing == []:
        hint = f"A run that failed leaves none; `headwater lineage {dataset.name}` shows the runs that wrote there."
        raise NotFoundError(f"{dataset.name} has no records: there is no file of data in {shorten_uri(dataset.place)}.", hint=hint)
    return Shape.from_names(block.path for block in listing or ()), False


def list_current_files(session: Session, dataset: Dataset, shape: Shape) -> list[KnownFile]:
    """Return the files at the dataset's path now, by path, and store deleted rows in `session.deleted_rows`.

    Raises:
        NotFoundError: nothing is at the path any more.
        UnsupportedError: the path may not be read, or its folder cannot be listed.
        SourceUnavailableError: the storage does not answer.
    """
    # The metadata of a table is in its folder. For other datasets only the named part is listed: a root may end there.
    listing = get_format(shape.format).list_files(session.look, dataset.path if get_format(shape.format).is_table else dataset.place, shape)
    if listing is None:
        raise NotFoundError(f"{dataset.name} cannot be read: there is nothing at {shorten_uri(dataset.place)} any more.")
    files = []
    for file in listing:
        known_file = session.add_file(file.block, dataset.id, shape, file.partition)
        if file.deleted_rows is not None:
            session.deleted_rows[known_file.number] = file.deleted_rows
        files.append(known_file)
    return [file for file in files if dataset.contains(file)]


def apply_writer_shapes(session: Session, dataset: Dataset, files: Sequence[KnownFile], paths: Iterable[str]) -> list[KnownFile]:
    """Return the files, with the format options of their writers for files at `paths`.

    A row number that a user gives counts rows as the file's writer did, even if the latest run wrote other files with other options.
    """
    uris = {uri for path in paths for uri in (uri_of(path), uri_of(Path(os.path.abspath(path))))}
    named_blocks = {file.block: file for file in files if file.block.path in uris and get_format(file.shape.format).shaped_by_file}
    files_by_number = {file.number: file for file in files}
    for block, writer in session.store.catalog.writers(session.tenant, named_blocks).items():
        sink, file = session.get_capture(writer).manifest.sink, named_blocks[block]
        if sink is None or node_id(NodeKind.DATASET, sink.dataset.namespace, sink.dataset.name) != dataset.id:
            continue
        writer_shape = Shape.from_sink(sink)
        if not writer_shape.columns and (writer_shape.format, writer_shape.options) == (file.shape.format, file.shape.options):
            continue  # the shape of the other files also has the columns
        if (
            writer_shape != file.shape
            and writer_shape.partitions == file.shape.partitions
            and get_format(writer_shape.format).shaped_by_file
        ):
            files_by_number[file.number] = session.files[file.number] = replace(file, shape=writer_shape)
    return [files_by_number[file.number] for file in files]


def find_named_files(session: Session, dataset: Dataset, shape: Shape, paths: Iterable[str]) -> list[KnownFile]:
    """Return files of a dataset that cannot be listed here, as recorded by the last capture that wrote or read each file.

    Raises:
        NotFoundError: no capture has one of the files.
    """
    files = []
    for path in dict.fromkeys(paths):
        spellings = [uri_of(path), uri_of(Path(os.path.abspath(path)))]
        entries = [entry for uri in spellings for entry in session.store.catalog.last_known(session.tenant, uri)]
        block = next((block for block, capture in entries if dataset.id in _list_dataset_ids(session.get_capture(capture).manifest)), None)
        block = block or _find_table_file(session, dataset, shape, spellings)
        if block is None:
            raise NotFoundError(f"{path} is no file of {dataset.name} that a capture knows.", hint="Name a file that a run read or wrote.")
        files.append(session.add_file(block, dataset.id, shape))
    return files


def _find_table_file(session: Session, dataset: Dataset, shape: Shape, uris: Iterable[str]) -> FileBlock | None:
    """Return the current state of a data file that is listed in a table's metadata and in no capture."""
    try:
        table = session.read_table_rows(shape.format, dataset.path)
        uri = next((uri for uri in uris if table is not None and uri in table.files), None)
        return session.look.block(uri) if uri is not None else None
    except (HeadwaterError, OSError):
        return None


def _list_dataset_ids(manifest: Manifest) -> set[str]:
    names = [source.dataset for source in manifest.sources] + ([manifest.sink.dataset] if manifest.sink else [])
    return {node_id(NodeKind.DATASET, dataset.namespace, dataset.name) for dataset in names}


def is_captured(session: Session, files: Sequence[KnownFile]) -> bool:
    return session.store.catalog.knows(session.tenant, (file.block for file in files))


def shorten_uri(uri: str) -> str:
    """Return the path of a local file's URI. Other URIs are returned unchanged."""
    return uri.removeprefix("file:")


def _is_known(catalog: KnownDatasets, tenant: str, text: str) -> bool:
    return bool(catalog.called(tenant, text) or catalog.named_table(tenant, text))


async def _search_graph(graph: GraphStore, tenant: str, text: str) -> list[Dataset]:
    if text.startswith(f"{NodeKind.DATASET}:"):
        return [_make_from_node(node) for node in await graph.get(tenant, [text])]
    datasets = [_make_from_node(node) for node in (await graph.search(tenant, text, kinds=[NodeKind.DATASET], first=_SEARCHED)).nodes]
    if not datasets and "/" not in text:  # a table's folder usually has the name of the table
        nodes = (await graph.search(tenant, text.rpartition(".")[2], kinds=[NodeKind.DATASET], first=_SEARCHED)).nodes
        datasets = [replace(_make_from_node(node), table=text) for node in nodes if has_symlink(node, text)]
    return datasets


def _make_from_node(node: Node) -> Dataset:
    _, (namespace, name) = parse_id(node.id)
    return Dataset(node.id, name, uri_of(path_of_dataset(namespace, name)))


def _has_name(dataset: Dataset, text: str) -> bool:
    return text in (dataset.id, dataset.name, dataset.table) or uri_of(text) == dataset.path


def _select_one(catalog: KnownDatasets, tenant: str, text: str, graph_datasets: Sequence[Dataset]) -> Dataset:
    full_name = text.rstrip("/") or text
    absolute, end = uri_of(Path(os.path.abspath(full_name))), f"/{full_name}"
    matches: list[Dataset] = []
    for name in dict.fromkeys([full_name, text]):  # the address of a bucket ends with a slash
        candidates = [
            *map(_make_from_entry, catalog.called(tenant, name)),
            *(dataset for dataset in graph_datasets if _has_name(dataset, name)),
        ]
        matches = matches or _remove_duplicates(candidates)
    matches = matches or _remove_duplicates(map(_make_from_entry, catalog.named_table(tenant, full_name)))
    matches = matches or _remove_duplicates(
        [*map(_make_from_entry, catalog.at(tenant, absolute)), *(dataset for dataset in graph_datasets if dataset.path == absolute)]
    )
    matches = matches or _remove_duplicates([
        *map(_make_from_entry, catalog.ending(tenant, end)),
        *(dataset for dataset in graph_datasets if dataset.name.endswith(end) or dataset.path.endswith(end)),
    ])  # fmt: skip
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(dataset.id for dataset in matches[:_SHOWN])
        raise InvalidQueryError(f"{len(matches)} datasets are called {text}: {names}.", field="dataset", hint="Say its id.")
    all_names = sorted({*catalog.names(tenant, full_name, _COMPARED), *(dataset.name for dataset in graph_datasets)})
    similar_names = difflib.get_close_matches(full_name, all_names, n=_SHOWN, cutoff=0.3)
    if similar_names:
        hint = f"Near are: {', '.join(similar_names)}."
    elif all_names:
        more_count = max(catalog.count(tenant), len(all_names)) - _SHOWN
        hint = f"None is near. There are {', '.join(all_names[:_SHOWN])}{f' and {more_count} more' if more_count > 0 else ''}."
    else:
        hint = "No records have been captured yet: run a program with `headwater run`."
    raise NotFoundError(f"No dataset is called {text}.", hint=hint)


def _make_from_entry(dataset: KnownDataset) -> Dataset:
    return Dataset(dataset.id, dataset.name, dataset.path)


def _remove_duplicates(datasets: Iterable[Dataset]) -> list[Dataset]:
    return list({dataset.id: dataset for dataset in datasets}.values())


def keep_readable_files(session: Session, files: Sequence[KnownFile]) -> list[KnownFile]:
    """Return the files whose records can be read, and report the others."""
    files_to_read = []
    for file in files:
        if file.problem:
            session.report(file.block.path, file.problem, "missing")
        else:
            files_to_read.append(file)
    return files_to_read
